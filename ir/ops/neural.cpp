// Convolution and pooling: rows only. (The forms that people call, and all layers over them, are in stdlib/ops/neural.)
//
// convolve, convolve_input and convolve_weight serve 1 to 3 spatial dims; each is linear in both inputs and the three
// are each other's derivatives. stride, padding and dilation are tuples here, one number per spatial dim.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr LoopSpec conv(std::string_view which) { return {.kind = LoopKind::conv, .index = which}; }

// clang-format off
constexpr OpDef kNeural[] = {
  {.name = "convolve", .doc = "y[b, o, i] = sum of x[b, c, i stride + k dilation - padding] w[o, c, k].",
   .sig = "f[*], f[*] -> f[@]",
   .params = "x, weight, stride: positives, padding: naturals, dilation: positives, groups: positive",
   .shape = "convolve", .loop = conv("forward"), .linear_in = 3,
   .vjp = "lambda g, y, x, w, s, p, d, n: (ouro.convolve_input(g, w, x.shape, s, p, d, n), ouro.convolve_weight(g, "
          "x, w.shape, s, p, d, n))", .method = false, .function = false,
   .test = {.tol = 1e-5, .cases = "f[2,2,5,5], f[3,2,3,3], (1, 1), (0, 0), (1, 1), 1 | f[2,4,6,5], f[2,2,3,2], (2, "
          "1), (1, 1), (1, 2), 2 | f[2,2,7], f[3,2,3], (2,), (1,), (1,), 1"}},
  {.name = "convolve_input", .doc = "The transpose of convolve in x: a tensor of shape `shape`.",
   .sig = "f[*], f[*] -> f[@]",
   .params = "g, weight, shape: sizes, stride: positives, padding: naturals, dilation: positives, groups: positive",
   .shape = "given", .loop = conv("input"), .linear_in = 3,
   .vjp = "lambda c, y, g, w, shape, s, p, d, n: (ouro.convolve(c, w, s, p, d, n), ouro.convolve_weight(g, c, "
          "w.shape, s, p, d, n))", .method = false, .function = false,
   .test = {.tol = 1e-5, .cases = "f[2,3,3,3], f[3,2,3,3], (2, 2, 5, 5), (1, 1), (0, 0), (1, 1), 1"}},
  {.name = "convolve_weight", .doc = "The transpose of convolve in weight: a tensor of shape `shape`.",
   .sig = "f[*], f[*] -> f[@]",
   .params = "g, x, shape: sizes, stride: positives, padding: naturals, dilation: positives, groups: positive",
   .shape = "given", .loop = conv("weight"), .linear_in = 3,
   .vjp = "lambda c, y, g, x, shape, s, p, d, n: (ouro.convolve(x, c, s, p, d, n), ouro.convolve_input(g, c, "
          "x.shape, s, p, d, n))", .method = false, .function = false,
   .test = {.tol = 1e-5, .cases = "f[2,3,3,3], f[2,2,5,5], (3, 2, 3, 3), (1, 1), (0, 0), (1, 1), 1"}},
  {.name = "max_pool", .doc = "Maximum over windows of the trailing len(kernel) axes; NaN wins.", .sig = "n[*] -> n[@]",
   .params = "x, kernel: positives, stride: positives?, padding: naturals, dilation: positives, ceil_mode: flag",
   .shape = "pool",
   .loop = {.kind = LoopKind::window, .index = "max", .combine = Leaf::max},
   .vjp = "lambda g, y, x, k, s, p, d, c: ouro.pool_scatter(g, ouro.max_pool_index(x, k, s, p, d, c), x, len(k))",
   .jvp = "lambda t, y, x, k, s, p, d, c: ouro.pool_gather(t, ouro.max_pool_index(x, k, s, p, d, c), len(k))",
   .method = false, .function = false, .test = {.cases = "f[2,2,5,6], (2, 3), (1, 2), (0, 1), (1, 1), False"}},
  {.name = "max_pool_index", .doc = "Where in its plane (flat) each window's maximum is; the first one wins.",
   .sig = "n[*] -> i64[@]",
   .params = "x, kernel: positives, stride: positives, padding: naturals, dilation: positives, ceil_mode: flag",
   .shape = "pool", .loop = {.kind = LoopKind::window, .index = "argmax", .combine = Leaf::max}, .nondiff = "an index",
   .method = false, .function = false},
  {.name = "pool_gather", .doc = "x at the flat places of each plane (the last n axes) that index names.",
   .sig = "t[*], i64[*s] -> t[*s]", .params = "x, index, n: size", .shape = "pool_gather",
   .loop = {.kind = LoopKind::gather, .index = "plane"}, .linear_in = 1,
   .vjp = "lambda g, y, x, index, n: (ouro.pool_scatter(g, index, x, n), None)", .method = false, .function = false,
   .test = {.cases = "f[2,2,4,4], tensor(((((0, 5), (10, 15)), ((1, 4), (11, 3))), (((2, 2), (8, 9)), ((0, 1), (2, "
                     "3))))), 2"}},
  {.name = "pool_scatter",
   .doc = "Zeros in the shape of `like` with x added at the flat places of each plane (the last n axes) that index "
          "names.", .sig = "t[*s], i64[*s], a[*] -> t[@]", .params = "x, index, like, n: size", .shape = "pool_scatter",
   .loop = {.kind = LoopKind::scatter, .index = "plane add"}, .linear_in = 1,
   .vjp = "lambda g, y, x, index, like, n: (ouro.pool_gather(g, index, n), None, None)", .method = false,
   .function = false, .test = {.cases = "f[1,1,2,2], tensor(((((0, 5), (10, 5)),),)), f[1,1,4,4], 2"}},
  {.name = "avg_pool", .doc = "Mean over windows of the trailing len(kernel) axes.", .sig = "f[*] -> f[@]",
   .params = "x, kernel: positives, stride: positives?, padding: naturals, ceil_mode: flag, count_include_pad: flag, "
             "divisor: number?", .shape = "pool",
   .loop = {.kind = LoopKind::window, .index = "mean", .combine = Leaf::add},
   .linear_in = 1, .vjp = "lambda g, y, x, k, s, p, c, i, d: ouro.avg_pool_back(g, x, k, s, p, c, i, d)",
   .method = false, .function = false,
   .test = {.cases = "f[2,2,5,6], (2, 3), (1, 2), (1, 1), False, True, 0 | f[2,2,5,6], (2, 2), (2, 2), (1, 0), "
                     "True, False, 0"}},
  {.name = "avg_pool_back", .doc = "The transpose of avg_pool, in the shape of `like`.", .sig = "f[*], a[*] -> f[@]",
   .params = "x, like, kernel: positives, stride: positives, padding: naturals, ceil_mode: flag, count_include_pad: "
             "flag, divisor: number?", .shape = "pool_back",
   .loop = {.kind = LoopKind::window, .index = "mean back", .combine = Leaf::add},
   .linear_in = 1, .vjp = "lambda g, y, x, like, k, s, p, c, i, d: (ouro.avg_pool(g, k, s, p, c, i, d), None)",
   .method = false, .function = false,
   .test = {.cases = "f[2,2,4,5], f[2,2,5,6], (2, 2), (1, 1), (0, 0), False, True, 0"}},
};
// clang-format on
static_assert(complete(kNeural));

}  // namespace

std::span<const OpDef> neural_rows() { return kNeural; }

}  // namespace ouro::ir
