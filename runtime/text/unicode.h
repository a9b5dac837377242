// Character properties and case mappings, the same as CPython's (unicode_tables.inc is made from it).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ouro::runtime::text {

enum CharFlag : uint16_t {
  kAlpha = 1,
  kDecimal = 2,
  kDigit = 4,
  kNumeric = 8,
  kSpace = 16,
  kPrintable = 32,
  kIdStart = 64,
  kIdContinue = 128,
  kUpper = 256,
  kLower = 512,
  kTitle = 1024,
  kCased = 2048,
  kCaseIgnorable = 4096,
};

struct CharRecord {
  uint16_t flags;
  int8_t decimal;  // value of a decimal digit, else -1
  int32_t upper, lower, title, fold;
};

const CharRecord& char_record(uint32_t c);
inline bool has(uint32_t c, uint16_t flags) { return char_record(c).flags & flags; }
inline bool is_space(uint32_t c) {
  if (c < 128) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f);
  return has(c, kSpace);
}
// Ends a line, as str.splitlines has it.
bool is_line_break(uint32_t c);
bool is_identifier(std::string_view s);

// The full mappings (one character may become three), Greek final sigma included.
std::string to_upper(std::string_view s);
std::string to_lower(std::string_view s);
std::string to_title(std::string_view s);
std::string capitalize(std::string_view s);
std::string casefold(std::string_view s);
std::string swapcase(std::string_view s);

}  // namespace ouro::runtime::text
