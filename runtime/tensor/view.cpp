// Views (ir/ops/view.h), eagerly: what keeps its elements in order shares the buffer, the others move them.
#include <algorithm>
#include <cstring>

#include "runtime/machine/threads.h"
#include "runtime/object/interrupt.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/move.h"

namespace ouro::runtime {

namespace {

using Way = ir::IndexMap::Way;

// Strides of x over the other side's axes, and where the map starts in it.
struct Walk {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};
Walk walk(const ir::IndexMap& map, std::span<const int64_t> x, size_t other_rank) {
  Walk w{std::vector<int64_t>(other_rank, 0)};
  const std::vector<int64_t> dense = row_major(x);
  for (size_t a = 0; a < map.at.size(); ++a) {
    const ir::AxisAt& at = map.at[a];
    w.offset += at.start.c * dense[a];
    if (at.axis >= 0) w.strides[static_cast<size_t>(at.axis)] += at.step * dense[a];
  }
  return w;
}

// Do the elements stand behind each other as they are? Axes in order, and nothing left out, repeated or read backwards.
bool stays(const ir::IndexMap& map, const Tensor& x, int64_t result_size) {
  if (x.size != result_size) return false;
  int last = -1;
  for (int a = 0; a < x.rank; ++a) {
    const ir::AxisAt& at = map.at[static_cast<size_t>(a)];
    if (x.dim(a) == 1) continue;
    if (at.axis <= last || at.step != 1 || at.start.c != 0) return false;
    last = at.axis;
  }
  return true;
}

Value reads(OpCall& c) {
  const ir::IndexMap& map = c.sig.map;
  const Tensor& x = *c.in();
  if (stays(map, x, element_count(c.shape))) return share_tensor(&x, c.shape);
  OURO_TRY(r, c.result());
  auto* y = r.as<Tensor>();
  if (y->size == 0) return r;
  const Walk from = walk(map, x.shape(), c.shape.size());
  const size_t z = size_of(y->dtype);
  copy_nd(c.shape, y->bytes(), row_major(c.shape).data(), x.bytes() + from.offset * static_cast<int64_t>(z),
          from.strides.data(), z, session_threads(c.s));
  return r;
}

// What would lie outside of the result is dropped.
Value places(OpCall& c) {
  const ir::IndexMap& map = c.sig.map;
  const Tensor& x = *c.in();
  const bool filled = c.op.def->linear_in == 0;  // with what a parameter says
  OURO_TRY(r, filled ? make_filled(c.s, c.dtype(), c.shape, c.number("value")) : c.result());
  auto* y = r.as<Tensor>();
  if (!filled) std::memset(y->data(), 0, y->nbytes());
  std::vector<int64_t> dims(x.dims(), x.dims() + x.rank), from = row_major(x.shape());
  const std::vector<int64_t> whole = row_major(c.shape);
  Walk to = walk(map, c.shape, dims.size());
  int64_t first = 0;  // the first element of x that lies inside
  for (size_t a = 0; a < map.at.size(); ++a) {
    const ir::AxisAt& at = map.at[a];
    if (at.axis < 0) continue;
    const size_t k = static_cast<size_t>(at.axis);
    const int64_t skip = std::max<int64_t>(0, -at.start.c);
    first += skip * from[k];
    to.offset += skip * whole[a];
    dims[k] = std::min(dims[k] - skip, c.shape[a] - std::max<int64_t>(0, at.start.c));
  }
  if (std::ranges::any_of(dims, [](int64_t d) { return d <= 0; })) return r;
  const size_t z = size_of(y->dtype);
  copy_nd(dims, y->bytes() + to.offset * static_cast<int64_t>(z), to.strides.data(),
          x.bytes() + first * static_cast<int64_t>(z), from.data(), z, session_threads(c.s));
  return r;
}

Value joins(OpCall& c) {
  OURO_TRY(r, c.result());
  auto* y = r.as<Tensor>();
  const int a = c.sig.map.axis;
  std::vector<int64_t> to = row_major(c.shape);
  int64_t at = 0;
  for (const Value& v : c.inputs) {
    auto* x = v.as<Tensor>();
    if (x->rank != y->rank) continue;  // the empty tensor of shape (0,) is let through, as PyTorch does
    size_t z = size_of(y->dtype);
    copy_nd(x->shape(), y->bytes() + at * to[a] * static_cast<int64_t>(z), to.data(), x->bytes(),
            row_major(x->shape()).data(), z, session_threads(c.s));
    at += x->dim(a);
  }
  return r;
}
Value band(OpCall& c) {
  const Tensor* x = c.in();
  OURO_TRY(r, c.result());
  auto* y = r.as<Tensor>();
  int64_t m = x->dim(x->rank - 2), n = x->dim(x->rank - 1), d = c.integer("diagonal");
  size_t z = size_of(y->dtype);
  const bool lower = !c.sig.map.upper;
  std::memset(y->data(), 0, y->nbytes());
  for (int64_t row = 0; row < (n ? x->size / n : 0); ++row) {
    if ((row & 0x3ff) == 0x3ff) poll_interrupt(c.s);
    int64_t cut = std::clamp<int64_t>(row % m + d + (lower ? 1 : 0), 0, n);  // lower keeps [0, cut), upper [cut, n)
    int64_t b = lower ? 0 : cut, e = lower ? cut : n;
    std::memcpy(y->bytes() + (row * n + b) * z, x->bytes() + (row * n + b) * z, (e - b) * z);
  }
  return r;
}
Value cast(OpCall& c) { return cast_tensor(c.s, c.inputs[0], c.dtype()); }

Value view(OpCall& c) {
  switch (c.sig.map.way) {
    case Way::reads:
      return reads(c);
    case Way::places:
      return places(c);
    case Way::flat:
      return share_tensor(c.in(), c.shape);
    case Way::joins:
      return joins(c);
    case Way::band:
      return band(c);
  }
  return Value();
}

constexpr ExecutorRow kRows[] = {
    {"view", view},
    {"cast", cast},
    {"cast_like", cast},
};

}  // namespace

std::span<const ExecutorRow> view_executors() { return kRows; }

}  // namespace ouro::runtime
