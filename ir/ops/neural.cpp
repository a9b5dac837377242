// Convolution, pooling, normalisation, attention: rows only.
//
// convolve, convolve_input and convolve_weight serve 1 to 3 spatial dims; each is linear in both inputs and the three
// are each other's derivatives. stride, padding and dilation are tuples here, one number per spatial dim; the user's
// forms are normalised by the rows above.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr LoopSpec conv(std::string_view which) { return {.kind = LoopKind::conv, .index = which}; }

#define OURO_CONV(n, image, kernel)                                                                                   \
  {                                                                                                                   \
    .name = "conv" n "d",                                                                                             \
    .doc = "Convolution over " n " spatial dims: x [batch, in, ...], weight [out, in/groups, ...].",                  \
    .sig = "f[*], f[*], f?[*] -> f[@]",                                                                               \
    .params =                                                                                                         \
        "x, weight, bias=None, stride: positives = 1, padding: padding = 0, dilation: positives = 1, groups: "        \
        "positive = 1",                                                                                               \
    .shape = "unknown", .source = "return ouro.conv_any(x, weight, bias, stride, padding, dilation, groups, " n ")",  \
    .method = false, .test = {                                                                                        \
      .tol = 1e-5,                                                                                                    \
      .cases = "f[2,2," image "], f[3,2," kernel "], f[3], padding=1 | f[2,2," image "], f[2,1," kernel "], groups=2" \
    }                                                                                                                 \
  }

// clang-format off
constexpr OpDef kNeural[] = {
  {.name = "convolve", .doc = "y[b, o, i] = sum of x[b, c, i stride + k dilation - padding] w[o, c, k].", .sig = "f[*], f[*] -> f[@]", .params = "x, weight, stride: positives, padding: naturals, dilation: positives, groups: positive", .shape = "convolve", .loop = conv("forward"), .linear_in = 3,
   .vjp = "lambda g, y, x, w, s, p, d, n: (ouro.convolve_input(g, w, x.shape, s, p, d, n), ouro.convolve_weight(g, x, w.shape, s, p, d, n))", .method = false, .function = false, .test = {.tol = 1e-5, .cases = "f[2,2,5,5], f[3,2,3,3], (1, 1), (0, 0), (1, 1), 1 | f[2,4,6,5], f[2,2,3,2], (2, 1), (1, 1), (1, 2), 2 | f[2,2,7], f[3,2,3], (2,), (1,), (1,), 1"}},
  {.name = "convolve_input", .doc = "The transpose of convolve in x: a tensor of shape `shape`.", .sig = "f[*], f[*] -> f[@]", .params = "g, weight, shape: sizes, stride: positives, padding: naturals, dilation: positives, groups: positive", .shape = "given", .loop = conv("input"), .linear_in = 3,
   .vjp = "lambda c, y, g, w, shape, s, p, d, n: (ouro.convolve(c, w, s, p, d, n), ouro.convolve_weight(g, c, w.shape, s, p, d, n))", .method = false, .function = false, .test = {.tol = 1e-5, .cases = "f[2,3,3,3], f[3,2,3,3], (2, 2, 5, 5), (1, 1), (0, 0), (1, 1), 1"}},
  {.name = "convolve_weight", .doc = "The transpose of convolve in weight: a tensor of shape `shape`.", .sig = "f[*], f[*] -> f[@]", .params = "g, x, shape: sizes, stride: positives, padding: naturals, dilation: positives, groups: positive", .shape = "given", .loop = conv("weight"), .linear_in = 3,
   .vjp = "lambda c, y, g, x, shape, s, p, d, n: (ouro.convolve(x, c, s, p, d, n), ouro.convolve_input(g, c, x.shape, s, p, d, n))", .method = false, .function = false, .test = {.tol = 1e-5, .cases = "f[2,3,3,3], f[2,2,5,5], (3, 2, 3, 3), (1, 1), (0, 0), (1, 1), 1"}},
  {.name = "tuple_of", .doc = "An int as a tuple of n ints; a tuple of n as it is.", .sig = "-> i64[@]", .params = "v: ints, n: size", .shape = "unknown",
   .source = "if isinstance(v, int):\n  return (v,) * n\nv = tuple(v)\nif len(v) == 1:\n  return v * n\nif len(v) != n:\n  raise ValueError(f'{n} numbers expected, not {len(v)}')\nreturn v", .method = false, .function = false},
  {.name = "conv_any", .doc = "convolve with the user's forms of stride, padding and dilation.", .sig = "f[*], f[*], f?[*] -> f[@]", .params = "x, weight, bias, stride: positives, padding: padding, dilation: positives, groups: positive, n: size", .shape = "unknown",
   .source = R"(if weight.ndim != n + 2 or x.ndim not in (n + 1, n + 2):
  raise ValueError(f'conv{n}d: x {tuple(x.shape)} and weight {tuple(weight.shape)} must have {n + 2} dimensions (x may lack the batch)')
single = x.ndim == n + 1
if single:
  x = unsqueeze(x, 0)
if x.shape[1] != weight.shape[1] * groups:
  raise ValueError(f'conv{n}d: {tuple(x.shape)} and weight {tuple(weight.shape)} do not fit: {x.shape[1]} channels are not {weight.shape[1] * groups}')
stride = ouro.tuple_of(stride, n)
dilation = ouro.tuple_of(dilation, n)
if padding == 'valid':
  padding = (0,) * n
elif padding == 'same':
  if stride != (1,) * n:
    raise ValueError("conv: padding='same' needs stride 1")
  total = [dilation[i] * (weight.shape[2 + i] - 1) for i in range(n)]
  padding = tuple([t // 2 for t in total])
  extra = [t % 2 for t in total]
  if sum(extra) > 0:
    sides = []
    for e in reversed(extra):
      sides = sides + [0, e]
    x = ouro.pad_constant(x, sides)
else:
  padding = ouro.tuple_of(padding, n)
y = ouro.convolve(x, weight, stride, padding, dilation, groups)
if bias is not None:
  y = y + bias.reshape((-1,) + (1,) * n)
return squeeze(y, 0) if single else y)", .method = false, .function = false,
   .test = {.cases = "f[2,2,5,5], f[3,2,3,3], f[3], 2, 1, 1, 1, 2"}},
  OURO_CONV("1", "6", "3"), OURO_CONV("2", "5,4", "3,2"), OURO_CONV("3", "2,3,3", "2,2,2"),
  {.name = "conv_transpose_any", .doc = "The transpose of a convolution, as a layer.", .sig = "f[*], f[*], f?[*] -> f[@]", .params = "x, weight, bias, stride: positives, padding: naturals, output_padding: naturals, groups: positive, dilation: positives, n: size", .shape = "unknown",
   .source = "stride = ouro.tuple_of(stride, n)\npadding = ouro.tuple_of(padding, n)\nextra = ouro.tuple_of(output_padding, n)\ndilation = ouro.tuple_of(dilation, n)\nsingle = x.ndim == n + 1\nif single:\n  x = unsqueeze(x, 0)\nshape = [x.shape[0], weight.shape[1] * groups]\nfor i in range(n):\n  shape.append((x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight.shape[2 + i] - 1) + extra[i] + 1)\ny = ouro.convolve_input(x, weight, tuple(shape), stride, padding, dilation, groups)\nif bias is not None:\n  y = y + bias.reshape((-1,) + (1,) * n)\nreturn squeeze(y, 0) if single else y", .method = false, .function = false,
   .test = {.cases = "f[1,2,3,3], f[2,3,2,2], f[3], 2, 1, 1, 1, 1, 2"}},
  {.name = "conv_transpose1d", .doc = "The transpose of conv1d: x [batch, in, l], weight [in, out/groups, k].", .sig = "f[*], f[*], f?[*] -> f[@]", .params = "x, weight, bias=None, stride: positives = 1, padding: naturals = 0, output_padding: naturals = 0, groups: positive = 1, dilation: positives = 1", .shape = "unknown",
   .source = "return ouro.conv_transpose_any(x, weight, bias, stride, padding, output_padding, groups, dilation, 1)", .method = false, .test = {.tol = 1e-5, .cases = "f[2,2,5], f[2,3,3], f[3], stride=2"}},
  {.name = "conv_transpose2d", .doc = "The transpose of conv2d: x [batch, in, h, w], weight [in, out/groups, kh, kw].", .sig = "f[*], f[*], f?[*] -> f[@]", .params = "x, weight, bias=None, stride: positives = 1, padding: naturals = 0, output_padding: naturals = 0, groups: positive = 1, dilation: positives = 1", .shape = "unknown",
   .source = "return ouro.conv_transpose_any(x, weight, bias, stride, padding, output_padding, groups, dilation, 2)", .method = false, .test = {.tol = 1e-5, .cases = "f[1,2,3,3], f[2,3,2,2], f[3], stride=2, padding=1"}},

  {.name = "max_pool", .doc = "Maximum over windows of the trailing len(kernel) axes; NaN wins.", .sig = "n[*] -> n[@]", .params = "x, kernel: positives, stride: positives?, padding: naturals, dilation: positives, ceil_mode: flag", .shape = "pool", .loop = {.kind = LoopKind::window, .index = "max", .combine = Leaf::max, .identity = Identity::lowest},
   .vjp = "lambda g, y, x, k, s, p, d, c: ouro.pool_scatter(g, ouro.max_pool_index(x, k, s, p, d, c), x, len(k))", .jvp = "lambda t, y, x, k, s, p, d, c: ouro.pool_gather(t, ouro.max_pool_index(x, k, s, p, d, c), len(k))", .method = false, .function = false,
   .test = {.cases = "f[2,2,5,6], (2, 3), (1, 2), (0, 1), (1, 1), False"}},
  {.name = "max_pool_index", .doc = "Where in its plane (flat) each window's maximum is; the first one wins.", .sig = "n[*] -> i64[@]", .params = "x, kernel: positives, stride: positives, padding: naturals, dilation: positives, ceil_mode: flag", .shape = "pool", .loop = {.kind = LoopKind::window, .index = "argmax", .combine = Leaf::max}, .nondiff = "an index", .method = false, .function = false},
  {.name = "pool_gather", .doc = "x at the flat places of each plane (the last n axes) that index names.", .sig = "t[*], i64[*s] -> t[*s]", .params = "x, index, n: size", .shape = "pool_gather", .loop = {.kind = LoopKind::gather, .index = "plane"}, .linear_in = 1,
   .vjp = "lambda g, y, x, index, n: (ouro.pool_scatter(g, index, x, n), None)", .method = false, .function = false,
   .test = {.cases = "f[2,2,4,4], tensor(((((0, 5), (10, 15)), ((1, 4), (11, 3))), (((2, 2), (8, 9)), ((0, 1), (2, 3))))), 2"}},
  {.name = "pool_scatter", .doc = "Zeros in the shape of `like` with x added at the flat places of each plane (the last n axes) that index names.", .sig = "t[*s], i64[*s], a[*] -> t[@]", .params = "x, index, like, n: size", .shape = "pool_scatter", .loop = {.kind = LoopKind::scatter, .index = "plane add"}, .linear_in = 1,
   .vjp = "lambda g, y, x, index, like, n: (ouro.pool_gather(g, index, n), None, None)", .method = false, .function = false,
   .test = {.cases = "f[1,1,2,2], tensor(((((0, 5), (10, 5)),),)), f[1,1,4,4], 2"}},
  {.name = "avg_pool", .doc = "Mean over windows of the trailing len(kernel) axes.", .sig = "f[*] -> f[@]", .params = "x, kernel: positives, stride: positives?, padding: naturals, ceil_mode: flag, count_include_pad: flag, divisor: number?", .shape = "pool", .loop = {.kind = LoopKind::window, .index = "mean", .combine = Leaf::add, .identity = Identity::zero}, .linear_in = 1,
   .vjp = "lambda g, y, x, k, s, p, c, i, d: ouro.avg_pool_back(g, x, k, s, p, c, i, d)", .method = false, .function = false,
   .test = {.cases = "f[2,2,5,6], (2, 3), (1, 2), (1, 1), False, True, 0 | f[2,2,5,6], (2, 2), (2, 2), (1, 0), True, False, 0"}},
  {.name = "avg_pool_back", .doc = "The transpose of avg_pool, in the shape of `like`.", .sig = "f[*], a[*] -> f[@]", .params = "x, like, kernel: positives, stride: positives, padding: naturals, ceil_mode: flag, count_include_pad: flag, divisor: number?", .shape = "pool_back", .loop = {.kind = LoopKind::window, .index = "mean back", .combine = Leaf::add, .identity = Identity::zero}, .linear_in = 1,
   .vjp = "lambda g, y, x, like, k, s, p, c, i, d: (ouro.avg_pool(g, k, s, p, c, i, d), None)", .method = false, .function = false,
   .test = {.cases = "f[2,2,4,5], f[2,2,5,6], (2, 2), (1, 1), (0, 0), False, True, 0"}},
#define OURO_POOL(n, dims) \
  {.name = "max_pool" n "d", .doc = "Maximum over windows of " n " spatial dims.", .sig = "n[*] -> n[@]", .params = "x, kernel_size: positives, stride: positives? = None, padding: naturals = 0, dilation: positives = 1, ceil_mode: flag = False, return_indices: flag = False", .shape = "unknown", \
   .source = "k = ouro.tuple_of(kernel_size, " n ")\ns = k if stride is None else ouro.tuple_of(stride, " n ")\np = ouro.tuple_of(padding, " n ")\nd = ouro.tuple_of(dilation, " n ")\ny = ouro.max_pool(x, k, s, p, d, ceil_mode)\nif return_indices:\n  return (y, ouro.max_pool_index(x, k, s, p, d, ceil_mode))\nreturn y", .method = false, \
   .test = {.cases = "f[" dims "], 2 | f[" dims "], 3, 2, 1"}}, \
  {.name = "avg_pool" n "d", .doc = "Mean over windows of " n " spatial dims.", .sig = "f[*] -> f[@]", .params = "x, kernel_size: positives, stride: positives? = None, padding: naturals = 0, ceil_mode: flag = False, count_include_pad: flag = True, divisor_override: positive? = None", .shape = "unknown", \
   .source = "k = ouro.tuple_of(kernel_size, " n ")\nreturn ouro.avg_pool(x, k, k if stride is None else ouro.tuple_of(stride, " n "), ouro.tuple_of(padding, " n "), ceil_mode, count_include_pad, 0 if divisor_override is None else divisor_override)", .method = false, \
   .test = {.cases = "f[" dims "], 2 | f[" dims "], 3, 2, 1"}}
  OURO_POOL("1", "2,2,7"), OURO_POOL("2", "2,2,5,6"),
  {.name = "adaptive_avg_pool2d", .doc = "Mean over windows chosen so that the result has the given size.", .sig = "f[*] -> f[@]", .params = "x, output_size: some_positives?", .shape = "unknown",
   .source = "size = (output_size, output_size) if isinstance(output_size, int) or output_size is None else output_size\nh, w = x.shape[-2], x.shape[-1]\noh = h if size[0] is None else size[0]\now = w if size[1] is None else size[1]\nif h % oh == 0 and w % ow == 0:\n  k = (h // oh, w // ow)\n  return ouro.avg_pool(x, k, k, (0, 0), False, True, 0)\nrows = [ouro.mean(narrow(x, -2, i * h // oh, ((i + 1) * h + oh - 1) // oh - i * h // oh), -2, True) for i in range(oh)]\nx = cat(rows, -2)\ncols = [ouro.mean(narrow(x, -1, i * w // ow, ((i + 1) * w + ow - 1) // ow - i * w // ow), -1, True) for i in range(ow)]\nreturn cat(cols, -1)", .method = false,
   .test = {.cases = "f[2,2,5,6], (2, 4)"}},
  {.name = "adaptive_max_pool2d", .doc = "Maximum over windows chosen so that the result has the given size.", .sig = "f[*] -> f[@]", .params = "x, output_size: some_positives?", .shape = "unknown",
   .source = "size = (output_size, output_size) if isinstance(output_size, int) or output_size is None else output_size\nh, w = x.shape[-2], x.shape[-1]\noh = h if size[0] is None else size[0]\now = w if size[1] is None else size[1]\nif h % oh == 0 and w % ow == 0:\n  k = (h // oh, w // ow)\n  return ouro.max_pool(x, k, k, (0, 0), (1, 1), False)\nrows = [ouro.amax(narrow(x, -2, i * h // oh, ((i + 1) * h + oh - 1) // oh - i * h // oh), -2, True) for i in range(oh)]\nx = cat(rows, -2)\ncols = [ouro.amax(narrow(x, -1, i * w // ow, ((i + 1) * w + ow - 1) // ow - i * w // ow), -1, True) for i in range(ow)]\nreturn cat(cols, -1)", .method = false,
   .test = {.cases = "f[2,2,5,6], (2, 4)"}},
  {.name = "local_response_norm", .doc = "x / (k + alpha mean of squares over size channels) ** beta.", .sig = "f[*s] -> f[*s]", .params = "x, size: positive, alpha: number = 1e-4, beta: number = 0.75, k: number = 1.0",
   .source = "q = movedim(x * x, 1, -1)\nq = ouro.pad_constant(q, (size // 2, (size - 1) // 2))\nm = movedim(ouro.mean(unfold(q, -1, size, 1), -1), -1, 1)\nreturn x / ouro.pow(m * alpha + k, beta)", .method = false, .test = {.tol = 1e-5, .cases = "f[2,5,3,3], 3, alpha=0.1"}},

  {.name = "batch_norm", .doc = "Normalised per channel (axis 1): by the batch's statistics when training, else by the running ones.", .sig = "f[n,c,*s], f?[c], f?[c], f?[c], f?[c] -> f[n,c,*s]", .params = "x, running_mean=None, running_var=None, weight=None, bias=None, training: flag = False, momentum: number = 0.1, eps: number = 1e-5",
   .source = "if training and momentum != 0 and (running_mean is not None or running_var is not None):\n  raise ValueError('batch_norm: with training=True the running statistics that are given would not be updated, for tensors are values: give None, and take new ones from batch_norm_statistics(x, running_mean, running_var, momentum)')\nshape = (1, -1) + (1,) * (x.ndim - 2)\nif training or running_mean is None:\n  axes = (0,) + tuple(range(2, x.ndim))\n  d = x - ouro.mean(x, axes, True)\n  y = d * ouro.rsqrt(ouro.mean(d * d, axes, True) + eps)\nelse:\n  y = (x - running_mean.reshape(shape)) * ouro.rsqrt(running_var.reshape(shape) + eps)\nif weight is not None:\n  y = y * weight.reshape(shape)\nif bias is not None:\n  y = y + bias.reshape(shape)\nreturn y", .method = false, .test = {.tol = 1e-5, .cases = "f[4,3,2], None, None, f[3], f[3], True"}},
  {.name = "batch_norm_statistics", .doc = "The running mean and variance after a batch: (1 - momentum) running + momentum batch, per channel (axis 1); the variance is the unbiased one.", .sig = "f[n,c,*s], f[c], f[c] -> f[c], f[c]", .params = "x, running_mean, running_var, momentum: number = 0.1",
   .source = "axes = (0,) + tuple(range(2, x.ndim))\nd = x - ouro.mean(x, axes, True)\nn = x.numel() // x.shape[1]\nif n < 2:\n  raise ValueError(f'batch_norm_statistics: the variance of one number per channel is not defined: {tuple(x.shape)}')\nvar = ouro.sum(d * d, axes) / (n - 1)\nreturn (running_mean * (1.0 - momentum) + momentum * ouro.mean(x, axes), running_var * (1.0 - momentum) + momentum * var)", .method = false, .test = {.tol = 1e-5, .cases = "f[4,3,2], f[3], f[3] | f[4,3], f[3], f[3], 0.3"}},
  {.name = "layer_norm", .doc = "Normalised over the trailing axes of normalized_shape.", .sig = "f[*s], f?[*], f?[*] -> f[*s]", .params = "@x, normalized_shape: last_axes, @weight=None, @bias=None, eps: number = 1e-5",
   .source = "n = 1 if isinstance(normalized_shape, int) else len(normalized_shape)\naxes = tuple(range(-n, 0))\nd = x - ouro.mean(x, axes, True)\ny = d * ouro.rsqrt(ouro.mean(d * d, axes, True) + eps)\nif weight is not None:\n  y = y * weight\nif bias is not None:\n  y = y + bias\nreturn y", .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], 4, f[4], f[4] | f[2,3,4], (3, 4)"}},
  {.name = "rms_norm", .doc = "x / sqrt(mean(x^2) + eps) over the trailing axes of normalized_shape.", .sig = "f[*s], f?[*] -> f[*s]", .params = "@x, normalized_shape: last_axes, @weight=None, eps: number? = None",
   .source = "n = 1 if isinstance(normalized_shape, int) else len(normalized_shape)\nif eps is None:\n  eps = ouro.finfo_eps(x.dtype)\ny = x * ouro.rsqrt(ouro.mean(x * x, tuple(range(-n, 0)), True) + eps)\nreturn y if weight is None else y * weight", .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], 4, f[4]"}},
  {.name = "group_norm", .doc = "Normalised over groups of channels (axis 1).", .sig = "f[n,c,*s], f?[c], f?[c] -> f[n,c,*s]", .params = "@x, num_groups: positive, @weight=None, @bias=None, eps: number = 1e-5",
   .source = "if x.shape[1] % num_groups != 0:\n  raise ValueError('group_norm: the channels do not divide into the groups')\nz = x.reshape(x.shape[0], num_groups, -1)\nd = z - ouro.mean(z, -1, True)\ny = (d * ouro.rsqrt(ouro.mean(d * d, -1, True) + eps)).reshape(x.shape)\nshape = (1, -1) + (1,) * (x.ndim - 2)\nif weight is not None:\n  y = y * weight.reshape(shape)\nif bias is not None:\n  y = y + bias.reshape(shape)\nreturn y", .method = false, .test = {.tol = 1e-5, .cases = "f[2,4,3], 2, f[4], f[4]"}},
  {.name = "instance_norm", .doc = "Normalised per example and channel.", .sig = "f[n,c,*s], f?[c], f?[c] -> f[n,c,*s]", .params = "x, weight=None, bias=None, eps: number = 1e-5", .source = "return ouro.group_norm(x, x.shape[1], weight, bias, eps)", .method = false, .test = {.tol = 1e-5, .cases = "f[2,3,5], f[3], f[3]"}},
  {.name = "dropout", .doc = "Elements set to 0 with probability p, the others divided by 1 - p; x itself when not training.", .sig = "f[*s] -> f[*s]", .params = "x, p: probability = 0.5, training: flag = True",
   .source = "if p < 0 or p > 1:\n  raise ValueError('dropout: p must be between 0 and 1')\nif not training or p == 0:\n  return x\nif p == 1:\n  return x * 0.0\nreturn where(ouro.rand_like(x) >= p, x * (1 / (1 - p)), 0.0)",
   .test = {.cases = "f[3,4], 0.5, False"}},
  {.name = "scaled_dot_product_attention", .doc = "softmax(query key^T / sqrt(d) + mask) value.", .sig = "f[*], f[*], f[*], a?[*] -> f[@]", .params = "query, key, value, attn_mask=None, dropout_p: probability = 0.0, is_causal: flag = False, scale: number? = None", .shape = "unknown",
   .source = "q = query * (1.0 / (query.shape[-1] ** 0.5) if scale is None else scale)\ns = ouro.matmul_nt(q, key)\nif is_causal:\n  m = tril(ones(s.shape[-2], s.shape[-1], dtype=bool))\n  s = where(m, s, -inf)\nif attn_mask is not None:\n  if str(attn_mask.dtype) == 'bool':\n    s = where(attn_mask, s, -inf)\n  else:\n    s = s + attn_mask\na = softmax(s, -1)\nif dropout_p > 0:\n  a = ouro.dropout(a, dropout_p)\nreturn ouro.matmul(a, value)", .method = false, .test = {.tol = 1e-5, .cases = "f[2,3,4], f[2,5,4], f[2,5,4] | f[2,3,4], f[2,3,4], f[2,3,4], is_causal=True"}},
  {.name = "glu", .doc = "a * sigmoid(b), a and b the halves of x along axis.", .sig = "f[*] -> f[@]", .params = "x, axis: axis = -1", .shape = "unknown", .source = "n = x.shape[axis]\nif n % 2 != 0:\n  raise RuntimeError('glu: the axis must have an even size')\nreturn narrow(x, axis, 0, n // 2) * ouro.sigmoid(narrow(x, axis, n // 2, n // 2))",
   .test = {.cases = "f[3,4]"}},
  {.name = "lstm_cell", .doc = "One LSTM step: (h, c).", .sig = "f[*] -> f[@]", .params = "x, state: tensors, w_ih: tensor, w_hh: tensor, b_ih: tensor? = None, b_hh: tensor? = None", .shape = "unknown",
   .source = "h, c = state\nz = linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)\nn = c.shape[-1]\ni = ouro.sigmoid(narrow(z, -1, 0, n))\nf = ouro.sigmoid(narrow(z, -1, n, n))\ng = ouro.tanh(narrow(z, -1, 2 * n, n))\no = ouro.sigmoid(narrow(z, -1, 3 * n, n))\nc = f * c + i * g\nreturn (o * ouro.tanh(c), c)", .method = false,
   .test = {.cases = "f[2,3], (f[2,4], f[2,4]), f[16,3], f[16,4], f[16], f[16]"}},
  {.name = "gru_cell", .doc = "One GRU step.", .sig = "f[*] -> f[@]", .params = "x, h: tensor, w_ih: tensor, w_hh: tensor, b_ih: tensor? = None, b_hh: tensor? = None", .shape = "unknown",
   .source = "a = linear(x, w_ih, b_ih)\nb = linear(h, w_hh, b_hh)\nn = h.shape[-1]\nr = ouro.sigmoid(narrow(a, -1, 0, n) + narrow(b, -1, 0, n))\nz = ouro.sigmoid(narrow(a, -1, n, n) + narrow(b, -1, n, n))\nc = ouro.tanh(narrow(a, -1, 2 * n, n) + r * narrow(b, -1, 2 * n, n))\nreturn c + z * (h - c)", .method = false,
   .test = {.cases = "f[2,3], f[2,4], f[12,3], f[12,4], f[12], f[12]"}},
  {.name = "rnn_cell", .doc = "One step of a plain recurrent cell.", .sig = "f[*] -> f[@]", .params = "x, h: tensor, w_ih: tensor, w_hh: tensor, b_ih: tensor? = None, b_hh: tensor? = None, nonlinearity: tanh|relu = 'tanh'", .shape = "unknown",
   .source = "z = linear(x, w_ih, b_ih) + linear(h, w_hh, b_hh)\nreturn ouro.tanh(z) if nonlinearity == 'tanh' else relu(z)", .method = false,
   .test = {.cases = "f[2,3], f[2,4], f[4,3], f[4,4], f[4], f[4]"}},
  {.name = "interpolate", .doc = "Resized over the spatial dims; mode nearest, or bilinear for two.", .sig = "f[*] -> f[@]", .params = "x, size: sizes? = None, scale_factor: numbers? = None, mode: nearest|linear|bilinear = 'nearest', align_corners: flag? = False", .shape = "unknown",
   .source = R"(n = x.ndim - 2
if size is None:
  f = (scale_factor,) * n if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
  size = tuple([int(x.shape[2 + i] * f[i]) for i in range(n)])
else:
  size = ouro.tuple_of(size, n)
for k in range(n):
  a = 2 + k
  m = x.shape[a]
  o = size[k]
  i = arange(o, dtype=f64)
  if mode == 'nearest':
    x = ouro.index_select(x, a, ouro.clamp(ouro.floor(i * (m / o)), 0, m - 1).astype(i64))
  elif mode in ('bilinear', 'linear'):
    if align_corners:
      p = i * ((m - 1) / (o - 1)) if o > 1 else i * 0.0
    else:
      p = ouro.clamp((i + 0.5) * (m / o) - 0.5, 0.0, None)
    lo = ouro.clamp(ouro.floor(p), 0, m - 1)
    hi = ouro.clamp(lo + 1, 0, m - 1)
    w = (p - lo).astype(x.dtype).reshape((-1,) + (1,) * (x.ndim - 1 - a))
    x0 = ouro.index_select(x, a, lo.astype(i64))
    x1 = ouro.index_select(x, a, hi.astype(i64))
    x = x0 * (1 - w) + x1 * w
  else:
    raise NotImplementedError('interpolate: unknown mode ' + repr(mode))
return x)", .method = false,
   .test = {.cases = "f[1,2,3,4], (5, 6) | f[1,2,3,4], (5, 6), mode='bilinear'"}},
  {.name = "pixel_shuffle", .doc = "[*, c r r, h, w] to [*, c, h r, w r].", .sig = "t[*] -> t[@]", .params = "x, upscale_factor: positive", .shape = "unknown",
   .source = "r = upscale_factor\nlead = tuple(x.shape[:-3])\nc, h, w = x.shape[-3] // (r * r), x.shape[-2], x.shape[-1]\ny = x.reshape(lead + (c, r, r, h, w))\nk = len(lead)\ny = permute(y, list(range(k)) + [k, k + 3, k + 1, k + 4, k + 2])\nreturn y.reshape(lead + (c, h * r, w * r))", .method = false,
   .test = {.cases = "f[1,4,2,3], 2"}},
};
// clang-format on
static_assert(complete(kNeural));

}  // namespace

std::span<const OpDef> neural_rows() { return kNeural; }

}  // namespace ouro::ir
