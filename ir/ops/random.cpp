// Random tensors: rows only. Every draw is keyed by (seed, draw counter, lane, element) and taken from Philox4x32-10
// (philox.h), so that it does not depend on tier, device or threads (RULES E25). The counter moves once per operation,
// also when the result is not used.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

// clang-format off
constexpr OpDef kRandom[] = {
  {.name = "rand", .doc = "Uniform in [0, 1).", .sig = "-> $[@]", .params = "*size, dtype=None", .shape = "make", .symbol = "rand", .method = false, .effect = OpEffect::rng},
  {.name = "randn", .doc = "Normal with mean 0 and variance 1.", .sig = "-> $[@]", .params = "*size, dtype=None", .shape = "make", .symbol = "randn", .method = false, .effect = OpEffect::rng},
  {.name = "rand_like", .doc = "rand in the shape and dtype of x.", .sig = "f[*s] -> f[*s]", .params = "x", .symbol = "rand_like", .nondiff = "random", .method = false, .effect = OpEffect::rng},
  {.name = "randn_like", .doc = "randn in the shape and dtype of x.", .sig = "f[*s] -> f[*s]", .params = "x", .symbol = "randn_like", .nondiff = "random", .method = false, .effect = OpEffect::rng},
  {.name = "random_int", .doc = "Uniform integers in [low, high).", .sig = "-> i64[@]", .params = "low, high, size", .shape = "given_size", .symbol = "random_int", .method = false, .function = false, .effect = OpEffect::rng},
  {.name = "randint", .doc = "Uniform integers: randint(high, size) or randint(low, high, size).", .sig = "-> i64[@]", .params = "low, high=None, size=None, *, dtype=None", .shape = "unknown",
   .source = "if size is None:\n  size = high\n  high = low\n  low = 0\nif high is None or low >= high:\n  raise RuntimeError(f'randint: low {low} is not below high {high}')\nr = ouro.random_int(low, high, size)\nreturn r if dtype is None else r.astype(dtype)", .method = false},
  {.name = "randperm", .doc = "A random order of 0 to n - 1.", .sig = "-> i64[@]", .params = "n", .shape = "vector_n", .symbol = "randperm", .method = false, .effect = OpEffect::rng},
  {.name = "bernoulli", .doc = "1 with probability x, else 0.", .sig = "f[*s] -> f[*s]", .params = "x", .source = "return (ouro.rand_like(x) < x).astype(x.dtype)"},
  {.name = "uniform", .doc = "Uniform in [low, high).", .sig = "-> $[@]", .params = "low=0.0, high=1.0, size=()", .shape = "unknown", .source = "return rand(size) * (high - low) + low", .method = false},
  {.name = "normal", .doc = "Normal with the given mean and standard deviation (numbers or tensors).", .sig = "-> $[@]", .params = "mean=0.0, std=1.0, size=None", .shape = "unknown",
   .source = "if size is None:\n  like = mean + std\n  return mean + std * ouro.randn_like(like) if ouro.is_tensor(like) else mean + std * randn(())\nreturn randn(size) * std + mean", .method = false},
  {.name = "multinomial", .doc = "num_samples indices drawn by the weights in the last axis.", .sig = "f[*] -> i64[@]", .params = "x, num_samples, replacement=False", .shape = "unknown",
   .source = "if replacement:\n  c = cumsum(x, -1)\n  u = rand(tuple(x.shape[:-1]) + (num_samples,), dtype=x.dtype) * narrow(c, -1, x.shape[-1] - 1, 1)\n  n = ouro.sum(unsqueeze(u, -1) >= unsqueeze(c, -2), -1)\n  return ouro.clamp_max(n, x.shape[-1] - 1)\nif num_samples > x.shape[-1]:\n  raise RuntimeError('multinomial: more samples than weights without replacement')\nk = ouro.log(ouro.rand_like(x)) / x\nreturn narrow(ouro.argsort(where(x > 0, k, -inf), -1, True), -1, 0, num_samples)"},
};
// clang-format on
static_assert(complete(kRandom));

}  // namespace

std::span<const OpDef> random_rows() { return kRandom; }

}  // namespace ouro::ir
