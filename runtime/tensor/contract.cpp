// Rows that are contractions: shapes to descriptions for the engine.
#include "runtime/contract.h"

#include <algorithm>
#include <atomic>

#include "runtime/tensor/call.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/move.h"
#include "support/diag.h"

namespace ouro::runtime {

namespace {

std::atomic<const ContractEngine*> engine{nullptr};

// Half floats are computed in f32, bools not at all.
DType engine_type(DType t) { return ir::compute_type(t); }

Value run_matmul(OpCall& c) {
  bool ta = c.op.name == "matmul_tn", tb = c.op.name == "matmul_nt";
  DType result = c.dtype(), t = engine_type(result);
  Value a = cast_tensor(c.s, c.inputs[0], t), b = cast_tensor(c.s, c.inputs[1], t);
  if (a.is_error() || b.is_error()) return Value::error();
  std::vector<int64_t> sa(a.as<Tensor>()->dims(), a.as<Tensor>()->dims() + a.as<Tensor>()->rank), sb(b.as<Tensor>()->dims(), b.as<Tensor>()->dims() + b.as<Tensor>()->rank);
  if (sa.size() == 1) sa.insert(sa.begin(), 1);
  if (sb.size() == 1) sb.push_back(1);
  MatmulDesc d;
  d.dtype = t;
  d.transpose_a = ta, d.transpose_b = tb;
  d.m = sa[sa.size() - (ta ? 1 : 2)], d.k = sa[sa.size() - (ta ? 2 : 1)];
  d.n = sb[sb.size() - (tb ? 2 : 1)];
  std::vector<int64_t> la(sa.begin(), sa.end() - 2), lb(sb.begin(), sb.end() - 2), lead;
  broadcast_shapes(la, lb, lead);
  d.batch = element_count(lead);
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  int64_t na = element_count(la), nb = element_count(lb);
  int threads = session_threads(c.s);
  d.c_batch = d.m * d.n;
  if (nb == 1 && !ta && d.batch > 1 && na == d.batch) {  // one b for all: the batches of a are rows of one matrix
    d.m *= d.batch, d.batch = 1;
  }
  const char *pa = a.as<Tensor>()->bytes(), *pb = b.as<Tensor>()->bytes();
  size_t z = size_of(t);
  auto spread = [&](std::vector<int64_t>& dims, const Value& v, Value& keep) -> const char* {  // a partly repeated operand is written out
    std::vector<int64_t> full = lead, from = row_major(std::span(dims)), strides(lead.size() + 2, 0);
    full.insert(full.end(), dims.end() - 2, dims.end());
    size_t off = full.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != 1 || i + 2 >= dims.size()) strides[off + i] = from[i];
    keep = make_tensor(c.s, t, full);
    if (keep.is_error()) return nullptr;
    copy_nd(full, keep.as<Tensor>()->bytes(), row_major(full).data(), v.as<Tensor>()->bytes(), strides.data(), z);
    return keep.as<Tensor>()->bytes();
  };
  Value keep_a, keep_b;
  d.a_batch = na == 1 ? 0 : d.m * d.k, d.b_batch = nb == 1 ? 0 : d.k * d.n;
  if (na != 1 && na != element_count(lead) && !(pa = spread(sa, a, keep_a))) return Value::error();
  if (nb != 1 && nb != element_count(lead) && !(pb = spread(sb, b, keep_b))) return Value::error();
  contract_engine().matmul(d, pa, pb, r.as<Tensor>()->data(), threads);
  return cast_tensor(c.s, r, result);
}

Value run_conv(OpCall& c) {
  std::string_view which = c.op.def->loop.index;
  ConvDesc d;
  DType result = c.dtype(), t = engine_type(result);
  d.dtype = t;
  d.kind = which == "forward" ? ConvKind::forward : which == "input" ? ConvKind::input : ConvKind::weight;
  Value a = cast_tensor(c.s, c.inputs[0], t), b = cast_tensor(c.s, c.inputs[1], t);
  if (a.is_error() || b.is_error()) return Value::error();
  std::vector<int64_t> stride = c.integers("stride"), padding = c.integers("padding"), dilation = c.integers("dilation");
  d.rank = static_cast<int>(stride.size());
  d.groups = c.integer("groups", 1);
  std::span<const int64_t> x, w, y;
  std::span<const int64_t> sa = a.as<Tensor>()->shape(), sb = b.as<Tensor>()->shape(), sc = c.shape;
  if (d.kind == ConvKind::forward) x = sa, w = sb, y = sc;
  else if (d.kind == ConvKind::input) y = sa, w = sb, x = sc;
  else y = sa, x = sb, w = sc;
  size_t rank = static_cast<size_t>(d.rank) + 2;
  auto wrong = [&] { return c.raise("ValueError", c.op.name + ": " + shape_text(sa) + ", " + shape_text(sb) + " and " + shape_text(sc) + " do not fit each other"); };
  if (d.rank > 3 || x.size() != rank || w.size() != rank || y.size() != rank || d.groups < 1 || x[0] != y[0] || x[1] != w[1] * d.groups || y[1] != w[0] || w[0] % d.groups) return wrong();
  d.batch = x[0], d.in = w[1], d.out = w[0] / d.groups;
  for (int i = 0; i < d.rank; ++i) {
    int k = 3 - d.rank + i;  // the last axes
    d.size[k] = x[2 + i], d.kernel[k] = w[2 + i], d.result[k] = y[2 + i];
    d.stride[k] = stride[i], d.padding[k] = padding[i], d.dilation[k] = dilation[i];
    if (stride[i] < 1 || dilation[i] < 1 || (d.result[k] - 1) * stride[i] + dilation[i] * (d.kernel[k] - 1) - 2 * padding[i] >= d.size[k]) return wrong();
  }
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  contract_engine().conv(d, a.as<Tensor>()->data(), b.as<Tensor>()->data(), r.as<Tensor>()->data(), session_threads(c.s));
  return cast_tensor(c.s, r, result);
}

constexpr ExecutorRow kRows[] = {{"contract mk,kn->mn", run_matmul}, {"contract mk,nk->mn", run_matmul}, {"contract km,kn->mn", run_matmul},
                                 {"conv forward", run_conv}, {"conv input", run_conv}, {"conv weight", run_conv}};

}  // namespace

std::span<const ExecutorRow> contract_executors() { return kRows; }

const ContractEngine& contract_engine() {
  const ContractEngine* e = engine.load(std::memory_order_acquire);
  if (!e) ouro_bug("no contraction engine is registered");
  return *e;
}
void register_contract_engine(const ContractEngine* e) { engine.store(e, std::memory_order_release); }

}  // namespace ouro::runtime
