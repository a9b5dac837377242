// Rearrangements: rows only. `view` rows move elements and compute nothing; the rule that `index` names is in view.h.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

using X = OpArgs;
constexpr LoopSpec view(std::string_view rule) { return {.kind = LoopKind::view, .index = rule}; }
constexpr std::string_view kBackReshape = "lambda g, y, x, *a: reshape(g, x.shape)";

// clang-format off
constexpr OpDef kShape[] = {
  {.name = "reshape", .doc = "The same elements in another shape; one size may be -1.", .sig = "t[*] -> t[@]", .params = "x, *shape", .shape = "reshape", .loop = view("reshape"), .linear_in = 1, .vjp = kBackReshape, .alias = "view"},
  {.name = "flatten", .doc = "Axes start_dim to end_dim as one.", .sig = "t[*] -> t[@]", .params = "x, start_dim=0, end_dim=-1", .shape = "flatten", .loop = view("reshape"), .linear_in = 1, .vjp = kBackReshape, .alias = "ravel"},
  {.name = "unflatten", .doc = "One axis as several.", .sig = "t[*] -> t[@]", .params = "x, axis, sizes", .shape = "unflatten", .loop = view("reshape"), .linear_in = 1, .vjp = kBackReshape},
  {.name = "squeeze", .doc = "Without axes of size 1 (None: all of them).", .sig = "t[*] -> t[@]", .params = "x, axis=None", .shape = "squeeze", .loop = view("reshape"), .linear_in = 1, .vjp = kBackReshape},
  {.name = "unsqueeze", .doc = "With a new axis of size 1.", .sig = "t[*] -> t[@]", .params = "x, axis", .shape = "unsqueeze", .loop = view("reshape"), .linear_in = 1, .vjp = kBackReshape, .alias = "expand_dims"},
  {.name = "permute", .doc = "Axes in another order.", .sig = "t[*] -> t[@]", .params = "x, *dims", .shape = "permute", .loop = view("permute"), .linear_in = 1, .vjp = "lambda g, y, x, *dims: ouro.permute_back(g, *dims)"},
  {.name = "permute_back", .doc = "Undoes permute(dims).", .sig = "t[*] -> t[@]", .params = "x, *dims", .shape = "permute_back", .loop = view("permute"), .linear_in = 1, .vjp = "lambda g, y, x, *dims: permute(g, *dims)", .method = false, .function = false},
  {.name = "transpose", .doc = "Two axes exchanged.", .sig = "t[*] -> t[@]", .params = "x, dim0, dim1", .shape = "transpose", .loop = view("permute"), .linear_in = 1, .vjp = "lambda g, y, x, dim0, dim1: transpose(g, dim0, dim1)", .alias = "swapaxes swapdims"},
  {.name = "t", .doc = "All axes in reverse order: the attribute T.", .sig = "t[*] -> t[@]", .shape = "reverse_axes", .loop = view("permute"), .linear_in = 1, .vjp = "lambda g, y, x: ouro.t(g)", .function = false},
  {.name = "movedim", .doc = "An axis (or several) moved to other places.", .sig = "t[*] -> t[@]", .params = "x, source, destination", .shape = "movedim", .loop = view("permute"), .linear_in = 1, .vjp = "lambda g, y, x, source, destination: movedim(g, destination, source)", .alias = "moveaxis"},
  {.name = "expand", .doc = "Axes of size 1 repeated to the given sizes (-1: as it is).", .sig = "t[*] -> t[@]", .params = "x, *sizes", .shape = "expand", .loop = view("expand"), .linear_in = 1, .vjp = "lambda g, y, x, *sizes: ouro.sum_to(g, x)", .alias = "broadcast_to"},
  {.name = "unreduce", .doc = "The result x of a reduction of `like` over axis, repeated back to the shape of `like`.", .sig = "t[*], a[*] -> t[@]", .params = "x, like, axis=None, keepdim=False", .shape = "unreduce", .loop = view("unreduce"), .linear_in = 1,
   .vjp = "lambda g, y, x, like, axis, keepdim: (ouro.sum(g, axis, keepdim), None)", .method = false, .function = false},
  {.name = "expand_as", .doc = "Repeated to the shape of `like`.", .sig = "t[*], a[*] -> t[@]", .params = "x, like", .shape = "like", .loop = view("expand"), .linear_in = 1, .vjp = "lambda g, y, x, like: (ouro.sum_to(g, x), None)", .function = false},
  {.name = "sum_to", .doc = "Summed over the axes that broadcasting to x would repeat: the shape of `like`.", .sig = "t[*], a[*] -> t[@]", .params = "x, like", .shape = "like",
   .loop = {.kind = LoopKind::reduce, .index = "to", .combine = Leaf::add, .identity = Identity::zero}, .linear_in = 1, .vjp = "lambda g, y, x, like: (ouro.expand_as(g, x), None)", .method = false, .function = false},
  {.name = "flip", .doc = "Axes in reverse order of their elements.", .sig = "t[*s] -> t[*s]", .params = "x, *dims", .loop = view("flip"), .linear_in = 1, .vjp = "lambda g, y, x, *dims: flip(g, *dims)"},
  {.name = "narrow", .doc = "length elements of axis from start.", .sig = "t[*] -> t[@]", .params = "x, axis, start, length", .shape = "narrow", .loop = view("narrow"), .linear_in = 1,
   .vjp = "lambda g, y, x, axis, start, length: ouro.narrow_back(g, x, axis, start)"},
  {.name = "narrow_back", .doc = "Zeros in the shape of `like`, with x at start of axis.", .sig = "t[*], a[*] -> t[@]", .params = "x, like, axis, start", .shape = "like", .loop = view("narrow_back"), .linear_in = 1,
   .vjp = "lambda g, y, x, like, axis, start: (narrow(g, axis, start, x.shape[axis]), None)", .method = false, .function = false},
  {.name = "pad_constant", .doc = "pad with a constant; sizes in pairs from the last axis on, negative ones cut.", .sig = "t[*] -> t[@]", .params = "x, pad, value=0.0", .shape = "pad", .loop = view("pad"),
   .vjp = "lambda g, y, x, pad, value: ouro.pad_constant(g, [-p for p in pad])", .jvp = "lambda t, y, x, pad, value: ouro.pad_constant(t, pad)", .method = false, .function = false},
  {.name = "pad", .doc = "Padded by (left, right) pairs from the last axis on; mode constant, reflect, replicate or circular.", .sig = "t[*] -> t[@]", .params = "x, pad, mode='constant', value=0.0", .shape = "pad",
   .source = "pad = tuple(pad)\nif mode == 'constant':\n  return ouro.pad_constant(x, pad, 0.0 if value is None else value)\nfor k in range(len(pad) // 2):\n  a = x.ndim - 1 - k\n  x = ouro.index_select(x, a, ouro.pad_indices(x.shape[a], pad[2 * k], pad[2 * k + 1], mode))\nreturn x"},
  {.name = "pad_indices", .doc = "The source index of each element of a padded axis of n elements.", .sig = "-> i64[@]", .params = "n, left, right, mode", .shape = "unknown1",
   .source = "i = arange(-left, n + right)\nif mode == 'replicate':\n  return ouro.clamp(i, 0, n - 1)\nif mode == 'circular':\n  return i % n\nif mode == 'reflect':\n  if left >= n or right >= n:\n    raise RuntimeError('pad: reflect needs padding smaller than the axis')\n  i = ouro.abs(i)\n  return (n - 1) - ouro.abs((n - 1) - i)\nraise NotImplementedError('pad: unknown mode ' + repr(mode))", .method = false, .function = false},
  {.name = "cat", .doc = "Tensors behind each other along axis.", .sig = "t+[*] -> t[@]", .params = "tensors, axis=0", .shape = "cat", .loop = view("cat"), .linear_in = 1, .vjp = "lambda g, y, tensors, axis: ouro.uncat(g, tensors, axis)", .method = false, .alias = "concat concatenate"},
  {.name = "uncat", .doc = "x cut along axis into parts of the sizes of `tensors`: a list.", .sig = "t[*] -> t[@]", .params = "x, tensors, axis", .shape = "unknown",
   .source = "parts = []\nstart = 0\nfor p in tensors:\n  n = p.shape[axis]\n  parts.append(narrow(x, axis, start, n))\n  start = start + n\nreturn parts", .method = false, .function = false},
  {.name = "stack", .doc = "Tensors of one shape along a new axis.", .sig = "t+[*] -> t[@]", .params = "tensors, axis=0", .shape = "stack", .source = "return cat([unsqueeze(t, axis) for t in tensors], axis)", .method = false},
  {.name = "hstack", .doc = "cat along axis 1 (0 for one dimension).", .sig = "t+[*] -> t[@]", .params = "tensors", .shape = "unknown", .source = "ts = [t.reshape(1) if t.ndim == 0 else t for t in tensors]\nreturn cat(ts, 0 if ts[0].ndim == 1 else 1)", .method = false},
  {.name = "vstack", .doc = "cat along axis 0, rows for one dimension.", .sig = "t+[*] -> t[@]", .params = "tensors", .shape = "unknown", .source = "return cat([t.reshape(1, -1) if t.ndim < 2 else t for t in tensors], 0)", .method = false},
  {.name = "split", .doc = "Pieces of a size (or of sizes) along axis.", .sig = "t[*] -> t[@]", .params = "x, size, axis=0", .shape = "unknown",
   .source = "n = x.shape[axis]\nif isinstance(size, int):\n  size = [min(size, n - i) for i in range(0, n, size)] if n > 0 else [0]\nelif sum(size) != n:\n  raise RuntimeError(f'split: the sizes {tuple(size)} do not add up to {n}')\nparts = []\nstart = 0\nfor k in size:\n  parts.append(narrow(x, axis, start, k))\n  start = start + k\nreturn tuple(parts)"},
  {.name = "chunk", .doc = "About n equal pieces along axis.", .sig = "t[*] -> t[@]", .params = "x, chunks, axis=0", .shape = "unknown", .source = "return ouro.split(x, max(1, (x.shape[axis] + chunks - 1) // chunks), axis)"},
  {.name = "unbind", .doc = "The slices along axis, without it.", .sig = "t[*] -> t[@]", .params = "x, axis=0", .shape = "unknown", .source = "return tuple([squeeze(narrow(x, axis, i, 1), axis) for i in range(x.shape[axis])])"},
  {.name = "repeat", .doc = "Repeated as a whole, sizes times along the axes.", .sig = "t[*] -> t[@]", .params = "x, *sizes", .shape = "unknown",
   .source = "if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):\n  sizes = tuple(sizes[0])\nif len(sizes) < x.ndim:\n  raise RuntimeError('repeat: one size for each axis')\nshape = (1,) * (len(sizes) - x.ndim) + tuple(x.shape)\na = []\nb = []\nc = []\nfor n, r in zip(shape, sizes):\n  a = a + [1, n]\n  b = b + [r, n]\n  c = c + [r * n]\nreturn x.reshape(a).expand(b).reshape(c)"},
  {.name = "tile", .doc = "NumPy's repetition: missing sizes are 1.", .sig = "t[*] -> t[@]", .params = "x, *sizes", .shape = "unknown",
   .source = "if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):\n  sizes = tuple(sizes[0])\nreturn x.repeat((1,) * max(0, x.ndim - len(sizes)) + tuple(sizes))"},
  {.name = "roll", .doc = "Elements moved on around axis (None: of the flat tensor).", .sig = "t[*s] -> t[*s]", .params = "x, shifts, axis=None",
   .source = "if axis is None:\n  return roll(x.reshape(-1), shifts, 0).reshape(x.shape)\nif isinstance(axis, (tuple, list)):\n  for k, a in zip(shifts, axis):\n    x = roll(x, k, a)\n  return x\nn = x.shape[axis]\nif n == 0:\n  return x\nk = shifts % n\nif k == 0:\n  return x\nreturn cat([narrow(x, axis, n - k, k), narrow(x, axis, 0, n - k)], axis)"},
  {.name = "rot90", .doc = "Turned by k times 90 degrees in the plane of two axes.", .sig = "t[*] -> t[@]", .params = "x, k=1, dims=(0, 1)", .shape = "unknown",
   .source = "k = k % 4\na = dims[0]\nb = dims[1]\nif k == 0:\n  return x\nif k == 2:\n  return flip(x, a, b)\nif k == 1:\n  return transpose(flip(x, b), a, b)\nreturn flip(transpose(x, a, b), b)"},
  {.name = "diagonal", .doc = "The diagonal of two axes, as the last axis.", .sig = "t[*] -> t[@]", .params = "x, offset=0, dim1=0, dim2=1", .shape = "diagonal", .loop = view("diagonal"), .linear_in = 1,
   .vjp = "lambda g, y, x, offset, dim1, dim2: ouro.diagonal_back(g, x, offset, dim1, dim2)"},
  {.name = "diagonal_back", .doc = "Zeros in the shape of `like`, with x on the diagonal.", .sig = "t[*], a[*] -> t[@]", .params = "x, like, offset=0, dim1=0, dim2=1", .shape = "like", .loop = view("diagonal_back"), .linear_in = 1,
   .vjp = "lambda g, y, x, like, offset, dim1, dim2: (ouro.diagonal(g, offset, dim1, dim2), None)", .method = false, .function = false},
  {.name = "diag", .doc = "The diagonal of a matrix, or a matrix with that diagonal.", .sig = "t[*] -> t[@]", .params = "x, diagonal=0", .shape = "unknown",
   .source = "if x.ndim == 2:\n  return ouro.diagonal(x, diagonal)\nif x.ndim != 1:\n  raise RuntimeError('diag: a vector or a matrix expected')\nn = x.shape[0] + (diagonal if diagonal >= 0 else -diagonal)\nreturn ouro.diagonal_back(x, zeros(n, n, dtype=x.dtype), diagonal)"},
  {.name = "trace", .doc = "Sum of the diagonal of a matrix.", .sig = "t[m,n] -> t[]", .source = "return ouro.sum(ouro.diagonal(x))"},
  {.name = "tril", .doc = "The lower triangle; zeros above the diagonal.", .sig = "t[*s] -> t[*s]", .params = "x, diagonal=0", .loop = view("tril"), .linear_in = 1, .vjp = "lambda g, y, x, diagonal: tril(g, diagonal)"},
  {.name = "triu", .doc = "The upper triangle; zeros below the diagonal.", .sig = "t[*s] -> t[*s]", .params = "x, diagonal=0", .loop = view("triu"), .linear_in = 1, .vjp = "lambda g, y, x, diagonal: triu(g, diagonal)"},
  {.name = "unfold", .doc = "Windows of size every step along axis, as a new last axis.", .sig = "t[*] -> t[@]", .params = "x, axis, size, step", .shape = "unknown",
   .source = "n = (x.shape[axis] - size) // step + 1\ni = unsqueeze(arange(n) * step, 1) + arange(size)\ny = ouro.index_select(x, axis, i.reshape(-1))\na = axis if axis >= 0 else axis + x.ndim\ny = unflatten(y, a, (n, size))\nreturn movedim(y, a + 1, -1)"},
  {.name = "astype", .doc = "The same numbers in another dtype.", .sig = "t[*s] -> $[*s]", .params = "x, dtype", .symbol = "cast", .linear_in = 1, .vjp = "lambda g, y, x, dtype: ouro.cast_back(g, x)", .function = false, .alias = "type"},
  {.name = "to", .doc = "In another dtype, in that of a tensor, or on a device.", .sig = "t[*s] -> t[*s]", .params = "x, dtype=None, other=None",
   .source = "for v in (dtype, other):\n  if v is None:\n    continue\n  if ouro.is_tensor(v):\n    v = v.dtype\n  v = ouro.dtype_or_device(v)\n  if v is not None:\n    x = x.astype(v)\nreturn x", .function = false},
#define OURO_CAST(name_, dtype) \
  {.name = name_, .doc = "As " dtype ".", .sig = "t[*s] -> " dtype "[*s]", .params = "x", .source = "return x.astype('" dtype "')", .function = false}
  OURO_CAST("float", "f32"), OURO_CAST("double", "f64"), OURO_CAST("half", "f16"), OURO_CAST("bfloat16", "bf16"), OURO_CAST("long", "i64"), OURO_CAST("int", "i32"),
  OURO_CAST("bool", "bool"),
#undef OURO_CAST
  {.name = "cpu", .doc = "Itself: on the host.", .sig = "t[*s] -> t[*s]", .params = "x", .source = "return x", .function = false},
  {.name = "cast_back", .doc = "x in the dtype of `like`.", .sig = "a[*s], a[*] -> a[@]", .params = "x, like", .shape = "cast_like", .symbol = "cast_like", .linear_in = 1, .vjp = "lambda g, y, x, like: (ouro.cast_back(g, x), None)", .method = false, .function = false},
  {.name = "detach", .doc = "x, without a derivative.", .sig = "t[*s] -> t[*s]", .body = [](X x) { return x[0]; }, .nondiff = "by definition", .function = false},
  {.name = "clone", .doc = "x itself (tensors are values).", .sig = "t[*s] -> t[*s]", .body = [](X x) { return x[0]; }, .d = {[](X, S) { return S(1); }}, .function = false, .alias = "contiguous"},
};
// clang-format on
static_assert(complete(kShape));

}  // namespace

std::span<const OpDef> shape_rows() { return kShape; }

}  // namespace ouro::ir
