#include "runtime/text/utf8.h"

#include <cstring>

namespace ouro::runtime::text {

bool is_ascii(std::string_view s) {
  const char* p = s.data();
  size_t n = s.size();
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    if (w & 0x8080808080808080ull) return false;
  }
  for (; n; ++p, --n)
    if (*p & 0x80) return false;
  return true;
}

size_t count_points(std::string_view s) {
  const char* p = s.data();
  size_t n = s.size(), continuations = 0;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    // A continuation byte has bit 7 set and bit 6 clear.
    continuations += static_cast<size_t>(__builtin_popcountll(w & ~(w << 1) & 0x8080808080808080ull));
  }
  for (; n; ++p, --n) continuations += is_continuation(*p);
  return s.size() - continuations;
}

size_t byte_offset(std::string_view s, size_t index, size_t from_byte, size_t from_index) {
  const char* p = s.data() + from_byte;
  size_t left = index - from_index;
  const char* end = s.data() + s.size();
  while (left >= 8 && end - p >= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    left -= 8 - static_cast<size_t>(__builtin_popcountll(w & ~(w << 1) & 0x8080808080808080ull));
    p += 8;
  }
  // The block may have ended inside a character.
  while (p < end && is_continuation(*p)) ++p;
  for (; left; --left) p += sequence_length(static_cast<unsigned char>(*p));
  return static_cast<size_t>(p - s.data());
}

// CPython's rules (Objects/stringlib/codecs.h): the error covers the longest prefix of a valid sequence, at least one
// byte.
Utf8Problem check_utf8(std::string_view bytes, size_t from, bool surrogates) {
  auto at = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  size_t i = from, n = bytes.size(), piece = from + kPiece;
  while (i < n) {
    if (i >= piece) {
      poll_interrupt();
      piece = i + kPiece;
    }
    unsigned char b = at(i);
    if (b < 0x80) {
      ++i;
      continue;
    }
    if (b < 0xC2 || b > 0xF4) return {"invalid start byte", i, i + 1};
    unsigned len = sequence_length(b);
    unsigned char low = 0x80, high = 0xBF;
    if (b == 0xE0)
      low = 0xA0;
    else if (b == 0xED && !surrogates)
      high = 0x9F;
    else if (b == 0xF0)
      low = 0x90;
    else if (b == 0xF4)
      high = 0x8F;
    for (unsigned k = 1; k < len; ++k) {
      if (i + k >= n) return {"unexpected end of data", i, n};
      unsigned char c = at(i + k);
      if (c < low || c > high) return {"invalid continuation byte", i, i + k};
      low = 0x80, high = 0xBF;
    }
    i += len;
  }
  return {};
}

}  // namespace ouro::runtime::text
