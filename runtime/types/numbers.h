// What the number types offer to each other and to natives.
#pragma once

#include <string_view>

#include "runtime/object/object.h"

namespace ouro::runtime {

// sys.set_int_max_str_digits: a limit on decimal conversions, which take quadratic time. 0: none.
struct IntTextLimit {
  int64_t digits = 4300;
};
bool check_digit_limit(Session& s, size_t digits, bool parsing);

// int("..."): base 0 or 2..36. `shown` is what the error prints.
Value int_from_text(Session& s, std::string_view text, int base, const Value& shown);
Value int_str(Session& s, const Value& v);         // decimal, ValueError beyond the limit
Value to_int(Session& s, const Value& v);          // int(v): numbers, text, __int__, __index__, __trunc__
Value to_index_value(Session& s, const Value& v);  // an int of any size from int or __index__
Value to_float(Session& s, const Value& v);        // float(v)
Value format_number(Session& s, const Value& v, std::string_view spec);  // ints, bools and floats
// Python's % and // on floats.
double float_mod(double a, double b);
double float_floordiv(double a, double b);
Value float_pow(Session& s, double a, double b);
Value round_float(Session& s, double x, const Value& ndigits);  // ndigits unbound or None: to an int

}  // namespace ouro::runtime
