// Random tensors: rows only. Every draw is keyed by (seed, draw counter, lane, element) and taken from Philox4x32-10
// (philox.h), so that it does not depend on tier, device or threads (RULES E25). The counter moves once per operation,
// also when the result is not used.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

// clang-format off
constexpr OpDef kRandom[] = {
  {.name = "rand", .doc = "Uniform in [0, 1).", .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "rand", .method = false, .effect = OpEffect::rng},
  {.name = "randn", .doc = "Normal with mean 0 and variance 1.", .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "randn", .method = false, .effect = OpEffect::rng},
  {.name = "rand_like", .doc = "rand in the shape and dtype of x.", .sig = "f[*s] -> f[*s]", .params = "x", .symbol = "rand_like", .nondiff = "random", .method = false, .effect = OpEffect::rng},
  {.name = "randn_like", .doc = "randn in the shape and dtype of x.", .sig = "f[*s] -> f[*s]", .params = "x", .symbol = "randn_like", .nondiff = "random", .method = false, .effect = OpEffect::rng},
  {.name = "random_int", .doc = "Uniform integers in [low, high).", .sig = "-> i64[@]", .params = "low: int, high: int, size: sizes", .shape = "given_size", .symbol = "random_int", .method = false, .function = false, .effect = OpEffect::rng},
  {.name = "randint", .doc = "Uniform integers: randint(high, size) or randint(low, high, size).", .sig = "-> i64[@]", .params = "low: int, high: ints? = None, size: sizes? = None, *, dtype: dtype? = None", .shape = "unknown",
   .source = "if size is None:\n  size = high\n  high = low\n  low = 0\nif high is None or low >= high:\n  raise RuntimeError(f'randint: low {low} is not below high {high}')\nr = ouro.random_int(low, high, size)\nreturn r if dtype is None else r.astype(dtype)", .method = false},
  {.name = "randperm", .doc = "A random order of 0 to n - 1.", .sig = "-> i64[@]", .params = "n: size", .shape = "vector_n", .symbol = "randperm", .method = false, .effect = OpEffect::rng},
  {.name = "bernoulli", .doc = "1 with probability x, else 0.", .sig = "f[*s] -> f[*s]", .params = "x", .source = "return (ouro.rand_like(x) < x).astype(x.dtype)"},
  {.name = "uniform", .doc = "Uniform in [low, high).", .sig = "-> $[@]", .params = "low: number = 0.0, high: number = 1.0, size: sizes = ()", .shape = "unknown", .source = "return rand(size) * (high - low) + low", .method = false},
  {.name = "normal", .doc = "Normal with the given mean and standard deviation (numbers or tensors).", .sig = "-> $[@]", .params = "mean: number_or_tensor = 0.0, std: number_or_tensor = 1.0, size: sizes? = None", .shape = "unknown",
   .source = "if size is None:\n  like = mean + std\n  return mean + std * ouro.randn_like(like) if ouro.is_tensor(like) else mean + std * randn(())\nreturn randn(size) * std + mean", .method = false},
  {.name = "multinomial", .doc = "num_samples indices drawn by the weights in the last axis.", .sig = "f[*] -> i64[@]", .params = "x, num_samples: size, replacement: flag = False", .shape = "unknown",
   .source = "if x.ndim not in (1, 2) or x.shape[-1] == 0:\n  raise RuntimeError(f'multinomial: weights are a vector or a matrix with at least one column, not {tuple(x.shape)}')\nif num_samples < 1:\n  raise RuntimeError(f'multinomial: cannot draw {num_samples} samples')\nif not bool(ouro.all((x >= 0) & (x < inf))):\n  raise RuntimeError('multinomial: a weight is negative, infinite or nan')\nif not bool(ouro.all(ouro.sum(x, -1) > 0)):\n  raise RuntimeError('multinomial: all weights are 0')\nif replacement:\n  c = cumsum(x, -1)\n  u = rand(tuple(x.shape[:-1]) + (num_samples,), dtype=x.dtype) * narrow(c, -1, x.shape[-1] - 1, 1)\n  n = ouro.sum(unsqueeze(u, -1) >= unsqueeze(c, -2), -1)\n  return ouro.clamp_max(n, x.shape[-1] - 1)\nif num_samples > x.shape[-1]:\n  raise RuntimeError('multinomial: more samples than weights without replacement')\nif not bool(ouro.all(ouro.sum(x > 0, -1) >= num_samples)):\n  raise RuntimeError('multinomial: more samples than weights above 0 without replacement')\nk = ouro.log(ouro.rand_like(x)) / x\nreturn narrow(ouro.argsort(where(x > 0, k, -inf), -1, True), -1, 0, num_samples)"},
};
// clang-format on
static_assert(complete(kRandom));

}  // namespace

std::span<const OpDef> random_rows() { return kRandom; }

}  // namespace ouro::ir
