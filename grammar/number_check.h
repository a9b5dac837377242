// What is wrong with a number literal, in CPython's words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ouro::grammar {

struct NumberError {
  uint32_t begin, end;
  const char* code;
  std::string text;
};

/// Checks the NUMBER match text[begin, end) and what follows it: leading zeros, digits of another
/// base, a name glued to it. Whether a decimal has too many digits is checked where it is
/// converted.
std::optional<NumberError> check_number(std::string_view text, uint32_t begin, uint32_t end);

}  // namespace ouro::grammar
