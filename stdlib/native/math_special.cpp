#include "stdlib/native/math_special.h"

#include <cmath>
#include <cstddef>

namespace ouro::stdlib {
namespace {

constexpr double kG = 6.024680040776729583740234375, kGMinusHalf = 5.524680040776729583740234375;
constexpr int kTerms = 13;
constexpr double kNumerator[kTerms] = {
    23531376880.410759688572007674451636754734846804940, 42919803642.649098768957899047001988850926355848959,
    35711959237.355668049440185451547166705960488635843, 17921034426.037209699919755754458931112671403265390,
    6039542586.3520280050642916443072979210699388420708, 1439720407.3117216736632230727949123939715485786372,
    248874557.86205415651146038641322942321632125127801, 31426415.585400194380614231628318205362874684987640,
    2876370.6289353724412254090516208496135991145378768, 186056.26539522349504029498971604569928220784236328,
    8071.6720023658162106380029022722506138218516325024, 210.82427775157934587250973392071336271166969580291,
    2.5066282746310002701649081771338373386264310793408};
constexpr double kDenominator[kTerms] = {0.0,        39916800.0, 120543840.0, 150917976.0, 105258076.0,
                                         45995730.0, 13339535.0, 2637558.0,   357423.0,    32670.0,
                                         1925.0,     66.0,       1.0};
constexpr double kPi = 3.141592653589793238462643383279502884197, kLogPi = 1.144729885849400174143427351353058711647;

double lanczos_sum(double x) {
  double n = 0, d = 0;
  if (x < 5.0) {
    for (int i = kTerms; --i >= 0;) {
      n = n * x + kNumerator[i];
      d = d * x + kDenominator[i];
    }
  } else {
    for (int i = 0; i < kTerms; ++i) {
      n = n / x + kNumerator[i];
      d = d / x + kDenominator[i];
    }
  }
  return n / d;
}

double sin_pi(double x) {
  double y = std::fmod(std::fabs(x), 2.0), r;
  switch (static_cast<int>(std::round(2.0 * y))) {
    case 0:
      r = std::sin(kPi * y);
      break;
    case 1:
      r = std::cos(kPi * (y - 0.5));
      break;
    case 2:
      r = std::sin(kPi * (1.0 - y));
      break;
    case 3:
      r = -std::cos(kPi * (y - 1.5));
      break;
    default:
      r = std::sin(kPi * (y - 2.0));
      break;
  }
  return std::copysign(1.0, x) * r;
}

}  // namespace

double gamma_function(double x) {
  if (!std::isfinite(x)) return std::isnan(x) || x > 0 ? x : std::nan("");
  if (x == 0) return std::copysign(HUGE_VAL, x);
  if (x == std::floor(x)) {
    if (x < 0) return std::nan("");
    if (x <= 23) {
      double r = 1;
      for (double k = 2; k < x; ++k) r *= k;
      return r;
    }
  }
  double a = std::fabs(x);
  if (a < 1e-20) return 1.0 / x;
  if (a > 200.0) return x < 0 ? 0.0 / sin_pi(x) : HUGE_VAL;
  double y = a + kGMinusHalf, z;
  if (a > kGMinusHalf) {
    double q = y - a;
    z = q - kGMinusHalf;
  } else {
    double q = y - kGMinusHalf;
    z = q - a;
  }
  z = z * kG / y;
  double r;
  if (x < 0) {
    r = -kPi / sin_pi(a) / a * std::exp(y) / lanczos_sum(a);
    r -= z * r;
    if (a < 140.0) {
      r /= std::pow(y, a - 0.5);
    } else {
      double root = std::pow(y, a / 2.0 - 0.25);
      r /= root;
      r /= root;
    }
  } else {
    r = lanczos_sum(a) / std::exp(y);
    r += z * r;
    if (a < 140.0) {
      r *= std::pow(y, a - 0.5);
    } else {
      double root = std::pow(y, a / 2.0 - 0.25);
      r *= root;
      r *= root;
    }
  }
  return r;
}

double log_gamma(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? x : HUGE_VAL;
  if (x == std::floor(x) && x <= 2.0) return x <= 0 ? HUGE_VAL : 0.0;
  double a = std::fabs(x);
  if (a < 1e-20) return -std::log(a);
  double r = std::log(lanczos_sum(a)) - kG;
  r += (a - 0.5) * (std::log(a + kG - 0.5) - 1);
  if (x < 0) r = kLogPi - std::log(std::fabs(sin_pi(a))) - std::log(a) - r;
  return r;
}

double vector_norm(std::span<const double> values) {
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  double max = 0;
  bool nan = false;
  std::vector<double> v;
  v.reserve(values.size());
  for (double x : values) {
    x = std::fabs(x);
    nan |= std::isnan(x);
    if (x > max) max = x;
    v.push_back(x);
  }
  if (std::isinf(max)) return max;
  if (nan) return std::nan("");
  if (max == 0 || v.size() <= 1) return max;
  double sum = 1, f1 = 0, f2 = 0, f3 = 0;
  auto add = [&](double x, double& error) {
    double old = sum;
    sum += x;
    error += (old - sum) + x;
  };
  int e;
  std::frexp(max, &e);
  if (e < -1023) {
    for (double x : v) {
      x /= max;
      add(x * x, f1);
    }
    return max * std::sqrt(sum - 1.0 + f1);
  }
  double scale = std::ldexp(1.0, -e);
  for (double x : v) {
    x *= scale;
    double t = x * kSplit, hi = t - (t - x), lo = x - hi;
    add(hi * hi, f1);
    add(2.0 * hi * lo, f2);
    f3 += lo * lo;
  }
  double h = std::sqrt(sum - 1.0 + (f1 + f2 + f3));
  double t = h * kSplit, hi = t - (t - h), lo = h - hi;
  add(-hi * hi, f1);
  add(-2.0 * hi * lo, f2);
  add(-lo * lo, f3);
  double x = sum - 1.0 + (f1 + f2 + f3);
  return (h + x / (2.0 * h)) / scale;
}

bool ExactSum::add(double x) {
  double given = x;
  size_t kept = 0;
  for (double y : std::vector<double>(partials_)) {
    if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
    double hi = x + y, lo = y - (hi - x);
    if (lo != 0) partials_[kept++] = lo;
    x = hi;
  }
  partials_.resize(kept);
  if (x == 0) return true;
  if (!std::isfinite(x)) {
    if (std::isfinite(given)) return false;
    if (std::isinf(given)) infinite_ += given;
    special_ += given;
    partials_.clear();
    return true;
  }
  partials_.push_back(x);
  return true;
}

bool ExactSum::result(double& r) {
  if (special_ != 0) {
    if (std::isnan(infinite_)) return false;
    r = special_;
    return true;
  }
  r = 0;
  size_t n = partials_.size();
  if (n == 0) return true;
  double lo = 0;
  r = partials_[--n];
  while (n > 0) {
    double x = r, y = partials_[--n];
    r = x + y;
    lo = y - (r - x);
    if (lo != 0) break;
  }
  // Round half to even over the rest.
  if (n > 0 && ((lo < 0 && partials_[n - 1] < 0) || (lo > 0 && partials_[n - 1] > 0))) {
    double y = lo * 2.0, x = r + y;
    if (y == x - r) r = x;
  }
  return true;
}

}  // namespace ouro::stdlib
