#include "runtime/types/mp.h"

#include <utility>
#include <vector>

#include "runtime/object/interrupt.h"

namespace ouro::runtime {

namespace {

#define OURO_MP(expr) \
  if (mp_err e_ = (expr); e_ != MP_OKAY) return e_

constexpr int kLeaf = 4000;            // digits whose product takes milliseconds
constexpr int64_t kPairs = 1'000'000;  // digit by digit, in a step of division

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

// The exponent is taken in pieces, from the top: r = r^(2^k) * a^piece.
mp_err power_mod(const mp_int* a, const mp_int* e, const mp_int* m, mp_int* r) {
  const int64_t pairs = static_cast<int64_t>(m->used + 4) * (m->used + 4), bits = mp_count_bits(e);
  const int piece = static_cast<int>(std::clamp<int64_t>(4 * kPairs / pairs, 1, 1 << 20));
  if (bits <= piece) return mp_exptmod(a, e, m, r);
  Mp x, y, z, part, rest;
  if (!x.ok || !y.ok || !z.ok || !part.ok || !rest.ok) return MP_MEM;
  mp_set(x, 1);
  for (int64_t from = (bits - 1) / piece * piece; from >= 0; from -= piece) {
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

}  // namespace

// Euclid's algorithm as Lehmer does it (1938; Knuth 4.5.2 L; Collins' condition, as in CPython): as long as quotients
// follow from the leading 62 bits alone, the steps are gathered in a matrix of words, which is then applied at once.
mp_err greatest_divisor(const mp_int* a, const mp_int* b, mp_int* r) {
  const int size = std::max(a->used, b->used) + 1;
  Mp x(size), y(size), rest(size);
  if (!x.ok || !y.ok || !rest.ok) return MP_MEM;
  OURO_MP(mp_copy(a, x));
  OURO_MP(mp_copy(b, y));
  OURO_MP(mp_grow(x, size));
  OURO_MP(mp_grow(y, size));
  if (mp_cmp_mag(x, y) == MP_LT) mp_exch(x, y);
  std::vector<mp_digit> next_x(static_cast<size_t>(size)), next_y(next_x.size());
  while (y.v.used > 0) {
    poll_interrupt();
    const int shift = std::max(0, mp_count_bits(x) - 62);
    int64_t u = bits_at(x, shift), v = bits_at(y, shift), p = 1, q = 0, s = 0, t = 1;
    int steps = 0;
    for (; v != s; ++steps) {
      const int64_t quotient = (u + p - 1) / (v - s), next_s = q + quotient * t, next_v = u - quotient * v;
      if (next_s > next_v) break;
      u = std::exchange(v, next_v);
      const int64_t next_t = p + quotient * s;
      p = std::exchange(t, next_t);
      q = std::exchange(s, next_s);
    }
    if (steps == 0) {
      OURO_MP(divide(x, y, nullptr, rest));
      mp_exch(x, y);
      mp_exch(y, rest);
      OURO_MP(mp_grow(y, size));
      continue;
    }
    if (steps % 2) p = -std::exchange(q, -p), s = -std::exchange(t, -s);
    const int n = x.v.used;
    combine(x, p, y, q, next_x.data());
    combine(x, -s, y, -t, next_y.data());
    take_digits(x, next_x, n);
    take_digits(y, next_y, n);
  }
  mp_exch(x, r);
  return MP_OKAY;
}

// By pieces of the dividend, from the top, as with paper and pencil.
mp_err divide(const mp_int* a, const mp_int* b, mp_int* q, mp_int* r) {
  const int64_t steps = std::max(0, a->used - b->used);
  if (steps * b->used <= kPairs) return mp_div(a, b, q, r);
  const int piece = static_cast<int>(std::max<int64_t>(1, kPairs / b->used));
  const mp_int y = part_of(b, 0, b->used);
  const mp_sign sign = a->sign == b->sign ? MP_ZPOS : MP_NEG;
  Mp rest(b->used + piece + 2), x(b->used + piece + 2), part(piece + 3);
  if (!rest.ok || !x.ok || !part.ok) return MP_MEM;
  if (q) {
    OURO_MP(mp_grow(q, a->used + 1));
    mp_zero(q);
    std::fill(q->dp, q->dp + a->used, mp_digit{0});
  }
  for (int from = (a->used - 1) / piece * piece; from >= 0; from -= piece) {
    poll_interrupt();
    const mp_int next = part_of(a, from, piece);
    OURO_MP(mp_copy(rest, x));
    OURO_MP(mp_lshd(x, piece));
    OURO_MP(mp_add(x, &next, x));
    OURO_MP(mp_div(x, &y, part, rest));
    if (q) std::copy(part.v.dp, part.v.dp + part.v.used, q->dp + from);
  }
  if (q) {
    q->used = a->used;
    q->sign = sign;
    mp_clamp(q);
  }
  mp_exch(rest, r);
  r->sign = r->used ? a->sign : MP_ZPOS;
  return MP_OKAY;
}

}  // namespace ouro::runtime
