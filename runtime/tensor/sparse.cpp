// Products with a matrix in compressed rows (CSR): values, the column of each, and where each row starts; the last
// start is how many there are.
//
// The dense operand is packed into panels (runtime/tensor/panels.h); parts of the job are panels, or rows of one. A sum
// is that of one lane in the order of the row, so its bits depend on neither threads nor the other lanes.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "runtime/tensor/panels.h"
#include "runtime/tensor/reduce.h"

namespace ouro::runtime {

namespace {

constexpr double kRounding = 1e-6;  // of a share of a count, which may be a little more than what is meant

// Empty, or what is wrong with it.
std::string problem(const Csr& a, std::string_view column) {
  if (a.starts[0] != 0 || a.starts[a.rows] != a.count)
    return fmt::format("the rows start at 0 and end at {}, not {} and {}", a.count, a.starts[0], a.starts[a.rows]);
  if (!std::is_sorted(a.starts, a.starts + a.rows + 1)) return "the starts of the rows must not fall";
  if (!kernels().columns_outside(a.columns, a.count, a.width)) return {};
  const auto [low, high] = std::minmax_element(a.columns, a.columns + a.count);
  if (*low >= 0 && *high < a.width) return {};
  return fmt::format("there is no {} {} of {}", column, *low < 0 ? *low : *high, a.width);
}

template <class T>
void product(const Csr& a, const T* values, const Dense<T>& x, const Dense<T>& y, int threads) {
  constexpr int64_t kWide = kCsrLanesBytes / sizeof(T);
  const int64_t width = x.lanes <= kWide / 4 ? kWide / 4 : kWide;
  const Panels<T> in(a.width, x.lanes, width);
  const SparseKernels<T>& kernels = sparse_kernels<T>();
  parallel_for_or_stop(threads, in.count(), [&](int64_t p) { in.pack(p, x); });
  const int64_t blocks = (a.rows + kRowsOfPart - 1) / kRowsOfPart;
  parallel_for_or_stop(threads, in.count() * blocks, [&](int64_t part) {
    const int64_t p = part / blocks, first = part % blocks * kRowsOfPart, last = std::min(a.rows, first + kRowsOfPart);
    RowsOfPart<T> out;
    kernels.rows(out.rows, in.at(p), values, a.columns, a.starts, first, last, width);
    in.unpack(p, out.rows, first, last - first, y);
  });
}

template <class T>
void product_of_transpose(const Csr& a, const T* values, const Dense<T>& x, const Dense<T>& y, int threads) {
  constexpr int64_t kWidth = kCsrLanesBytes / 2 / sizeof(T);
  const Panels<T> in(a.rows, x.lanes, kWidth), out(a.width, x.lanes, kWidth);
  const SparseKernels<T>& kernels = sparse_kernels<T>();
  parallel_for_or_stop(threads, in.count(), [&](int64_t p) {
    in.pack(p, x);
    out.clear(p, 0, a.width);
    kernels.columns(out.at(p), in.at(p), values, a.columns, a.starts, a.rows);
    out.unpack(p, out.at(p), 0, a.width, y);
  });
}

template <class T>
void sampled(const Csr& at, const Dense<T>& a, const Dense<T>& b, T* out, int threads) {
  constexpr int64_t kWidth = kCsrLanesBytes / 2 / sizeof(T);
  if (a.lanes == 0) {
    std::fill_n(out, at.count, T(0));
    return;
  }
  const int64_t lanes = (a.lanes + kWidth - 1) / kWidth * kWidth;
  const Panels<T> pa(a.rows, a.lanes, lanes), pb(b.rows, b.lanes, lanes);  // one panel each
  const SparseKernels<T>& kernels = sparse_kernels<T>();
  parallel_for_or_stop(threads, 2, [&](int64_t p) { p ? pa.pack(0, a) : pb.pack(0, b); });
  parallel_for_or_stop(threads, (at.rows + kRowsOfPart - 1) / kRowsOfPart, [&](int64_t part) {
    const int64_t first = part * kRowsOfPart, last = std::min(at.rows, first + kRowsOfPart);
    kernels.sampled(out, pa.at(0), pb.at(0), at.columns, at.starts, first, last, lanes);
  });
}

Value csr_product(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(values, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(x, cast_tensor(c.s, c.inputs[3], t));
  const bool across = c.flag("across"), transposed = c.flag("transposed");
  const Csr a{c.in(1)->data<int64_t>(), c.in(2)->data<int64_t>(), c.in(2)->size - 1, c.integer("width"), c.in(1)->size};
  if (!is_sound(c, a)) return Value::error();
  const int64_t lanes = x.as<Tensor>()->dim(across ? 0 : 1);
  return in_type(c, a.count * lanes, [&]<class T>(T, Tensor* r, int threads) {
    const auto go = transposed ? product_of_transpose<T> : product<T>;
    go(a, values.as<Tensor>()->data<T>(), dense_operand<T>(x.as<Tensor>(), across), dense_operand<T>(r, across),
       threads);
  });
}

Value csr_sampled(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(a, cast_tensor(c.s, c.inputs[2], t));
  OURO_TRY(b, cast_tensor(c.s, c.inputs[3], t));
  const bool across = c.flag("across");
  const int64_t width = b.as<Tensor>()->dim(across ? 1 : 0), lanes = b.as<Tensor>()->dim(across ? 0 : 1);
  const Csr at{c.in(0)->data<int64_t>(), c.in(1)->data<int64_t>(), c.in(1)->size - 1, width, c.in(0)->size};
  if (!is_sound(c, at)) return Value::error();
  return in_type(c, at.count * lanes, [&]<class T>(T, Tensor* r, int threads) {
    sampled<T>(at, dense_operand<T>(a.as<Tensor>(), across), dense_operand<T>(b.as<Tensor>(), across), r->data<T>(),
               threads);
  });
}

// f(row, its first place, its last) for all rows, in parts.
template <class F>
void each_row(const Csr& a, int threads, F&& f) {
  parallel_for_or_stop(threads, (a.rows + kRowsOfPart - 1) / kRowsOfPart, [&](int64_t part) {
    const int64_t last = std::min(a.rows, (part + 1) * kRowsOfPart);
    for (int64_t r = part * kRowsOfPart; r < last; ++r) f(r, a.starts[r], a.starts[r + 1]);
  });
}

Value csr_take(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(x, cast_tensor(c.s, c.inputs[0], t));
  const auto* dense = x.as<Tensor>();
  const Csr a{c.in(1)->data<int64_t>(), c.in(2)->data<int64_t>(), dense->dim(0), dense->dim(1), c.in(1)->size};
  if (!is_sound(c, a)) return Value::error();
  return in_type(c, a.count, [&]<class T>(T, Tensor* r, int threads) {
    const T* from = dense->data<T>();
    T* to = r->data<T>();
    each_row(a, threads, [&](int64_t row, int64_t j, int64_t end) {
      for (; j < end; ++j) to[j] = from[row * a.width + a.columns[j]];
    });
  });
}

Value csr_put(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(values, cast_tensor(c.s, c.inputs[0], t));
  const Csr a{c.in(1)->data<int64_t>(), c.in(2)->data<int64_t>(), c.in(2)->size - 1, c.integer("width"), c.in(1)->size};
  if (!is_sound(c, a)) return Value::error();
  return in_type(c, a.rows * a.width, [&]<class T>(T, Tensor* r, int threads) {
    const T* from = values.as<Tensor>()->data<T>();
    each_row(a, threads, [&](int64_t row, int64_t j, int64_t end) {
      T* to = r->data<T>() + row * a.width;
      std::fill_n(to, a.width, T(0));
      for (; j < end; ++j) to[a.columns[j]] += from[j];
    });
  });
}

// The places of the k smallest magnitudes, of equal ones the first; what is no number is the largest.
template <class T>
void smallest(const T* x, int64_t n, int64_t k, bool* out) {
  const WorkMemory<T> sizes(n);
  std::transform(x, x + n, sizes.data(), [](T v) { return v == v ? std::abs(v) : std::numeric_limits<T>::infinity(); });
  const WorkMemory<T> order(n);
  std::copy_n(sizes.data(), n, order.data());
  std::nth_element(order.data(), order.data() + (k - 1), order.data() + n);
  const T limit = order.data()[k - 1];
  int64_t ties = k - std::count_if(sizes.data(), sizes.data() + n, [&](T v) { return v < limit; });
  for (int64_t i = 0; i < n; ++i) out[i] = sizes.data()[i] < limit || (sizes.data()[i] == limit && ties-- > 0);
}

Value smallest_magnitudes(OpCall& c) {
  const DType t = ir::compute_type(c.in()->dtype) == DType::f32 ? DType::f32 : DType::f64;
  OURO_TRY(x, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(r, make_tensor(c.s, DType::boolean, c.shape));
  auto* out = reinterpret_cast<bool*>(r.as<Tensor>()->bytes());
  const int64_t n = x.as<Tensor>()->size;
  const auto k = static_cast<int64_t>(std::ceil(c.number("amount") * static_cast<double>(n) - kRounding));
  if (k <= 0)
    std::fill_n(out, n, false);
  else if (t == DType::f64)
    smallest(x.as<Tensor>()->data<double>(), n, k, out);
  else
    smallest(x.as<Tensor>()->data<float>(), n, k, out);
  return r;
}

constexpr ExecutorRow kRows[] = {{"csr_product", csr_product},
                                 {"csr_sampled", csr_sampled},
                                 {"csr_take", csr_take},
                                 {"csr_put", csr_put},
                                 {"smallest_magnitudes", smallest_magnitudes}};

}  // namespace

bool is_sound(OpCall& c, const Csr& a, std::string_view column) {
  const std::string wrong = problem(a, column);
  if (!wrong.empty()) (void)c.raise("ValueError", c.op.name + ": " + wrong);
  return wrong.empty();
}

std::span<const ExecutorRow> sparse_executors() { return kRows; }

}  // namespace ouro::runtime
