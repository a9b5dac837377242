#include "runtime/text/foreign.h"

#include <fmt/format.h>

#include "runtime/text/utf8.h"
#include "support/source.h"

namespace ouro::runtime::text {

namespace {

// The pieces of `bytes`: good ones, and bytes that are no UTF-8 (at this length, `surrogates` or not) one by one.
template <class Good, class Bad>
void for_pieces(std::string_view bytes, bool surrogates, Good good, Bad bad) {
  for (size_t i = 0; i < bytes.size();) {
    const Utf8Problem p = check_utf8(bytes, i, surrogates);
    const size_t end = p.what.empty() ? bytes.size() : p.start;
    if (end > i) good(bytes.substr(i, end - i));
    i = end;
    if (!p.what.empty())
      for (; i < p.end; ++i) bad(static_cast<unsigned char>(bytes[i]));
  }
}

bool is_surrogate(std::string_view text, size_t i) {  // in its three bytes
  return static_cast<unsigned char>(text[i]) == 0xED && i + 2 < text.size() &&
         static_cast<unsigned char>(text[i + 1]) >= 0xA0;
}

}  // namespace

std::string from_system(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for_pieces(
      bytes, false, [&](std::string_view good) { out += good; },
      [&](unsigned char bad) { append_utf8(out, 0xDC00u + bad); });
  return out;
}

std::optional<std::string> to_system(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\0') return std::nullopt;
    if (!is_surrogate(text, i)) {
      out += text[i++];
      continue;
    }
    const uint32_t c = next_code_point(text, i);
    if (c < 0xDC80 || c > 0xDCFF) return std::nullopt;
    out += static_cast<char>(c - 0xDC00);
  }
  return out;
}

std::string utf8_problem(std::string_view bytes) {
  const Utf8Problem p = check_utf8(bytes);
  if (p.what.empty()) return {};
  return fmt::format("the text is no UTF-8: byte 0x{:02x} at position {}: {}",
                     static_cast<unsigned char>(bytes[p.start]), p.start, p.what);
}

std::string shown_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for_pieces(
      bytes, true,
      [&](std::string_view good) {
        for (size_t i = 0; i < good.size();)
          if (is_surrogate(good, i))
            out += fmt::format("\\u{:04x}", next_code_point(good, i));
          else
            out += good[i++];
      },
      [&](unsigned char bad) { out += fmt::format("\\x{:02x}", bad); });
  return out;
}

}  // namespace ouro::runtime::text
