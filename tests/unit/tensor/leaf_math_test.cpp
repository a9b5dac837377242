// Leaf functions against the C library's long double ones: over their ranges, denormals, infinities, NaN and signed
// zeros.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "ir/ops/leaf.h"
#include "runtime/tensor/kernels.h"

using namespace ouro;
using namespace ouro::runtime;
using ir::Leaf;

namespace {

constexpr int kN = 4000;

// Error in units of the last place of the wanted value; huge when a special value is missed.
template <class T>
double ulps(T got, long double want, bool relative_to_one) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  T w = static_cast<T>(want);
  if (std::isinf(w) || std::isinf(got)) return got == w ? 0 : 1e9;
  int e;
  std::frexp(w, &e);
  int digits = sizeof(T) == 4 ? 24 : 53, least = sizeof(T) == 4 ? -149 : -1074;
  if (relative_to_one) e = std::max(e, 1);
  return static_cast<double>(
      std::fabs((static_cast<long double>(got) - want) / std::ldexp(1.0L, std::max(e - digits, least))));
}

struct Case {
  Leaf leaf;
  long double (*want)(long double);
  double lo, hi;
  bool relative_to_one = false;
};
long double lgamma_of(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}
long double sigmoid_of(long double x) { return 1 / (1 + expl(-x)); }
const Case kCases[] = {
    {Leaf::fn_exp, expl, -746, 710},
    {Leaf::fn_exp, expl, -1, 1},
    {Leaf::fn_exp2, exp2l, -1076, 1025},
    {Leaf::fn_expm1, expm1l, -50, 710},
    {Leaf::fn_expm1, expm1l, -1, 1},
    {Leaf::fn_sigmoid, sigmoid_of, -746, 40},
    {Leaf::fn_sigmoid, sigmoid_of, -3, 3},
    {Leaf::fn_log, logl, 0, 1e308},
    {Leaf::fn_log, logl, 0.5, 2},
    {Leaf::fn_log2, log2l, 0, 1e308},
    {Leaf::fn_log2, log2l, 0.5, 2},
    {Leaf::fn_log10, log10l, 0, 1e308},
    {Leaf::fn_log10, log10l, 0.5, 2},
    {Leaf::fn_log1p, log1pl, -1, 1e308},
    {Leaf::fn_log1p, log1pl, -0.5, 1},
    {Leaf::fn_sin, sinl, -0x1p30, 0x1p30},
    {Leaf::fn_sin, sinl, -7, 7},
    {Leaf::fn_cos, cosl, -0x1p30, 0x1p30},
    {Leaf::fn_cos, cosl, -7, 7},
    {Leaf::fn_tan, tanl, -0x1p30, 0x1p30},
    {Leaf::fn_tan, tanl, -2, 2},
    {Leaf::fn_asin, asinl, -1, 1},
    {Leaf::fn_acos, acosl, -1, 1},
    {Leaf::fn_atan, atanl, -1e300, 1e300},
    {Leaf::fn_atan, atanl, -5, 5},
    {Leaf::fn_sinh, sinhl, -710, 710},
    {Leaf::fn_sinh, sinhl, -1, 1},
    {Leaf::fn_cosh, coshl, -710, 710},
    {Leaf::fn_tanh, tanhl, -30, 30},
    {Leaf::fn_tanh, tanhl, -1, 1},
    {Leaf::fn_asinh, asinhl, -1e300, 1e300},
    {Leaf::fn_asinh, asinhl, -3, 3},
    {Leaf::fn_acosh, acoshl, 1, 1e300},
    {Leaf::fn_acosh, acoshl, 1, 3},
    {Leaf::fn_atanh, atanhl, -1, 1},
    {Leaf::fn_erf, erfl, -7, 7},
    {Leaf::fn_erf, erfl, -1, 1},
    {Leaf::fn_erfc, erfcl, -7, 27},
    {Leaf::fn_erfc, erfcl, -1, 2},
    {Leaf::fn_lgamma, lgamma_of, 0, 1e300, true},
    {Leaf::fn_lgamma, lgamma_of, -20, 20, true},
};
const double kSpecial[] = {0.0,
                           -0.0,
                           HUGE_VAL,
                           -HUGE_VAL,
                           NAN,
                           5e-324,
                           -5e-324,
                           1e-310,
                           -1e-310,
                           1e-40,
                           -1e-40,
                           1,
                           -1,
                           0.5,
                           -0.5,
                           2,
                           -2,
                           1.7976931348623157e308,
                           -1.7976931348623157e308,
                           0x1.fffffep127,
                           709.7,
                           -745,
                           88.7,
                           -104};

std::vector<double> samples(const Case& c) {
  std::mt19937_64 r(static_cast<uint64_t>(c.leaf));
  std::vector<double> x;
  auto unit = [&] { return static_cast<double>(r() >> 11) * 0x1p-53; };
  double most = std::max(std::fabs(c.lo), std::fabs(c.hi));
  while (x.size() < kN) {
    double v = c.lo + (c.hi - c.lo) * unit();
    if (x.size() % 2) {  // evenly over the magnitudes
      v = std::exp(-40 + (40 + std::log(most)) * unit());
      if (r() & 1) v = -v;
      if (v < c.lo || v > c.hi) continue;
    }
    x.push_back(v);
  }
  bool trigonometric = c.leaf == Leaf::fn_sin || c.leaf == Leaf::fn_cos || c.leaf == Leaf::fn_tan;
  for (double v : kSpecial)
    if (!trigonometric || std::fabs(v) <= 0x1p30 || std::isinf(v)) x.push_back(v);
  return x;
}

template <class T>
void check(const Case& c, const KernelTable& k) {
  std::vector<double> x = samples(c);
  std::vector<T> in(x.begin(), x.end()), out(x.size());
  k.leaf[static_cast<int>(c.leaf)][static_cast<int>(sizeof(T) == 4 ? DType::f32 : DType::f64)](
      out.data(), in.data(), nullptr, nullptr, static_cast<int64_t>(in.size()));
  double bound = sizeof(T) == 4 ? info(c.leaf).ulp_f32 : info(c.leaf).ulp_f64, worst = 0, at = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    long double want = c.want(static_cast<long double>(in[i]));
    double e = ulps(out[i], want, c.relative_to_one);
    if (e > worst) worst = e, at = in[i];
    if (want == 0) CHECK(std::signbit(out[i]) == std::signbit(want));
  }
  INFO(info(c.leaf).name << (sizeof(T) == 4 ? " f32" : " f64") << " on [" << c.lo << ", " << c.hi << "]: " << worst
                         << " ulp at " << at);
  CHECK(worst <= bound + 0.02);
}

}  // namespace

TEST_CASE("leaf functions keep their stated error bounds") {
  for (const Case& c : kCases) check<float>(c, kernels()), check<double>(c, kernels());
}

TEST_CASE("pow, atan2 and fmod agree with C at the edges and inside") {
  const double e[] = {0., -0., 1,   -1,   HUGE_VAL, -HUGE_VAL, NAN,    2,          -2,
                      3,  -3,  0.5, -0.5, 1e300,    -1e300,    1e-320, 0x1p53 + 2, 0x1p53 - 1};
  auto f64 = [](Leaf l, double a, double b) {
    double r;
    kernels().leaf[static_cast<int>(l)][static_cast<int>(DType::f64)](&r, &a, &b, nullptr, 1);
    return r;
  };
  for (double x : e)
    for (double y : e) {
      INFO(x << " " << y);
      double p = f64(Leaf::fn_pow, x, y), a = f64(Leaf::fn_atan2, x, y);
      CHECK(ulps(p, std::pow(x, y), false) <= 2);
      CHECK(ulps(a, atan2l(x, y), false) <= 2.5);
      if (std::pow(x, y) == 0) CHECK(std::signbit(p) == std::signbit(std::pow(x, y)));
      CHECK(std::signbit(a) == std::signbit(std::atan2(x, y)));
    }
  std::mt19937_64 r(7);
  auto unit = [&] { return static_cast<double>(r() >> 11) * 0x1p-53; };
  for (int i = 0; i < 20000; ++i) {
    double x = std::exp(-20 + 40 * unit()), y = -60 + 120 * unit();
    REQUIRE(ulps(f64(Leaf::fn_pow, x, y), powl(x, y), false) <= 2);
    double a = std::exp(20 * unit()) * (r() & 1 ? 1 : -1), b = std::exp(-14 + 20 * unit()) * (r() & 1 ? 1 : -1);
    REQUIRE(f64(Leaf::fn_fmod, a, b) == std::fmod(a, b));
  }
}

TEST_CASE("erfinv and digamma satisfy their equations") {
  auto f64 = [](Leaf l, double a) {
    double r;
    kernels().leaf[static_cast<int>(l)][static_cast<int>(DType::f64)](&r, &a, nullptr, nullptr, 1);
    return r;
  };
  for (int i = -999; i < 1000; ++i) {
    double x = i / 1000.0;
    CHECK(std::fabs(std::erf(f64(Leaf::fn_erfinv, x)) - x) <= 4e-16);
    double z = 0.37 + i * 0.0301;  // never a pole
    double a = f64(Leaf::fn_digamma, z), b = f64(Leaf::fn_digamma, z + 1);
    CHECK(std::fabs(b - a - 1 / z) <= 4e-15 * std::max({1.0, std::fabs(1 / z), std::fabs(a)}));
  }
  CHECK(f64(Leaf::fn_erfinv, 1) == HUGE_VAL);
  CHECK(std::isnan(f64(Leaf::fn_erfinv, 1.5)));
  CHECK(f64(Leaf::fn_digamma, 1) == Approx(-0.57721566490153286));
}
