// The module math, after CPython's Modules/mathmodule.c where the result's bits depend on the algorithm: gamma and
// lgamma by Lanczos' sum, hypot and dist by compensated sums of squares, fsum by Shewchuk's exact partials.
#include <cmath>

#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/numbers.h"
#include "stdlib/native/math_special.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

Value domain_error(Session& s) { return raise_text(s, ExcKind::ValueError, "math domain error"); }
Value range_error(Session& s) { return raise_text(s, ExcKind::OverflowError, "math range error"); }

// The result of a function of finite or special x, checked as CPython's math_1 does.
Value checked(Session& s, double x, double r, bool can_overflow) {
  if (std::isnan(r) && !std::isnan(x)) return domain_error(s);
  if (std::isinf(r) && std::isfinite(x)) return can_overflow ? range_error(s) : domain_error(s);
  return Value::floating(r);
}

struct Unary {
  const char* name;
  double (*f)(double);
  bool can_overflow;
};
constexpr Unary kUnary[] = {
    {"math.acos", std::acos, false},      {"math.acosh", std::acosh, false}, {"math.asin", std::asin, false},
    {"math.asinh", std::asinh, false},    {"math.atan", std::atan, false},   {"math.atanh", std::atanh, false},
    {"math.cbrt", std::cbrt, false},      {"math.cos", std::cos, false},     {"math.cosh", std::cosh, true},
    {"math.erf", std::erf, false},        {"math.erfc", std::erfc, false},   {"math.exp", std::exp, true},
    {"math.exp2", std::exp2, true},       {"math.expm1", std::expm1, true},  {"math.fabs", std::fabs, false},
    {"math.log1p", std::log1p, false},    {"math.sin", std::sin, false},     {"math.sinh", std::sinh, true},
    {"math.sqrt", std::sqrt, false},      {"math.tan", std::tan, false},     {"math.tanh", std::tanh, false},
    {"math.gamma", gamma_function, true}, {"math.lgamma", log_gamma, true},
};
template <size_t i>
Value f_unary(Session& s, const Args& a) {
  if (!takes_one(s, a, kUnary[i].name, 0)) return Value::error();
  double x;
  if (a[0].is_float())
    x = a[0].as_float();
  else if (!to_double(s, a[0], x))
    return Value::error();
  return checked(s, x, kUnary[i].f(x), kUnary[i].can_overflow);
}
// Poles of gamma and lgamma are domain errors, overflow is a range error.
template <size_t i>
Value f_gamma(Session& s, const Args& a) {
  if (!takes_one(s, a, kUnary[i].name, 0)) return Value::error();
  double x;
  if (!to_double(s, a[0], x)) return Value::error();
  double r = kUnary[i].f(x);
  bool pole = x <= 0 && x == std::floor(x) && !(std::isinf(x) && std::isinf(r) && r > 0);
  if (pole && (std::isinf(r) || std::isnan(r))) return domain_error(s);
  return checked(s, x, r, true);
}

bool two_doubles(Session& s, const Args& a, const char* name, double& x, double& y) {
  return takes(s, a, name, 2, 2, 0) && to_double(s, a[0], x) && to_double(s, a[1], y);
}

// log of any int > 0: beyond the range of doubles by mantissa and exponent.
template <double (*f)(double)>
Value log_of(Session& s, const Value& v) {
  const Value& u = unwrap(v);
  if (is_int_value(u)) {
    if (int_sign(u) <= 0) return domain_error(s);
    double x;
    if (int_to_double(s, u, x)) return Value::floating(f(x));
    clear_pending(s);
    int64_t e;
    double m = int_frexp(u, e);
    return Value::floating(f(m) + f(2.0) * static_cast<double>(e));
  }
  double x;
  if (!to_double(s, v, x)) return Value::error();
  if (std::isnan(x)) return Value::floating(x);
  if (!(x > 0)) return domain_error(s);
  return Value::floating(std::isinf(x) ? x : f(x));
}
Value f_log(Session& s, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "math.log() takes no keyword arguments");
  if (a.size() < 1 || a.size() > 2) return raise_type_error(s, "math.log requires 1 to 2 arguments");
  OURO_TRY(n, log_of<std::log>(s, a[0]));
  if (a.size() == 1) return n;
  OURO_TRY(d, log_of<std::log>(s, a[1]));
  return binary(s, BinOp::truediv, n, d);
}
Value f_log2(Session& s, const Args& a) {
  return takes_one(s, a, "math.log2", 0) ? log_of<std::log2>(s, a[0]) : Value::error();
}
Value f_log10(Session& s, const Args& a) {
  return takes_one(s, a, "math.log10", 0) ? log_of<std::log10>(s, a[0]) : Value::error();
}

Value f_pow(Session& s, const Args& a) {
  double x, y;
  if (!two_doubles(s, a, "pow", x, y)) return Value::error();
  double r = std::pow(x, y);
  if (std::isfinite(x) && std::isfinite(y)) {
    if (std::isnan(r)) return domain_error(s);
    if (std::isinf(r)) return x == 0 ? domain_error(s) : range_error(s);
  }
  return Value::floating(r);
}
Value f_fmod(Session& s, const Args& a) {
  double x, y;
  if (!two_doubles(s, a, "fmod", x, y)) return Value::error();
  if (std::isinf(y) && std::isfinite(x)) return Value::floating(x);
  double r = std::fmod(x, y);
  return std::isnan(r) && !std::isnan(x) && !std::isnan(y) ? domain_error(s) : Value::floating(r);
}
Value f_remainder(Session& s, const Args& a) {
  double x, y;
  if (!two_doubles(s, a, "remainder", x, y)) return Value::error();
  double r = std::remainder(x, y);
  return std::isnan(r) && !std::isnan(x) && !std::isnan(y) ? domain_error(s) : Value::floating(r);
}
Value f_atan2(Session& s, const Args& a) {
  double x, y;
  return two_doubles(s, a, "atan2", x, y) ? Value::floating(std::atan2(x, y)) : Value::error();
}
Value f_copysign(Session& s, const Args& a) {
  double x, y;
  return two_doubles(s, a, "copysign", x, y) ? Value::floating(std::copysign(x, y)) : Value::error();
}
Value f_nextafter(Session& s, const Args& a) {
  double x, y;
  return two_doubles(s, a, "nextafter", x, y) ? Value::floating(std::nextafter(x, y)) : Value::error();
}
Value f_ulp(Session& s, const Args& a) {
  double x;
  if (!takes_one(s, a, "math.ulp", 0) || !to_double(s, a[0], x)) return Value::error();
  if (std::isnan(x)) return Value::floating(x);
  x = std::fabs(x);
  if (std::isinf(x)) return Value::floating(x);
  double up = std::nextafter(x, HUGE_VAL);
  return Value::floating(std::isinf(up) ? x - std::nextafter(x, -HUGE_VAL) : up - x);
}
Value f_degrees(Session& s, const Args& a) {
  double x;
  return takes_one(s, a, "math.degrees", 0) && to_double(s, a[0], x) ? Value::floating(x * (180.0 / M_PI))
                                                                     : Value::error();
}
Value f_radians(Session& s, const Args& a) {
  double x;
  return takes_one(s, a, "math.radians", 0) && to_double(s, a[0], x) ? Value::floating(x * (M_PI / 180.0))
                                                                     : Value::error();
}
template <int which>
Value f_test(Session& s, const Args& a) {
  constexpr const char* name = which == 0 ? "math.isnan" : which == 1 ? "math.isinf" : "math.isfinite";
  double x;
  if (!takes_one(s, a, name, 0) || !to_double(s, a[0], x)) return Value::error();
  return Value::boolean(which == 0 ? std::isnan(x) : which == 1 ? std::isinf(x) : std::isfinite(x));
}
Value f_modf(Session& s, const Args& a) {
  double x, whole;
  if (!takes_one(s, a, "math.modf", 0) || !to_double(s, a[0], x)) return Value::error();
  double fraction = std::modf(x, &whole);
  return make_tuple({Value::floating(fraction), Value::floating(whole)});
}
Value f_frexp(Session& s, const Args& a) {
  double x;
  if (!takes_one(s, a, "math.frexp", 0) || !to_double(s, a[0], x)) return Value::error();
  int e = 0;
  double m = std::isfinite(x) ? std::frexp(x, &e) : x;
  return make_tuple({Value::floating(m), Value::integer(e)});
}
Value f_ldexp(Session& s, const Args& a) {
  double x;
  if (!takes(s, a, "ldexp", 2, 2, 0) || !to_double(s, a[0], x)) return Value::error();
  const Value& e = unwrap(a[1]);
  if (!is_int_value(e)) return raise_type_error(s, "Expected an int as second argument to ldexp.");
  if (x == 0 || !std::isfinite(x)) return Value::floating(x);
  int64_t n = is_word(e) ? e.bits() : int_sign(e) > 0 ? INT64_MAX : INT64_MIN;
  if (n > INT32_MAX) return range_error(s);
  if (n < INT32_MIN) return Value::floating(std::copysign(0.0, x));
  double r = std::ldexp(x, static_cast<int>(n));
  return std::isinf(r) ? range_error(s) : Value::floating(r);
}

// floor, ceil, trunc: floats here, anything else by its special method.
template <double (*f)(double), Dunder method>
Value f_whole(Session& s, const Args& a) {
  constexpr const char* name = method == Dunder::floor_ ? "math.floor" : "math.ceil";
  if (!takes_one(s, a, name, 0)) return Value::error();
  if (!a[0].is_float()) {
    if (a[0].is_int()) return a[0];
    Value r = call_dunder(s, a[0], method);
    if (!r.is_unbound()) return r;
  }
  double x;
  if (!to_double(s, a[0], x)) return Value::error();
  return round_float(s, f(x), Value());
}
Value f_trunc(Session& s, const Args& a) {
  if (!takes_one(s, a, "math.trunc", 0)) return Value::error();
  Value r = call_dunder(s, a[0], Dunder::trunc_);
  return r.is_unbound() ? raise_type_error(s, "type %s doesn't define __trunc__ method", type_name(s, a[0]).c_str())
                        : r;
}

Value f_isclose(Session& s, const Args& a) {
  Value v[4];
  if (!takes_named(s, a, "isclose", {"a", "b", "rel_tol", "abs_tol"}, 2, 2, v, 0)) return Value::error();
  double x, y, rel = 1e-9, abs = 0;
  if (!to_double(s, v[0], x) || !to_double(s, v[1], y) || (!v[2].is_unbound() && !to_double(s, v[2], rel)) ||
      (!v[3].is_unbound() && !to_double(s, v[3], abs)))
    return Value::error();
  if (rel < 0 || abs < 0) return raise_value_error(s, "tolerances must be non-negative");
  if (x == y) return Value::boolean(true);
  if (std::isinf(x) || std::isinf(y)) return Value::boolean(false);
  double diff = std::fabs(y - x);
  return Value::boolean(diff <= std::fabs(rel * y) || diff <= std::fabs(rel * x) || diff <= abs);
}

// ---- sums

Value f_hypot(Session& s, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "math.hypot() takes no keyword arguments");
  CountedVector<double> v;
  for (const Value& x : a.positional) {
    double d;
    if (!to_double(s, x, d)) return Value::error();
    v.push_back(d);
  }
  return Value::floating(vector_norm(v));
}
Value f_dist(Session& s, const Args& a) {
  if (!takes(s, a, "dist", 2, 2, 0)) return Value::error();
  OURO_TRY(p, tuple_of(s, a[0]));
  OURO_TRY(q, tuple_of(s, a[1]));
  Tuple *x = cast<Tuple>(p), *y = cast<Tuple>(q);
  if (x->size != y->size) return raise_value_error(s, "both points must have the same number of dimensions");
  CountedVector<double> v;
  for (size_t i = 0; i < x->size; ++i) {
    double b, c;
    if (!to_double(s, (*x)[i], b) || !to_double(s, (*y)[i], c)) return Value::error();
    v.push_back(b - c);
  }
  return Value::floating(vector_norm(v));
}
Value f_fsum(Session& s, const Args& a) {
  if (!takes_one(s, a, "math.fsum", 0)) return Value::error();
  ExactSum sum;
  bool ok = for_each(s, a[0], [&](Value& v) {
    double x;
    if (!to_double(s, v, x)) return false;
    if (sum.add(x)) return true;
    raise_text(s, ExcKind::OverflowError, "intermediate overflow in fsum");
    return false;
  });
  if (!ok) return Value::error();
  double r;
  if (!sum.result(r)) return raise_value_error(s, "-inf + inf in fsum");
  return Value::floating(r);
}
Value f_prod(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "prod", {" iterable", "start"}, 1, 1, v, 0)) return Value::error();
  Value total = v[1].is_unbound() ? Value::integer(1) : v[1];
  bool ok = for_each(s, v[0], [&](Value& x) {
    if (total.is_float() && x.is_float())
      total = Value::floating(total.as_float() * x.as_float());
    else
      total = binary(s, BinOp::mul, total, x);
    return !total.is_error();
  });
  return ok ? total : Value::error();
}

// ---- integers

template <bool lcm>
Value f_gcd(Session& s, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "math.%s() takes no keyword arguments", lcm ? "lcm" : "gcd");
  Value r = Value::integer(lcm ? 1 : 0);
  for (const Value& v : a.positional) {
    OURO_TRY(x, to_index_value(s, v));
    OURO_TRY(g, int_gcd(s, r, x));
    if (!lcm) {
      r = std::move(g);
      continue;
    }
    if (int_sign(g) == 0 || int_sign(x) == 0) {
      r = Value::integer(0);
      continue;
    }
    Value q;
    if (!int_divmod(s, r, g, &q, nullptr, "")) return Value::error();
    OURO_TRY(p, int_mul(s, q, x));
    r = int_abs(s, p);
  }
  return r;
}
Value f_isqrt(Session& s, const Args& a) {
  if (!takes_one(s, a, "math.isqrt", 0)) return Value::error();
  OURO_TRY(n, to_index_value(s, a[0]));
  if (int_sign(n) < 0) return raise_value_error(s, "isqrt() argument must be nonnegative");
  return int_isqrt(s, n);
}

// first * (first - 1) * ... * (first - count + 1), by halves so that factors stay of one size.
Value falling_product(Session& s, const Value& first, int64_t count) {
  if (count == 0) return Value::integer(1);
  if (count <= 8) {
    Value r = first, x = first;
    for (int64_t i = 1; i < count; ++i) {
      x = int_sub(s, x, Value::integer(1));
      if (x.is_error()) return x;
      r = int_mul(s, r, x);
      if (r.is_error()) return r;
    }
    return r;
  }
  int64_t half = count / 2;
  OURO_TRY(a, falling_product(s, first, half));
  OURO_TRY(next, int_sub(s, first, Value::integer(half)));
  OURO_TRY(b, falling_product(s, next, count - half));
  return int_mul(s, a, b);
}
Value f_factorial(Session& s, const Args& a) {
  if (!takes_one(s, a, "math.factorial", 0)) return Value::error();
  OURO_TRY(n, to_index_value(s, a[0]));
  if (int_sign(n) < 0) return raise_value_error(s, "factorial() not defined for negative values");
  if (!is_word(n))
    return raise_text(s, ExcKind::OverflowError, "factorial() argument should not exceed 9223372036854775807");
  return falling_product(s, n, n.bits());
}
template <bool comb>
Value f_choose(Session& s, const Args& a) {
  if (!takes(s, a, comb ? "comb" : "perm", comb ? 2 : 1, 2, 0)) return Value::error();
  if (!comb && (a.size() == 1 || a[1].is_none())) return f_factorial(s, Args{a.positional.first(1), {}, {}});
  OURO_TRY(n, to_index_value(s, a[0]));
  OURO_TRY(k, to_index_value(s, a[1]));
  if (int_sign(n) < 0) return raise_value_error(s, "n must be a non-negative integer");
  if (int_sign(k) < 0) return raise_value_error(s, "k must be a non-negative integer");
  if (int_compare(k, n) > 0) return Value::integer(0);
  if (comb) {
    OURO_TRY(other, int_sub(s, n, k));
    if (int_compare(other, k) < 0) k = other;
  }
  if (!is_word(k))
    return raise_error(
        s, ExcKind::OverflowError,
        comb ? "min(n - k, k) must not exceed 9223372036854775807" : "k must not exceed 9223372036854775807");
  OURO_TRY(top, falling_product(s, n, k.bits()));
  if (!comb) return top;
  OURO_TRY(bottom, falling_product(s, k, k.bits()));
  Value q;
  return int_divmod(s, top, bottom, &q, nullptr, "") ? q : Value::error();
}

constexpr NativeDef kFunctions[] = {
    {.name = "acos",
     .fn = f_unary<0>,
     .doc = "Arc cosine, in radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[0].f},
    {.name = "acosh",
     .fn = f_unary<1>,
     .doc = "Inverse hyperbolic cosine.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[1].f},
    {.name = "asin",
     .fn = f_unary<2>,
     .doc = "Arc sine, in radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[2].f},
    {.name = "asinh",
     .fn = f_unary<3>,
     .doc = "Inverse hyperbolic sine.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[3].f},
    {.name = "atan",
     .fn = f_unary<4>,
     .doc = "Arc tangent, in radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[4].f},
    {.name = "atan2",
     .fn = f_atan2,
     .doc = "Arc tangent of y/x, in radians, by the signs of both.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "atanh",
     .fn = f_unary<5>,
     .doc = "Inverse hyperbolic tangent.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[5].f},
    {.name = "cbrt",
     .fn = f_unary<6>,
     .doc = "Cube root.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[6].f},
    {.name = "ceil",
     .fn = f_whole<std::ceil, Dunder::ceil_>,
     .doc = "The smallest integer >= x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "comb",
     .fn = f_choose<true>,
     .doc = "Number of ways to choose k items from n without repetition and order.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "copysign",
     .fn = f_copysign,
     .doc = "Magnitude of x with the sign of y.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "cos",
     .fn = f_unary<7>,
     .doc = "Cosine of x radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[7].f},
    {.name = "cosh",
     .fn = f_unary<8>,
     .doc = "Hyperbolic cosine.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[8].f},
    {.name = "degrees",
     .fn = f_degrees,
     .doc = "Radians to degrees.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "dist", .fn = f_dist, .doc = "Euclidean distance of two points.", .effect = NativeEffect::pure},
    {.name = "erf",
     .fn = f_unary<9>,
     .doc = "Error function.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[9].f},
    {.name = "erfc",
     .fn = f_unary<10>,
     .doc = "Complementary error function.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[10].f},
    {.name = "exp",
     .fn = f_unary<11>,
     .doc = "e to the power of x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[11].f},
    {.name = "exp2",
     .fn = f_unary<12>,
     .doc = "2 to the power of x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[12].f},
    {.name = "expm1",
     .fn = f_unary<13>,
     .doc = "exp(x) - 1, exact for small x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[13].f},
    {.name = "fabs",
     .fn = f_unary<14>,
     .doc = "Absolute value as a float.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[14].f},
    {.name = "factorial", .fn = f_factorial, .doc = "n!", .effect = NativeEffect::pure, .gives = NativeGives::integer},
    {.name = "floor",
     .fn = f_whole<std::floor, Dunder::floor_>,
     .doc = "The largest integer <= x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "fmod",
     .fn = f_fmod,
     .doc = "Remainder with the sign of x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "frexp", .fn = f_frexp, .doc = "Mantissa and exponent.", .effect = NativeEffect::pure},
    {.name = "fsum", .fn = f_fsum, .doc = "Exactly rounded sum of floats.", .effect = NativeEffect::pure},
    {.name = "gamma",
     .fn = f_gamma<21>,
     .doc = "Gamma function.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[21].f},
    {.name = "gcd",
     .fn = f_gcd<false>,
     .doc = "Greatest common divisor.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "hypot",
     .fn = f_hypot,
     .doc = "Euclidean norm of the coordinates.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "isclose",
     .fn = f_isclose,
     .doc = "Are two floats close to each other?",
     .effect = NativeEffect::pure,
     .gives = NativeGives::boolean},
    {.name = "isfinite",
     .fn = f_test<2>,
     .doc = "Neither infinite nor NaN.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::boolean},
    {.name = "isinf", .fn = f_test<1>, .doc = "Infinite.", .effect = NativeEffect::pure, .gives = NativeGives::boolean},
    {.name = "isnan",
     .fn = f_test<0>,
     .doc = "Not a number.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::boolean},
    {.name = "isqrt",
     .fn = f_isqrt,
     .doc = "Integer part of the square root.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "lcm",
     .fn = f_gcd<true>,
     .doc = "Least common multiple.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "ldexp", .fn = f_ldexp, .doc = "x * 2**i", .effect = NativeEffect::pure, .gives = NativeGives::floating},
    {.name = "lgamma",
     .fn = f_gamma<22>,
     .doc = "Logarithm of the absolute value of the gamma function.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[22].f},
    {.name = "log",
     .fn = f_log,
     .doc = "Logarithm, natural or to a base.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "log10",
     .fn = f_log10,
     .doc = "Logarithm to base 10.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "log1p",
     .fn = f_unary<15>,
     .doc = "log(1 + x), exact for small x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[15].f},
    {.name = "log2",
     .fn = f_log2,
     .doc = "Logarithm to base 2.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "modf", .fn = f_modf, .doc = "Fraction and integer part.", .effect = NativeEffect::pure},
    {.name = "nextafter",
     .fn = f_nextafter,
     .doc = "The next float after x towards y.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "perm",
     .fn = f_choose<false>,
     .doc = "Number of ways to choose k items from n in order.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "pow",
     .fn = f_pow,
     .doc = "x to the power of y, as floats.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "prod", .fn = f_prod, .doc = "Product of the items.", .effect = NativeEffect::pure},
    {.name = "radians",
     .fn = f_radians,
     .doc = "Degrees to radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "remainder",
     .fn = f_remainder,
     .doc = "IEEE 754 remainder.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
    {.name = "sin",
     .fn = f_unary<16>,
     .doc = "Sine of x radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[16].f},
    {.name = "sinh",
     .fn = f_unary<17>,
     .doc = "Hyperbolic sine.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[17].f},
    {.name = "sqrt",
     .fn = f_unary<18>,
     .doc = "Square root.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[18].f},
    {.name = "tan",
     .fn = f_unary<19>,
     .doc = "Tangent of x radians.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[19].f},
    {.name = "tanh",
     .fn = f_unary<20>,
     .doc = "Hyperbolic tangent.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating,
     .computes = kUnary[20].f},
    {.name = "trunc",
     .fn = f_trunc,
     .doc = "x rounded towards 0.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::integer},
    {.name = "ulp",
     .fn = f_ulp,
     .doc = "Value of the least significant bit of x.",
     .effect = NativeEffect::pure,
     .gives = NativeGives::floating},
};

Value constant(Session&, std::string_view name) {
  if (name == "pi") return Value::floating(M_PI);
  if (name == "e") return Value::floating(M_E);
  if (name == "tau") return Value::floating(2 * M_PI);
  if (name == "inf") return Value::floating(HUGE_VAL);
  if (name == "nan") return Value::floating(std::nan(""));
  return Value();
}
constexpr std::string_view kNames[] = {"pi", "e", "tau", "inf", "nan"};

}  // namespace

const NativeModule kMathModule{.name = "math", .functions = kFunctions, .constant = constant, .constants = kNames};

}  // namespace ouro::stdlib
