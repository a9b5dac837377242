// Reductions and scans, eagerly, in the orders of ir/ops/reduce_order.h.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/machine/threads.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/reduce.h"

namespace ouro::runtime {

namespace {

struct Group {
  int64_t n;
  bool reduced;
};
std::vector<Group> merge_axes(std::span<const int64_t> shape, const std::vector<int>& axes) {
  std::vector<Group> g;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool r = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (shape[i] == 1 && r) continue;  // combining one element with the identity changes no bits but -0 + 0; see below
    if (!g.empty() && g.back().reduced == r)
      g.back().n *= shape[i];
    else
      g.push_back({shape[i], r});
  }
  return g;
}

// [outer, r, inner] -> [outer, inner]
bool reduce_one(Session& s, ir::Leaf op, DType t, const char* in, char* out, int64_t outer, int64_t r, int64_t inner,
                bool last, int threads) {
  const KernelTable& k = kernels();
  size_t z = size_of(t);
  int64_t total = outer * r * inner;
  if (last) {  // by the structure, not by sizes: a kept axis of size 1 behind counts as kept
    auto f = k.fold[ir::combine_index(op)][static_cast<int>(t)];
    if (outer == 1 && r > 4096 * 8) {  // one long row: its blocks in parallel, then the rest of the tree
      int64_t blocks = (r + 4095) / 4096;
      OURO_BUFFER(partial, static_cast<size_t>(blocks) * z);
      parallel_for_or_stop(threads, (blocks + 15) / 16, [&](int64_t g) {
        for (int64_t b = g * 16; b < std::min(blocks, g * 16 + 16); ++b)
          f(partial.data() + b * z, in + b * 4096 * z, std::min<int64_t>(4096, r - b * 4096));
      });
      return reduce_one(s, op, t, partial.data(), out, 1, blocks, 1, true, 1);
    }
    int64_t group = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, r));
    parallel_for_or_stop(total > 65536 ? threads : 1, (outer + group - 1) / group, [&](int64_t g) {
      for (int64_t o = g * group; o < std::min(outer, (g + 1) * group); ++o) f(out + o * z, in + o * r * z, r);
    });
    return true;
  }
  auto f = k.columns[ir::combine_index(op)][static_cast<int>(t)];
  constexpr int64_t wide = 1024;
  int64_t strips = (inner + wide - 1) / wide;
  parallel_for_or_stop(total > 65536 ? threads : 1, outer * strips, [&](int64_t p) {
    int64_t o = p / strips, j = p % strips * wide;
    f(out + (o * inner + j) * z, in + (o * r * inner + j) * z, r, std::min(wide, inner - j), inner);
  });
  return true;
}

Value reduce_run(OpCall& c) {
  const Tensor* x = c.in();
  std::vector<int> axes;
  if (c.op.def->loop.index == "to") {  // sum_to: the axes that broadcasting repeats
    std::span<const int64_t> want = c.in(1)->shape();
    if (want.size() == x->shape().size() && std::equal(want.begin(), want.end(), x->shape().begin()))
      return c.inputs[0];
    int off = x->rank - static_cast<int>(want.size());
    for (int i = 0; i < x->rank; ++i)
      if (i < off || (want[i - off] == 1 && x->dim(i) != 1)) axes.push_back(i);
  } else {
    axes = c.axes(x->rank);
  }
  const ir::Leaf op = c.op.def->loop.combine;
  Value input = c.inputs[0];
  if (c.op.def->loop.before && x->dtype != DType::boolean) {
    const ir::OpInfo* ne = ir::find_op("ne");
    Value pair[2] = {input, Value::integer(0)};
    input = run_elementwise(c.s, *ne, pair, {}, false);
    if (input.is_error()) return input;
  }
  // `dtype=`: the input is cast first.
  if (c.op.def->shape == "sum" && c.param("dtype").kind == ir::Param::Kind::dtype) {
    input = cast_tensor(c.s, input, c.dtype());
    if (input.is_error()) return input;
  }
  return reduce_axes(c.s, op, input, axes, c.shape, c.dtype());
}

Value arg_run(OpCall& c) {
  Value input = c.inputs[0];
  const Tensor* x = input.as<Tensor>();
  bool largest = c.op.def->loop.combine == ir::Leaf::max;
  bool flat = c.param("axis").is_none();
  int64_t outer = 1, n = x->size, inner = 1;
  if (!flat && x->rank > 0) {
    int a = c.axis("axis", x->rank);
    n = x->dim(a);
    for (int i = 0; i < a; ++i) outer *= x->dim(i);
    for (int i = a + 1; i < x->rank; ++i) inner *= x->dim(i);
  }
  DType t = is_float(x->dtype) ? ir::compute_type(x->dtype) : x->dtype == DType::boolean ? DType::u8 : x->dtype;
  if (t != x->dtype && x->dtype != DType::boolean) {
    input = cast_tensor(c.s, input, t);
    if (input.is_error()) return input;
    x = input.as<Tensor>();
  }
  OURO_TRY(r, c.result());
  auto* out = r.as<Tensor>()->data<int64_t>();
  auto go = [&]<class T>(T) {
    const T* p = x->data<T>();
    parallel_for_or_stop(x->size > 65536 ? session_threads(c.s) : 1, outer, [&](int64_t o) {
      for (int64_t j = 0; j < inner; ++j) {
        const T* row = p + o * n * inner + j;
        int64_t best = 0;
        T v = row[0];
        for (int64_t i = 1; i < n && v == v; ++i) {
          T w = row[i * inner];
          if ((largest ? w > v : w < v) || w != w) best = i, v = w;
        }
        out[o * inner + j] = best;
      }
    });
  };
  visit_type(t, go);
  return r;
}

// A scan of one row, its first element in place. Those four without a call for each element.
template <class T>
void scan_row(ir::Leaf op, LeafKernel step, const T* in, T* out, int64_t n) {
  auto line = [&](auto combined) {
    T v = out[0];
    for (int64_t i = 1; i < n; ++i) out[i] = v = combined(v, in[i]);
  };
  using U = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;  // integers wrap
  switch (op) {
    case ir::Leaf::add:
      return line([](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
    case ir::Leaf::mul:
      return line([](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    case ir::Leaf::max:
      return line([](T a, T b) { return a > b || a != a ? a : b; });
    case ir::Leaf::min:
      return line([](T a, T b) { return a < b || a != a ? a : b; });
    default:
      for (int64_t i = 1; i < n; ++i) step(out + i, out + i - 1, in + i, nullptr, 1);
  }
}

Value scan_run(OpCall& c) {
  Value input = c.inputs[0];
  const ir::Leaf op = c.op.def->loop.combine;
  DType result = c.dtype(), t = ir::combine_type(op, result);
  if (t == DType::boolean) t = DType::u8;
  input = cast_tensor(c.s, input, result);
  if (input.is_error()) return input;
  input = cast_tensor(c.s, input, t);
  if (input.is_error()) return input;
  const Tensor* x = input.as<Tensor>();
  OURO_TRY(r, make_tensor(c.s, t, x->shape()));
  auto* y = r.as<Tensor>();
  int64_t outer = 1, n = 1, inner = 1;
  if (x->rank > 0) {
    int a = c.axis("axis", x->rank);
    n = x->dim(a);
    for (int i = 0; i < a; ++i) outer *= x->dim(i);
    for (int i = a + 1; i < x->rank; ++i) inner *= x->dim(i);
  }
  if (x->size > 0) {
    LeafKernel f = kernels().leaf[static_cast<int>(c.op.def->loop.combine)][static_cast<int>(t)];
    size_t z = size_of(t);
    auto go = [&]<class T>(T) {
      parallel_for_or_stop(x->size > 65536 ? session_threads(c.s) : 1, outer, [&](int64_t o) {
        const char* in = x->bytes() + o * n * inner * z;
        char* out = y->bytes() + o * n * inner * z;
        std::memcpy(out, in, inner * z);
        if (inner > 1) {
          for (int64_t i = 1; i < n; ++i)
            f(out + i * inner * z, out + (i - 1) * inner * z, in + i * inner * z, nullptr, inner);
          return;
        }
        scan_row(op, f, reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out), n);
      });
    };
    visit_type(t, go);
  }
  return result == DType::boolean ? share_as(c.s, r, result) : cast_tensor(c.s, r, result);
}

// h[i] = b[i] + a[i] h[i - 1] (in reverse i + 1), strictly in order; half floats in f32.
Value linear_scan(OpCall& c) {
  const DType result = c.dtype(), t = ir::compute_type(result);
  OURO_TRY(a_value, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(b_value, cast_tensor(c.s, c.inputs[1], t));
  auto *a = a_value.as<Tensor>(), *b = b_value.as<Tensor>();
  OURO_TRY(r, make_tensor(c.s, t, b->shape()));
  auto* h = r.as<Tensor>();
  int64_t outer = 1, n = 1, inner = 1;
  if (b->rank > 0) {
    const int axis = c.axis("axis", b->rank);
    n = b->dim(axis);
    for (int i = 0; i < axis; ++i) outer *= b->dim(i);
    for (int i = axis + 1; i < b->rank; ++i) inner *= b->dim(i);
  }
  const bool reverse = c.flag("reverse");
  auto go = [&]<class T>(T) {
    parallel_for_or_stop(h->size > 65536 ? session_threads(c.s) : 1, h->size ? outer : 0, [&](int64_t o) {
      const int64_t start = o * n * inner;
      const T *pa = a->data<T>() + start, *pb = b->data<T>() + start;
      T* ph = h->data<T>() + start;
      const int64_t first = reverse ? (n - 1) * inner : 0, step = reverse ? -inner : inner;
      std::copy_n(pb + first, inner, ph + first);
      for (int64_t i = 1; i < n; ++i) {
        const int64_t at = first + i * step;
        for (int64_t k = 0; k < inner; ++k) {
          const T product = pa[at + k] * ph[at - step + k];
          ph[at + k] = pb[at + k] + product;
        }
      }
    });
  };
  if (t == DType::f64)
    go(double{});
  else
    go(float{});
  return cast_tensor(c.s, r, result);
}

constexpr ExecutorRow kRows[] = {{"reduce", reduce_run},
                                 {"reduce to", reduce_run},
                                 {"arg", arg_run},
                                 {"scan", scan_run},
                                 {"linear_scan", linear_scan}};

}  // namespace

Value reduce_axes(Session& s, ir::Leaf op, Value input, const std::vector<int>& axes, std::span<const int64_t> shape,
                  DType result) {
  DType t = ir::combine_type(op, input.as<Tensor>()->dtype);
  input = cast_tensor(s, input, t);
  if (input.is_error()) return input;
  std::vector<Group> groups = merge_axes(input.as<Tensor>()->shape(), axes);
  bool any = false;
  for (const Group& g : groups) any |= g.reduced;
  if (!any && (!axes.empty() || input.as<Tensor>()->rank == 0))
    groups.push_back({1, true});  // all reduced axes have size 1: still one step of the tree
  for (;;) {
    size_t at = groups.size();
    while (at > 0 && !groups[at - 1].reduced) --at;
    if (at == 0) break;
    --at;
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < at; ++i) outer *= groups[i].n;
    for (size_t i = at + 1; i < groups.size(); ++i) inner *= groups[i].n;
    int64_t dims[2] = {outer, inner};
    OURO_TRY(r, make_tensor(s, t, dims));
    reduce_one(s, op, t, input.as<Tensor>()->bytes(), r.as<Tensor>()->bytes(), outer, groups[at].n, inner,
               at + 1 == groups.size(), session_threads(s));
    groups.erase(groups.begin() + static_cast<int64_t>(at));
    // Neighbours that now touch are one group again.
    for (size_t i = 1; i < groups.size();)
      if (groups[i].reduced == groups[i - 1].reduced)
        groups[i - 1].n *= groups[i].n, groups.erase(groups.begin() + static_cast<int64_t>(i));
      else
        ++i;
    input = std::move(r);
  }
  input = cast_tensor(s, input, result);
  if (input.is_error()) return input;
  return share_tensor(input.as<Tensor>(), shape);
}

Value share_as(Session&, const Value& tensor, DType t) {
  auto* x = tensor.as<Tensor>();
  return wrap_buffer(t, x->shape(), x->buffer);
}

std::span<const ExecutorRow> reduce_executors() { return kRows; }

}  // namespace ouro::runtime
