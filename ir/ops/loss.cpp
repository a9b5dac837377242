// Losses: rows only, all in Ouro. reduction is 'mean', 'sum' or 'none'.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

#define OURO_LOSS(expr) "return ouro.reduce_loss(" expr ", reduction)"

// clang-format off
constexpr OpDef kLoss[] = {
  {.name = "reduce_loss", .doc = "The mean or the sum of elementwise losses, or themselves.", .sig = "f[*s] -> f[@]", .params = "x, reduction: mean|sum|none", .shape = "unknown",
   .source = "if reduction == 'mean':\n  return ouro.mean(x)\nif reduction == 'sum':\n  return ouro.sum(x)\nif reduction != 'none':\n  raise ValueError(f\"{reduction} is not a valid value for reduction\")\nreturn x", .method = false, .function = false,
   .test = {.cases = "f[3,4], 'mean' | f[3,4], 'sum'"}},
  {.name = "mse_loss", .doc = "Squared difference.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, target, reduction: mean|sum|none = 'mean'", .shape = "unknown", .source = "d = x - target\n" OURO_LOSS("d * d"), .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "l1_loss", .doc = "Absolute difference.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, target, reduction: mean|sum|none = 'mean'", .shape = "unknown", .source = OURO_LOSS("ouro.abs(x - target)"), .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "smooth_l1_loss", .doc = "Squared below beta, absolute above.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, target, reduction: mean|sum|none = 'mean', beta: number = 1.0", .shape = "unknown",
   .source = "d = ouro.abs(x - target)\nif beta == 0:\n  return ouro.reduce_loss(d, reduction)\n" OURO_LOSS("where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta)"), .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "huber_loss", .doc = "Squared below delta, linear above.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, target, reduction: mean|sum|none = 'mean', delta: number = 1.0", .shape = "unknown",
   .source = "d = ouro.abs(x - target)\n" OURO_LOSS("where(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta)"), .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "cross_entropy", .doc = "-log softmax(x)[target] over axis 1 (0 for one dimension); target: classes, or probabilities in the shape of x.", .sig = "f[*], a[*], f?[*] -> f[@]", .params = "x, target, weight=None, ignore_index: int = -100, reduction: mean|sum|none = 'mean', label_smoothing: probability = 0.0", .shape = "unknown",
   .source = R"(axis = 0 if x.ndim == 1 else 1
n = x.shape[axis]
p = ouro.log_softmax(x, axis)
if target.is_floating_point():
  if tuple(target.shape) != tuple(x.shape):
    raise ValueError(f'cross_entropy: {tuple(x.shape)} and {tuple(target.shape)} do not fit')
  if label_smoothing > 0:
    target = target * (1 - label_smoothing) + label_smoothing / n
  if weight is not None:
    p = p * weight.reshape([n if d == axis else 1 for d in range(x.ndim)])
  loss = -ouro.sum(p * target, axis)
  if reduction == 'mean':
    return ouro.sum(loss) / max(1, x.numel() // n)
  return ouro.reduce_loss(loss, reduction)
nll = ouro.nll_loss(p, target, weight, ignore_index, reduction)
if label_smoothing == 0:
  return nll
used = target != ignore_index
if weight is None:
  smooth = -ouro.sum(p, axis)
  count = ouro.sum(used.astype(x.dtype))
else:
  smooth = -ouro.sum(p * weight.reshape([n if d == axis else 1 for d in range(x.ndim)]), axis)
  count = ouro.sum(where(used, ouro.take(weight, where(used, target, 0)), 0.0))
smooth = where(used, smooth, 0.0)
if reduction == 'mean':
  smooth = ouro.sum(smooth) / count
elif reduction == 'sum':
  smooth = ouro.sum(smooth)
return nll * (1 - label_smoothing) + smooth * (label_smoothing / n))", .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], tensor((2, 0, 3)) | f[3,4], tensor((2, -100, 3)), f[4], label_smoothing=0.1 | f[3,4], f[3,4]"}},
  {.name = "nll_loss", .doc = "-x[target] over axis 1 (0 for one dimension).", .sig = "f[*], i64[*], f?[*] -> f[@]", .params = "x, target, weight=None, ignore_index: int = -100, reduction: mean|sum|none = 'mean'", .shape = "unknown",
   .source = R"(axis = 0 if x.ndim == 1 else 1
want = tuple([x.shape[d] for d in range(x.ndim) if d != axis])
if tuple(target.shape) != want:
  raise ValueError(f'cross_entropy: {tuple(x.shape)} and {tuple(target.shape)} do not fit: a target of shape {want} expected')
used = target != ignore_index
at = where(used, target, 0)
loss = -squeeze(ouro.pick(x, axis, unsqueeze(at, axis)), axis)
w = used.astype(x.dtype) if weight is None else where(used, ouro.take(weight, at), 0.0)
loss = where(used, loss * w, 0.0)
if reduction == 'mean':
  return ouro.sum(loss) / ouro.sum(w)
return ouro.reduce_loss(loss, reduction))", .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], tensor((2, 0, 3))"}},
  {.name = "cross_entropy_of_bit", .doc = "-(target log x + (1 - target) log(1 - x)), logs not below -100; the derivative is finite at 0 and 1.", .sig = "f[*s], f[*s] -> f[*s]", .params = "x, target",
   .body = [](OpArgs x) { S a = max(log(x[0]), -100.0), b = max(log1p(-x[0]), -100.0); return (x[1] - 1) * b - x[1] * a; },
   .d = {[](OpArgs x, S) { return (x[0] - x[1]) / max((S(1) - x[0]) * x[0], 1e-12); }, [](OpArgs x, S) { return max(log1p(-x[0]), -100.0) - max(log(x[0]), -100.0); }},
   .method = false, .function = false, .test = {.domain = {{0.1, 0.9}, {0, 1}}, .tol = 1e-5}},
  {.name = "binary_cross_entropy", .doc = "-(target log x + (1 - target) log(1 - x)), logs not below -100.", .sig = "f[*s], f[*s], f?[*] -> f[@]", .params = "x, target, weight=None, reduction: mean|sum|none = 'mean'", .shape = "unknown",
   .source = "loss = ouro.cross_entropy_of_bit(x, target)\nif weight is not None:\n  loss = loss * weight\n" OURO_LOSS("loss"), .method = false, .test = {.domain = {{0.1, 0.9}, {0, 1}}, .tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "binary_cross_entropy_with_logits", .doc = "binary_cross_entropy of sigmoid(x), without overflow.", .sig = "f[*s], f[*s], f?[*], f?[*] -> f[@]", .params = "@x, @target, @weight=None, reduction: mean|sum|none = 'mean', @pos_weight=None", .shape = "unknown",
   .source = "soft = ouro.softplus(-x, 1.0, inf)\nif pos_weight is None:\n  loss = (1 - target) * x + soft\nelse:\n  loss = (1 - target) * x + ((pos_weight - 1) * target + 1) * soft\nif weight is not None:\n  loss = loss * weight\n" OURO_LOSS("loss"), .method = false, .test = {.domain = {{-2, 2}, {0, 1}}, .tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "kl_div", .doc = "target (log target - x), x being log probabilities; 'batchmean' divides by the batch.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, target, reduction: mean|sum|none|batchmean = 'mean', log_target: flag = False", .shape = "unknown",
   .source = "if log_target:\n  loss = ouro.exp(target) * (target - x)\nelse:\n  loss = ouro.xlogy(target, target) - target * x\nif reduction == 'batchmean':\n  return ouro.sum(loss) / x.shape[0]\n" OURO_LOSS("loss"), .method = false, .test = {.domain = {{-2, 0}, {0.1, 1}}, .tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "hinge_embedding_loss", .doc = "x where target is 1, max(0, margin - x) where it is -1.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, target, margin: number = 1.0, reduction: mean|sum|none = 'mean'", .shape = "unknown",
   .source = OURO_LOSS("where(target == 1, x, 0.0) + where(target == -1, ouro.clamp_min(margin - x, 0.0), 0.0)"), .method = false, .test = {.tol = 1e-5, .cases = "f[4], tensor((1., -1., 1., -1.), dtype=f64)"}},
  {.name = "cosine_similarity", .doc = "x y / (|x| |y|) along axis.", .sig = "f[*s], f[*s] -> f[@]", .params = "x, y, axis: axis = 1, eps: number = 1e-8", .shape = "unknown",
   .source = "a = ouro.clamp_min(ouro.norm(x, 2, axis, True), eps)\nb = ouro.clamp_min(ouro.norm(y, 2, axis, True), eps)\nreturn ouro.sum((x / a) * (y / b), axis)", .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[3,4]"}},
  {.name = "triplet_margin_loss", .doc = "max(0, |anchor - positive| - |anchor - negative| + margin).", .sig = "f[*s], f[*s], f[*s] -> f[@]", .params = "anchor, positive, negative, margin: number = 1.0, p: norm = 2, eps: number = 1e-6, reduction: mean|sum|none = 'mean'", .shape = "unknown",
   .source = "a = ouro.norm(anchor - positive + eps, p, -1)\nb = ouro.norm(anchor - negative + eps, p, -1)\n" OURO_LOSS("ouro.clamp_min(a - b + margin, 0.0)"), .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[3,4], f[3,4]"}},
};
// clang-format on
static_assert(complete(kLoss));

}  // namespace

std::span<const OpDef> loss_rows() { return kLoss; }

}  // namespace ouro::ir
