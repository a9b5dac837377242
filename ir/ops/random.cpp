// Random tensors: rows only. Every draw is keyed by (seed, draw counter, lane, element) and taken from Philox4x32-10
// (philox.h), so that it does not depend on tier, device or threads (docs/design/rules.md E25). The counter moves once
// per operation, also when the result is not used.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

// clang-format off
constexpr OpDef kRandom[] = {
  {.name = "rand", .doc = "Uniform in [0, 1). Sizes are ints or one tuple.",
   .sig = "-> $[@]", .params = "*size: sizes, dtype: dtype? = None",
   .shape = "make", .symbol = "rand", .method = false, .effect = OpEffect::rng},
  {.name = "randn", .doc = "Normal with mean 0 and variance 1. Sizes are ints or one tuple.", .sig = "-> $[@]",
   .params = "*size: sizes, dtype: dtype? = None", .shape = "make", .symbol = "randn", .method = false,
   .effect = OpEffect::rng},
  {.name = "rand_like", .doc = "Uniform in [0, 1), in the shape and dtype of x.",
   .sig = "f[*s] -> f[*s]", .params = "x",
   .symbol = "rand_like", .nondiff = "random", .method = false, .effect = OpEffect::rng},
  {.name = "randn_like", .doc = "Normal with mean 0 and variance 1, in the shape and dtype of x.",
   .sig = "f[*s] -> f[*s]", .params = "x",
   .symbol = "randn_like", .nondiff = "random", .method = false, .effect = OpEffect::rng},
  {.name = "next_draw", .doc = "The number of the next draw of random numbers, which is used up by it.",
   .sig = "-> i64[]", .symbol = "next_draw", .method = false, .function = false, .effect = OpEffect::rng},
  {.name = "rand_drawn", .doc = "What rand_like gives as that draw, from element `start` on, in the shape of x.",
   .sig = "f[*s], i64[] -> f[*s]", .params = "x, draw, start: int", .symbol = "rand_drawn", .nondiff = "random",
   .method = false, .function = false, .test = {.cases = "f[3,4], tensor(5), 7"}},
  {.name = "randn_drawn", .doc = "What randn_like gives as that draw, from element `start` on, in the shape of x.",
   .sig = "f[*s], i64[] -> f[*s]", .params = "x, draw, start: int", .symbol = "randn_drawn", .nondiff = "random",
   .method = false, .function = false, .test = {.cases = "f[3,4], tensor(5), 7"}},
  {.name = "random_int", .doc = "Uniform integers in [low, high).", .sig = "-> i64[@]",
   .params = "low: int, high: int, size: sizes", .shape = "given_size", .symbol = "random_int", .method = false,
   .function = false, .effect = OpEffect::rng},
  {.name = "randperm", .doc = "A random order of 0 to n - 1.", .sig = "-> i64[@]", .params = "n: size",
   .shape = "vector_n", .symbol = "randperm", .method = false, .effect = OpEffect::rng},
};
// clang-format on
static_assert(complete(kRandom));

}  // namespace

std::span<const OpDef> random_rows() { return kRandom; }

}  // namespace ouro::ir
