// Floats to text and back, as CPython does.
//
// repr is the shortest decimal that reads back as the same double (Steele & White 1990; here std::to_chars, which is
// Ryu: Adams 2018); fixed precision is correctly rounded, ties to even, on the exact binary value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ouro::runtime::text {

enum FloatFlag : unsigned {
  kFloatAlt = 1,      // '#': keep the point and trailing zeros
  kFloatAddDot0 = 2,  // "1" becomes "1.0"
};

// CPython's PyOS_double_to_string: `code` is one of r e E f F g G (r: shortest, precision ignored). A minus sign is
// given for negative zero too; inf and nan are lower case (upper for E F G).
std::string format_double(double x, char code, int precision, unsigned flags = 0);
inline std::string float_repr(double x) { return format_double(x, 'r', 0, kFloatAddDot0); }

// float("..."): surrounding whitespace, underscores between digits, inf, nan, Unicode digits. Empty when it is not a
// number.
std::optional<double> parse_float(std::string_view s);

// round(x, ndigits): correctly rounded, ties to even on the exact value. May be infinite (the caller raises
// OverflowError).
double round_to_digits(double x, long ndigits);

std::string float_hex(double x);
enum class HexError { none, invalid, too_large };
HexError float_from_hex(std::string_view s, double& out);

// Numbers as int() and float() read them: Unicode decimal digits become ASCII, Unicode spaces become ' ', other
// characters '?'.
std::string to_ascii_digits(std::string_view s);

}  // namespace ouro::runtime::text
