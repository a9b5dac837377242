#include "grammar/number_check.h"

#include <algorithm>
#include <cctype>

namespace ouro::grammar {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) {
  return isalnum(static_cast<unsigned char>(c)) || c == '_' || static_cast<signed char>(c) < 0;
}

// CPython lets these words follow a number without a blank (`1if x else 2`).
bool keyword_follows(std::string_view rest) {
  for (std::string_view w : {"and", "else", "for", "if", "in", "is", "or", "not"})
    if (rest.starts_with(w)) return true;
  return false;
}

struct Base {
  char lower, upper;
  int base;
  const char* name;
};
constexpr Base kBases[] = {{'x', 'X', 16, "hexadecimal"}, {'o', 'O', 8, "octal"}, {'b', 'B', 2, "binary"}};

NumberError invalid(uint32_t at, std::string text) { return {at, at + 1, "syntax.number", std::move(text)}; }
NumberError invalid_kind(uint32_t at, const char* kind) {
  return invalid(at, std::string("invalid ") + kind + " literal");
}

}  // namespace

std::optional<NumberError> check_number(std::string_view text, uint32_t begin, uint32_t end) {
  std::string_view number = text.substr(begin, end - begin), rest = text.substr(end);
  char next = rest.empty() ? '\0' : rest[0];
  // "0x" and its kin stand alone as 0 followed by a name when no digit of the base follows.
  for (const Base& b : kBases) {
    bool bare = number == "0" && (next == b.lower || next == b.upper);
    bool whole = number.size() > 1 && (number[1] == b.lower || number[1] == b.upper);
    if (!bare && !whole) continue;
    uint32_t p = bare ? end + 1 : end;
    if (p < text.size() && text[p] == '_') ++p;
    char c = p < text.size() ? text[p] : '\0';
    if (is_digit(c) && b.base < 16)
      return invalid(p, std::string("invalid digit '") + c + "' in " + b.name + " literal");
    if (bare || p != end) return invalid_kind(p - 1, b.name);
    if (is_name_char(next) && !keyword_follows(rest)) return invalid_kind(end - 1, b.name);
    return std::nullopt;
  }
  bool imaginary = number.back() == 'j' || number.back() == 'J';
  bool integer = number.find_first_of(".eEjJ") == number.npos;
  if (next == '_') return invalid_kind(end, "decimal");
  if (is_name_char(next) && !keyword_follows(rest)) return invalid_kind(end - 1, imaginary ? "imaginary" : "decimal");
  if (integer && number[0] == '0' && number.find_first_not_of("0_") != number.npos) {
    uint32_t zeros = static_cast<uint32_t>(number.find_first_not_of("0_"));
    return NumberError{begin, begin + zeros, "syntax.number",
                       "leading zeros in decimal integer literals are not permitted; use an 0o "
                       "prefix for octal integers"};
  }
  return std::nullopt;
}

}  // namespace ouro::grammar
