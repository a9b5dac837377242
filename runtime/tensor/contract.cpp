// Rows that are contractions: shapes to descriptions for the engine.
#include "runtime/machine/contract.h"

#include <algorithm>

#include "runtime/tensor/call.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/move.h"

namespace ouro::runtime {

namespace {

// Half floats are computed in f32, bools not at all.
DType engine_type(DType t) { return ir::compute_type(t); }

// Where each product of a broadcast batch finds its operand.
CountedVector<int64_t> batch_offsets(const std::vector<int64_t>& shape, const std::vector<int64_t>& lead,
                                     int64_t size) {
  CountedVector<int64_t> own(element_count(shape)), out(element_count(lead));
  for (size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int64_t>(i) * size;
  if (out.empty()) return out;
  BroadcastReader r(shape, lead, 8);
  if (r.single())
    std::fill(out.begin(), out.end(), own.empty() ? 0 : own[0]);
  else
    r.read(out.data(), reinterpret_cast<const char*>(own.data()), 0, static_cast<int64_t>(out.size()));
  return out;
}

Value run_matmul(OpCall& c) {
  bool ta = c.op.name == "matmul_tn", tb = c.op.name == "matmul_nt";
  DType result = c.dtype(), t = engine_type(result);
  Value a = cast_tensor(c.s, c.inputs[0], t), b = cast_tensor(c.s, c.inputs[1], t);
  if (a.is_error() || b.is_error()) return Value::error();
  std::vector<int64_t> sa(a.as<Tensor>()->dims(), a.as<Tensor>()->dims() + a.as<Tensor>()->rank),
      sb(b.as<Tensor>()->dims(), b.as<Tensor>()->dims() + b.as<Tensor>()->rank);
  if (sa.size() == 1) sa.insert(sa.begin(), 1);
  if (sb.size() == 1) sb.push_back(1);
  Matmul d;
  d.dtype = t;
  d.precision = c.s.demands.plan().precision;
  d.a_transposed = ta, d.b_transposed = tb;
  d.m = sa[sa.size() - (ta ? 1 : 2)], d.k = sa[sa.size() - (ta ? 2 : 1)];
  d.n = sb[sb.size() - (tb ? 2 : 1)];
  std::vector<int64_t> la(sa.begin(), sa.end() - 2), lb(sb.begin(), sb.end() - 2), lead;
  broadcast_shapes(la, lb, lead);
  d.batch = element_count(lead);
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  const void *pa = a.as<Tensor>()->data(), *pb = b.as<Tensor>()->data();
  int64_t na = element_count(la), nb = element_count(lb), size_a = d.m * d.k, size_b = d.k * d.n;
  int threads = session_threads(c.s);
  d.a_stride = na == 1 ? 0 : size_a, d.b_stride = nb == 1 ? 0 : size_b, d.c_stride = d.m * d.n;
  if (nb == 1 && !ta && d.batch > 1 && na == d.batch) {  // one b for all: the batches of a are rows of one matrix
    d.m *= d.batch, d.batch = 1;
  }
  if ((na == 1 || na == element_count(lead)) && (nb == 1 || nb == element_count(lead))) {
    matmul(d, pa, pb, r.as<Tensor>()->data(), threads);
  } else {  // partly repeated batches
    CountedVector<int64_t> at_a = batch_offsets(la, lead, size_a), at_b = batch_offsets(lb, lead, size_b);
    matmul(d, pa, at_a.data(), pb, at_b.data(), r.as<Tensor>()->data(), threads);
  }
  return cast_tensor(c.s, r, result);
}

Value run_conv(OpCall& c) {
  std::string_view which = c.op.def->loop.index;
  using Kind = Convolution::Kind;
  Convolution d;
  DType result = c.dtype(), t = engine_type(result);
  d.dtype = t;
  d.precision = c.s.demands.plan().precision;
  d.kind = which == "forward" ? Kind::forward : which == "input" ? Kind::input : Kind::weight;
  Value a = cast_tensor(c.s, c.inputs[0], t), b = cast_tensor(c.s, c.inputs[1], t);
  if (a.is_error() || b.is_error()) return Value::error();
  std::vector<int64_t> stride = c.integers("stride"), padding = c.integers("padding"),
                       dilation = c.integers("dilation");
  d.rank = static_cast<int>(stride.size());
  d.groups = c.integer("groups", 1);
  std::span<const int64_t> x, w, y;
  std::span<const int64_t> sa = a.as<Tensor>()->shape(), sb = b.as<Tensor>()->shape(), sc = c.shape;
  if (d.kind == Kind::forward)
    x = sa, w = sb, y = sc;
  else if (d.kind == Kind::input)
    y = sa, w = sb, x = sc;
  else
    y = sa, x = sb, w = sc;
  size_t rank = static_cast<size_t>(d.rank) + 2;
  auto wrong = [&] {
    return c.raise("ValueError", c.op.name + ": " + shape_text(sa) + ", " + shape_text(sb) + " and " + shape_text(sc) +
                                     " do not fit each other");
  };
  if (d.rank > 3 || x.size() != rank || w.size() != rank || y.size() != rank || d.groups < 1 || x[0] != y[0] ||
      x[1] != w[1] * d.groups || y[1] != w[0] || w[0] % d.groups)
    return wrong();
  d.batch = x[0], d.in_channels = x[1], d.out_channels = y[1];
  for (int i = 0; i < d.rank; ++i) {
    d.in[i] = x[2 + i], d.kernel[i] = w[2 + i], d.out[i] = y[2 + i];
    d.stride[i] = stride[i], d.padding[i] = padding[i], d.dilation[i] = dilation[i];
    if (stride[i] < 1 || dilation[i] < 1 ||
        (d.out[i] - 1) * stride[i] + dilation[i] * (d.kernel[i] - 1) - 2 * padding[i] >= d.in[i])
      return wrong();
  }
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  convolve(d, a.as<Tensor>()->data(), b.as<Tensor>()->data(), r.as<Tensor>()->data(), session_threads(c.s));
  return cast_tensor(c.s, r, result);
}

constexpr ExecutorRow kRows[] = {{"contract mk,kn->mn", run_matmul}, {"contract mk,nk->mn", run_matmul},
                                 {"contract km,kn->mn", run_matmul}, {"conv forward", run_conv},
                                 {"conv input", run_conv},           {"conv weight", run_conv}};

}  // namespace

std::span<const ExecutorRow> contract_executors() { return kRows; }

}  // namespace ouro::runtime
