#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/session.h"
#include "runtime/object/type_slots.h"
#include "runtime/text/hash.h"
#include "runtime/types/big_int_parts.h"

namespace ouro::runtime {

Value int_of_digits(Mp& m) {
  mp_int& v = m.v;
  if (v.used <= 2) {
    unsigned __int128 u = v.used == 0 ? 0 : v.dp[0];
    if (v.used == 2) u |= static_cast<unsigned __int128>(v.dp[1]) << kDigitBits;
    if (v.sign == MP_NEG ? u <= uint64_t{1} << 63 : u < uint64_t{1} << 63) {
      auto w = static_cast<uint64_t>(u);
      return Value::integer(static_cast<int64_t>(v.sign == MP_NEG ? 0 - w : w));
    }
  }
  Value big = Value::steal(new_object<BigInt>(ObjectKind::big_int));
  if (Session* s = current_session()) s->memory.charge(digit_bytes(v));
  std::memcpy(static_cast<void*>(big.as<BigInt>()->mp), &v, sizeof v);
  v.dp = nullptr;
  return big;
}

namespace {

#define OURO_MP(expr) \
  if ((expr) != MP_OKAY) return raise_memory_error(s)

using U128 = unsigned __int128;

// What most ints are that are more than a word: a magnitude of up to 128 bits. They are calculated without libtommath.
struct Short {
  U128 magnitude = 0;
  bool negative = false;
};

bool is_short(const Value& v, Short& out) {
  if (is_word(v)) {
    out = {magnitude(word_of(v)), word_of(v) < 0};
    return true;
  }
  const mp_int& m = mp_of(v);
  if (m.used > 3 || (m.used == 3 && m.dp[2] >> (128 - 2 * kDigitBits))) return false;
  out = {m.dp[0], m.sign == MP_NEG};
  for (int i = 1; i < m.used; ++i) out.magnitude |= static_cast<U128>(m.dp[i]) << (i * kDigitBits);
  return true;
}

Value from_short(const Short& x) {
  if (x.magnitude <= static_cast<uint64_t>(INT64_MAX) + x.negative) {
    const auto m = static_cast<uint64_t>(x.magnitude);
    return Value::integer(static_cast<int64_t>(x.negative ? 0 - m : m));
  }
  constexpr int kDigits = 3;
  mp_int v{};
  v.dp = static_cast<mp_digit*>(std::malloc(kDigits * sizeof(mp_digit)));  // libtommath frees it
  if (!v.dp) throw std::bad_alloc();
  v.alloc = kDigits;
  v.sign = x.negative ? MP_NEG : MP_ZPOS;
  for (U128 u = x.magnitude; u; u >>= kDigitBits) v.dp[v.used++] = static_cast<mp_digit>(u & MP_MASK);
  Mp m(v);
  return int_of_digits(m);
}

Value from_i128(__int128 x) { return from_short({x < 0 ? 0 - static_cast<U128>(x) : static_cast<U128>(x), x < 0}); }

// False: it is more than 128 bits.
bool add_short(const Short& a, const Short& b, Short& out) {
  if (a.negative == b.negative) {
    out.negative = a.negative;
    return !__builtin_add_overflow(a.magnitude, b.magnitude, &out.magnitude);
  }
  const bool first = a.magnitude >= b.magnitude;
  out = {first ? a.magnitude - b.magnitude : b.magnitude - a.magnitude, first ? a.negative : b.negative};
  return true;
}

// Rounded to minus infinity; b is not 0.
std::pair<Short, Short> divide_short(const Short& a, const Short& b) {
  Short q{a.magnitude / b.magnitude, a.negative != b.negative}, r{a.magnitude % b.magnitude, b.negative};
  if (r.magnitude != 0 && q.negative) ++q.magnitude, r.magnitude = b.magnitude - r.magnitude;
  return {q, r};
}

// q * 2^shift, q with a sticky lowest bit meaning "and a little more", rounded to even; infinity if too large.
double scale_rounded(unsigned __int128 q, bool sticky, int64_t shift) {
  if (q == 0) return 0;
  auto high = static_cast<uint64_t>(q >> 64);
  int bits = high ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(q));
  int64_t e = bits + shift;  // the value is in [2^(e-1), 2^e)
  if (e > 1025) return HUGE_VAL;
  if (e < -1075) return 0;
  int64_t keep = std::min<int64_t>(53, e + 1074);
  if (keep < 0) return 0;
  int64_t drop = bits - keep;
  if (drop > 0) {
    unsigned __int128 rest = q & ((static_cast<unsigned __int128>(1) << drop) - 1);
    unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
    q >>= drop;
    shift += drop;
    if (rest > half || (rest == half && (sticky || (q & 1)))) ++q;
  }
  return std::ldexp(static_cast<double>(static_cast<uint64_t>(q)), static_cast<int>(shift));
}

// The top bits (at most 120 of them) of a magnitude, the exponent of the last of them, and whether anything below is
// set.
unsigned __int128 top_bits(const mp_int& v, int64_t& shift, bool& sticky) {
  int from = std::max(0, v.used - 2);
  unsigned __int128 q = 0;
  for (int i = v.used - 1; i >= from; --i) q = q << kDigitBits | v.dp[i];
  if (v.used > 2 && q >> 66 == 0) {  // a short first digit: take one more
    q = q << kDigitBits | v.dp[--from];
  }
  sticky = false;
  for (int i = 0; i < from && !sticky; ++i) sticky = v.dp[i] != 0;
  shift = static_cast<int64_t>(from) * kDigitBits;
  return q;
}

}  // namespace

Value int_from_u64(uint64_t u) { return from_i128(static_cast<__int128>(u)); }

Value int_add(Session& s, const Value& a, const Value& b) {
  if (Short x, y, r; is_short(a, x) && is_short(b, y) && add_short(x, y, r)) return from_short(r);
  IntDigits x(a), y(b);
  Mp r(std::max(x.v.used, y.v.used) + 1);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(mp_add(x, y, r));
  return int_of_digits(r);
}

Value int_sub(Session& s, const Value& a, const Value& b) {
  if (Short x, y, r; is_short(a, x) && is_short(b, y) && add_short(x, {y.magnitude, !y.negative}, r))
    return from_short(r);
  IntDigits x(a), y(b);
  Mp r(std::max(x.v.used, y.v.used) + 1);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(mp_sub(x, y, r));
  return int_of_digits(r);
}

Value int_mul(Session& s, const Value& a, const Value& b) {
  if (Short x, y; is_short(a, x) && is_short(b, y))
    if (U128 r; !__builtin_mul_overflow(x.magnitude, y.magnitude, &r)) return from_short({r, x.negative != y.negative});
  IntDigits x(a), y(b);
  Mp r(x.v.used + y.v.used + 1);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(multiply(x, y, r));
  return int_of_digits(r);
}

Value int_neg(Session& s, const Value& a) { return int_sub(s, Value::integer(0), a); }

Value int_abs(Session& s, const Value& a) {
  if (int_sign(a) < 0) return int_neg(s, a);
  return a.is_bool() ? Value::integer(word_of(a)) : a;
}

Value int_invert(Session& s, const Value& a) {
  if (is_word(a)) return Value::integer(~word_of(a));
  return int_sub(s, Value::integer(-1), a);
}

bool int_divmod(Session& s, const Value& a, const Value& b, Value* quotient, Value* remainder, const char* by_zero) {
  if (is_word(b) && word_of(b) == 0) {
    raise_text(s, ExcKind::ZeroDivisionError, by_zero);
    return false;
  }
  if (is_word(a) && is_word(b) && !(word_of(b) == -1)) {
    int64_t x = word_of(a), y = word_of(b), q = x / y, r = x % y;
    if (r != 0 && (r < 0) != (y < 0)) {
      --q;
      r += y;
    }
    if (quotient) *quotient = Value::integer(q);
    if (remainder) *remainder = Value::integer(r);
    return true;
  }
  if (Short m, n; is_short(a, m) && is_short(b, n)) {
    const auto [q, r] = divide_short(m, n);
    if (quotient) *quotient = from_short(q);
    if (remainder) *remainder = from_short(r);
    return true;
  }
  IntDigits x(a), y(b);
  Mp q(x.v.used + 2), r(y.v.used + 2);
  auto fail = [&] {
    raise_memory_error(s);
    return false;
  };
  if (!q.ok || !r.ok) return fail();
  if (divide(x, y, quotient ? static_cast<mp_int*>(q) : nullptr, r) != MP_OKAY) return fail();
  if (r.v.used != 0 && r.v.sign != y.v.sign) {
    if (mp_add(r, y, r) != MP_OKAY) return fail();
    if (quotient && mp_sub_d(q, 1, q) != MP_OKAY) return fail();
  }
  if (quotient) *quotient = int_of_digits(q);
  if (remainder) *remainder = int_of_digits(r);
  return true;
}

Value int_true_divide(Session& s, const Value& a, const Value& b) {
  if (is_word(b) && word_of(b) == 0) return raise_text(s, ExcKind::ZeroDivisionError, "division by zero");
  constexpr int64_t kExact = int64_t{1} << 53;
  if (is_word(a) && is_word(b) && word_of(a) <= kExact && word_of(a) >= -kExact && word_of(b) <= kExact &&
      word_of(b) >= -kExact)
    return Value::floating(static_cast<double>(word_of(a)) / static_cast<double>(word_of(b)));
  IntDigits x(a), y(b);
  if (x.v.used == 0) return Value::floating(y.v.sign == MP_NEG ? -0.0 : 0.0);
  int shift = y.bits() - x.bits() + 66;  // the quotient then has 66 or 67 bits
  Mp n(x.v.used + 3), d(y.v.used + 3), q(4), r(y.v.used + 3);
  if (!n.ok || !d.ok || !q.ok || !r.ok) return raise_memory_error(s);
  OURO_MP(mp_abs(x, n));
  OURO_MP(mp_abs(y, d));
  if (shift >= 0) {
    OURO_MP(mp_mul_2d(n, shift, n));
  } else {
    OURO_MP(mp_mul_2d(d, -shift, d));
  }
  OURO_MP(divide(n, d, q, r));
  unsigned __int128 bits = 0;
  for (int i = q.v.used - 1; i >= 0; --i) bits = bits << kDigitBits | q.v.dp[i];
  double result = scale_rounded(bits, r.v.used != 0, -static_cast<int64_t>(shift));
  if (std::isinf(result)) return raise_text(s, ExcKind::OverflowError, "integer division result too large for a float");
  return Value::floating(x.v.sign == y.v.sign ? result : -result);
}

Value int_pow(Session& s, const Value& a, const Value& b) {
  if (int_sign(b) < 0) {
    double x, y;
    if (!int_to_double(s, a, x) || !int_to_double(s, b, y)) return Value::error();
    if (x == 0) return raise_text(s, ExcKind::ZeroDivisionError, "0.0 cannot be raised to a negative power");
    return Value::floating(std::pow(x, y));
  }
  if (is_word(a) && (word_of(a) == 0 || word_of(a) == 1)) return Value::integer(int_sign(b) == 0 ? 1 : word_of(a));
  if (is_word(a) && word_of(a) == -1) return Value::integer((IntDigits(b).v.used && IntDigits(b).v.dp[0] & 1) ? -1 : 1);
  if (!is_word(b) || word_of(b) > INT32_MAX) return raise_memory_error(s);
  auto e = static_cast<uint32_t>(word_of(b));
  if (is_word(a)) {
    // In words as long as nothing overflows.
    int64_t base = word_of(a), result = 1;
    bool fits = true;
    for (uint32_t k = e; k;) {
      if ((k & 1) && __builtin_mul_overflow(result, base, &result)) {
        fits = false;
        break;
      }
      k >>= 1;
      if (k && __builtin_mul_overflow(base, base, &base)) {
        fits = false;
        break;
      }
    }
    if (fits) return Value::integer(result);
    uint64_t m = magnitude(word_of(a));
    if ((m & (m - 1)) == 0) {  // a power of two
      Value one = Value::integer(word_of(a) < 0 && (e & 1) ? -1 : 1);
      return int_shift_left(s, one, Value::integer(static_cast<int64_t>(e) * std::countr_zero(m)));
    }
  }
  IntDigits x(a);
  if (static_cast<double>(x.bits()) * e > 1.6e10) return raise_memory_error(s);
  require_memory(static_cast<size_t>(x.bits()) * e / 4);  // the result and its last square
  Mp r(2);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(power(x, e, r));
  return int_of_digits(r);
}

Value int_pow_mod(Session& s, const Value& a, const Value& b, const Value& m) {
  if (int_sign(m) == 0) return raise_text(s, ExcKind::ValueError, "pow() 3rd argument cannot be 0");
  Value base = a;
  Value modulus = int_abs(s, m);
  if (modulus.is_error()) return modulus;
  Value exponent = b;
  Value result;
  if (is_word(modulus) && word_of(modulus) == 1) return Value::integer(0);
  if (int_sign(b) < 0) {
    exponent = int_neg(s, b);
    Value reduced;
    if (!int_divmod(s, a, modulus, nullptr, &reduced, "")) return Value::error();
    IntDigits x(reduced), y(modulus);
    Mp inverse(y.v.used + 1), divisor;
    if (!inverse.ok || !divisor.ok) return raise_memory_error(s);
    OURO_MP(greatest_divisor(x, y, divisor, inverse));
    if (divisor.v.used != 1 || divisor.v.dp[0] != 1)
      return raise_text(s, ExcKind::ValueError, "base is not invertible for the given modulus");
    base = int_of_digits(inverse);
  }
  Value reduced;
  if (!int_divmod(s, base, modulus, nullptr, &reduced, "")) return Value::error();
  if (is_word(modulus) && is_word(exponent)) {
    auto p = static_cast<uint64_t>(word_of(modulus)), x = static_cast<uint64_t>(word_of(reduced)), r = uint64_t{1};
    for (auto e = static_cast<uint64_t>(word_of(exponent)); e; e >>= 1) {
      if (e & 1) r = static_cast<uint64_t>(static_cast<unsigned __int128>(r) * x % p);
      x = static_cast<uint64_t>(static_cast<unsigned __int128>(x) * x % p);
    }
    result = Value::integer(static_cast<int64_t>(r));
  } else {
    IntDigits x(reduced), e(exponent), p(modulus);
    Mp r(p.v.used + 1);
    if (!r.ok) return raise_memory_error(s);
    OURO_MP(power_mod(x, e, p, r));
    result = int_of_digits(r);
  }
  if (int_sign(m) < 0 && int_sign(result) != 0) return int_add(s, result, m);
  return result;
}

Value int_shift_left(Session& s, const Value& a, const Value& count) {
  if (int_sign(count) < 0) return raise_text(s, ExcKind::ValueError, "negative shift count");
  if (int_sign(a) == 0) return Value::integer(0);
  constexpr double kMostBits =
      30.0 * 2305843009213693945;  // of CPython: more of its digits are refused before memory is asked
  if (int_compare_double(count, kMostBits) > 0)
    return raise_text(s, ExcKind::OverflowError, "too many digits in integer");
  if (!is_word(count) || word_of(count) > INT32_MAX - 128) return raise_memory_error(s);
  int64_t n = word_of(count);
  if (Short x; n < 128 && is_short(a, x) && x.magnitude <= ~U128{0} >> n)
    return from_short({x.magnitude << n, x.negative});
  IntDigits x(a);
  Mp r(x.v.used + static_cast<int>(n / kDigitBits) + 2);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(mp_mul_2d(x, static_cast<int>(n), r));
  return int_of_digits(r);
}

Value int_shift_right(Session& s, const Value& a, const Value& count) {
  if (int_sign(count) < 0) return raise_text(s, ExcKind::ValueError, "negative shift count");
  if (!is_word(count) || word_of(count) > INT32_MAX) return Value::integer(int_sign(a) < 0 ? -1 : 0);
  int64_t n = word_of(count);
  if (is_word(a)) return Value::integer(word_of(a) >> std::min<int64_t>(n, 63));
  if (Short x; n < 128 && is_short(a, x) && !x.negative) return from_short({x.magnitude >> n, false});
  IntDigits x(a);
  Mp r(x.v.used + 1);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(mp_signed_rsh(x, static_cast<int>(n), r));
  return int_of_digits(r);
}

Value int_bits(Session& s, BitOp op, const Value& a, const Value& b) {
  if (is_word(a) && is_word(b)) {
    int64_t x = word_of(a), y = word_of(b);
    return Value::integer(op == BitOp::and_ ? x & y : op == BitOp::or_ ? x | y : x ^ y);
  }
  if (Short p, q; is_short(a, p) && is_short(b, q) && !p.negative && !q.negative) {
    const U128 x = p.magnitude, y = q.magnitude;
    return from_short({op == BitOp::and_ ? x & y : op == BitOp::or_ ? x | y : x ^ y, false});
  }
  IntDigits x(a), y(b);
  Mp r(std::max(x.v.used, y.v.used) + 2);
  if (!r.ok) return raise_memory_error(s);
  OURO_MP(op == BitOp::and_ ? mp_and(x, y, r) : op == BitOp::or_ ? mp_or(x, y, r) : mp_xor(x, y, r));
  return int_of_digits(r);
}

Value int_gcd(Session& s, const Value& a, const Value& b) {
  Value x = int_abs(s, a), y = int_abs(s, b);
  if (x.is_error() || y.is_error()) return Value::error();
  if (!is_word(x) && !is_word(y)) {
    IntDigits v(x), w(y);
    Mp r;
    if (!r.ok) return raise_memory_error(s);
    OURO_MP(greatest_divisor(v, w, r));
    return int_of_digits(r);
  }
  if (!is_word(x) || !is_word(y)) {
    if (!is_word(y)) std::swap(x, y);
    if (int_sign(y) == 0) return x;
    Value r;
    if (!int_divmod(s, x, y, nullptr, &r, "")) return Value::error();
    x = std::exchange(y, std::move(r));
  }
  uint64_t p = magnitude(word_of(x)), q = magnitude(word_of(y));
  while (q) {
    uint64_t r = p % q;
    p = q;
    q = r;
  }
  return int_from_u64(p);
}

Value int_isqrt(Session& s, const Value& a) {
  if (is_word(a)) {
    auto n = static_cast<uint64_t>(word_of(a));
    auto r = static_cast<uint64_t>(std::sqrt(static_cast<double>(n)));
    while (r * r > n) --r;
    while ((r + 1) * (r + 1) <= n) ++r;
    return Value::integer(static_cast<int64_t>(r));
  }
  // Newton's steps, each at twice the precision of the one before (Dickinson 2019, CPython's math.isqrt): before each,
  // r is within 1 of the root of a's leading bits.
  const auto c = static_cast<int64_t>((int_bit_length(a) - 1) / 2);
  Value r = Value::integer(1);
  int64_t d = 0;
  for (int k = std::bit_width(static_cast<uint64_t>(c)) - 1; k >= 0; --k) {
    const int64_t e = std::exchange(d, c >> k);
    Value high = int_shift_left(s, r, Value::integer(d - e - 1));
    Value low = int_shift_right(s, a, Value::integer(2 * c - e - d + 1)), q;
    if (high.is_error() || low.is_error() || !int_divmod(s, low, r, &q, nullptr, "")) return Value::error();
    r = int_add(s, high, q);
    if (r.is_error()) return r;
  }
  Value square = int_mul(s, r, r);
  if (square.is_error() || int_compare(square, a) <= 0) return square.is_error() ? square : r;
  return int_sub(s, r, Value::integer(1));
}

int int_compare(const Value& a, const Value& b) {
  if (is_word(a) && is_word(b)) return word_of(a) < word_of(b) ? -1 : word_of(a) > word_of(b);
  IntDigits x(a), y(b);
  return mp_cmp(x, y);
}

int int_compare_double(const Value& a, double b) {
  if (std::isinf(b)) return b > 0 ? -1 : 1;
  if (is_word(a)) {
    int64_t i = word_of(a);
    if (b >= 9223372036854775808.0) return -1;
    if (b < -9223372036854775808.0) return 1;
    auto t = static_cast<int64_t>(b);
    if (i != t) return i < t ? -1 : 1;
    double fraction = b - static_cast<double>(t);
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0;
  }
  IntDigits x(a);
  int sign = x.v.sign == MP_NEG ? -1 : 1;
  if (std::fabs(b) < 9223372036854775808.0) return sign;
  if ((b < 0) != (sign < 0)) return sign;
  int e;
  double m = std::frexp(std::fabs(b), &e);
  if (x.bits() != e) return x.bits() < e ? -sign : sign;
  // Same length: compare the magnitude with the 53 bits, shifted up.
  auto bits = static_cast<uint64_t>(std::ldexp(m, 53));
  int64_t shift;
  bool sticky;
  unsigned __int128 top = top_bits(x.v, shift, sticky);
  auto high = static_cast<uint64_t>(top >> 64);
  int width = high ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(top));
  unsigned __int128 other = static_cast<unsigned __int128>(bits) << (width - 53);
  if (top != other) return top < other ? -sign : sign;
  return sticky ? sign : 0;
}

int int_sign(const Value& a) {
  if (is_word(a)) return word_of(a) < 0 ? -1 : word_of(a) > 0;
  return mp_of(a).sign == MP_NEG ? -1 : 1;
}

int64_t int_hash(const Value& a) {
  if (is_word(a)) return text::hash_int(word_of(a));
  const mp_int& v = mp_of(a);
  uint64_t h = 0;
  for (int i = v.used - 1; i >= 0; --i) {
    h = ((h << 60) & text::kHashModulus) | h >> 1;
    h += v.dp[i];
    if (h >= text::kHashModulus) h -= text::kHashModulus;
  }
  auto r = static_cast<int64_t>(h);
  if (v.sign == MP_NEG) r = -r;
  return r == -1 ? -2 : r;
}

size_t int_bit_length(const Value& a) {
  if (is_word(a)) return static_cast<size_t>(std::bit_width(magnitude(word_of(a))));
  return static_cast<size_t>(IntDigits(a).bits());
}

size_t int_bit_count(const Value& a) {
  IntDigits x(a);
  size_t n = 0;
  for (int i = 0; i < x.v.used; ++i) n += static_cast<size_t>(std::popcount(static_cast<uint64_t>(x.v.dp[i])));
  return n;
}

size_t int_byte_size(const Value& a) { return 24 + 4 * std::max<size_t>(1, (int_bit_length(a) + 29) / 30); }

Value int_from_double(Session& s, double d) {
  d = std::trunc(d);
  if (d >= -9223372036854775808.0 && d < 9223372036854775808.0) return Value::integer(static_cast<int64_t>(d));
  int e;
  double m = std::frexp(d, &e);
  return int_shift_left(s, Value::integer(static_cast<int64_t>(std::ldexp(m, 53))), Value::integer(e - 53));
}

bool int_to_double(Session& s, const Value& a, double& out) {
  if (is_word(a)) {
    out = static_cast<double>(word_of(a));
    return true;
  }
  const mp_int& v = mp_of(a);
  int64_t shift;
  bool sticky;
  unsigned __int128 q = top_bits(v, shift, sticky);
  out = scale_rounded(q, sticky, shift);
  if (std::isinf(out)) {
    raise_text(s, ExcKind::OverflowError, "int too large to convert to float");
    return false;
  }
  if (v.sign == MP_NEG) out = -out;
  return true;
}

double int_frexp(const Value& a, int64_t& exponent) {
  IntDigits x(a);
  if (x.v.used == 0) {
    exponent = 0;
    return 0;
  }
  int64_t shift;
  bool sticky;
  unsigned __int128 q = top_bits(x.v, shift, sticky);
  double m = scale_rounded(q, sticky, 0);
  int e;
  m = std::frexp(m, &e);
  exponent = e + shift;
  return x.v.sign == MP_NEG ? -m : m;
}

void register_big_int_kind() {
  KindOps ops;
  ops.destroy = [](Object* o) {
    mp_int& v = *reinterpret_cast<mp_int*>(static_cast<BigInt*>(o)->mp);
    if (Session* s = current_session()) s->memory.release(digit_bytes(v));
    mp_clear(&v);
    destroy_object<BigInt>(o);
  };
  register_kind(ObjectKind::big_int, ops);
}

}  // namespace ouro::runtime
