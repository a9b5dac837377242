// Rearrangements, eagerly: reshape shares the buffer, the others move elements.
#include <algorithm>
#include <cstring>

#include "ir/ops/shape_rules.h"
#include "runtime/machine/threads.h"
#include "runtime/object/interrupt.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/move.h"

namespace ouro::runtime {

namespace {

// result = input read through strides (over the result's axes) from an offset.
Value strided(OpCall& c, const std::vector<int64_t>& strides, int64_t offset = 0) {
  OURO_TRY(r, c.result());
  auto* y = r.as<Tensor>();
  size_t z = size_of(y->dtype);
  copy_nd(c.shape, y->bytes(), row_major(c.shape).data(), c.in()->bytes() + offset * static_cast<int64_t>(z),
          strides.data(), z, session_threads(c.s));
  return r;
}
Value zeros(OpCall& c) {
  Value r = c.result();
  if (!r.is_error()) std::memset(r.as<Tensor>()->data(), 0, r.as<Tensor>()->nbytes());
  return r;
}

Value reshape(OpCall& c) { return share_tensor(c.in(), c.shape); }

Value permute(OpCall& c) {
  std::vector<int> order;
  ir::permute_order(c.sig, order);
  bool moves = false;
  int last = -1;
  for (int a : order)
    if (c.in()->dim(a) != 1) moves |= a < last, last = a;
  if (!moves) return share_tensor(c.in(), c.shape);
  std::vector<int64_t> from = row_major(c.in()->shape()), strides;
  for (int a : order) strides.push_back(from[a]);
  return strided(c, strides);
}
Value expand(OpCall& c) {
  const Tensor* x = c.in();
  if (c.shape.size() == x->rank && std::equal(c.shape.begin(), c.shape.end(), x->dims())) return c.inputs[0];
  std::vector<int64_t> from = row_major(x->shape()), strides(c.shape.size(), 0);
  size_t off = c.shape.size() - x->rank;
  for (int i = 0; i < x->rank; ++i)
    if (x->dim(i) != 1) strides[off + i] = from[i];
  return strided(c, strides);
}
Value unreduce(OpCall& c) {
  const Tensor *x = c.in(), *like = c.in(1);
  std::vector<int> axes = c.axes(like->rank);
  std::vector<int64_t> kept, strides(like->rank, 0), from = row_major(x->shape());
  bool keep = x->rank == like->rank && (axes.empty() || c.flag("keepdim") || like->rank == 0);
  int at = 0;
  for (int i = 0; i < like->rank; ++i) {
    bool gone = std::binary_search(axes.begin(), axes.end(), i);
    if (keep)
      strides[i] = gone || x->dim(i) == 1 ? 0 : from[i];
    else if (!gone && at < x->rank)
      strides[i] = from[at++];
  }
  return strided(c, strides);
}
Value flip(OpCall& c) {
  const Tensor* x = c.in();
  std::vector<int64_t> strides = row_major(x->shape());
  int64_t offset = 0;
  std::vector<bool> seen(x->rank);
  if (x->size == 0) return c.inputs[0];
  for (int64_t d : c.integers("dims")) {
    int64_t a = d < 0 ? d + x->rank : d;
    if (a < 0 || a >= x->rank)
      return c.raise("IndexError", "flip: axis " + std::to_string(d) + " is out of range for a tensor of " +
                                       std::to_string(x->rank) + " dimensions");
    if (seen[a]) return c.raise("RuntimeError", "flip: axis " + std::to_string(d) + " appears twice");
    seen[a] = true;
    offset += (x->dim(static_cast<int>(a)) - 1) * strides[a];
    strides[a] = -strides[a];
  }
  return strided(c, strides, offset);
}
Value narrow(OpCall& c) {
  const Tensor* x = c.in();
  int a = c.axis("axis", x->rank);
  int64_t start = c.integer("start");
  if (start < 0) start += x->dim(a);
  std::vector<int64_t> strides = row_major(x->shape());
  return strided(c, strides, start * strides[a]);
}
// Zeros, with the input at an offset.
Value place(OpCall& c, const std::vector<int64_t>& dims, const std::vector<int64_t>& to, int64_t offset,
            const std::vector<int64_t>& from) {
  Value r = zeros(c);
  if (r.is_error()) return r;
  auto* y = r.as<Tensor>();
  size_t z = size_of(y->dtype);
  copy_nd(dims, y->bytes() + offset * static_cast<int64_t>(z), to.data(), c.in()->bytes(), from.data(), z);
  return r;
}
Value narrow_back(OpCall& c) {
  const Tensor* x = c.in();
  int a = c.axis("axis", x->rank);
  int64_t start = c.integer("start");
  if (start < 0) start += c.shape[a];
  std::vector<int64_t> to = row_major(c.shape), dims(x->dims(), x->dims() + x->rank);
  return place(c, dims, to, start * to[a], row_major(x->shape()));
}
Value pad(OpCall& c) {
  const Tensor* x = c.in();
  std::vector<int64_t> p = c.integers("pad"), to = row_major(c.shape), from = row_major(x->shape()),
                       dims(x->dims(), x->dims() + x->rank);
  OURO_TRY(r, make_filled(c.s, c.dtype(), c.shape, c.number("value")));
  auto* y = r.as<Tensor>();
  for (size_t k = 0; k < p.size() / 2; ++k)
    dims[x->rank - 1 - k] += std::min<int64_t>(p[2 * k], 0) + std::min<int64_t>(p[2 * k + 1], 0);
  for (int64_t d : dims)
    if (d <= 0) return r;
  int64_t to_offset = 0, from_offset = 0;
  for (size_t k = 0; k < p.size() / 2; ++k) {
    const size_t a = x->rank - 1 - k;
    const int64_t left = p[2 * k];
    (left > 0 ? to_offset : from_offset) += left > 0 ? left * to[a] : -left * from[a];
  }
  size_t z = size_of(y->dtype);
  copy_nd(dims, y->bytes() + to_offset * static_cast<int64_t>(z), to.data(),
          x->bytes() + from_offset * static_cast<int64_t>(z), from.data(), z, session_threads(c.s));
  return r;
}
Value cat(OpCall& c) {
  OURO_TRY(r, c.result());
  auto* y = r.as<Tensor>();
  int a = c.axis("axis", y->rank);
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
// Strides and offset of the diagonal in a tensor of that shape: kept axes first.
std::vector<int64_t> diagonal_strides(OpCall& c, std::span<const int64_t> shape, int64_t& offset) {
  int rank = static_cast<int>(shape.size()), a = c.axis("dim1", rank), b = c.axis("dim2", rank);
  std::vector<int64_t> from = row_major(shape), strides;
  for (int i = 0; i < rank; ++i)
    if (i != a && i != b) strides.push_back(from[i]);
  strides.push_back(from[a] + from[b]);
  int64_t off = c.integer("offset");
  offset = off >= 0 ? off * from[b] : -off * from[a];
  return strides;
}
Value diagonal(OpCall& c) {
  int64_t offset;
  std::vector<int64_t> strides = diagonal_strides(c, c.in()->shape(), offset);
  return strided(c, strides, element_count(c.shape) ? offset : 0);
}
Value diagonal_back(OpCall& c) {
  int64_t offset;
  std::vector<int64_t> strides = diagonal_strides(c, c.shape, offset);
  const Tensor* x = c.in();
  return place(c, {x->dims(), x->dims() + x->rank}, strides, x->size ? offset : 0, row_major(x->shape()));
}
Value triangle(OpCall& c) {
  const Tensor* x = c.in();
  if (x->rank < 2) return c.raise("RuntimeError", c.op.name + ": a matrix expected, not " + shape_text(x->shape()));
  OURO_TRY(r, c.result());
  auto* y = r.as<Tensor>();
  int64_t m = x->dim(x->rank - 2), n = x->dim(x->rank - 1), d = c.integer("diagonal");
  size_t z = size_of(y->dtype);
  bool lower = c.op.name == "tril";
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

constexpr ExecutorRow kRows[] = {
    {"view reshape", reshape},
    {"view permute", permute},
    {"view expand", expand},
    {"view unreduce", unreduce},
    {"view flip", flip},
    {"view narrow", narrow},
    {"view narrow_back", narrow_back},
    {"view pad", pad},
    {"view cat", cat},
    {"view diagonal", diagonal},
    {"view diagonal_back", diagonal_back},
    {"view tril", triangle},
    {"view triu", triangle},
    {"cast", cast},
    {"cast_like", cast},
};

}  // namespace

std::span<const ExecutorRow> view_executors() { return kRows; }

}  // namespace ouro::runtime
