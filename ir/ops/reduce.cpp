// Reductions and scans: rows only. The order of combination is in reduce_order.h.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

using X = OpArgs;
S not_zero(X x) { return x[0] != 0; }

// clang-format off
constexpr OpDef kReduce[] = {
  {.name = "sum", .doc = "Sum over axis (None: all); integers and bools sum to i64.", .sig = "t[*s] -> t[@]",
   .params = "x, axis: axes? = None, keepdim: flag = False, *, dtype: dtype? = None", .shape = "sum",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::add}, .linear_in = 1,
   .vjp = "lambda g, y, x, axis, keepdim, dtype: ouro.unreduce(g, x, axis, keepdim)", .function = false,
   .test = {.tol = 1e-5, .cases = "f[3,4] | f[3,4], 0 | f[2,3,4], (0, 2), True"}},
  {.name = "prod", .doc = "Product over axis (None: all); integers and bools multiply to i64.", .sig = "t[*s] -> t[@]",
   .params = "x, axis: axes? = None, keepdim: flag = False, *, dtype: dtype? = None", .shape = "sum",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::mul},
   .vjp = "lambda g, y, x, axis, keepdim, dtype: ouro.unreduce(g, x, axis, keepdim) * ouro.prod_others(x, axis)",
   .jvp = "lambda t, y, x, axis, keepdim, dtype: ouro.sum(t * ouro.prod_others(x, axis), axis, keepdim)",
   .test = {.tol = 1e-5, .cases = "f[3,4], 1 | f[5]"}},
  {.name = "amax", .doc = "Largest over axis; NaN wins; ties share the gradient.", .sig = "t[*s] -> t[@]",
   .params = "x, axis: axes? = None, keepdim: flag = False", .shape = "reduce_some",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::max},
   .vjp = "lambda g, y, x, axis, keepdim: ouro.unreduce(g, x, axis, keepdim) * ouro.tie_share(x, y, axis, keepdim)",
   .jvp = "lambda t, y, x, axis, keepdim: ouro.sum(t * ouro.tie_share(x, y, axis, keepdim), axis, keepdim)",
   .test = {.cases = "f[3,4], 1 | f[3,4] | f[2,3,4], (0, 2), True"}},
  {.name = "peak", .doc = "amax, which is the lowest number there is over an axis without elements.",
   .sig = "t[*s] -> t[@]", .params = "x, axis: axes? = None, keepdim: flag = False", .shape = "reduce",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::max},
   .nondiff = "it is only subtracted", .method = false, .function = false,
   .test = {.cases = "f[3,4], 1 | f[3,4] | f[2,3,4], (0, 2), True"}},
  {.name = "amin", .doc = "Smallest over axis; NaN wins; ties share the gradient.", .sig = "t[*s] -> t[@]",
   .params = "x, axis: axes? = None, keepdim: flag = False", .shape = "reduce_some",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::min},
   .vjp = "lambda g, y, x, axis, keepdim: ouro.unreduce(g, x, axis, keepdim) * ouro.tie_share(x, y, axis, keepdim)",
   .jvp = "lambda t, y, x, axis, keepdim: ouro.sum(t * ouro.tie_share(x, y, axis, keepdim), axis, keepdim)",
   .test = {.cases = "f[3,4], 1 | f[3,4]"}},
  {.name = "argmax", .doc = "Index of the largest along axis (None: of the flat tensor); the first one wins.",
   .sig = "t[*s] -> i64[@]", .params = "x, axis: axis? = None, keepdim: flag = False", .shape = "reduce_one",
   .loop = {.kind = LoopKind::arg, .combine = Leaf::max}, .nondiff = "an index"},
  {.name = "argmin", .doc = "Index of the smallest along axis (None: of the flat tensor); the first one wins.",
   .sig = "t[*s] -> i64[@]", .params = "x, axis: axis? = None, keepdim: flag = False", .shape = "reduce_one",
   .loop = {.kind = LoopKind::arg, .combine = Leaf::min}, .nondiff = "an index"},
  {.name = "any", .doc = "Is any element over axis (None: all) not 0.", .sig = "t[*s] -> b[@]",
   .params = "x, axis: axes? = None, keepdim: flag = False", .shape = "reduce",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::or_, .before = not_zero},
   .nondiff = "a predicate", .function = false},
  {.name = "all", .doc = "Are all elements over axis (None: all) not 0.", .sig = "t[*s] -> b[@]",
   .params = "x, axis: axes? = None, keepdim: flag = False", .shape = "reduce",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::and_, .before = not_zero},
   .nondiff = "a predicate", .function = false},
  {.name = "cumsum", .doc = "Running sum along axis.", .sig = "t[*s] -> t[@]",
   .params = "x, axis: axis, *, dtype: dtype? = None", .shape = "scan_sum",
   .loop = {.kind = LoopKind::scan, .combine = Leaf::add}, .linear_in = 1,
   .vjp = "lambda g, y, x, axis, dtype: flip(cumsum(flip(g, axis), axis), axis)",
   .test = {.tol = 1e-5, .cases = "f[3,4], axis=0 | f[2,3,4], -1"}},
  {.name = "cumprod", .doc = "Running product along axis.", .sig = "t[*s] -> t[@]",
   .params = "x, axis: axis, *, dtype: dtype? = None", .shape = "scan_sum",
   .loop = {.kind = LoopKind::scan, .combine = Leaf::mul},
   .vjp = "lambda g, y, x, axis, dtype: ouro.shifted(y, axis, 1, 1.0) * ouro.linear_scan(ouro.shifted(x, axis, -1, "
          "0.0), g, axis, True)",
   .jvp = "lambda t, y, x, axis, dtype: ouro.linear_scan(x, ouro.shifted(y, axis, 1, 1.0) * t, axis, False)",
   .test = {.domain = {{0.5, 2}}, .tol = 1e-5, .cases = "f[3,4], axis=0 | f[2,3,4], -1 | f[3,4] * tensor((1., 0., "
          "1., 0.)), 1"}},
  {.name = "linear_scan",
   .doc = "h[i] = b[i] + a[i] h[i - 1] along axis, h = 0 before the first; in reverse h[i + 1] stands for h[i - 1].",
   .sig = "f[*s], f[*s] -> f[*s]", .params = "a, b, axis: axis, reverse: flag", .shape = "same",
   .symbol = "linear_scan",
   .vjp = "lambda g, y, a, b, axis, reverse: ouro.linear_scan_back(ouro.linear_scan(ouro.shifted(a, axis, 1 if "
          "reverse else -1, 0.0), g, axis, not reverse), y, axis, reverse)",
   .jvp = "lambda t, y, a, b, axis, reverse: ouro.linear_scan(a, (0.0 if t[0] is None else t[0] * ouro.shifted(y, "
          "axis, -1 if reverse else 1, 0.0)) + (0.0 if t[1] is None else t[1]), axis, reverse)", .method = false,
   .function = false, .test = {.cases = "f[3,4], f[3,4], 1, False | f[3,4], f[3,4], 0, True"}},
  {.name = "running_arg",
   .doc = "Index of the largest (or smallest) so far along axis; of equal ones the last; NaN wins.",
   .sig = "t[*s] -> i64[*s]", .params = "x, axis: axis, largest: flag", .symbol = "running_arg", .nondiff = "an index",
   .method = false, .function = false},
  {.name = "argsort", .doc = "Indices that sort along axis, stable also without `stable`; NaN is the largest.", .sig = "t[*s] -> i64[*s]",
   .params = "x, axis: axis = -1, descending: flag = False, stable: flag = False", .symbol = "argsort", .nondiff = "an index"},
};
// clang-format on
static_assert(complete(kReduce));

}  // namespace

std::span<const OpDef> reduce_rows() { return kReduce; }

}  // namespace ouro::ir
