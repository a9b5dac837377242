// Integers of any size: the arithmetic of values that are ints (a machine word, a bool or a BigInt), by libtommath.
//
// A BigInt holds one mp_int: sign and magnitude in digits of 60 bits. Results are normalised: what fits a word is a
// word. Division rounds to minus infinity, bit operations see infinite two's complement, as in Python. All arguments
// must satisfy is_int_value (unwrap first). Failure is Value::error() with OverflowError, ZeroDivisionError, ValueError
// or MemoryError set.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/object/object.h"

namespace ouro::runtime {

inline bool is_int_value(const Value& v) { return v.is_int() || v.is_bool() || kind_of(v) == ObjectKind::big_int; }
// A machine word: int or bool (true is 1).
inline bool is_word(const Value& v) { return v.is_int() || v.is_bool(); }
inline int64_t word_of(const Value& v) { return v.bits(); }

Value int_add(Session& s, const Value& a, const Value& b);
Value int_sub(Session& s, const Value& a, const Value& b);
Value int_mul(Session& s, const Value& a, const Value& b);
Value int_neg(Session& s, const Value& a);
Value int_abs(Session& s, const Value& a);
Value int_invert(Session& s, const Value& a);
// Floor division; either result may be null. `by_zero` is the message of the ZeroDivisionError.
[[nodiscard]] bool int_divmod(Session& s, const Value& a, const Value& b, Value* quotient, Value* remainder,
                              const char* by_zero);
Value int_true_divide(Session& s, const Value& a, const Value& b);  // correctly rounded
Value int_pow(Session& s, const Value& a, const Value& b);          // a float for a negative exponent
Value int_pow_mod(Session& s, const Value& a, const Value& b, const Value& m);
Value int_shift_left(Session& s, const Value& a, const Value& count);
Value int_shift_right(Session& s, const Value& a, const Value& count);
enum class BitOp : uint8_t { and_, or_, xor_ };
Value int_bits(Session& s, BitOp op, const Value& a, const Value& b);
Value int_gcd(Session& s, const Value& a, const Value& b);
Value int_isqrt(Session& s, const Value& a);  // a >= 0

int int_compare(const Value& a, const Value& b);   // -1, 0, 1
int int_compare_double(const Value& a, double b);  // exact; b is not a NaN
int int_sign(const Value& a);
int64_t int_hash(const Value& a);
size_t int_bit_length(const Value& a);
size_t int_bit_count(const Value& a);
size_t int_byte_size(const Value& a);  // sys.getsizeof

Value int_from_u64(uint64_t u);
Value int_from_double(Session& s, double d);  // truncates; d is finite
[[nodiscard]] bool int_to_double(Session& s, const Value& a,
                                 double& out);        // OverflowError: int too large to convert to float
double int_frexp(const Value& a, int64_t& exponent);  // a = m * 2^exponent, 0.5 <= |m| < 1, rounded to even

// Digits in base 2..36, lower case, with a minus sign and a prefix behind it; and without both.
std::string int_text(const Value& a, int base = 10, std::string_view prefix = {});
std::string int_digits(const Value& a, int base);
// Magnitude from digits that are known to be valid in `base`.
Value int_from_digits(Session& s, std::string_view digits, int base, bool negative);

// Two's complement in `size` bytes, big-endian. False if it does not fit (no error set).
[[nodiscard]] bool int_to_bytes(const Value& a, size_t size, bool is_signed, std::string& out);
Value int_from_bytes(Session& s, std::string_view big_endian, bool is_signed);

void register_big_int_kind();

}  // namespace ouro::runtime
