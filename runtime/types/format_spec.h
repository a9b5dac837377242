// The format mini-language (PEP 3101, 378, 515, 682): [[fill]align][sign][z][#][0][width][grouping][.precision][type].
// Errors have CPython's class and words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ouro::runtime::text {

struct TextError {
  const char* kind = nullptr;  // exception class, null when there is none
  std::string text;
  bool set(const char* k, std::string t) {
    kind = k;
    text = std::move(t);
    return false;
  }
};

struct FormatSpec {
  uint32_t fill = ' ';
  char align = 0;  // as it holds: the type's default when not given
  bool align_given = false;
  char sign = 0;  // + - or space
  bool zero_negative = false;
  bool alternate = false;
  long width = -1;
  char grouping = 0;  // , or _
  long precision = -1;
  uint32_t type = 0;
};

// `type_name` names the class in errors; `default_type` and `default_align` are those of the class.
bool parse_spec(std::string_view text, std::string_view type_name, char default_type, char default_align,
                FormatSpec& out, TextError& error);

// A str by its (parsed) spec.
bool format_str(std::string& out, std::string_view s, const FormatSpec& spec, TextError& error);
// A float by its spec. `type_name` for errors.
bool format_float(std::string& out, double x, const FormatSpec& spec, std::string_view type_name, TextError& error);
// Base an integer spec asks for (2, 8, 10, 16), 0 for a float presentation, 1 for 'c', -1 with an error.
int int_spec_base(const FormatSpec& spec, std::string_view type_name, TextError& error);
// An integer whose digits (lower case, no sign) are known; for base 1 `digits` is the character itself.
void format_int(std::string& out, bool negative, std::string digits, const FormatSpec& spec);

bool unknown_code(uint32_t code, std::string_view type_name, TextError& error);

}  // namespace ouro::runtime::text
