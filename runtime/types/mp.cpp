#include "runtime/types/mp.h"

#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/object/interrupt.h"

namespace ouro::runtime {

namespace {

#define OURO_MP(expr) \
  if (mp_err e_ = (expr); e_ != MP_OKAY) return e_

constexpr int kLeaf = 4000;            // digits whose product takes milliseconds
constexpr int64_t kPairs = 1'000'000;  // of digits, between two looks for an interrupt
constexpr int kFewDigits = 60;         // of a modulus that the library's powers are fast for
constexpr int kManyDigits = 20'000;    // that a number is not kept many times

// The digits [from, from + n) of a, borrowed.
mp_int part_of(const mp_int* a, int from, int n) {
  mp_int p{};
  p.dp = a->dp + from;
  p.used = std::clamp(a->used - from, 0, n);
  while (p.used && p.dp[p.used - 1] == 0) --p.used;
  p.alloc = p.used;
  p.sign = MP_ZPOS;
  return p;
}

mp_err product(const mp_int* a, const mp_int* b, mp_int* r) {
  poll_interrupt();
  return a->dp == b->dp && a->used == b->used ? mp_sqr(a, r) : mp_mul(a, b, r);
}

// r += x * B^shift, for x, r >= 0.
mp_err add_shifted(mp_int* r, mp_int* x, int shift) {
  OURO_MP(mp_lshd(x, shift));
  return mp_add(r, x, r);
}

// The product of magnitudes, by Karatsuba and Ofman (1962) where both are large, by pieces where one is.
mp_err multiply_magnitudes(const mp_int* a, const mp_int* b, mp_int* r) {
  if (a->used < b->used) std::swap(a, b);
  if (a->used == 0 || b->used == 0) {
    mp_zero(r);
    return MP_OKAY;
  }
  if (a->used <= kLeaf) return product(a, b, r);
  if (b->used * 2 <= a->used) {
    mp_zero(r);
    const int n = std::max(b->used, kLeaf);
    for (int from = 0; from < a->used; from += n) {
      const mp_int piece = part_of(a, from, n);
      Mp x(piece.used + b->used + from + 1);
      if (!x.ok) return MP_MEM;
      OURO_MP(multiply_magnitudes(&piece, b, x));
      OURO_MP(add_shifted(r, x, from));
    }
    return MP_OKAY;
  }
  const int half = (a->used + 1) / 2;
  const bool square = a->dp == b->dp && a->used == b->used;
  const mp_int a0 = part_of(a, 0, half), a1 = part_of(a, half, a->used);
  const mp_int b0 = square ? a0 : part_of(b, 0, half), b1 = square ? a1 : part_of(b, half, b->used);
  Mp low(2 * half + 1), high(2 * half + 2), middle(3 * half + 4), x(half + 2), y(half + 2);
  if (!low.ok || !high.ok || !middle.ok || !x.ok || !y.ok) return MP_MEM;
  OURO_MP(multiply_magnitudes(&a0, &b0, low));
  OURO_MP(multiply_magnitudes(&a1, &b1, high));
  OURO_MP(mp_add(&a0, &a1, x));
  if (square) {
    OURO_MP(multiply_magnitudes(x, x, middle));
  } else {
    OURO_MP(mp_add(&b0, &b1, y));
    OURO_MP(multiply_magnitudes(x, y, middle));
  }
  OURO_MP(mp_sub(middle, low, middle));
  OURO_MP(mp_sub(middle, high, middle));
  OURO_MP(mp_copy(low, r));
  OURO_MP(add_shifted(r, middle, half));
  return add_shifted(r, high, 2 * half);
}

}  // namespace

mp_err multiply(const mp_int* a, const mp_int* b, mp_int* r) {
  if (std::max(a->used, b->used) <= kLeaf) return a->dp == b->dp && a->used == b->used ? mp_sqr(a, r) : mp_mul(a, b, r);
  const mp_sign sign = a->sign == b->sign ? MP_ZPOS : MP_NEG;
  const mp_int x = part_of(a, 0, a->used), y = part_of(b, 0, b->used);
  OURO_MP(multiply_magnitudes(&x, &y, r));
  r->sign = r->used ? sign : MP_ZPOS;
  return MP_OKAY;
}

mp_err power(const mp_int* a, uint32_t e, mp_int* r) {
  if (static_cast<int64_t>(a->used) * e <= kLeaf) return mp_expt_u32(a, e, r);
  Mp x, square;
  if (!x.ok || !square.ok) return MP_MEM;
  mp_set(x, 1);
  for (int bit = 31 - __builtin_clz(e); bit >= 0; --bit) {
    OURO_MP(multiply(x, x, square));
    if (e >> bit & 1) {
      OURO_MP(multiply(square, a, x));
    } else {
      mp_exch(square, x);
    }
  }
  mp_exch(x, r);
  return MP_OKAY;
}

namespace {

// The digits at x, n of them, divided by one digit in place; what is left. `high` is left from digits above.
mp_digit divide_piece(mp_digit* x, int n, mp_digit by, mp_digit high) {
  for (int i = n - 1; i >= 0; --i) {
#if defined(__x86_64__)
    uint64_t q;
    asm("divq %4"
        : "=a"(q), "=d"(high)
        : "a"(high << MP_DIGIT_BIT | x[i]), "d"(high >> (64 - MP_DIGIT_BIT)), "r"(by)
        : "cc");
    x[i] = q;
#else
    const auto w = static_cast<unsigned __int128>(high) << MP_DIGIT_BIT | x[i];
    x[i] = static_cast<mp_digit>(w / by);
    high = static_cast<mp_digit>(w % by);
#endif
  }
  return high;
}

// u -= q * v for n digits of v and the n + 1 of u above them; whether it got below zero, and B^(n+1) was added.
bool subtract_product(mp_digit* u, const mp_digit* v, int n, mp_digit q) {
  unsigned __int128 carry = 0;
  mp_digit borrow = 0;
  for (int i = 0; i < n; ++i) {
    carry += static_cast<unsigned __int128>(q) * v[i];
    const mp_digit d = u[i] - (static_cast<mp_digit>(carry) & MP_MASK) - borrow;
    u[i] = d & MP_MASK;
    borrow = d >> 63;
    carry >>= MP_DIGIT_BIT;
  }
  const mp_digit d = u[n] - static_cast<mp_digit>(carry) - borrow;
  u[n] = d & MP_MASK;
  return d >> 63;
}
void add_back(mp_digit* u, const mp_digit* v, int n) {
  mp_digit carry = 0;
  for (int i = 0; i < n; ++i) {
    carry += u[i] + v[i];
    u[i] = carry & MP_MASK;
    carry >>= MP_DIGIT_BIT;
  }
  u[n] = (u[n] + carry) & MP_MASK;
}

// A digit of the quotient, at most one too large: of the three leading digits of what is left and the two of the
// divisor.
mp_digit quotient_digit(const mp_digit* u, const mp_digit* v) {
  const auto top = static_cast<unsigned __int128>(u[0]) << MP_DIGIT_BIT | u[-1];
  unsigned __int128 q = top / v[0], rest = top - q * v[0];
  while (q > MP_MASK || q * v[-1] > (rest << MP_DIGIT_BIT | u[-2])) {
    --q;
    rest += v[0];
    if (rest > MP_MASK) break;
  }
  return static_cast<mp_digit>(q);
}

}  // namespace

mp_digit divide_by_digit(mp_digit* x, int n, mp_digit by) {
  constexpr int kPiece = 1 << 18;
  mp_digit rest = 0;
  for (int end = n; end > 0; end -= kPiece) {
    if (end < n) poll_interrupt();
    const int from = std::max(0, end - kPiece);
    rest = divide_piece(x + from, end - from, by, rest);
  }
  return rest;
}

// As with paper and pencil (Knuth 4.3.1 D).
mp_err divide(const mp_int* a, const mp_int* b, mp_int* q, mp_int* r) {
  const mp_sign sign = a->sign == b->sign ? MP_ZPOS : MP_NEG, sign_of_rest = a->sign;
  const int n = b->used, steps = a->used - n;
  if (steps < 0) {
    if (q) mp_zero(q);
    return mp_copy(a, r);
  }
  const int shift = std::countl_zero(b->dp[n - 1]) - (64 - MP_DIGIT_BIT);  // so that the divisor's first bit is set
  Mp u(a->used + 2), v(n + 1);
  if (!u.ok || !v.ok) return MP_MEM;
  OURO_MP(mp_mul_2d(a, shift, u));
  OURO_MP(mp_mul_2d(b, shift, v));
  std::fill(u.v.dp + u.v.used, u.v.dp + u.v.alloc, mp_digit{0});
  mp_digit *rest = u.v.dp, *by = v.v.dp;
  if (q) {
    OURO_MP(mp_grow(q, steps + 1));
    mp_zero(q);
  }
  if (n == 1) {
    const mp_digit left = divide_by_digit(rest, a->used + 1, by[0]);
    if (q) std::copy_n(rest, steps + 1, q->dp);
    rest[0] = left;
  } else {
    int64_t done = 0;
    for (int at = steps; at >= 0; --at) {
      if ((done += n) > kPairs) {
        done = 0;
        poll_interrupt();
      }
      mp_digit digit = quotient_digit(rest + at + n, by + n - 1);
      if (digit && subtract_product(rest + at, by, n, digit)) {
        --digit;
        add_back(rest + at, by, n);
      }
      if (q) q->dp[at] = digit;
    }
  }
  if (q) {
    q->used = steps + 1;
    q->sign = sign;
    mp_clamp(q);
  }
  u.v.used = n;
  u.v.sign = MP_ZPOS;
  mp_clamp(u);
  OURO_MP(mp_div_2d(u, shift, r, nullptr));
  r->sign = r->used ? sign_of_rest : MP_ZPOS;
  return MP_OKAY;
}

namespace {

bool bit_of(const mp_int* a, int64_t i) {
  const int64_t digit = i / MP_DIGIT_BIT;
  return digit < a->used && a->dp[digit] >> (i % MP_DIGIT_BIT) & 1;
}

// By the library, a piece of the exponent at a time, from the top: r = r^(2^k) * a^piece.
mp_err power_mod_in_pieces(const mp_int* a, const mp_int* e, const mp_int* m, int piece, mp_int* r) {
  Mp x, y, z, part, rest;
  if (!x.ok || !y.ok || !z.ok || !part.ok || !rest.ok) return MP_MEM;
  mp_set(x, 1);
  for (int64_t from = (mp_count_bits(e) - 1) / piece * piece; from >= 0; from -= piece) {
    poll_interrupt();
    OURO_MP(mp_div_2d(e, static_cast<int>(from), rest, nullptr));
    OURO_MP(mp_mod_2d(rest, piece, part));
    OURO_MP(mp_exptmod(a, part, m, y));
    mp_set(part, 1);
    OURO_MP(mp_mul_2d(part, piece, part));
    OURO_MP(mp_exptmod(x, part, m, z));
    poll_interrupt();
    OURO_MP(mp_mulmod(y, z, m, x));
  }
  mp_exch(x, r);
  return MP_OKAY;
}

}  // namespace

// By windows of the exponent's bits, from the top.
mp_err power_mod(const mp_int* a, const mp_int* e, const mp_int* m, mp_int* r) {
  const int64_t pairs = static_cast<int64_t>(m->used + 4) * (m->used + 4), bits = mp_count_bits(e);
  if (bits * pairs <= 4 * kPairs) return mp_exptmod(a, e, m, r);
  if (m->used <= kFewDigits) return power_mod_in_pieces(a, e, m, static_cast<int>(4 * kPairs / pairs), r);
  const int width = m->used > kManyDigits ? 1 : 4;  // of a window: a table of a^0 ... is kept
  std::vector<std::unique_ptr<Mp>> table;
  Mp x, y, q;
  if (!x.ok || !y.ok || !q.ok) return MP_MEM;
  auto times = [&](const mp_int* by) -> mp_err {  // x = x * by mod m
    poll_interrupt();
    OURO_MP(multiply(x, by, y));
    return divide(y, m, nullptr, x);
  };
  mp_set(x, 1);
  for (int k = 0; k < 1 << width; ++k) {
    table.push_back(std::make_unique<Mp>(m->used + 1));
    if (!table.back()->ok) return MP_MEM;
    OURO_MP(mp_copy(x, *table.back()));
    OURO_MP(times(a));
  }
  mp_set(x, 1);
  for (int64_t from = (bits - 1) / width * width; from >= 0; from -= width) {
    for (int k = 0; k < width; ++k) OURO_MP(times(x));
    unsigned window = 0;
    for (int k = 0; k < width; ++k) window |= static_cast<unsigned>(bit_of(e, from + k)) << k;
    if (window) OURO_MP(times(*table[window]));
  }
  mp_exch(x, r);
  return MP_OKAY;
}

namespace {

// The number's bits [shift, shift + 62), of a >= 0.
int64_t bits_at(const mp_int* a, int shift) {
  unsigned __int128 w = 0;
  int i = shift / MP_DIGIT_BIT;
  for (int at = -(shift % MP_DIGIT_BIT); at < 62 && i < a->used; at += MP_DIGIT_BIT, ++i) {
    const auto digit = static_cast<unsigned __int128>(a->dp[i]);
    w |= at < 0 ? digit >> -at : digit << at;
  }
  return static_cast<int64_t>(w & ((uint64_t{1} << 62) - 1));
}

// out = p a - q b, which is not negative and no longer than a. May be a or b.
void combine(const mp_int* a, int64_t p, const mp_int* b, int64_t q, mp_digit* out) {
  __int128 carry = 0;
  for (int i = 0; i < a->used; ++i) {
    carry += static_cast<__int128>(p) * static_cast<__int128>(a->dp[i]);
    if (i < b->used) carry -= static_cast<__int128>(q) * static_cast<__int128>(b->dp[i]);
    out[i] = static_cast<mp_digit>(carry) & MP_MASK;
    carry >>= MP_DIGIT_BIT;
  }
}

void take_digits(mp_int* x, const std::vector<mp_digit>& digits, int n) {
  std::copy_n(digits.begin(), n, x->dp);
  x->used = n;
  mp_clamp(x);
}

// Of the matrix of some steps of Euclid's algorithm: what stands in a number's place, from 62 leading bits of both.
struct Steps {
  int64_t p = 1, q = 0, s = 0, t = 1;
  int count = 0;

  // As long as quotients follow from the leading bits alone (Collins' condition, as in CPython).
  Steps(int64_t u, int64_t v) {
    for (; v != s; ++count) {
      const int64_t quotient = (u + p - 1) / (v - s), next_s = q + quotient * t, next_v = u - quotient * v;
      if (next_s > next_v) break;
      u = std::exchange(v, next_v);
      const int64_t next_t = p + quotient * s;
      p = std::exchange(t, next_t);
      q = std::exchange(s, next_s);
    }
    if (count % 2) p = -std::exchange(q, -p), s = -std::exchange(t, -s);
  }
};

// The multiples of a that are x and y modulo b, for x and y of Euclid's algorithm: their signs alternate from step to
// step.
struct Multiples {
  Mp x, y;
  bool odd = false;  // an odd number of steps was done
  std::vector<mp_digit> next_x, next_y;

  explicit Multiples(int digits) : x(digits), y(digits), next_x(static_cast<size_t>(digits)), next_y(next_x) {
    if (x.ok && y.ok) mp_set(y, 1);
  }
  bool ok() const { return x.ok && y.ok; }

  mp_err divided(const mp_int* quotient) {
    Mp product(quotient->used + y.v.used + 1);
    if (!product.ok) return MP_MEM;
    OURO_MP(multiply(quotient, y, product));
    OURO_MP(mp_add(x, product, x));
    mp_exch(x, y);
    odd = !odd;
    return MP_OKAY;
  }
  mp_err stepped(const Steps& m) {
    const int n = std::max(x.v.used, y.v.used) + 2;
    OURO_MP(mp_grow(x, n));
    OURO_MP(mp_grow(y, n));
    if (static_cast<size_t>(n) > next_x.size())
      next_x.resize(static_cast<size_t>(n)), next_y.resize(static_cast<size_t>(n));
    add_multiples(std::abs(m.p), std::abs(m.q), n, next_x.data());
    add_multiples(std::abs(m.s), std::abs(m.t), n, next_y.data());
    take_digits(x, next_x, n);
    take_digits(y, next_y, n);
    odd ^= m.count % 2;
    return MP_OKAY;
  }
  // That of x, between 0 and b.
  mp_err of_x(const mp_int* b, mp_int* r) {
    OURO_MP(divide(x, b, nullptr, r));
    return !odd && r->used ? mp_sub(b, r, r) : MP_OKAY;
  }

 private:
  void add_multiples(int64_t p, int64_t q, int n, mp_digit* out) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < n; ++i) {
      if (i < x.v.used) carry += static_cast<unsigned __int128>(p) * x.v.dp[i];
      if (i < y.v.used) carry += static_cast<unsigned __int128>(q) * y.v.dp[i];
      out[i] = static_cast<mp_digit>(carry) & MP_MASK;
      carry >>= MP_DIGIT_BIT;
    }
  }
};

}  // namespace

// Euclid's algorithm as Lehmer does it (1938; Knuth 4.5.2 L): steps that follow from the leading bits are gathered in a
// matrix of words, which is then applied at once.
mp_err greatest_divisor(const mp_int* a, const mp_int* b, mp_int* r, mp_int* inverse) {
  const int size = std::max(a->used, b->used) + 1;
  Mp x(size), y(size), rest(size), quotient;
  Multiples of_a(inverse ? b->used + 3 : 2);
  if (!x.ok || !y.ok || !rest.ok || !quotient.ok || !of_a.ok()) return MP_MEM;
  OURO_MP(mp_copy(b, x));
  OURO_MP(mp_copy(a, y));
  OURO_MP(mp_grow(x, size));
  OURO_MP(mp_grow(y, size));
  if (!inverse && mp_cmp_mag(x, y) == MP_LT) mp_exch(x, y);
  std::vector<mp_digit> next_x(static_cast<size_t>(size)), next_y(next_x.size());
  while (y.v.used > 0) {
    poll_interrupt();
    const int shift = std::max(0, mp_count_bits(x) - 62);
    const Steps steps(bits_at(x, shift), bits_at(y, shift));
    if (steps.count == 0) {
      OURO_MP(divide(x, y, inverse ? static_cast<mp_int*>(quotient) : nullptr, rest));
      mp_exch(x, y);
      mp_exch(y, rest);
      OURO_MP(mp_grow(y, size));
      if (inverse) OURO_MP(of_a.divided(quotient));
      continue;
    }
    const int n = x.v.used;
    combine(x, steps.p, y, steps.q, next_x.data());
    combine(x, -steps.s, y, -steps.t, next_y.data());
    take_digits(x, next_x, n);
    take_digits(y, next_y, n);
    if (inverse) OURO_MP(of_a.stepped(steps));
  }
  mp_exch(x, r);
  return inverse ? of_a.of_x(b, inverse) : MP_OKAY;
}

}  // namespace ouro::runtime
