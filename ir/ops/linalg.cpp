// Linear algebra: rows only. matmul, matmul_nt (a b^T) and matmul_tn (a^T b) are each other's derivatives, so that no
// transposed copy is made.
#include "ir/ops/registry.h"

namespace ouro::ir {
namespace {

constexpr LoopSpec contract(std::string_view index) { return {.kind = LoopKind::contract, .index = index}; }

// clang-format off
constexpr OpDef kLinalg[] = {
  {.name = "matmul", .doc = "Matrix product; vectors are rows or columns, leading axes broadcast.", .sig = "n[*], n[*] -> n[@]", .shape = "matmul", .loop = contract("mk,kn->mn"), .linear_in = 3,
   .vjp = "lambda g, y, a, b: (ouro.matmul_back_a(g, a, b), ouro.matmul_back_b(g, a, b))", .test = {.tol = 1e-5, .cases = "f[3,4], f[4,2] | f[4], f[4] | f[2,3,4], f[4] | f[4], f[4,2] | f[2,3,4], f[4,2] | f[2,1,3,4], f[5,4,2]"}},
  {.name = "matmul_nt", .doc = "a b^T over the last two axes; leading axes broadcast.", .sig = "n[*], n[*] -> n[@]", .shape = "matmul_nt", .loop = contract("mk,nk->mn"), .linear_in = 3,
   .vjp = "lambda g, y, a, b: (ouro.matmul_nt_back_a(g, a, b), ouro.matmul_nt_back_b(g, a, b))", .method = false, .function = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[2,4] | f[2,3,4], f[5,4] | f[2,3,4], f[2,5,4]"}},
  {.name = "matmul_tn", .doc = "a^T b over the last two axes; leading axes broadcast.", .sig = "n[*], n[*] -> n[@]", .shape = "matmul_tn", .loop = contract("km,kn->mn"), .linear_in = 3,
   .vjp = "lambda g, y, a, b: (ouro.sum_to(ouro.matmul_nt(b, g), a), ouro.sum_to(ouro.matmul(a, g), b))", .method = false, .function = false, .test = {.tol = 1e-5, .cases = "f[4,3], f[4,2] | f[2,4,3], f[2,4,5]"}},
  {.name = "matmul_back_a", .doc = "Cotangent of a in y = a b.", .sig = "n[*], n[*], n[*] -> n[@]", .params = "g, a, b", .shape = "unknown",
   .source = "if a.ndim == 1 and b.ndim == 1:\n  return g * b\nif b.ndim == 1:\n  return ouro.sum_to(unsqueeze(g, -1) * b, a)\nif a.ndim == 1:\n  return ouro.sum_to(ouro.matmul(b, g) if b.ndim == 2 else squeeze(ouro.matmul(b, unsqueeze(g, -1)), -1), a)\nreturn ouro.sum_to(ouro.matmul_nt(g, b), a)", .method = false, .function = false,
   .test = {.cases = "f[3,2], f[3,4], f[4,2]"}},
  {.name = "matmul_back_b", .doc = "Cotangent of b in y = a b.", .sig = "n[*], n[*], n[*] -> n[@]", .params = "g, a, b", .shape = "unknown",
   .source = "if a.ndim == 1 and b.ndim == 1:\n  return g * a\nif a.ndim == 1:\n  return ouro.sum_to(unsqueeze(a, 1) * unsqueeze(g, -2), b)\nif b.ndim == 1:\n  return ouro.sum_to(unsqueeze(g, -1) * a, b)\nif b.ndim == 2 and a.ndim > 2:\n  return ouro.matmul_tn(a.reshape(-1, a.shape[-1]), g.reshape(-1, g.shape[-1]))\nreturn ouro.sum_to(ouro.matmul_tn(a, g), b)", .method = false, .function = false,
   .test = {.cases = "f[3,2], f[3,4], f[4,2] | f[2,3,2], f[2,3,4], f[4,2]"}},
  {.name = "matmul_nt_back_a", .doc = "Cotangent of a in y = a b^T.", .sig = "n[*], n[*], n[*] -> n[@]", .params = "g, a, b", .shape = "unknown",
   .source = "return ouro.sum_to(ouro.matmul(g, b), a)", .method = false, .function = false,
   .test = {.cases = "f[3,2], f[3,4], f[2,4]"}},
  {.name = "matmul_nt_back_b", .doc = "Cotangent of b in y = a b^T.", .sig = "n[*], n[*], n[*] -> n[@]", .params = "g, a, b", .shape = "unknown",
   .source = "if b.ndim == 2 and a.ndim > 2:\n  return ouro.matmul_tn(g.reshape(-1, g.shape[-1]), a.reshape(-1, a.shape[-1]))\nreturn ouro.sum_to(ouro.matmul_tn(g, a), b)", .method = false, .function = false,
   .test = {.cases = "f[3,2], f[3,4], f[2,4] | f[5,3,2], f[5,3,4], f[2,4]"}},
  {.name = "linear", .doc = "x weight^T + bias.", .sig = "f[*s,k], f[n,k], f?[n] -> f[*s,n]", .params = "x, weight, bias=None",
   .source = "if x.ndim == 1:\n  y = ouro.matmul(weight, x)\nelse:\n  y = ouro.matmul_nt(x, weight)\nif bias is None:\n  return y\nreturn y + bias", .method = false, .test = {.tol = 1e-5, .cases = "f[3,4], f[2,4], f[2] | f[4], f[2,4] | f[2,3,4], f[5,4], f[5]"}},
  {.name = "bilinear", .doc = "x1 W_k x2 for each k, + bias.", .sig = "f[*], f[*], f[k,m,n], f?[k] -> f[@]", .params = "x1, x2, weight, bias=None", .shape = "unknown",
   .source = "y = einsum('...m,kmn,...n->...k', x1, weight, x2)\nreturn y if bias is None else y + bias", .method = false,
   .test = {.cases = "f[3,4], f[3,5], f[2,4,5], f[2]"}},
  {.name = "bmm", .doc = "Matrix products of two batches.", .sig = "n[b,m,k], n[b,k,n] -> n[b,m,n]", .source = "return ouro.matmul(x, y)", .test = {.tol = 1e-5}},
  {.name = "mv", .doc = "Matrix times vector.", .sig = "n[m,k], n[k] -> n[m]", .source = "return ouro.matmul(x, y)", .test = {.tol = 1e-5}},
  {.name = "dot", .doc = "Sum of products of two vectors.", .sig = "n[k], n[k] -> n[]", .source = "return ouro.matmul(x, y)", .alias = "inner", .test = {.tol = 1e-5}},
  {.name = "outer", .doc = "All products of two vectors.", .sig = "t[m], t[n] -> t[m,n]", .source = "return unsqueeze(x, 1) * y"},
  {.name = "tensordot", .doc = "Sum over pairs of axes: the last n with the first n, or two lists.", .sig = "n[*], n[*] -> n[@]", .params = "x, y, dims: any = 2", .shape = "unknown",
   .source = "if isinstance(dims, int):\n  if dims < 0 or dims > min(x.ndim, y.ndim):\n    raise ValueError(f'tensordot: {dims} axes of {x.ndim} and of {y.ndim} dimensions')\n  da = list(range(x.ndim - dims, x.ndim))\n  db = list(range(dims))\nelse:\n  da = [d % x.ndim for d in dims[0]]\n  db = [d % y.ndim for d in dims[1]]\nfa = [d for d in range(x.ndim) if d not in da]\nfb = [d for d in range(y.ndim) if d not in db]\nk = 1\nfor d in da:\n  k = k * x.shape[d]\na = permute(x, fa + da).reshape(-1, k)\nb = permute(y, db + fb).reshape(k, -1)\nreturn ouro.matmul(a, b).reshape([x.shape[d] for d in fa] + [y.shape[d] for d in fb])", .test = {.tol = 1e-5, .cases = "f[2,3,4], f[3,4,5]"}},
  {.name = "kron", .doc = "Kronecker product of two matrices.", .sig = "t[a,b], t[c,d] -> t[@]", .shape = "unknown",
   .source = "m, n = x.shape\np, q = y.shape\nreturn (x.reshape(m, 1, n, 1) * y.reshape(1, p, 1, q)).reshape(m * p, n * q)",
   .test = {.cases = "f[2,3], f[2,2]"}},
  {.name = "cross", .doc = "Cross product along an axis of 3.", .sig = "n[*s], n[*s] -> n[*s]", .params = "x, y, axis: axis = -1",
   .source = "return roll(x, -1, axis) * roll(y, 1, axis) - roll(x, 1, axis) * roll(y, -1, axis)",
   .test = {.cases = "f[2,3], f[2,3]"}},
  {.name = "einsum", .doc = "Einstein summation: 'ij,jk->ik', ... allowed.", .sig = "n+[*] -> n[@]", .params = "equation: text, *@operands", .shape = "unknown", .source = R"(if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
  operands = tuple(operands[0])
equation = equation.replace(' ', '')
left, arrow, right = equation.partition('->')
terms = left.split(',')
if len(terms) != len(operands):
  raise ValueError(f'einsum: {len(terms)} terms and {len(operands)} operands')
spare = [c for c in 'ZYXWVUTSRQPONMLKJIHGFEDCBA' if c not in equation]
most = 0
for t, x in zip(terms, operands):
  if '...' in t:
    most = max(most, x.ndim - len(t) + 3)
dots = ''.join(spare[:most])
full = []
for t, x in zip(terms, operands):
  n = x.ndim - len(t) + 3
  t = t.replace('...', dots[most - n:] if n > 0 else '')
  if len(t) != x.ndim:
    raise ValueError(f'einsum: {t!r} for a tensor of {x.ndim} dimensions')
  full.append(t)
if arrow:
  out = right.replace('...', dots)
else:
  joined = ''.join(full)
  out = dots + ''.join(sorted([c for c in set(joined) if joined.count(c) == 1 and c not in dots]))
def once(t, x):
  for c in t:
    while t.count(c) > 1:
      i = t.index(c)
      j = t.index(c, i + 1)
      x = ouro.diagonal(x, 0, i, j)
      t = t[:i] + t[i + 1:j] + t[j + 1:] + c
  return t, x
def pair(ta, a, tb, b, keep):
  for c in ta:
    if c not in tb and c not in keep:
      a = ouro.sum(a, ta.index(c))
      ta = ta.replace(c, '')
  for c in tb:
    if c not in ta and c not in keep:
      b = ouro.sum(b, tb.index(c))
      tb = tb.replace(c, '')
  batch = [c for c in ta if c in tb and c in keep]
  summed = [c for c in ta if c in tb and c not in keep]
  fa = [c for c in ta if c not in tb]
  fb = [c for c in tb if c not in ta]
  size = {}
  for t, x in ((ta, a), (tb, b)):
    for i, c in enumerate(t):
      n = x.shape[i]
      if size.get(c, 1) == 1:
        size[c] = n
      elif n != size[c] and n != 1:
        raise ValueError(f'einsum: {c} is {size[c]} and {n}')
  a = permute(a, [ta.index(c) for c in batch + fa + summed])
  b = permute(b, [tb.index(c) for c in batch + summed + fb])
  shape = [size[c] for c in batch + fa + fb]
  if not summed:
    a = a.reshape(list(a.shape) + [1] * len(fb))
    b = b.reshape(list(b.shape[:len(batch)]) + [1] * len(fa) + list(b.shape[len(batch):]))
    return ''.join(batch + fa + fb), a * b
  a = a.expand([size[c] for c in batch + fa + summed])
  b = b.expand([size[c] for c in batch + summed + fb])
  def count(cs):
    n = 1
    for c in cs:
      n = n * size[c]
    return n
  nb, nk = count(batch), count(summed)
  if batch:
    y = ouro.matmul(a.reshape(nb, -1, nk) if nb * nk > 0 else a.reshape(nb, count(fa), nk), b.reshape(nb, nk, count(fb)))
  else:
    y = ouro.matmul(a.reshape(count(fa), nk), b.reshape(nk, count(fb)))
  return ''.join(batch + fa + fb), y.reshape(shape)
t, x = once(full[0], operands[0])
for k in range(1, len(full)):
  tb, b = once(full[k], operands[k])
  t, x = pair(t, x, tb, b, out + ''.join(full[k + 1:]))
for c in t:
  if c not in out:
    x = ouro.sum(x, t.index(c))
    t = t.replace(c, '')
return permute(x, [t.index(c) for c in out]))", .method = false, .test = {.tol = 1e-5, .cases = "'ij,jk->ik', f[3,4], f[4,2] | 'bij,bj->i', f[2,3,4], f[2,4]"}},
};
// clang-format on
static_assert(complete(kLinalg));

}  // namespace

std::span<const OpDef> linalg_rows() { return kLinalg; }

}  // namespace ouro::ir
