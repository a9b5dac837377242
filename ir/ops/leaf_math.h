// The leaf functions (exp, log, sin, tanh, erf, pow, ...) as fixed sequences over the basic leaves, written once for
// every engine: eager blocks, the loop evaluator, LLVM code, text for devices. Same sequence, same bits
// (docs/design/rules.md E24). Denormals, infinities, NaN and signed zeros are as C's Annex F; nothing is flushed. Error
// bounds are in leaf.h, tests in tests/unit/tensor/leaf_math_test.cpp.
//
// A builder (leaf_num.h) says what the basic leaves are.
//
// Methods: argument reduction and polynomials as in Muller, "Elementary Functions", 3rd ed.; polynomials are Chebyshev
// interpolants on the reduced interval, computed with 60 digits (tools/fit_leaf_math.py). Fused multiply-adds
// are written as such (fma); a * b + c is two roundings everywhere. A processor without them calls the C library's.
#pragma once

#include "ir/ops/leaf_num.h"

namespace ouro::ir::leaf_math {
inline constexpr double kInf = __builtin_inf(), kNan = __builtin_nan("");
inline constexpr double kPi = 3.14159265358979323846, kLn2 = 0.693147180559945309417;

// c[0] + x c[1] + ... by Horner's rule.
template <class X, int N>
X poly(X x, const double (&c)[N]) {
  X r = fma(x, c[N - 1], c[N - 2]);
  for (int i = N - 3; i >= 0; --i) r = fma(r, x, c[i]);
  return r;
}

// Magnitude of a with the sign of s.
template <class B>
F32<B> with_sign(F32<B> a, F32<B> s) {
  I32<B> i = bits(a);
  return from_bits((i & lit(i, 0x7fffffff)) | (bits(s) & lit(i, INT32_MIN)));
}
template <class B>
F64<B> with_sign(F64<B> a, F64<B> s) {
  I64<B> i = bits(a);
  return from_bits((i & lit(i, INT64_MAX)) | (bits(s) & lit(i, INT64_MIN)));
}

// ---------------------------------------------------------------- scaling by powers of two

// An integer-valued double of |n| < 2^51 as an integer: n + 1.5 * 2^52 has n in its low bits.
template <class B>
I64<B> to_int(F64<B> n) {
  F64<B> t = n + 6755399441055744.0;
  return bits(t) - lit(bits(t), 0x4338000000000000);
}
// x * 2^n in two exact steps and one rounding, so that denormal results are rounded once.
template <class B>
F64<B> scale(F64<B> x, I64<B> n) {
  I64<B> h = shr(n, 1), l = n - h;
  F64<B> a = from_bits(shl(h + lit(h, 1023), 52)), c = from_bits(shl(l + lit(l, 1023), 52));
  return x * a * c;
}
template <class B, Kind K>
Num<B, K> clamp(Num<B, K> x, double lo, double hi) {  // keeps NaN
  x = sel(x < lo, lo, x);
  return sel(x > hi, hi, x);
}

// ---------------------------------------------------------------- exponentials

inline constexpr double kExp64[] = {0.5,          1. / 6,        1. / 24,        1. / 120,
                                    1. / 720,     1. / 5040,     1. / 40320,     1. / 362880,
                                    1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800.};
inline constexpr double kExp32[] = {0.5, 0.16666576846, 0.0416665544377, 0.00836320297158, 0.00139262134663};

// The f32 ones are the inner loops of most models, so they are written for few instructions and a short chain.
//
// n = round(x f), |x f| < 2^21, in the low bits of t = x f + magic: a left shift of t's bits makes an exponent of them,
// so neither a rounding nor a conversion is needed. `bias` is added to n there.
template <class B>
struct Rounded {
  F32<B> n;
  I32<B> low;  // n + bias in the low 22 bits
};
template <class B>
Rounded<B> round_low(F32<B> x, double f, int bias) {
  F32<B> t = fma(x, f, 12582912.0 + bias);
  return {t - (12582912.0 + bias), bits(t)};
}
template <class B>
F32<B> power_of_two(I32<B> low) {  // from its exponent with the bias of floats
  return from_bits(shl(low, 23));
}
template <class B>
F32<B> minus_ln2(F32<B> x, F32<B> n) {  // x - n ln2: the first difference is exact
  return fma(n, -0x1.7f7d1cp-20, fma(n, -0x1.62e4p-1, x));
}
// first + r^2 p(r): e^r - 1 for |r| <= ln2 / 2, first = r and kExp32; by Estrin's scheme.
template <class B>
F32<B> exp_reduced(F32<B> r, F32<B> first, const double (&c)[5]) {
  F32<B> z = r * r, low = fma(r, c[1], c[0]), high = fma(z, c[4], fma(r, c[3], c[2]));
  return fma(z, fma(z, high, low), first);
}
template <class B>
F32<B> exp_reduced(F32<B> r) {
  return exp_reduced(r, r, kExp32);
}
// (1 + q) 2^n for low = n + 254, -150 <= n <= 129: in two steps, so that denormal results are rounded once.
template <class B>
F32<B> scale_low(F32<B> q, I32<B> low) {
  I32<B> h = shr(low, 1);
  F32<B> s = power_of_two(h);
  return fma(q, s, s) * power_of_two(low - h);
}

// x = n ln2 + r, |r| <= ln2/2.
template <class B>
F32<B> exp(F32<B> x) {
  x = clamp(x, -104, 89);
  auto [n, low] = round_low(x, 1.4426950408889634, 254);
  return scale_low(exp_reduced(minus_ln2(x, n)), low);
}
template <class B>
F64<B> exp(F64<B> x) {
  x = clamp(x, -746, 710);
  F64<B> n = fround(x * 1.4426950408889634);
  F64<B> hi = fma(n, -0x1.62e42feep-1, x), lo = n * 0x1.a39ef35793c76p-33, r = hi - lo;
  return scale(1 + (hi + fma(r * r, poly(r, kExp64), -lo)), to_int(n));
}
// 2^x = 2^n e^((x - n) ln2)
template <class B>
F32<B> exp2(F32<B> x) {
  x = clamp(x, -151, 129);
  auto [n, low] = round_low(x, 1, 254);
  return scale_low(exp_reduced((x - n) * kLn2), low);
}
template <class B>
F64<B> exp2(F64<B> x) {
  x = clamp(x, -1076, 1025);
  F64<B> n = fround(x), r = (x - n) * kLn2;
  return scale(1 + fma(r * r, poly(r, kExp64), r), to_int(n));
}
// 1 / (1 + e^-x) with both terms of the sum times 2^-24, so that e^-x may be as large as the smallest result asks for
// and is scaled in one step, by adding to its exponent. -x = n ln2 - r; e^-r = 1 - r (1 - r p(r)) by Horner's rule,
// which takes the fewest instructions.
inline constexpr double kSigmoid32[] = {kExp32[0], -kExp32[1], kExp32[2], -kExp32[3], kExp32[4]};
template <class B>
F32<B> sigmoid(F32<B> x) {
  x = clamp(x, -104.5, 20);
  auto [n, low] = round_low(x, -1.4426950408889634, -24);
  F32<B> r = fma(n, 0x1.7f7d1cp-20, fma(n, 0x1.62e4p-1, x)), e = fma(r, fma(r, poly(r, kSigmoid32), -1), 1);
  return 0x1p-24 / (from_bits(bits(e) + shl(low, 23)) + 0x1p-24);
}
template <class B>
F64<B> sigmoid(F64<B> x) {
  F64<B> e = exp(-fabs(x));
  return sel(x < 0, e, 1) / (1 + e);
}
// 2^n (p + (1 - 2^-n)) with p = e^r - 1; for n = 0 that is p itself, so small arguments keep their accuracy.
template <class B>
F32<B> expm1(F32<B> x0) {
  F32<B> x = clamp(x0, -20, 89);
  auto [n, low] = round_low(x, 1.4426950408889634, 254);
  F32<B> p = exp_reduced(minus_ln2(x, n));
  F32<B> one = sel(n > 126, 0x1p-126, power_of_two(lit(low, 127 + 254) - low));
  I32<B> h = shr(low, 1);
  F32<B> y = (p + (1 - one)) * power_of_two(h) * power_of_two(low - h);
  return sel(fabs(x0) < 0x1p-24, x0, y);
}
template <class B>
F64<B> expm1(F64<B> x0) {
  F64<B> x = clamp(x0, -40, 710);
  F64<B> n = fround(x * 1.4426950408889634);
  F64<B> hi = fma(n, -0x1.62e42feep-1, x), lo = n * 0x1.a39ef35793c76p-33, r = hi - lo;
  F64<B> p = hi + fma(r * r, poly(r, kExp64), -lo);
  F64<B> one = from_bits(shl(lit(bits(x), 1023) - to_int(sel(n > 1022, 1022, n)), 52));
  return sel(fabs(x0) < 0x1p-53, x0, scale(p + (1 - one), to_int(n)));
}

// ---------------------------------------------------------------- logarithms

inline constexpr double kLog64[] = {0.66666666666666698066, 0.39999999999896070498, 0.28571428627528795607,
                                    0.22222210881932927138, 0.18182907497671217826, 0.1533111258796016759,
                                    0.14623956608211878749};
inline constexpr double kLog32[] = {0.66666666552, 0.40000123906, 0.28550587038, 0.23336811005};

// x = 2^k m with m in [sqrt(1/2), sqrt(2)); positive finite x, denormals too.
template <class B>
struct Split32 {
  F32<B> k, m;
};
template <class B>
struct Split64 {
  F64<B> k, m;
};
template <class B>
Split32<B> split(F32<B> x) {
  Mask<B> tiny = x < 0x1p-126;
  F32<B> y = sel(tiny, x * 0x1p23, x);
  I32<B> i = bits(y), e = shr(i - lit(i, 0x3f3504f3), 23);
  F32<B> k{x.b, x.b->to_f32(e.v)};
  return {sel(tiny, k - 23, k), from_bits(i - shl(e, 23))};
}
template <class B>
Split64<B> split(F64<B> x) {
  Mask<B> tiny = x < 0x1p-1022;
  F64<B> y = sel(tiny, x * 0x1p54, x);
  I64<B> i = bits(y), e = shr(i - lit(i, 0x3fe6a09e667f3bcd), 52);
  F64<B> k = from_bits(e + lit(e, 0x4338000000000000)) - 6755399441055744.0;
  return {sel(tiny, k - 54, k), from_bits(i - shl(e, 52))};
}
// The special values of every logarithm.
template <class B, Kind K>
Num<B, K> log_edges(Num<B, K> x, Num<B, K> y, double pole) {
  y = sel(x == pole, -kInf, y);
  y = sel(x < pole, kNan, y);
  return sel(x == kInf, x, sel(x != x, x, y));
}
// log m = f - (f^2/2 - s (f^2/2 + R)), s = f / (2 + f), R = s^2 P(s^2); f = m - 1 may carry a correction c to its true
// value.
template <class B, Kind K>
Num<B, K> log_core(Num<B, K> k, Num<B, K> f, Num<B, K> c) {
  Num<B, K> s = f / (2 + f), z = s * s, h = f * f * 0.5;
  if constexpr (K == Kind::f32) {
    Num<B, K> r = fma(z, poly(z, kLog32), h);
    return fma(k, 0x1.62e4p-1, f - (h - fma(s, r, fma(k, 0x1.7f7d1cp-20, c))));
  } else {
    Num<B, K> r = fma(z, poly(z, kLog64), h);
    return fma(k, 0x1.62e42feep-1, f - (h - fma(s, r, fma(k, 0x1.a39ef35793c76p-33, c))));
  }
}
template <class B, Kind K>
Num<B, K> log(Num<B, K> x) {
  auto [k, m] = split(x);
  return log_edges(x, log_core(k, m - 1, constant<B, K>(x.b, 0)), 0);
}
template <class B, Kind K>
Num<B, K> log1p(Num<B, K> x) {
  Num<B, K> u = 1 + x, zero = constant<B, K>(x.b, 0);
  auto [k, m] = split(u);
  // What rounding 1 + x lost, relative to u.
  Num<B, K> lost = sel(k >= 2, 1 - (u - x), x - (u - 1)) / u;
  Mask<B> near = (x > -0.29) & (x < 0.41);
  Num<B, K> y = log_core(sel(near, zero, k), sel(near, x, m - 1), sel(near, zero, lost));
  y = log_edges(x, y, -1);
  return sel(fabs(x) < (K == Kind::f32 ? 0x1p-25 : 0x1p-54), x, y);
}

// ---------------------------------------------------------------- double-double, for pow and the other logarithms

template <class B>
struct Pair {
  F64<B> hi, lo;
};
template <class B>
Pair<B> two_sum(F64<B> a, F64<B> b) {
  F64<B> s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
template <class B>
Pair<B> fast_two_sum(F64<B> a, F64<B> b) {  // |a| >= |b|
  F64<B> s = a + b;
  return {s, b - (s - a)};
}
template <class B>
Pair<B> two_product(F64<B> a, F64<B> b) {  // p far from underflow
  F64<B> p = a * b;
  return {p, fma(a, b, -p)};
}
template <class B>
Pair<B> times(Pair<B> a, Pair<B> b) {
  Pair<B> p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, fma(a.hi, b.lo, fma(a.lo, b.hi, p.lo)));
}

inline constexpr double kLogTail[] = {0.40000000000000028124, 0.28571428571335484471, 0.22222222272468968246,
                                      0.1818180802508037732,  0.15385590959578390835, 0.13285421679017204423,
                                      0.12920221324272918207};
// log x to about 2^-68 relative: 2 s + 2/3 s^3 + s^5 P(s^2) with the first two terms in double-double. Positive finite
// x.
template <class B>
Pair<B> log_pair(F64<B> x) {
  auto [k, m] = split(x);
  F64<B> f = m - 1;  // exact
  auto [d, dl] = two_sum(m, constant<B, Kind::f64>(x.b, 1));
  F64<B> s = f / d;
  F64<B> sl = fma(-s, dl, fma(-s, d, f)) / d;  // s + sl = f / (m + 1); the inner difference is exact
  Pair<B> S{s, sl}, z = times(S, S), s3 = times(S, z);
  Pair<B> third = times(s3, Pair<B>{constant<B, Kind::f64>(x.b, 0x1.5555555555555p-1),
                                    constant<B, Kind::f64>(x.b, 0x1.5555555555555p-55)});
  F64<B> tail = s3.hi * z.hi * poly(z.hi, kLogTail);
  Pair<B> a = fast_two_sum(2 * s, third.hi);
  F64<B> low = a.lo + (2 * sl + third.lo + tail);
  // k ln2 in three pieces: the first product is exact
  F64<B> kh = k * 0x1.62e42feep-1;
  Pair<B> kl = two_product(k, constant<B, Kind::f64>(x.b, 0x1.a39ef35793c76p-33));
  Pair<B> t = two_sum(kh, a.hi), u = two_sum(t.hi, kl.hi);
  return fast_two_sum(u.hi, u.lo + (t.lo + (low + fma(k, 0x1.cc01f97b57a08p-87, kl.lo))));
}
template <class B>
F64<B> log2(F64<B> x) {
  auto [k, m] = split(x);
  Pair<B> l = log_pair(m);
  Pair<B> y = times(l, Pair<B>{constant<B, Kind::f64>(x.b, 0x1.71547652b82fep+0),
                               constant<B, Kind::f64>(x.b, 0x1.777d0ffda0d24p-56)});
  Pair<B> t = two_sum(k, y.hi);
  return log_edges(x, t.hi + (t.lo + y.lo), 0);
}
template <class B>
F64<B> log10(F64<B> x) {
  Pair<B> y = times(log_pair(x), Pair<B>{constant<B, Kind::f64>(x.b, 0x1.bcb7b1526e50ep-2),
                                         constant<B, Kind::f64>(x.b, 0x1.95355baaafad3p-57)});
  return log_edges(x, y.hi + y.lo, 0);
}

// ---------------------------------------------------------------- pow

template <class B>
F64<B> pow_edges(F64<B> x, F64<B> y, F64<B> r) {
  F64<B> h = y * 0.5, zero = constant<B, Kind::f64>(x.b, 0);
  Mask<B> whole = ffloor(y) == y, odd = whole & (ffloor(h) != h) & (fabs(y) < 0x1p53);
  F64<B> a = fabs(x);
  r = sel(a == 0, sel(y > 0, zero, kInf), r);
  r = sel(a == kInf, sel(y > 0, kInf, zero), r);
  r = sel(fabs(y) == kInf, sel(a == 1, 1, sel((a > 1) & (y > 0), kInf, sel((a < 1) & (y < 0), kInf, zero))), r);
  Mask<B> negative = bits(x) < lit(bits(x), 0);
  r = sel(negative & odd, -r, r);
  r = sel((x < 0) & !whole & (a != kInf), kNan, r);
  r = sel((x != x) | (y != y), x + y, r);
  return sel((x == 1) | (y == 0), 1, r);
}
template <class B>
F64<B> pow(F64<B> x, F64<B> y) {
  F64<B> a = fabs(x);
  // |y| beyond 2^64 decides like 2^64; keeps the product finite
  F64<B> e = clamp(y, -0x1p64, 0x1p64);
  Pair<B> l = log_pair(a), p = two_product(e, l.hi);
  F64<B> lo = fma(e, l.lo, p.lo);
  // e^(hi + lo) = e^hi (1 + lo), |lo| tiny; the product is what exp must not round again, so lo goes inside.
  F64<B> t = clamp(p.hi, -746, 710);
  F64<B> n = fround(t * 1.4426950408889634);
  F64<B> h = fma(n, -0x1.62e42feep-1, t), c = fma(n, 0x1.a39ef35793c76p-33, -sel(t == p.hi, lo, 0)), r = h - c;
  F64<B> v = scale(1 + (h + fma(r * r, poly(r, kExp64), -c)), to_int(n));
  return pow_edges(x, y, v);
}
template <class B>
F32<B> pow(F32<B> x, F32<B> y) {
  F64<B> a = widen(x), e = widen(y);
  return narrow(pow_edges(a, e, exp(e * log(fabs(a)))));
}

// ---------------------------------------------------------------- sine, cosine, tangent

inline constexpr double kSin64[] = {-1. / 6,        1. / 120,         -1. / 5040,           1. / 362880,
                                    -1. / 39916800, 1. / 6227020800., -1. / 1307674368000., 1. / 355687428096000.};
inline constexpr double kCos64[] = {1. / 24,        -1. / 720,          1. / 40320,           -1. / 3628800,
                                    1. / 479001600, -1. / 87178291200., 1. / 20922789888000., -1. / 6402373705728000.};
inline constexpr double kSin32[] = {-0.16666666663852564375, 0.0083333318736505759368, -0.00019840086163020331395,
                                    2.7249851596168044259e-6};
inline constexpr double kCos32[] = {0.041666666664318929164, -0.0013888887671132451043, 0.000024800599899457503869,
                                    -2.7300897268581585458e-7};
// pi/2 in pieces of 23 bits: n times a piece is exact for n < 2^30.
inline constexpr double kHalfPi1 = 0x1.921fb4p+0, kHalfPi2 = 0x1.4442d0p-24, kHalfPi3 = 0x1.8469898cc5170p-48;

template <class B>
struct Reduced {
  F64<B> r, lo;
  I64<B> quadrant;
};
template <class B>
Reduced<B> reduce_half_pi(F64<B> x) {
  F64<B> n = fround(x * 0.63661977236758134308);
  F64<B> a = fma(n, -kHalfPi2, fma(n, -kHalfPi1, x));  // exact for |n| < 2^30
  Pair<B> w = two_product(n, constant<B, Kind::f64>(x.b, kHalfPi3));
  Pair<B> t = two_sum(a, -w.hi);
  F64<B> tail = t.lo - fma(n, 0x1.b839a252049c1p-104, w.lo);
  F64<B> r = t.hi + tail;
  F64<B> lo = (t.hi - r) + tail;
  Mask<B> fits = fabs(x) <= 0x1p30;
  return {clamp(r, -0.8, 0.8), sel(fits, lo, 0), to_int(sel(fits, n, 0))};
}
template <class B>
F64<B> sin_poly(F64<B> r, F64<B> lo) {
  F64<B> z = r * r;
  return r + fma(z * r, poly(z, kSin64), lo * fma(z, -0.5, 1));
}
template <class B>
F64<B> cos_poly(F64<B> r, F64<B> lo) {
  F64<B> z = r * r, h = 0.5 * z, w = 1 - h;
  return w + (((1 - w) - h) + fma(z * z, poly(z, kCos64), -(r * lo)));
}
template <class B>
Mask<B> has_bit(I64<B> i, int64_t bit) {
  return (i & lit(i, bit)) != lit(i, 0);
}

template <class B>
F64<B> sin(F64<B> x) {
  Reduced<B> q = reduce_half_pi(x);
  F64<B> y = sel(has_bit(q.quadrant, 1), cos_poly(q.r, q.lo), sin_poly(q.r, q.lo));
  return sel(fabs(x) < 0x1p-27, x, sel(has_bit(q.quadrant, 2), -y, y));
}
template <class B>
F64<B> cos(F64<B> x) {
  Reduced<B> q = reduce_half_pi(x);
  F64<B> y = sel(has_bit(q.quadrant, 1), sin_poly(q.r, q.lo), cos_poly(q.r, q.lo));
  return sel(has_bit(q.quadrant + lit(q.quadrant, 1), 2), -y, y);
}
template <class B>
F64<B> tan(F64<B> x) {
  Reduced<B> q = reduce_half_pi(x);
  F64<B> s = sin_poly(q.r, q.lo), c = cos_poly(q.r, q.lo);
  Mask<B> odd = has_bit(q.quadrant, 1);
  return sel(fabs(x) < 0x1p-27, x, sel(odd, -c, s) / sel(odd, s, c));
}
template <class B>
struct SinCos {
  F64<B> s, c;
  I64<B> quadrant;
};
template <class B>
SinCos<B> sin_cos_f32(F64<B> x) {
  F64<B> n = fround(x * 0.63661977236758134308);
  F64<B> r = clamp(fma(n, -kHalfPi3, fma(n, -kHalfPi2, fma(n, -kHalfPi1, x))), -0.8, 0.8), z = r * r;
  return {fma(z * r, poly(z, kSin32), r), fma(z * z, poly(z, kCos32), fma(z, -0.5, 1)),
          to_int(sel(fabs(x) <= 0x1p30, n, 0))};
}
template <class B>
F32<B> sin(F32<B> x) {
  SinCos<B> t = sin_cos_f32(widen(x));
  F64<B> y = sel(has_bit(t.quadrant, 1), t.c, t.s);
  F32<B> r = narrow(sel(has_bit(t.quadrant, 2), -y, y));
  return sel(x == 0, x, r);
}
template <class B>
F32<B> cos(F32<B> x) {
  SinCos<B> t = sin_cos_f32(widen(x));
  F64<B> y = sel(has_bit(t.quadrant, 1), t.s, t.c);
  return narrow(sel(has_bit(t.quadrant + lit(t.quadrant, 1), 2), -y, y));
}
template <class B>
F32<B> tan(F32<B> x) {
  SinCos<B> t = sin_cos_f32(widen(x));
  Mask<B> odd = has_bit(t.quadrant, 1);
  return sel(x == 0, x, narrow(sel(odd, -t.c, t.s) / sel(odd, t.s, t.c)));
}

// ---------------------------------------------------------------- inverse trigonometric

inline constexpr double kAtan[] = {-0.33333333333333330155,  0.19999999999995514143,   -0.14285714284665179609,
                                   0.11111111015146714628,   -0.090909045736690599627, 0.076921830873420259463,
                                   -0.066645099898180444678, 0.05858136251906146279,   -0.050853834888428314054,
                                   0.039229744536612230905,  -0.01917454357202133235};
inline constexpr double kAsin[] = {0.16666666666666667827,   0.074999999999984329332, 0.044642857146355429783,
                                   0.030381944138531247287,  0.022372172942149887875, 0.017352392720869972942,
                                   0.013971212973552933304,  0.011479177415184905896, 0.010322814350185779287,
                                   0.0054575067186403583004, 0.017400879442694022443, -0.014851887071247203224,
                                   0.028757851367421564708};
inline constexpr double kHalfPi = 1.57079632679489655800, kHalfPiLow = 6.123233995736766e-17;

// atan(n / d) for 0 <= n <= d: above tan(pi/8) by atan q = pi/4 + atan((q - 1) / (q + 1)).
template <class B>
Pair<B> atan_ratio(F64<B> n, F64<B> d) {
  Mask<B> steep = n > d * 0.41421356237309503;
  F64<B> t = sel(steep, (n - d) / (n + d), n / d), z = t * t;
  F64<B> p = t * z * poly(z, kAtan);
  return {sel(steep, 0.78539816339744827900, t), sel(steep, t + (p + 3.061616997868383e-17), p)};
}
template <class B>
F64<B> atan(F64<B> x) {
  F64<B> a = fabs(x);
  Mask<B> big = a > 1;
  F64<B> top = sel(a > 0x1p60, 0x1p60, a), one = constant<B, Kind::f64>(x.b, 1);
  Pair<B> q = atan_ratio(sel(big, one, top), sel(big, top, one));
  F64<B> y = sel(big, (kHalfPi - q.hi) + (kHalfPiLow - q.lo), q.hi + q.lo);
  return sel(x != x, x, sel(a < 0x1p-27, x, with_sign(y, x)));
}
// sqrt((1 - a) / 2) for a in [1/2, 1], then asin a = pi/2 - 2 asin of it.
template <class B>
F64<B> asin_small(F64<B> t, F64<B> z) {
  return fma(t * z, poly(z, kAsin), t);
}
template <class B>
F64<B> asin(F64<B> x) {
  F64<B> a = fabs(x), h = (1 - a) * 0.5, s = fsqrt(h);
  F64<B> y = sel(a < 0.5, asin_small(a, a * a), kHalfPi - (2 * asin_small(s, h) - kHalfPiLow));
  return sel(a < 0x1p-27, x, with_sign(sel(a > 1, kNan, y), x));
}
template <class B>
F64<B> acos(F64<B> x) {
  F64<B> a = fabs(x), h = (1 - a) * 0.5, s = fsqrt(h), tail = 2 * asin_small(s, h);
  F64<B> mid = kHalfPi - (asin_small(x, x * x) - kHalfPiLow);
  F64<B> y = sel(a < 0.5, mid, sel(x > 0, tail, (2 * kHalfPi - tail) + 2 * kHalfPiLow));
  return sel(a > 1, kNan, y);
}
template <class B>
F64<B> atan2(F64<B> y, F64<B> x) {
  F64<B> ay = fabs(y), ax = fabs(x);
  Mask<B> both = (ay == kInf) & (ax == kInf);
  ay = sel(both, 1, ay), ax = sel(both, 1, ax);
  Mask<B> steep = ay > ax;
  F64<B> n = sel(steep, ax, ay), d = sel(steep, ay, ax);
  Mask<B> tiny = d < 0x1p-500;  // keeps the ratio out of the denormals
  n = sel(tiny, n * 0x1p500, n), d = sel(tiny, d * 0x1p500, d);
  n = sel(d == kInf, 0, sel(d > 0x1p1000, n * 0x1p-100, n)),
  d = sel(d == 0, 1, sel(d == kInf, 1, sel(d > 0x1p1000, d * 0x1p-100, d)));
  Pair<B> q = atan_ratio(n, d);
  F64<B> a = sel(steep, (kHalfPi - q.hi) + (kHalfPiLow - q.lo), q.hi + q.lo);
  F64<B> r = sel(bits(x) < lit(bits(x), 0), (2 * kHalfPi - a) + 2 * kHalfPiLow, a);
  return sel((x != x) | (y != y), x + y, with_sign(r, y));
}

// ---------------------------------------------------------------- hyperbolic

template <class B>
F64<B> sinh(F64<B> x) {
  F64<B> a = fabs(x), t = expm1(a);
  F64<B> big = exp(a * 0.5);
  F64<B> y = sel(a > 700, (0.5 * big) * big, 0.5 * (t + t / (t + 1)));
  return sel(x != x, x, sel(a < 0x1p-28, x, with_sign(y, x)));
}
template <class B>
F64<B> cosh(F64<B> x) {
  F64<B> a = fabs(x), e = exp(a), big = exp(a * 0.5);
  return sel(a > 700, (0.5 * big) * big, 0.5 * e + 0.5 / e);
}
template <class B>
F64<B> tanh(F64<B> x) {
  F64<B> a = fabs(x), t = expm1(2 * sel(a > 22, 22, a));
  F64<B> y = sel(a < 1, t / (t + 2), 1 - 2 / (t + 2));
  return sel(x != x, x, sel(a < 0x1p-28, x, with_sign(y, x)));
}
// t / (1 - t) with t = (1 - e^-2x) / 2 = 2^n p - (2^n - 1) / 2, p = (1 - e^-2r) / 2, 2x = m ln2 + 2r, n = -m: where n
// is 0, t is p, so small arguments keep their accuracy, denormal ones too; and -0 its sign, as nothing positive is
// added.
inline constexpr double kTanh32[] = {-2 * kExp32[0], 4 * kExp32[1], -8 * kExp32[2], 16 * kExp32[3], -32 * kExp32[4]};
template <class B>
F32<B> tanh(F32<B> x) {
  x = clamp(x, -10, 10);
  F32<B> t0 = fma(x, -2.8853900817779268, 12582912.0 + 127), m = (12582912.0 + 127) - t0;
  F32<B> r = fma(m, -0x1.62e43p-2, x), s = power_of_two(bits(t0));  // |m| <= 29: one piece of ln2 / 2 is enough
  F32<B> t = fma(exp_reduced(r, r, kTanh32), s, -fma(s, 0.5, -0.5));
  return t / (1 - t);
}
template <class B>
F64<B> asinh(F64<B> x) {
  F64<B> a = fabs(x), q = a * a;
  F64<B> y = sel(a > 0x1p28, log(a) + kLn2, log1p(a + q / (1 + fsqrt(q + 1))));
  return sel(x != x, x, sel(a < 0x1p-28, x, with_sign(y, x)));
}
template <class B>
F64<B> acosh(F64<B> x) {
  F64<B> t = x - 1;
  F64<B> y = sel(x > 0x1p28, log(x) + kLn2, log1p(t + fsqrt(2 * t + t * t)));
  return sel(x < 1, kNan, y);
}
template <class B>
F64<B> atanh(F64<B> x) {
  F64<B> a = fabs(x);
  F64<B> y = 0.5 * log1p(sel(a < 0.5, 2 * a + 2 * a * a / (1 - a), 2 * a / (1 - a)));
  y = sel(a == 1, kInf, sel(a > 1, kNan, y));
  return sel(x != x, x, sel(a < 0x1p-28, x, with_sign(y, x)));
}

// ---------------------------------------------------------------- error function

inline constexpr double kErf64[] = {1.1283791670955125739,     -0.37612638903183752379,     0.11283791670955120236,
                                    -0.026866170645129840806,  0.0052239776254232983087,    -0.00085483270219348295955,
                                    0.0001205533290288873541,  -0.000014925647567519332125, 1.6462045441468418937e-6,
                                    -1.6364642158167615302e-7, 1.4792401209404813002e-8,    -1.2164560057283450081e-9,
                                    8.7090451290531066896e-11, -4.2309458242953378173e-12};
inline constexpr double kErfcx[] = {
    1.2375126308378275819,      -0.14024059858554701283,    0.0035854154854636593663,    0.082276738490150167285,
    -0.10880393014170635556,    0.092304321160237309114,    -0.058693398590545667336,    0.02836227742070009027,
    -0.0097465795481622963976,  0.0017556258418799953324,   0.00029371360428269435464,   -0.00029015404622812349329,
    0.000051649327115663384347, 0.000022384216283498639189, -0.000011444642657338936614, -9.7375751627229842517e-7,
    1.7521493143336468452e-6,   -5.6488825451285328026e-8,  -2.585038376269371297e-7,    2.2092545188283267843e-8,
    3.7585560549873873875e-8,   -2.8002565655169310946e-9,  -4.0218123180555768447e-9};
// erfc(a) = exp(-a^2) q(t) / (1 + 2a), t = (a - 3.75) / (a + 3.75), a >= 1/2 (Shepherd and Laframboise 1981).
template <class B>
F64<B> erfc_tail(F64<B> a) {
  a = sel(a > 28, 28, a);
  F64<B> q = poly((a - 3.75) / (a + 3.75), kErfcx) / fma(a, 2, 1);
  auto [h, l] = two_product(a, a);  // e^-(h + l) = e^-h (1 - l), |l| < 2^-43
  F64<B> e = exp(-h);
  return fma(-l, e, e) * q;
}
template <class B>
F64<B> erf(F64<B> x) {
  F64<B> a = fabs(x), small = x * poly(x * x, kErf64);
  F64<B> big = with_sign(1 - erfc_tail(sel(a < 0.5, 0.5, a)), x);
  return sel(a < 1, small, sel(x != x, x, big));
}
template <class B>
F64<B> erfc(F64<B> x) {
  F64<B> a = fabs(x), t = erfc_tail(sel(a < 0.5, 0.5, a));
  F64<B> far = sel(x > 0, t, 2 - t), near = fma(-x, poly(x * x, kErf64), 1);
  return sel(x != x, x, sel(a < 0.5, near, far));
}
inline constexpr double kErf32[] = {0.1283791666,    -0.37612633334,    0.11283688725,  -0.026858997424,
                                    0.0051999892546, -0.00081304446702, 8.3168797177e-5};
inline constexpr double kErfLog32[] = {-0.00032044153128, 0.13023761637,   0.63181451666,
                                       0.11009448083,     -0.026431017603, 0.0047635752491,
                                       -0.00059774347196, 4.617791279e-5,  -1.6435696536e-6};
template <class B>
F32<B> erf(F32<B> x) {
  F32<B> a = fabs(x), t = sel(a > 4, 4, a);
  F32<B> small = fma(x, poly(x * x, kErf32), x);
  F32<B> big = with_sign(1 - exp(-(t + poly(t, kErfLog32))), x);  // erfc(t) = exp(-(t + p(t)))
  return sel(a < 0.925, small, sel(x != x, x, big));
}

// Giles' single-precision start (2010), then two Newton steps in f64 on erf, or on erfc where that keeps accuracy.
inline constexpr double kErfinvLow[] = {1.50140941,      0.246640727,    -0.00417768164, -0.00125372503, 0.00021858087,
                                        -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
inline constexpr double kErfinvHigh[] = {2.83297682,     1.00167406,    0.00943887047,  -0.0076224613,  0.00573950773,
                                         -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};
template <class B>
F64<B> erfinv(F64<B> x) {
  F64<B> a = fabs(x), w = -log((1 - a) * (1 + a));
  F64<B> far = -log(1 - a), start = fsqrt(far - 0.5 * log(far * kPi));  // from erfc(y) ~ exp(-y^2) / (y sqrt(pi))
  F64<B> y = a * sel(w < 5, poly(w - 2.5, kErfinvLow), sel(w < 14, poly(fsqrt(w) - 3, kErfinvHigh), start));
  for (int i = 0; i < 2; ++i) {
    F64<B> miss = sel(a < 0.5, erf(y) - a, (1 - a) - erfc(y));
    F64<B> u = miss * exp(y * y) * 0.88622692545275801365;
    y = y - u / (1 + y * u);  // Halley: f''/f' = -2y
  }
  y = sel(a == 1, kInf, sel(a > 1, kNan, y));
  return sel(a < 0x1p-28, x * 0.88622692545275801365, with_sign(y, x));
}

// ---------------------------------------------------------------- gamma

inline constexpr double kLgamma[] = {
    0.48312895054098088995,     -0.1459598959143060826,      0.06291140107456439203,     -0.031308487501010647937,
    0.016797098631274160293,    -0.0094256224485257977967,   0.0054464578391260646433,   -0.0032120740737152811673,
    0.001922916312790516038,    -0.0011644145847310124176,   0.00071151906751529593439,  -0.00043799307479613916213,
    0.0002713137386144692758,   -0.00016891782155248981555,  0.00010535512483785591662,  -0.000066141360223464143082,
    0.000043027681497650298193, -0.000027201673025504751982, 0.000013186019073996833906, -8.3550758697952728235e-6,
    0.000012140008083973406845, -7.7606601525134468118e-6};
inline constexpr double kStirling[] = {1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                                       1. / 1188, -691. / 360360, 1. / 156,  -3617. / 122400};
inline constexpr double kDigamma[] = {1. / 12,  -1. / 120,     1. / 252, -1. / 240,
                                      1. / 132, -691. / 32760, 1. / 12,  -3617. / 8160};

// For x > 0: below 8 brought into [1, 2) by the recurrence, where log gamma(w) = (w - 1)(w - 2) p(w); above by
// Stirling's series.
template <class B>
F64<B> lgamma_positive(F64<B> x) {
  Mask<B> big = x >= 8;
  F64<B> w = sel(big, 1.5, x), product = constant<B, Kind::f64>(x.b, 1);
  Mask<B> below = w < 1;
  F64<B> small = sel(below, w, 1);
  w = sel(below, w + 1, w);
  for (int i = 0; i < 6; ++i) {
    Mask<B> above = w >= 2;
    F64<B> v = w - 1;
    product = sel(above, product * v, product);
    w = sel(above, v, w);
  }
  F64<B> base = (w - 1) * (w - 2) * poly(w - 1.5, kLgamma);
  F64<B> near = base + (log(product) - log(small));
  F64<B> s = sel(big, x, 8), r = 1 / s;
  F64<B> far = (s - 0.5) * (log(s) - 1) +  // (log(2 pi) - 1) / 2
               (0.41893853320467274178 + r * poly(r * r, kStirling));
  return sel(big, sel(x > 1e300, sel(x == kInf, x, x * (log(x) - 1)), far), near);
}
template <class B>
F64<B> lgamma(F64<B> x) {
  Mask<B> reflect = x < 0;
  F64<B> a = fabs(x), y = lgamma_positive(sel(reflect, 1 + a, sel(a == 0, 1, a)));
  // |gamma(-a)| = pi / (|sin(pi a)| a gamma(a)), a gamma(a) = gamma(1 + a)
  F64<B> s = fabs(sin((a - fround(a)) * kPi));
  F64<B> r = sel(reflect, sel(a < 1e-20, -log(a), 1.14472988584940017414 - log(s) - y), y);
  r = sel(reflect & (ffloor(x) == x), kInf, r);
  r = sel((a == 0) | (a == kInf), kInf, r);
  return sel(x != x, x, r);
}
template <class B>
F64<B> digamma(F64<B> x) {
  Mask<B> reflect = x < 0;
  F64<B> u = sel(reflect, 1 - x, x), sum = constant<B, Kind::f64>(x.b, 0);
  for (int i = 0; i < 8; ++i) {
    Mask<B> low = u < 8;
    sum = sel(low, sum + 1 / u, sum);
    u = sel(low, u + 1, u);
  }
  F64<B> r = 1 / u, z = r * r;
  F64<B> y = (log(u) - 0.5 * r - z * poly(z, kDigamma)) - sum;
  F64<B> frac = x - fround(x);
  y = sel(reflect, y - kPi / tan(frac * kPi), y);
  y = sel(reflect & (ffloor(x) == x), kNan, y);
  y = sel(x == 0, sel(bits(x) < lit(bits(x), 0), kInf, constant<B, Kind::f64>(x.b, -kInf)), y);
  return sel(x == kInf, x, y);
}

// ---------------------------------------------------------------- remainder

// a - trunc(a / b) b. Each round takes off a multiple q b, q of at most 26 bits, which leaves what a double can hold,
// so that the fused difference is exact; two rounds serve |a / b| < 2^52. The upper 26 bits of a.
template <class B>
F64<B> upper(F64<B> a) {
  return from_bits(bits(a) & lit(bits(a), static_cast<int64_t>(0xfffffffff8000000ull)));
}
template <class B>
F64<B> fmod(F64<B> a, F64<B> b) {
  F64<B> x = fabs(a), y = fabs(b);
  F64<B> r = x;
  for (int i = 0; i < 2; ++i) {
    F64<B> q = i == 0 ? upper(ftrunc(r / y * 0x1p-26) * 0x1p26) : ftrunc(r / y);
    r = fma(-q, y, r);
    r = sel(r < 0, i == 0 ? fma(y, 0x1p26, r) : r + y, r);
  }
  r = sel(r >= y, r - y, r);
  r = sel(r < 0, r + y, r);
  r = sel(x < y, x, r);
  r = sel((y == 0) | (x == kInf) | (a != a) | (b != b), kNan, r);
  return with_sign(r, a);
}

// ---------------------------------------------------------------- f32 by way of f64

#define OURO_VIA_F64(fn)         \
  template <class B>             \
  F32<B> fn(F32<B> x) {          \
    return narrow(fn(widen(x))); \
  }
// clang-format off
OURO_VIA_F64(log2)
OURO_VIA_F64(log10)
OURO_VIA_F64(asin)
OURO_VIA_F64(acos)
OURO_VIA_F64(atan) OURO_VIA_F64(sinh) OURO_VIA_F64(cosh) OURO_VIA_F64(asinh) OURO_VIA_F64(acosh) OURO_VIA_F64(atanh)
OURO_VIA_F64(erfc) OURO_VIA_F64(erfinv) OURO_VIA_F64(lgamma) OURO_VIA_F64(digamma)
// clang-format on
#undef OURO_VIA_F64
        template <class B>
        F32<B> atan2(F32<B> y, F32<B> x) {
  return narrow(atan2(widen(y), widen(x)));
}
template <class B>
F32<B> fmod(F32<B> a, F32<B> b) {
  return narrow(fmod(widen(a), widen(b)));
}

}  // namespace ouro::ir::leaf_math

// Calls fn on values of the builder: OURO_LEAF_MATH(exp, b, Kind::f32, x) is e^x.
#define OURO_LEAF_MATH1(fn, builder, K, x)                                                        \
  ::ouro::ir::leaf_math::fn(                                                                      \
      ::ouro::ir::leaf_math::Num<std::remove_reference_t<decltype(builder)>, K>{&(builder), (x)}) \
      .v
#define OURO_LEAF_MATH2(fn, builder, K, x, y)                                                     \
  ::ouro::ir::leaf_math::fn(                                                                      \
      ::ouro::ir::leaf_math::Num<std::remove_reference_t<decltype(builder)>, K>{&(builder), (x)}, \
      ::ouro::ir::leaf_math::Num<std::remove_reference_t<decltype(builder)>, K>{&(builder), (y)}) \
      .v
