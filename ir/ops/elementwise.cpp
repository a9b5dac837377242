// Elementwise operations: rows only. d[i] is the local derivative dy/dx_i; kinks take PyTorch's subgradient.
#include "ir/ops/registry.h"
#include "support/forever.h"

namespace ouro::ir {
namespace {

constexpr double kPi = 3.14159265358979323846, kLn2 = 0.693147180559945309417, kLn10 = 2.302585092994045684018;
constexpr double kTwoOverRootPi = 1.128379167095512573896, kRootTwoOverPi = 0.797884560802865355880,
                 kRootHalf = 0.707106781186547524401;
constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;
constexpr double kInf = __builtin_inf();
using X = OpArgs;

S sign(S x) { return select(x > 0, 1, select(x < 0, -1, 0)); }
S truth(S x) { return x != 0; }
S erfc_inverse(S x);
// log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
S softplus1(S x) { return max(x, 0) + log1p(exp(-abs(x))); }

// clang-format off
constexpr OpDef kUnary[] = {
  {.name = "neg", .doc = "-x.", .sig = "n[*s] -> n[*s]", .body = [](X x) { return -x[0]; },
   .d = {[](X, S) { return S(-1); }}, .alias = "negative"},
  {.name = "abs", .doc = "|x|.", .sig = "n[*s] -> n[*s]", .body = [](X x) { return abs(x[0]); },
   .d = {[](X x, S) { return sign(x[0]); }}, .function = false, .alias = "absolute"},
  {.name = "sign", .doc = "-1, 0 or 1, as x is negative, zero or positive.",
   .sig = "t[*s] -> t[*s]", .body = [](X x) { return sign(x[0]); },
   .nondiff = "zero almost everywhere", .alias = "sgn"},
  {.name = "exp", .doc = "e to the x.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return exp(x[0]); },
   .d = {[](X, S y) { return y; }}, .test = {.tol = 4e-7}},
  {.name = "exp2", .doc = "2 to the x.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return exp2(x[0]); },
   .d = {[](X, S y) { return y * kLn2; }}, .test = {.tol = 4e-7}},
  {.name = "expm1", .doc = "exp(x) - 1, exact near 0.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return expm1(x[0]); }, .d = {[](X, S y) { return y + 1; }}, .test = {.tol = 4e-7}},
  {.name = "log", .doc = "Natural logarithm; -inf at 0, NaN below.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return log(x[0]); },
   .d = {[](X x, S) { return S(1) / x[0]; }}, .test = {.domain = {{0.1, 4}}, .tol = 4e-7}},
  {.name = "log2", .doc = "Logarithm to base 2; -inf at 0, NaN below.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return log2(x[0]); },
   .d = {[](X x, S) { return S(1) / (x[0] * kLn2); }}, .test = {.domain = {{0.1, 4}}, .tol = 4e-7}},
  {.name = "log10", .doc = "Logarithm to base 10; -inf at 0, NaN below.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return log10(x[0]); },
   .d = {[](X x, S) { return S(1) / (x[0] * kLn10); }}, .test = {.domain = {{0.1, 4}}, .tol = 4e-7}},
  {.name = "log1p", .doc = "log(1 + x), exact near 0.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return log1p(x[0]); }, .d = {[](X x, S) { return S(1) / (x[0] + 1); }},
   .test = {.domain = {{-0.9, 3}}, .tol = 4e-7}},
  {.name = "sqrt", .doc = "Square root; NaN below 0.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return sqrt(x[0]); },
   .d = {[](X, S y) { return S(0.5) / y; }}, .test = {.domain = {{0.1, 4}}}},
  {.name = "root", .doc = "Square root whose derivative at 0 is 0: of sums of squares.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return sqrt(x[0]); }, .d = {[](X, S y) { return select(y == 0, 0, S(0.5) / y); }}, .method = false,
   .function = false, .test = {.domain = {{0.1, 4}}}},
  {.name = "rsqrt", .doc = "1 / sqrt(x).", .sig = "f[*s] -> f[*s]", .body = [](X x) { return S(1) / sqrt(x[0]); },
   .d = {[](X x, S y) { return y * -0.5 / x[0]; }}, .test = {.domain = {{0.1, 4}}, .tol = 4e-7}},
  {.name = "square", .doc = "x * x.", .sig = "n[*s] -> n[*s]", .body = [](X x) { return x[0] * x[0]; },
   .d = {[](X x, S) { return x[0] * 2; }}},
  {.name = "reciprocal", .doc = "1 / x.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return S(1) / x[0]; },
   .d = {[](X, S y) { return -(y * y); }}, .test = {.domain = {{0.3, 4}}}},
  {.name = "sin", .doc = "Sine of x in radians.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return sin(x[0]); },
   .d = {[](X x, S) { return cos(x[0]); }}, .test = {.tol = 4e-7}},
  {.name = "cos", .doc = "Cosine of x in radians.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return cos(x[0]); },
   .d = {[](X x, S) { return -sin(x[0]); }}, .test = {.tol = 4e-7}},
  {.name = "tan", .doc = "Tangent of x in radians.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return tan(x[0]); },
   .d = {[](X, S y) { return y * y + 1; }}, .test = {.domain = {{-1.2, 1.2}}, .tol = 4e-7}},
  {.name = "asin", .doc = "Inverse sine, in [-pi/2, pi/2]; NaN outside of [-1, 1].",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return asin(x[0]); },
   .d = {[](X x, S) { return S(1) / sqrt(S(1) - x[0] * x[0]); }}, .alias = "arcsin",
   .test = {.domain = {{-0.9, 0.9}}, .tol = 4e-7}},
  {.name = "acos", .doc = "Inverse cosine, in [0, pi]; NaN outside of [-1, 1].",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return acos(x[0]); },
   .d = {[](X x, S) { return S(-1) / sqrt(S(1) - x[0] * x[0]); }}, .alias = "arccos",
   .test = {.domain = {{-0.9, 0.9}}, .tol = 4e-7}},
  {.name = "atan", .doc = "Inverse tangent, in (-pi/2, pi/2).",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return atan(x[0]); },
   .d = {[](X x, S) { return S(1) / (x[0] * x[0] + 1); }}, .alias = "arctan", .test = {.tol = 4e-7}},
  {.name = "sinh", .doc = "Hyperbolic sine: (exp(x) - exp(-x)) / 2.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return sinh(x[0]); },
   .d = {[](X x, S) { return cosh(x[0]); }}, .test = {.tol = 4e-7}},
  {.name = "cosh", .doc = "Hyperbolic cosine: (exp(x) + exp(-x)) / 2.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return cosh(x[0]); },
   .d = {[](X x, S) { return sinh(x[0]); }}, .test = {.tol = 4e-7}},
  {.name = "tanh", .doc = "Hyperbolic tangent: sinh(x) / cosh(x).",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return tanh(x[0]); },
   .d = {[](X, S y) { return S(1) - y * y; }}, .test = {.domain = {{-3, 3}}, .tol = 6e-7}},
  {.name = "asinh", .doc = "Inverse hyperbolic sine.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return asinh(x[0]); },
   .d = {[](X x, S) { return S(1) / sqrt(x[0] * x[0] + 1); }}, .alias = "arcsinh", .test = {.tol = 4e-7}},
  {.name = "acosh", .doc = "Inverse hyperbolic cosine; NaN below 1.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return acosh(x[0]); }, .d = {[](X x, S) { return S(1) / sqrt(x[0] * x[0] - 1); }},
   .alias = "arccosh", .test = {.domain = {{1.2, 4}}, .tol = 4e-7}},
  {.name = "atanh", .doc = "Inverse hyperbolic tangent; NaN outside of [-1, 1].", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return atanh(x[0]); }, .d = {[](X x, S) { return S(1) / (S(1) - x[0] * x[0]); }},
   .alias = "arctanh", .test = {.domain = {{-0.9, 0.9}}, .tol = 4e-7}},
  {.name = "erf", .doc = "Error function: 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return erf(x[0]); },
   .d = {[](X x, S) { return exp(-(x[0] * x[0])) * kTwoOverRootPi; }}, .test = {.tol = 6e-7}},
  {.name = "erfc", .doc = "1 - erf(x), exact for large x.",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return erfc(x[0]); },
   .d = {[](X x, S) { return exp(-(x[0] * x[0])) * -kTwoOverRootPi; }}, .test = {.tol = 6e-7}},
  {.name = "erfinv", .doc = "Inverse of erf; NaN outside of [-1, 1].",
   .sig = "f[*s] -> f[*s]", .body = [](X x) { return erfinv(x[0]); },
   .d = {[](X, S y) { return exp(y * y) * (1 / kTwoOverRootPi); }}, .test = {.domain = {{-0.9, 0.9}}, .tol = 1e-6}},
  {.name = "erfcinv", .doc = "Inverse of erfc.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return erfc_inverse(x[0]); },
   .d = {[](X, S y) { return exp(y * y) * (-1 / kTwoOverRootPi); }}, .test = {.domain = {{0.02, 1.9}}, .tol = 1e-5}},
  {.name = "lgamma", .doc = "log |gamma(x)|.", .sig = "f[*s] -> f[*s]", .body = [](X x) { return lgamma(x[0]); },
   .d = {[](X x, S) { return digamma(x[0]); }}, .test = {.domain = {{0.3, 4}}, .tol = 1e-6}},
  {.name = "digamma", .doc = "Derivative of lgamma: gamma'(x) / gamma(x).", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return digamma(x[0]); }, .d = {[](X x, S) { return trigamma(x[0]); }},
   .test = {.domain = {{0.3, 4}}, .tol = 1e-6}},
  {.name = "floor", .doc = "Rounded towards minus infinity.", .sig = "n[*s] -> n[*s]",
   .body = [](X x) { return x.integer ? x[0] : floor(x[0]); }, .nondiff = "zero almost everywhere"},
  {.name = "ceil", .doc = "Rounded towards infinity.", .sig = "n[*s] -> n[*s]",
   .body = [](X x) { return x.integer ? x[0] : ceil(x[0]); }, .nondiff = "zero almost everywhere"},
  {.name = "round_even", .doc = "Rounded to the nearest integer, half to even.", .sig = "n[*s] -> n[*s]",
   .body = [](X x) { return x.integer ? x[0] : round(x[0]); }, .nondiff = "zero almost everywhere", .method = false,
   .function = false},
  {.name = "trunc", .doc = "Rounded towards zero.", .sig = "n[*s] -> n[*s]",
   .body = [](X x) { return x.integer ? x[0] : trunc(x[0]); }, .nondiff = "zero almost everywhere", .alias = "fix"},
  {.name = "frac", .doc = "x - trunc(x).", .sig = "f[*s] -> f[*s]", .body = [](X x) { return x[0] - trunc(x[0]); },
   .d = {[](X, S) { return S(1); }}, .test = {.domain = {{0.1, 0.9}}}},
  {.name = "isnan", .doc = "True where x is NaN.", .sig = "t[*s] -> b[*s]", .body = [](X x) { return x[0] != x[0]; },
   .nondiff = "a predicate"},
  {.name = "isinf", .doc = "True where x is plus or minus infinity.", .sig = "t[*s] -> b[*s]",
   .body = [](X x) { return x.integer ? x[0] != x[0] : abs(x[0]) == kInf; }, .nondiff = "a predicate"},
  {.name = "isfinite", .doc = "True where x is neither infinite nor NaN.", .sig = "t[*s] -> b[*s]",
   .body = [](X x) { return x.integer ? x[0] == x[0] : abs(x[0]) < kInf; }, .nondiff = "a predicate"},
  {.name = "logical_not", .doc = "True where x is 0.", .sig = "t[*s] -> b[*s]", .body = [](X x) { return x[0] == 0; },
   .nondiff = "a predicate"},
  {.name = "bessel_i", .doc = "The modified Bessel function of the first kind of a whole order.",
   .sig = "f[*s] -> f[*s]", .params = "x, order: size", .symbol = "bessel_i",
   .vjp = "lambda g, y, x, order: g * ouro.bessel_i_slope(x, order)",
   .jvp = "lambda t, y, x, order: t * ouro.bessel_i_slope(x, order)", .method = false, .function = false,
   .test = {.tol = 1e-6, .cases = "f[3,4], 0 | f[3,4], 2"}},
  {.name = "polygamma", .doc = "The n-th derivative of digamma.", .sig = "f[*s] -> f[*s]", .params = "n: size, @x",
   .symbol = "polygamma", .vjp = "lambda g, y, n, x: g * ouro.polygamma(n + 1, x)",
   .jvp = "lambda t, y, n, x: t * ouro.polygamma(n + 1, x)", .method = false,
   .test = {.domain = {{0.5, 3}}, .tol = 1e-5, .cases = "2, f[3,4] | 0, f[3]"}},
  {.name = "same_gcd", .doc = "The greatest common divisors of two tensors of one shape.",
   .sig = "i[*s], i[*s] -> i[*s]", .shape = "same", .symbol = "same_gcd", .method = false, .function = false},
  {.name = "bitwise_not", .doc = "Every bit flipped; of a bool: not.", .sig = "i[*s] -> i[*s]",
   .body = [](X x) { return ~x[0]; }},
};
// clang-format on

// clang-format off
constexpr OpDef kActivations[] = {
  {.name = "sigmoid", .doc = "1 / (1 + exp(-x)).", .sig = "f[*s] -> f[*s]", .body = [](X x) { return sigmoid(x[0]); },
   .d = {[](X, S y) { return y * (S(1) - y); }}, .test = {.tol = 6e-7}},
  {.name = "logsigmoid", .doc = "log(sigmoid(x)).", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return -softplus1(-x[0]); }, .d = {[](X x, S) { return sigmoid(-x[0]); }}, .test = {.tol = 1e-6}},
  {.name = "softplus", .doc = "log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold.",
   .sig = "f[*s] -> f[*s]",
   .params = "x, beta: number = 1.0, threshold: number = 20.0",
   .body = [](X x) { return select(x[0] * x.param(0) > x.param(1), x[0], softplus1(x[0] * x.param(0)) / x.param(0)); },
   .d = {[](X x, S) { return select(x[0] * x.param(0) > x.param(1), 1, sigmoid(x[0] * x.param(0))); }},
   .test = {.tol = 1e-6, .cases = "f[3,4] | f[3,4], 1.5, 0.75"}},
  {.name = "relu", .doc = "max(x, 0).", .sig = "n[*s] -> n[*s]", .body = [](X x) { return max(x[0], 0); },
   .d = {[](X x, S) { return select(x[0] > 0, 1, 0); }}},
  {.name = "relu6", .doc = "min(max(x, 0), 6).", .sig = "n[*s] -> n[*s]",
   .body = [](X x) { return min(max(x[0], 0), 6); },
   .d = {[](X x, S) { return select((x[0] > 0) & (x[0] < 6), 1, 0); }}, .test = {.domain = {{-3, 8}}}},
  {.name = "leaky_relu", .doc = "x, or negative_slope * x below 0.", .sig = "f[*s] -> f[*s]",
   .params = "x, negative_slope: number = 0.01", .body = [](X x) { return select(x[0] > 0, x[0], x[0] * x.param(0)); },
   .d = {[](X x, S) { return select(x[0] > 0, 1, x.param(0)); }}, .test = {.cases = "f[3,4] | f[3,4], 0.25"}},
  {.name = "elu", .doc = "x, or alpha * (exp(x) - 1) below 0.", .sig = "f[*s] -> f[*s]",
   .params = "x, alpha: number = 1.0", .body = [](X x) { return select(x[0] > 0, x[0], expm1(x[0]) * x.param(0)); },
   .d = {[](X x, S) { return select(x[0] > 0, 1, exp(x[0]) * x.param(0)); }},
   .test = {.tol = 6e-7, .cases = "f[3,4] | f[3,4], 0.75"}},
  {.name = "selu", .doc = "1.0507 x, or 1.0507 * 1.6733 (exp(x) - 1) below 0 (Klambauer et al. 2017).",
   .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return select(x[0] > 0, x[0], expm1(x[0]) * kSeluAlpha) * kSeluScale; },
   .d = {[](X x, S) { return select(x[0] > 0, 1, exp(x[0]) * kSeluAlpha) * kSeluScale; }},
   .test = {.tol = 6e-7}},
  {.name = "celu", .doc = "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).", .sig = "f[*s] -> f[*s]",
   .params = "x, alpha: number = 1.0",
   .body = [](X x) { return select(x[0] > 0, x[0], expm1(x[0] / x.param(0)) * x.param(0)); },
   .d = {[](X x, S) { return select(x[0] > 0, 1, exp(x[0] / x.param(0))); }},
   .test = {.tol = 6e-7, .cases = "f[3,4] | f[3,4], 0.75"}},
  {.name = "gelu_erf", .doc = "x * Phi(x), exact.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return x[0] * 0.5 * (erf(x[0] * kRootHalf) + 1); },
   .d = {[](X x, S) {
     return (erf(x[0] * kRootHalf) + 1) * 0.5 + x[0] * exp(x[0] * x[0] * -0.5) * (0.5 * kRootTwoOverPi);
   }},
   .method = false, .function = false, .test = {.tol = 2e-6}},
  {.name = "gelu_tanh", .doc = "x * Phi(x), by tanh.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return x[0] * 0.5 * (tanh((x[0] + x[0] * x[0] * x[0] * 0.044715) * kRootTwoOverPi) + 1); },
   .d = {[](X x, S) {
     S t = tanh((x[0] + x[0] * x[0] * x[0] * 0.044715) * kRootTwoOverPi);
     S inner = (x[0] * x[0] * (3 * 0.044715) + 1) * kRootTwoOverPi;
     return (t + 1) * 0.5 + x[0] * 0.5 * (S(1) - t * t) * inner;
   }},
   .method = false, .function = false, .test = {.tol = 2e-6}},
  {.name = "silu", .doc = "x * sigmoid(x).", .sig = "f[*s] -> f[*s]", .body = [](X x) { return x[0] * sigmoid(x[0]); },
   .d = {[](X x, S) { S s = sigmoid(x[0]); return s * (x[0] * (S(1) - s) + 1); }}, .alias = "swish",
   .test = {.tol = 1e-6}},
  {.name = "mish", .doc = "x * tanh(softplus(x)).", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return x[0] * tanh(softplus1(x[0])); },
   .d = {[](X x, S) { S t = tanh(softplus1(x[0])); return t + x[0] * (S(1) - t * t) * sigmoid(x[0]); }},
   .test = {.tol = 2e-6}},
  {.name = "hardtanh", .doc = "x between min_val and max_val.", .sig = "f[*s] -> f[*s]",
   .params = "x, min_val: number = -1.0, max_val: number = 1.0",
   .body = [](X x) { return min(max(x[0], x.param(0)), x.param(1)); },
   .d = {[](X x, S) { return select((x[0] > x.param(0)) & (x[0] < x.param(1)), 1, 0); }},
   .test = {.cases = "f[3,4] | f[3,4], -0.5, 0.75"}},
  {.name = "hardsigmoid", .doc = "relu6(x + 3) / 6.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return min(max(x[0] + 3, 0), 6) / 6; },
   .d = {[](X x, S) { return select((x[0] > -3) & (x[0] < 3), 1. / 6, 0); }}, .test = {.domain = {{-5, 5}}}},
  {.name = "hardswish", .doc = "x * relu6(x + 3) / 6.", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return x[0] * min(max(x[0] + 3, 0), 6) / 6; },
   .d = {[](X x, S) { return select(x[0] < -3, 0, select(x[0] <= 3, x[0] / 3 + 0.5, 1)); }},
   .test = {.domain = {{-5, 5}}}},
  {.name = "softsign", .doc = "x / (1 + |x|).", .sig = "f[*s] -> f[*s]",
   .body = [](X x) { return x[0] / (abs(x[0]) + 1); },
   .d = {[](X x, S) { S a = abs(x[0]) + 1; return S(1) / (a * a); }}},
};
// clang-format on

// erfinv(1 - x) loses what is small: below 0.1 by Halley's steps from Hastings' approximation (Abramowitz, 26.2.23).
S erfc_inverse(S x) {
  S u = min(x, S(2) - x), t = sqrt(log(u / 2) * -2.0);
  S y = (t - (t * (t * 0.010328 + 0.802853) + 2.515517) / (t * (t * (t * 0.001308 + 0.189269) + 1.432788) + 1)) *
        kRootHalf;
  for (int step = 0; step < 2; ++step) {
    S q = (erfc(y) - u) / (exp(-(y * y)) * -kTwoOverRootPi);
    y = y - q / (y * q + 1);
  }
  y = select(u == 0, kInf, select(u < 0.1, y, erfinv(S(1) - u)));
  return select(x > 1, -y, y);
}

S floor_divide(X x) {  // C's floor of the exact quotient, as PyTorch and Python do it
  S a = x[0], b = x[1];
  if (x.integer) {
    S q = idiv(a, b), r = a - q * b;
    return select((r != 0) & ((r < 0) != (b < 0)), q - 1, q);
  }
  S mod = fmod(a, b), q = (a - mod) / b;
  q = select((mod != 0) & ((b < 0) != (mod < 0)), q - 1, q);
  S f = floor(q);
  f = select(q - f > 0.5, f + 1, f);
  return select(b == 0, a / b, select(q == 0, a / b * 0, f));
}
S remainder(X x) {  // sign of the divisor
  S a = x[0], b = x[1];
  S mod = x.integer ? irem(a, b) : fmod(a, b);
  return select((mod != 0) & ((b < 0) != (mod < 0)), mod + b, mod);
}

// clang-format off
constexpr OpDef kBinary[] = {
  {.name = "add", .doc = "x + y.", .sig = "t[*s], t[*s] -> t[*s]", .body = [](X x) { return x[0] + x[1]; },
   .d = {[](X, S) { return S(1); }, [](X, S) { return S(1); }}, .method = false, .function = false},
  {.name = "sub", .doc = "x - y.", .sig = "n[*s], n[*s] -> n[*s]", .body = [](X x) { return x[0] - x[1]; },
   .d = {[](X, S) { return S(1); }, [](X, S) { return S(-1); }}, .method = false, .function = false},
  {.name = "mul", .doc = "x * y.", .sig = "t[*s], t[*s] -> t[*s]", .body = [](X x) { return x[0] * x[1]; },
   .d = {[](X x, S) { return x[1]; }, [](X x, S) { return x[0]; }}, .alias = "multiply"},
  {.name = "div", .doc = "x / y, true division.", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) { return x[0] / x[1]; },
   .d = {[](X x, S) { return S(1) / x[1]; }, [](X x, S y) { return -y / x[1]; }}, .method = false, .function = false,
   .test = {.domain = {{-2, 2}, {0.5, 3}}}},
  {.name = "floor_divide", .doc = "floor(x / y).", .sig = "n[*s], n[*s] -> n[*s]", .body = floor_divide,
   .nondiff = "zero almost everywhere", .integer_zero_raises = true, .test = {.domain = {{-7, 7}, {0.5, 3}}}},
  {.name = "remainder", .doc = "x - floor_divide(x, y) * y; has the sign of y.", .sig = "n[*s], n[*s] -> n[*s]",
   .body = remainder, .d = {[](X, S) { return S(1); }, [](X x, S) { return -floor(x[0] / x[1]); }},
   .integer_zero_raises = true, .alias = "mod", .test = {.domain = {{-5.9, -5.6}, {1.5, 1.8}}}},
  {.name = "fmod", .doc = "x - trunc(x / y) * y; has the sign of x.", .sig = "n[*s], n[*s] -> n[*s]",
   .body = [](X x) { return x.integer ? irem(x[0], x[1]) : fmod(x[0], x[1]); },
   .d = {[](X, S) { return S(1); }, [](X x, S) { return -trunc(x[0] / x[1]); }}, .integer_zero_raises = true,
   .test = {.domain = {{-5.9, -5.6}, {1.5, 1.8}}}},
  {.name = "pow", .doc = "x to the y.", .sig = "n[*s], n[*s] -> n[*s]", .body = [](X x) { return pow(x[0], x[1]); },
   .d = {[](X x, S) { return select(x[1] == 0, 0, x[1] * pow(x[0], x[1] - 1)); },
         [](X x, S y) { return select((x[0] == 0) & (x[1] >= 0), 0, y * log(x[0])); }},
   .function = false, .alias = "power",
   .test = {.domain = {{0.3, 2}, {-2, 2}}, .tol = 1e-6, .cases = "f[3,4], f[3,4] | f[3,1], f[4] | f[3,4], 3"}},
  {.name = "atan2", .doc = "Angle of the point (y, x).", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) { return atan2(x[0], x[1]); },
   .d = {[](X x, S) { return x[1] / (x[0] * x[0] + x[1] * x[1]); },
         [](X x, S) { return -x[0] / (x[0] * x[0] + x[1] * x[1]); }},
   .alias = "arctan2", .test = {.domain = {{0.2, 2}, {-2, 2}}, .tol = 1e-6}},
  {.name = "maximum", .doc = "The larger of x and y; NaN wins, ties share the gradient.",
   .sig = "t[*s], t[*s] -> t[*s]",
   .body = [](X x) { return max(x[0], x[1]); },
   .d = {[](X x, S) { return select(x[0] > x[1], 1, select(x[0] == x[1], 0.5, 0)); },
         [](X x, S) { return select(x[1] > x[0], 1, select(x[0] == x[1], 0.5, 0)); }}},
  {.name = "minimum", .doc = "The smaller of x and y; NaN wins, ties share the gradient.",
   .sig = "t[*s], t[*s] -> t[*s]",
   .body = [](X x) { return min(x[0], x[1]); },
   .d = {[](X x, S) { return select(x[0] < x[1], 1, select(x[0] == x[1], 0.5, 0)); },
         [](X x, S) { return select(x[1] < x[0], 1, select(x[0] == x[1], 0.5, 0)); }}},
  {.name = "hypot", .doc = "sqrt(x^2 + y^2) without overflow.", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) {
     S a = abs(x[0]), b = abs(x[1]), m = max(a, b), n = min(a, b), r = n / m;
     return select(m == kInf, kInf, select(m == 0, m, m * sqrt(r * r + 1)));
   },
   .d = {[](X x, S y) { return select(y == 0, 0, x[0] / y); }, [](X x, S y) { return select(y == 0, 0, x[1] / y); }},
   .test = {.domain = {{0.2, 2}, {-2, -0.2}}, .tol = 6e-7}},
  {.name = "logaddexp", .doc = "log(exp(x) + exp(y)).", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) { S m = max(x[0], x[1]); return select(abs(m) == kInf, m, m + log1p(exp(-abs(x[0] - x[1])))); },
   .d = {[](X x, S) { return sigmoid(x[0] - x[1]); }, [](X x, S) { return sigmoid(x[1] - x[0]); }},
   .test = {.tol = 1e-6}},
  {.name = "logaddexp2", .doc = "log2(2^x + 2^y).", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) { S m = max(x[0], x[1]); return select(abs(m) == kInf, m, m + log1p(exp2(-abs(x[0] - x[1]))) / kLn2); },
   .d = {[](X x, S) { return sigmoid((x[0] - x[1]) * kLn2); }, [](X x, S) { return sigmoid((x[1] - x[0]) * kLn2); }},
   .test = {.tol = 1e-6}},
  {.name = "copysign", .doc = "|x| with the sign of y.", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) { S a = abs(x[0]); return select((x[1] < 0) | ((x[1] == 0) & (S(1) / x[1] < 0)), -a, a); },
   .d = {[](X x, S y) { return select(x[0] == 0, 0, y / x[0]); }, [](X, S) { return S(0); }}},
  {.name = "xlogy", .doc = "x * log(y), 0 where x is 0.", .sig = "f[*s], f[*s] -> f[*s]",
   .body = [](X x) { return select((x[0] == 0) & (x[1] == x[1]), 0, x[0] * log(x[1])); },
   .d = {[](X x, S) { return select((x[0] == 0) & (x[1] <= 0), 0, log(x[1])); }, [](X x, S) { return x[0] / x[1]; }},
   .test = {.domain = {{-2, 2}, {0.3, 3}}, .tol = 1e-6}},
  {.name = "eq", .doc = "x == y.", .sig = "t[*s], t[*s] -> b[*s]", .body = [](X x) { return x[0] == x[1]; },
   .nondiff = "a predicate"},
  {.name = "ne", .doc = "x != y.", .sig = "t[*s], t[*s] -> b[*s]", .body = [](X x) { return x[0] != x[1]; },
   .nondiff = "a predicate", .alias = "not_equal"},
  {.name = "lt", .doc = "x < y.", .sig = "t[*s], t[*s] -> b[*s]", .body = [](X x) { return x[0] < x[1]; },
   .nondiff = "a predicate", .alias = "less"},
  {.name = "le", .doc = "x <= y.", .sig = "t[*s], t[*s] -> b[*s]", .body = [](X x) { return x[0] <= x[1]; },
   .nondiff = "a predicate", .alias = "less_equal"},
  {.name = "gt", .doc = "x > y.", .sig = "t[*s], t[*s] -> b[*s]", .body = [](X x) { return x[0] > x[1]; },
   .nondiff = "a predicate", .alias = "greater"},
  {.name = "ge", .doc = "x >= y.", .sig = "t[*s], t[*s] -> b[*s]", .body = [](X x) { return x[0] >= x[1]; },
   .nondiff = "a predicate", .alias = "greater_equal"},
  {.name = "isclose", .doc = "|x - y| <= atol + rtol * |y|.", .sig = "f[*s], f[*s] -> b[*s]",
   .params = "x, y, rtol: number = 1e-5, atol: number = 1e-8, equal_nan: flag = False",
   .body = [](X x) {
     S near = (abs(x[0] - x[1]) <= x.param(1) + x.param(0) * abs(x[1])) & (abs(x[1]) < kInf);
     S close = (x[0] == x[1]) | near;
     return close | ((x[0] != x[0]) & (x[1] != x[1]) & (x.param(2) != 0.0));
   },
   .nondiff = "a predicate"},
  {.name = "logical_and", .doc = "True where both are not 0.", .sig = "t[*s], t[*s] -> b[*s]",
   .body = [](X x) { return truth(x[0]) & truth(x[1]); }, .nondiff = "a predicate"},
  {.name = "logical_or", .doc = "True where at least one is not 0.", .sig = "t[*s], t[*s] -> b[*s]",
   .body = [](X x) { return truth(x[0]) | truth(x[1]); }, .nondiff = "a predicate"},
  {.name = "logical_xor", .doc = "True where exactly one is not 0.", .sig = "t[*s], t[*s] -> b[*s]",
   .body = [](X x) { return truth(x[0]) != truth(x[1]); }, .nondiff = "a predicate"},
  {.name = "bitwise_and", .doc = "x & y.", .sig = "i[*s], i[*s] -> i[*s]", .body = [](X x) { return x[0] & x[1]; }},
  {.name = "bitwise_or", .doc = "x | y.", .sig = "i[*s], i[*s] -> i[*s]", .body = [](X x) { return x[0] | x[1]; }},
  {.name = "bitwise_xor", .doc = "x ^ y.", .sig = "i[*s], i[*s] -> i[*s]", .body = [](X x) { return x[0] ^ x[1]; }},
  {.name = "bitwise_left_shift", .doc = "x << y.", .sig = "i[*s], i[*s] -> i[*s]",
   .body = [](X x) { return shl(x[0], x[1]); }},
  {.name = "bitwise_right_shift", .doc = "x >> y.", .sig = "i[*s], i[*s] -> i[*s]",
   .body = [](X x) { return shr(x[0], x[1]); }},
  {.name = "prelu_scaled", .doc = "x, or scale * x below 0.", .sig = "f[*s], f[*s] -> f[*s]", .params = "x, scale",
   .body = [](X x) { return select(x[0] > 0, x[0], x[0] * x[1]); },
   .d = {[](X x, S) { return select(x[0] > 0, 1, x[1]); }, [](X x, S) { return select(x[0] > 0, 0, x[0]); }},
   .method = false, .function = false},
  {.name = "clamp_min", .doc = "The larger of x and min.", .sig = "t[*s], t[*s] -> t[*s]", .params = "x, min",
   .body = [](X x) { return max(x[0], x[1]); },
   .d = {[](X x, S) { return select(x[0] >= x[1], 1, 0); }, [](X x, S) { return select(x[0] < x[1], 1, 0); }}},
  {.name = "clamp_max", .doc = "The smaller of x and max.", .sig = "t[*s], t[*s] -> t[*s]", .params = "x, max",
   .body = [](X x) { return min(x[0], x[1]); },
   .d = {[](X x, S) { return select(x[0] <= x[1], 1, 0); }, [](X x, S) { return select(x[0] > x[1], 1, 0); }}},
};
// clang-format on

// clang-format off
constexpr OpDef kTernary[] = {
  {.name = "where", .doc = "x where condition, else y.", .sig = "b[*s], t[*s], t[*s] -> t[*s]",
   .params = "condition, x, y", .body = [](X x) { return select(x[0], x[1], x[2]); }, .linear_in = 6,
   .vjp = "lambda g, y, c, a, b: (None, ouro.sum_to(ouro.where(c, g, 0), a), ouro.sum_to(ouro.where(c, 0, g), b))",
   .method = false, .function = false},
  {.name = "lerp", .doc = "x + weight * (y - x).", .sig = "f[*s], f[*s], f[*s] -> f[*s]", .params = "x, y, weight",
   .body = [](X x) {
     return select(abs(x[2]) < 0.5, x[0] + x[2] * (x[1] - x[0]), x[1] - (x[1] - x[0]) * (S(1) - x[2]));
   },
   .d = {[](X x, S) { return S(1) - x[2]; }, [](X x, S) { return x[2]; }, [](X x, S) { return x[1] - x[0]; }}},
  {.name = "addcmul", .doc = "x + value * y * z.", .sig = "f[*s], f[*s], f[*s] -> f[*s]",
   .params = "x, y, z, value: number = 1.0", .body = [](X x) { return x[0] + x.param(0) * x[1] * x[2]; },
   .d = {[](X, S) { return S(1); }, [](X x, S) { return x.param(0) * x[2]; }, [](X x, S) { return x.param(0) * x[1]; }},
   .test = {.cases = "f[3,4], f[3,4], f[3,4] | f[3,1], f[4], f[], value=0.75"}},
  {.name = "addcdiv", .doc = "x + value * y / z.", .sig = "f[*s], f[*s], f[*s] -> f[*s]",
   .params = "x, y, z, value: number = 1.0", .body = [](X x) { return x[0] + x.param(0) * (x[1] / x[2]); },
   .d = {[](X, S) { return S(1); }, [](X x, S) { return x.param(0) / x[2]; },
         [](X x, S) { return -(x.param(0) * x[1]) / (x[2] * x[2]); }},
   .test = {.domain = {{-2, 2}, {-2, 2}, {0.5, 3}}, .cases = "f[3,4], f[3,4], f[3,4] | f[3,1], f[4], f[], value=0.75"}},
  {.name = "cross_entropy_of_bit",
   .doc = "-(target log x + (1 - target) log(1 - x)), logs not below -100; the derivative is finite at 0 and 1.",
   .sig = "f[*s], f[*s] -> f[*s]", .params = "x, target",
   .body = [](X x) { S a = max(log(x[0]), -100.0), b = max(log1p(-x[0]), -100.0); return (x[1] - 1) * b - x[1] * a; },
   .d = {[](X x, S) { return (x[0] - x[1]) / max((S(1) - x[0]) * x[0], 1e-12); },
         [](X x, S) { return max(log1p(-x[0]), -100.0) - max(log(x[0]), -100.0); }},
   .method = false, .function = false, .test = {.domain = {{0.1, 0.9}, {0, 1}}, .tol = 1e-5}},
};
// clang-format on

static_assert(complete(kUnary) && complete(kActivations) && complete(kBinary) && complete(kTernary));

}  // namespace

std::span<const OpDef> elementwise_rows() {
  static const std::vector<OpDef>& all = support::forever([] {
    std::vector<OpDef> v;
    for (std::span<const OpDef> t : {std::span<const OpDef>(kUnary), std::span<const OpDef>(kActivations),
                                     std::span<const OpDef>(kBinary), std::span<const OpDef>(kTernary)})
      v.insert(v.end(), t.begin(), t.end());
    return v;
  }());
  return all;
}

}  // namespace ouro::ir
