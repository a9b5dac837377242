// Reductions and scans: rows only. The order of combination is in reduce_order.h.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

using X = OpArgs;
S not_zero(X x) { return x[0] != 0; }

// clang-format off
constexpr OpDef kReduce[] = {
  {.name = "sum", .doc = "Sum over axis (None: all); integers and bools sum to i64.", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False, *, dtype=None", .shape = "sum",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::add, .identity = Identity::zero}, .linear_in = 1,
   .vjp = "lambda g, y, x, axis, keepdim, dtype: ouro.unreduce(g, x, axis, keepdim)", .function = false, .test = {.tol = 1e-5, .cases = "f[3,4] | f[3,4], 0 | f[2,3,4], (0, 2), True"}},
  {.name = "mean", .doc = "Mean over axis (None: all).", .sig = "f[*s] -> f[@]", .params = "x, axis=None, keepdim=False, *, dtype=None", .shape = "reduce",
   .source = "if dtype is None and not x.is_floating_point():\n  raise RuntimeError('mean: the input must be floating point, not ' + str(x.dtype))\nreturn ouro.sum(x, axis, keepdim, dtype=dtype) / ouro.axis_count(x, axis)", .test = {.tol = 1e-5, .cases = "f[3,4] | f[2,3,4], (0, -1)"}},
  {.name = "axis_count", .doc = "Number of elements that a reduction over axis combines, as an int.", .sig = "a[*s] -> i64[]", .params = "x, axis=None",
   .source = "if axis is None:\n  return x.numel()\nif not isinstance(axis, (tuple, list)):\n  return x.shape[axis] if x.ndim > 0 else 1\nif len(axis) == 0:\n  return x.numel()\nn = 1\nfor a in axis:\n  n = n * x.shape[a]\nreturn n", .method = false, .function = false},
  {.name = "prod", .doc = "Product over axis (None: all).", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False, *, dtype=None", .shape = "sum",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::mul, .identity = Identity::one},
   .vjp = "lambda g, y, x, axis, keepdim, dtype: ouro.unreduce(g, x, axis, keepdim) * ouro.prod_others(x, axis)",
   .jvp = "lambda t, y, x, axis, keepdim, dtype: ouro.sum(t * ouro.prod_others(x, axis), axis, keepdim)", .test = {.tol = 1e-5, .cases = "f[3,4], 1 | f[5]"}},
  {.name = "prod_others", .doc = "At each element the product of the others along axis.", .sig = "f[*s] -> f[*s]", .params = "x, axis=None",
   .source = "zero = x == 0\ncount = ouro.sum(zero, axis, True)\np = ouro.prod(where(zero, 1.0, x), axis, True)\nreturn where(count == 0, p / where(zero, 1.0, x), where((count == 1) & zero, p, 0.0))", .method = false, .function = false,
   .test = {.cases = "f[3,4], 1"}},
  {.name = "amax", .doc = "Largest over axis; NaN wins; ties share the gradient.", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_some",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::max, .identity = Identity::lowest},
   .vjp = "lambda g, y, x, axis, keepdim: ouro.unreduce(g, x, axis, keepdim) * ouro.tie_share(x, y, axis, keepdim)",
   .jvp = "lambda t, y, x, axis, keepdim: ouro.sum(t * ouro.tie_share(x, y, axis, keepdim), axis, keepdim)",
   .test = {.cases = "f[3,4], 1 | f[3,4] | f[2,3,4], (0, 2), True"}},
  {.name = "amin", .doc = "Smallest over axis; NaN wins; ties share the gradient.", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_some",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::min, .identity = Identity::highest},
   .vjp = "lambda g, y, x, axis, keepdim: ouro.unreduce(g, x, axis, keepdim) * ouro.tie_share(x, y, axis, keepdim)",
   .jvp = "lambda t, y, x, axis, keepdim: ouro.sum(t * ouro.tie_share(x, y, axis, keepdim), axis, keepdim)",
   .test = {.cases = "f[3,4], 1 | f[3,4]"}},
  {.name = "tie_share", .doc = "1/n where x equals its extremum y over axis, n the number of such places, else 0.", .sig = "f[*s], f[*r] -> f[*s]", .params = "x, y, axis=None, keepdim=False",
   .source = "m = ouro.detach(x) == ouro.detach(ouro.unreduce(y, x, axis, keepdim))\nm = m.astype(x.dtype)\nreturn m / ouro.sum(m, axis, True)", .method = false, .function = false,
   .test = {.cases = "f[3,4], f[3], 1"}},
  {.name = "max", .doc = "max(x): the largest element; max(x, axis): (values, indices); max(x, y): elementwise.", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_some",
   .source = "if axis is None:\n  return ouro.amax(x)\nif ouro.is_tensor(axis):\n  return ouro.maximum(x, axis)\ni = ouro.argmax(x, axis, True)\nv = ouro.take_along_axis(x, i, axis)\nif not keepdim:\n  return (squeeze(v, axis), squeeze(i, axis))\nreturn (v, i)", .function = false,
   .test = {.cases = "f[3,4], 1"}},
  {.name = "min", .doc = "min(x): the smallest element; min(x, axis): (values, indices); min(x, y): elementwise.", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_some",
   .source = "if axis is None:\n  return ouro.amin(x)\nif ouro.is_tensor(axis):\n  return ouro.minimum(x, axis)\ni = ouro.argmin(x, axis, True)\nv = ouro.take_along_axis(x, i, axis)\nif not keepdim:\n  return (squeeze(v, axis), squeeze(i, axis))\nreturn (v, i)", .function = false,
   .test = {.cases = "f[3,4], 1"}},
  {.name = "argmax", .doc = "Index of the largest along axis (None: of the flat tensor); the first one wins.", .sig = "t[*s] -> i64[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_one",
   .loop = {.kind = LoopKind::arg, .combine = Leaf::max}, .nondiff = "an index"},
  {.name = "argmin", .doc = "Index of the smallest along axis (None: of the flat tensor); the first one wins.", .sig = "t[*s] -> i64[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_one",
   .loop = {.kind = LoopKind::arg, .combine = Leaf::min}, .nondiff = "an index"},
  {.name = "any", .doc = "Is any element not 0.", .sig = "t[*s] -> b[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::or_, .identity = Identity::zero, .before = not_zero}, .nondiff = "a predicate", .function = false},
  {.name = "all", .doc = "Are all elements not 0.", .sig = "t[*s] -> b[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce",
   .loop = {.kind = LoopKind::reduce, .combine = Leaf::and_, .identity = Identity::one, .before = not_zero}, .nondiff = "a predicate", .function = false},
  {.name = "count_nonzero", .doc = "Number of elements that are not 0.", .sig = "t[*s] -> i64[@]", .params = "x, axis=None", .shape = "reduce", .source = "return ouro.sum(x != 0, axis)"},
  {.name = "var", .doc = "Variance over axis, divided by n - correction (1, or 0 if unbiased is False).", .sig = "f[*s] -> f[@]", .params = "x, axis=None, unbiased=True, keepdim=False, *, correction=None", .shape = "reduce",
   .source = "if correction is None:\n  correction = 1 if unbiased else 0\nd = x - ouro.mean(x, axis, True)\nreturn ouro.sum(d * d, axis, keepdim) / (ouro.axis_count(x, axis) - correction)", .test = {.tol = 1e-5, .cases = "f[3,4], 1 | f[3,4], 0, False"}},
  {.name = "std", .doc = "Square root of var.", .sig = "f[*s] -> f[@]", .params = "x, axis=None, unbiased=True, keepdim=False, *, correction=None", .shape = "reduce",
   .source = "return ouro.sqrt(ouro.var(x, axis, unbiased, keepdim, correction=correction))", .test = {.tol = 1e-5, .cases = "f[3,4], 1"}},
  {.name = "logsumexp", .doc = "log(sum(exp(x))) over axis without overflow.", .sig = "f[*s] -> f[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce",
   .source = "m = ouro.detach(ouro.amax(x, axis, True))\nm = where(abs(m) < inf, m, 0.0)\ny = ouro.log(ouro.sum(ouro.exp(x - m), axis, keepdim))\nreturn y + (m if keepdim else ouro.sum(m, axis))", .test = {.tol = 1e-5, .cases = "f[3,4], 1 | f[3,4], (0, 1), True"}},
  {.name = "norm", .doc = "p-norm over axis (None: all).", .sig = "f[*s] -> f[@]", .params = "x, p=2, axis=None, keepdim=False", .shape = "reduce",
   .source = "if p == 2 or p == 'fro':\n  return ouro.sqrt(ouro.sum(x * x, axis, keepdim))\nif p == 1:\n  return ouro.sum(ouro.abs(x), axis, keepdim)\nif p == inf:\n  return ouro.amax(ouro.abs(x), axis, keepdim)\nif p == -inf:\n  return ouro.amin(ouro.abs(x), axis, keepdim)\nif p == 0:\n  return ouro.sum((x != 0).astype(x.dtype), axis, keepdim)\nreturn ouro.pow(ouro.sum(ouro.pow(ouro.abs(x), p), axis, keepdim), 1.0 / p)", .test = {.tol = 1e-5, .cases = "f[3,4], 2, 1 | f[3,4], 3, 0 | f[3,4], 1"}},
  {.name = "softmax", .doc = "exp(x) / sum(exp(x)) along axis.", .sig = "f[*s] -> f[*s]", .params = "x, axis=-1",
   .source = "e = ouro.exp(x - ouro.detach(ouro.amax(x, axis, True)))\nreturn e / ouro.sum(e, axis, True)", .test = {.tol = 1e-6, .cases = "f[3,4] | f[3,4], 0"}},
  {.name = "log_softmax", .doc = "log(softmax(x)) along axis.", .sig = "f[*s] -> f[*s]", .params = "x, axis=-1",
   .source = "z = x - ouro.detach(ouro.amax(x, axis, True))\nreturn z - ouro.log(ouro.sum(ouro.exp(z), axis, True))", .test = {.tol = 1e-6, .cases = "f[3,4] | f[3,4], 0"}},
  {.name = "cumsum", .doc = "Running sum along axis.", .sig = "t[*s] -> t[@]", .params = "x, axis, *, dtype=None", .shape = "scan_sum",
   .loop = {.kind = LoopKind::scan, .combine = Leaf::add, .identity = Identity::zero}, .linear_in = 1,
   .vjp = "lambda g, y, x, axis, dtype: flip(cumsum(flip(g, axis), axis), axis)", .test = {.tol = 1e-5, .cases = "f[3,4], axis=0 | f[2,3,4], -1"}},
  {.name = "cumprod", .doc = "Running product along axis.", .sig = "t[*s] -> t[@]", .params = "x, axis, *, dtype=None", .shape = "scan_sum",
   .loop = {.kind = LoopKind::scan, .combine = Leaf::mul, .identity = Identity::one},
   .vjp = "lambda g, y, x, axis, dtype: flip(cumsum(flip(g * y, axis), axis), axis) / x",
   .jvp = "lambda t, y, x, axis, dtype: y * cumsum(t / x, axis)", .test = {.domain = {{0.5, 2}}, .tol = 1e-5, .cases = "f[3,4], axis=0 | f[2,3,4], -1"}},
  {.name = "running_arg", .doc = "Index of the largest (or smallest) so far along axis; of equal ones the last; NaN wins.", .sig = "t[*s] -> i64[*s]", .params = "x, axis, largest", .symbol = "running_arg", .nondiff = "an index", .method = false, .function = false},
  {.name = "cummax", .doc = "Running maximum along axis: (values, indices).", .sig = "t[*s] -> t[*s], i64[*s]", .params = "x, axis", .source = "i = ouro.running_arg(x, axis, True)\nreturn (ouro.take_along_axis(x, i, axis), i)",
   .test = {.cases = "f[3,4], 1"}},
  {.name = "cummin", .doc = "Running minimum along axis: (values, indices).", .sig = "t[*s] -> t[*s], i64[*s]", .params = "x, axis", .source = "i = ouro.running_arg(x, axis, False)\nreturn (ouro.take_along_axis(x, i, axis), i)",
   .test = {.cases = "f[3,4], 0"}},
  {.name = "sort", .doc = "Sorted along axis, stable: (values, indices).", .sig = "t[*s] -> t[*s], i64[*s]", .params = "x, axis=-1, descending=False",
   .source = "i = ouro.argsort(x, axis, descending)\nreturn (ouro.take_along_axis(x, i, axis), i)",
   .test = {.cases = "f[3,4], 1 | f[3,4], 0, True"}},
  {.name = "argsort", .doc = "Indices that sort along axis, stable; NaN is the largest.", .sig = "t[*s] -> i64[*s]", .params = "x, axis=-1, descending=False", .symbol = "argsort", .nondiff = "an index"},
  {.name = "topk", .doc = "The k largest (or smallest) along axis, in order: (values, indices).", .sig = "t[*s] -> t[@], i64[@]", .params = "x, k, axis=-1, largest=True, sorted=True", .shape = "topk",
   .source = "if k > (x.shape[axis] if x.ndim > 0 else 1):\n  raise RuntimeError('topk: k is larger than the axis')\ni = ouro.narrow(ouro.argsort(x, axis, largest), axis, 0, k)\nreturn (ouro.take_along_axis(x, i, axis), i)",
   .test = {.cases = "f[3,5], 2"}},
  {.name = "median", .doc = "The lower median: of all elements, or (values, indices) along axis.", .sig = "t[*s] -> t[@]", .params = "x, axis=None, keepdim=False", .shape = "reduce_some",
   .source = "if axis is None:\n  x = x.reshape(-1)\n  i = ouro.argsort(x, 0)\n  return x[i[(x.shape[0] - 1) // 2]]\ni = ouro.narrow(ouro.argsort(x, axis), axis, (x.shape[axis] - 1) // 2, 1)\nv = ouro.take_along_axis(x, i, axis)\nif not keepdim:\n  return (squeeze(v, axis), squeeze(i, axis))\nreturn (v, i)",
   .test = {.cases = "f[3,5], 1 | f[7]"}},
};
// clang-format on
static_assert(complete(kReduce));

}  // namespace

std::span<const OpDef> reduce_rows() { return kReduce; }

}  // namespace ouro::ir
