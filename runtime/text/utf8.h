// Strings as bytes: UTF-8 that may also encode lone surrogates (WTF-8, Sapin 2016), because the language's strings are
// sequences of any code points up to U+10FFFF. Surrogate pairs are never joined: chr(0xd83d) + chr(0xde00) stays two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ouro::runtime {
void poll_interrupt();  // runtime/object/interrupt.h
}

namespace ouro::runtime::text {

inline bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Length in bytes of the sequence that starts with `first`.
inline unsigned sequence_length(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// The code point at `p` (valid text) and one past it.
inline uint32_t decode(const char*& p) {
  auto b = [&](int i) { return static_cast<unsigned char>(p[i]); };
  uint32_t c = b(0);
  if (c < 0x80) {
    p += 1;
    return c;
  }
  if (c < 0xE0) {
    c = (c & 0x1F) << 6 | (b(1) & 0x3F);
    p += 2;
    return c;
  }
  if (c < 0xF0) {
    c = (c & 0x0F) << 12 | (b(1) & 0x3F) << 6 | (b(2) & 0x3F);
    p += 3;
    return c;
  }
  c = (c & 0x07) << 18 | (b(1) & 0x3F) << 12 | (b(2) & 0x3F) << 6 | (b(3) & 0x3F);
  p += 4;
  return c;
}
// The code point that ends before `p`; `p` moves to its start.
inline uint32_t decode_before(const char*& p) {
  do --p;
  while (is_continuation(*p));
  const char* q = p;
  return decode(q);
}
inline void append(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  if (c < 0x800)
    out += static_cast<char>(0xC0 | c >> 6);
  else {
    if (c < 0x10000)
      out += static_cast<char>(0xE0 | c >> 12);
    else {
      out += static_cast<char>(0xF0 | c >> 18);
      out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    }
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
  }
  out += static_cast<char>(0x80 | (c & 0x3F));
}

bool is_ascii(std::string_view s);
// Number of code points of valid text.
size_t count_points(std::string_view s);
// Byte offset of code point `index` (<= count), walking from `from_byte`, which is code point `from_index`.
size_t byte_offset(std::string_view s, size_t index, size_t from_byte = 0, size_t from_index = 0);

// What a loop over long text does in pieces, between which an interrupt is seen.
constexpr size_t kPiece = size_t{1} << 18;

// Iterates over code points: for (uint32_t c : Points(s)).
struct Points {
  explicit Points(std::string_view s) : text(s) {}
  struct Iterator {
    const char* p;
    const char* piece;  // the end of this piece
    uint32_t operator*() const {
      const char* q = p;
      return decode(q);
    }
    Iterator& operator++() {
      p += sequence_length(static_cast<unsigned char>(*p));
      return *this;
    }
    bool operator!=(const Iterator& end) {
      if (p < piece) [[likely]]
        return true;
      if (p == end.p) return false;
      poll_interrupt();
      piece = p + std::min(kPiece, static_cast<size_t>(end.p - p));
      return true;
    }
  };
  Iterator begin() const { return {text.data(), text.data() + std::min(kPiece, text.size())}; }
  Iterator end() const { return {text.data() + text.size(), nullptr}; }
  std::string_view text;
};

// What is wrong with bytes as UTF-8, as CPython's decoder says it: `what` empty when they are fine, else e.g. "invalid
// start byte" at [start, end). Lone surrogates are errors unless `surrogates`.
struct Utf8Problem {
  std::string_view what;
  size_t start = 0, end = 0;
};
Utf8Problem check_utf8(std::string_view bytes, size_t from = 0, bool surrogates = false);

}  // namespace ouro::runtime::text
