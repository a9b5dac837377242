// Indexing, gathering, scattering: rows only.
//
// `key` is an index as in x[key]: ints, slices, None, ..., integer and bool tensors, or a tuple of these (NumPy's
// rules). The three rows getitem, index_put and index_accumulate are each other's derivatives.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr LoopSpec gather(std::string_view rule) { return {.kind = LoopKind::gather, .index = rule}; }
// Of classes: those count from 0 only.
constexpr LoopSpec pick(std::string_view rule) { return {.kind = LoopKind::gather, .index = rule, .from_end = false}; }
constexpr LoopSpec scatter(std::string_view rule) { return {.kind = LoopKind::scatter, .index = rule}; }

// clang-format off
constexpr OpDef kIndex[] = {
  {.name = "getitem", .doc = "x[key].", .sig = "t[*] -> t[@]", .params = "x, key: key", .shape = "getitem", .loop = gather("key"), .linear_in = 1,
   .vjp = "lambda g, y, x, key: ouro.index_accumulate(zeros_like(x), key, g)", .method = false, .function = false,
   .test = {.cases = "f[3,4], (1, slice(None, None, -2)) | f[3,4], tensor((2, 0, 2)) | f[5], slice(4, 0, -2)"}},
  {.name = "index_put", .doc = "x with x[key] = v.", .sig = "t[*s], a[*] -> t[*s]", .params = "@x, key: key, @v", .loop = scatter("key set"), .linear_in = 3,
   .vjp = "lambda g, y, x, key, v: (ouro.index_put(g, key, 0), ouro.sum_to(ouro.getitem(g, key), v))", .method = false, .function = false,
   .test = {.cases = "f[3,4], (1, slice(0, 2)), f[2] | f[3,4], tensor((2, 0)), f[2,4]"}},
  {.name = "index_accumulate", .doc = "x with v added at key; places named twice get both.", .sig = "t[*s], a[*] -> t[*s]", .params = "@x, key: key, @v", .loop = scatter("key add"), .linear_in = 3,
   .vjp = "lambda g, y, x, key, v: (g, ouro.sum_to(ouro.getitem(g, key), v))", .method = false, .function = false,
   .test = {.cases = "f[3,4], tensor((2, 0, 2)), f[3,4]"}},
  {.name = "gather", .doc = "y[i][j] = x[index[i][j]][j] along axis.", .sig = "t[*], i64[*] -> t[@]", .params = "@x, axis: axis, @index", .shape = "gather", .loop = gather("axis"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.scatter_add(zeros_like(x), axis, index, g), None)",
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 2), (1, 0)))"}},
  {.name = "scatter", .doc = "x with x[index[i][j]][j] = src[i][j] along axis; of several the last stays.", .sig = "t[*s], i64[*], a[*] -> t[*s]", .params = "@x, axis: axis, @index, @src", .shape = "scatter", .loop = scatter("axis set"), .linear_in = 5,
   .vjp = "lambda g, y, x, axis, index, src: (ouro.scatter(g, axis, index, 0), None, ouro.sum_to(ouro.gather(g, axis, index), src))",
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 1), (1, 0))), f[3,2]"}},
  {.name = "scatter_add", .doc = "x with src[i][j] added at x[index[i][j]][j] along axis, in order.", .sig = "t[*s], i64[*], a[*] -> t[*s]", .params = "@x, axis: axis, @index, @src", .shape = "scatter", .loop = scatter("axis add"), .linear_in = 5,
   .vjp = "lambda g, y, x, axis, index, src: (g, None, ouro.sum_to(ouro.gather(g, axis, index), src))",
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 2), (1, 1))), f[3,2]"}},
  {.name = "index_select", .doc = "The slices of axis that index names.", .sig = "t[*], i64[*] -> t[@]", .params = "@x, axis: axis, @index", .shape = "index_select", .loop = gather("select"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.index_add(zeros_like(x), axis, index, g), None)",
   .test = {.cases = "f[3,4], 0, tensor((2, 0, 2))"}},
  {.name = "index_add", .doc = "x with the slices of source added at the places of axis that index names, in order.", .sig = "t[*s], i64[*], t[*] -> t[*s]", .params = "@x, axis: axis, @index, @source", .shape = "index_add", .loop = scatter("select add"), .linear_in = 5,
   .vjp = "lambda g, y, x, axis, index, source: (g, None, ouro.index_select(g, axis, index))",
   .test = {.cases = "f[3,4], 0, tensor((2, 0, 2)), f[3,4]"}},
  {.name = "pick", .doc = "gather by classes: an index counts from 0 only.", .sig = "t[*], i64[*] -> t[@]", .params = "@x, axis: axis, @index", .shape = "gather", .loop = pick("axis"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.scatter_add(zeros_like(x), axis, index, g), None)", .method = false, .function = false,
   .test = {.cases = "f[3,4], 1, tensor(((0, 3), (2, 2), (1, 0)))"}},
  {.name = "pick_rows", .doc = "index_select by classes: an index counts from 0 only.", .sig = "t[*], i64[*] -> t[@]", .params = "@x, axis: axis, @index", .shape = "index_select", .loop = pick("select"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, index: (ouro.index_add(zeros_like(x), axis, index, g), None)", .method = false, .function = false,
   .test = {.cases = "f[3,4], 0, tensor((2, 0, 2))"}},
  {.name = "take_along_axis", .doc = "NumPy's gather: index and x broadcast against each other on the other axes.", .sig = "t[*], i64[*] -> t[@]", .params = "x, index, axis: axis? = None", .shape = "take_along",
   .source = "if axis is None:\n  return ouro.gather(x.reshape(-1), 0, index.reshape(-1))\na = axis if axis >= 0 else axis + x.ndim\nshape = []\nfor d in range(x.ndim):\n  shape.append(index.shape[d] if d == a or x.shape[d] == 1 else x.shape[d])\nreturn ouro.gather(x.expand([x.shape[a] if d == a else shape[d] for d in range(x.ndim)]), a, index.expand(shape))", .alias = "take_along_dim",
   .test = {.cases = "f[3,4], tensor(((0, 3), (2, 2), (1, 0))), 1"}},
  {.name = "take", .doc = "Elements of the flat tensor.", .sig = "t[*], i64[*s] -> t[*s]", .params = "x, index", .source = "return ouro.index_select(x.reshape(-1), 0, index.reshape(-1)).reshape(index.shape)",
   .test = {.cases = "f[3,4], tensor((11, 0, 5))"}},
  {.name = "masked_fill", .doc = "value where mask is true, else x.", .sig = "t[*s], b[*s] -> t[*s]", .params = "x, mask, value: number_or_tensor", .source = "return where(mask, ouro.cast_back(value, x), x)",
   .test = {.cases = "f[3,4], b[3,4], 0.5"}},
  {.name = "masked_select", .doc = "The elements where mask is true, as a vector.", .sig = "t[*s], b[*s] -> t[@]", .params = "x, mask", .shape = "unknown1", .source = "if tuple(x.shape) != tuple(mask.shape):\n  x = x + zeros(mask.shape, dtype=x.dtype)\n  mask = mask.expand(x.shape)\nreturn ouro.getitem(x, mask)",
   .test = {.cases = "f[3,4], b[3,4]"}},
  {.name = "nonzero", .doc = "The indices of the elements that are not 0: [n, ndim].", .sig = "t[*] -> i64[@]", .shape = "nonzero", .symbol = "nonzero", .nondiff = "an index", .alias = "argwhere"},
  {.name = "one_hot", .doc = "1 at the index, else 0, along a new last axis; num_classes -1: the largest index + 1.", .sig = "i64[*] -> i64[@]", .params = "x, num_classes: shape = -1", .shape = "one_hot",
   .source = "n = num_classes\nif n == -1:\n  n = ouro.amax(x).item() + 1\nx = ouro.pick_rows(arange(n), 0, x.reshape(-1)).reshape(x.shape)\nreturn (unsqueeze(x, -1) == arange(n)).astype(i64)"},
  {.name = "embedding", .doc = "Rows of weight by index; padding_idx gets no gradient.", .sig = "i64[*], t[v,e] -> t[@]", .params = "x, weight, padding_idx: int? = None", .shape = "embedding",
   .source = "if padding_idx is not None:\n  p = padding_idx if padding_idx >= 0 else padding_idx + weight.shape[0]\n  if p < 0 or p >= weight.shape[0]:\n    raise ValueError(f'embedding: padding_idx {padding_idx} is out of range for {weight.shape[0]} rows')\n  weight = where(unsqueeze(arange(weight.shape[0]) == p, 1), ouro.detach(weight), weight)\nreturn ouro.pick_rows(weight, 0, x.reshape(-1)).reshape(tuple(x.shape) + (weight.shape[1],))", .method = false,
   .test = {.cases = "tensor(((0, 2), (2, 1))), f[3,4]"}},
  {.name = "bincount", .doc = "How often each index occurs.", .sig = "i64[n] -> i64[@]", .params = "x, weights: tensor? = None, minlength: size = 0", .shape = "unknown1",
   .source = "n = minlength if x.numel() == 0 else max(minlength, ouro.amax(x).item() + 1)\nx = ouro.pick_rows(arange(n), 0, x)\nif weights is None:\n  return ouro.index_add(zeros(n, dtype=i64), 0, x, ones_like(x))\nreturn ouro.index_add(zeros(n, dtype=weights.dtype), 0, x, weights)"},
  {.name = "unique", .doc = "The distinct elements, sorted.", .sig = "t[*] -> t[@]", .params = "x, return_inverse: flag = False, return_counts: flag = False", .shape = "unknown1",
   .source = "v = x.reshape(-1)\nn = v.shape[0]\nif n == 0:\n  e = zeros(0, dtype=i64)\n  out, inverse, counts = v, e, e\nelse:\n  i = ouro.argsort(v, 0)\n  s = ouro.index_select(v, 0, i)\n  first = cat([ones(1, dtype=bool), s[1:] != s[:-1]])\n  out = ouro.getitem(s, first)\n  group = cumsum(first.astype(i64), 0) - 1\n  inverse = ouro.index_put(zeros(n, dtype=i64), i, group).reshape(x.shape)\n  counts = bincount(group)\nif return_inverse and return_counts:\n  return (out, inverse, counts)\nif return_inverse:\n  return (out, inverse)\nif return_counts:\n  return (out, counts)\nreturn out"},
  {.name = "searchsorted", .doc = "Where each value would be inserted to keep a sorted vector sorted.", .sig = "t[n], t[*s] -> i64[*s]", .params = "x, values, right: flag = False", .symbol = "searchsorted", .nondiff = "an index"},
  {.name = "histogram", .doc = "Counts in equal bins between lo and hi (default: the extent of x).", .sig = "f[*] -> f[@]", .params = "x, bins: positive = 100, lo: number = 0.0, hi: number = 0.0", .shape = "unknown1",
   .source = "v = ouro.detach(x).reshape(-1)\nif lo == hi:\n  lo = ouro.amin(v).item()\n  hi = ouro.amax(v).item()\n  if lo == hi:\n    lo = lo - 1\n    hi = hi + 1\nk = ouro.floor((v - lo) * (bins / (hi - lo))).astype(i64)\nk = where(v == hi, bins - 1, k)\nk = ouro.getitem(k, (v >= lo) & (v <= hi))\nreturn bincount(k, minlength=bins).astype(x.dtype)", .alias = "histc"},
};
// clang-format on
static_assert(complete(kIndex));

}  // namespace

std::span<const OpDef> index_rows() { return kIndex; }

}  // namespace ouro::ir
