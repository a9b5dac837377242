// Products with a matrix in block rows (BSR): values [z, r, c], the column of each block among the columns of blocks,
// and where each row of blocks starts. Blocks at the lower and the right edge may reach over it; what they have there
// counts for nothing, not even a NaN: products get it as 0 (`without_beyond`), and what makes blocks makes it 0.
//
// As with compressed rows (sparse.cpp) the dense operand is packed into panels, and a sum is that of one lane; it is a
// plain sum in the order in which the blocks are stored, so its bits depend on neither threads nor the instruction set.
#include <cstring>
#include <optional>
#include <type_traits>

#include "runtime/tensor/panels.h"

namespace ouro::runtime {

namespace {

// A matrix of height x width.
struct Bsr {
  Csr at;
  int64_t r, c, height, width;
};

int64_t blocks_in(int64_t size, int64_t side) { return (size + side - 1) / side; }

Bsr matrix(const Tensor* columns, const Tensor* starts, int64_t r, int64_t c, int64_t height, int64_t width) {
  const Csr at{columns->data<int64_t>(), starts->data<int64_t>(), starts->size - 1, c ? blocks_in(width, c) : 0,
               columns->size};
  return {at, r, c, height, width};
}

bool reaches_over(const Bsr& a) { return a.height % a.r || a.width % a.c; }

// Makes the elements of the blocks that lie beyond the edges 0.
template <class T>
void clear_beyond(const Bsr& a, T* values) {
  for (int64_t row = 0; row < a.at.rows; ++row) {
    const int64_t rows = std::min(a.r, a.height - row * a.r);
    for (int64_t j = a.at.starts[row]; j < a.at.starts[row + 1]; ++j) {
      const int64_t columns = std::min(a.c, a.width - a.at.columns[j] * a.c);
      T* block = values + j * a.r * a.c;
      if (columns < a.c)
        for (int64_t i = 0; i < rows; ++i) std::fill_n(block + i * a.c + columns, a.c - columns, T(0));
      std::fill_n(block + rows * a.c, (a.r - rows) * a.c, T(0));
    }
  }
}

// The blocks, without what they have beyond the edges: themselves where none reaches over, or a copy in `memory`.
template <class T>
const T* without_beyond(const Bsr& a, const T* values, std::optional<WorkMemory<T>>& memory) {
  if (!reaches_over(a)) return values;
  const int64_t size = a.at.count * a.r * a.c;
  memory.emplace(size);
  std::copy_n(values, size, memory->data());
  clear_beyond(a, memory->data());
  return memory->data();
}

template <class T>
void product(const Bsr& a, const T* values, const Dense<T>& x, const Dense<T>& y, int threads) {
  const int64_t width = panel_width<T>(x.lanes);
  const Panels<T> in(a.at.width * a.c, x.lanes, width);
  const SparseKernels<T>& kernels = sparse_kernels<T>();
  parallel_for_or_stop(threads, in.count(), [&](int64_t p) { in.pack(p, x); });
  const int64_t parts = blocks_in(a.height, kRowsOfPart);
  parallel_for_or_stop(threads, in.count() * parts, [&](int64_t part) {
    const int64_t p = part / parts, first = part % parts * kRowsOfPart, last = std::min(a.height, first + kRowsOfPart);
    RowsOfPart<T> out;
    kernels.block_rows(out.rows, in.at(p), values, a.at.columns, a.at.starts, a.r, a.c, first, last, width);
    in.unpack(p, out.rows, first, last - first, y);
  });
}

// Where there are fewer panels than threads, several parts have a panel: each some columns of blocks.
template <class T>
void product_of_transpose(const Bsr& a, const T* values, const Dense<T>& x, const Dense<T>& y, int threads) {
  const int64_t width = panel_width<T>(x.lanes);
  const Panels<T> in(a.at.rows * a.r, x.lanes, width), out(a.at.width * a.c, x.lanes, width);
  const SparseKernels<T>& kernels = sparse_kernels<T>();
  parallel_for_or_stop(threads, in.count(), [&](int64_t p) { in.pack(p, x); });
  const int64_t slices = std::min(blocks_in(threads, in.count()), a.at.width);
  parallel_for_or_stop(threads, in.count() * slices, [&](int64_t part) {
    const int64_t p = part / slices, slice = part % slices;
    const int64_t first = slice * a.at.width / slices, last = (slice + 1) * a.at.width / slices;
    out.clear(p, first * a.c, (last - first) * a.c);
    kernels.block_columns(out.at(p), in.at(p), values, a.at.columns, a.at.starts, a.r, a.c, a.at.rows, first, last,
                          width);
    const int64_t rows = std::min(a.width, last * a.c) - first * a.c;
    out.unpack(p, out.at(p) + first * a.c * width, first * a.c, rows, y);
  });
}

template <class T>
void sampled(const Bsr& at, const Dense<T>& a, const Dense<T>& b, T* out, int threads) {
  constexpr int64_t kWidth = kCsrLanesBytes / 2 / sizeof(T);
  if (a.lanes == 0) {
    std::fill_n(out, at.at.count * at.r * at.c, T(0));
    return;
  }
  const int64_t lanes = blocks_in(a.lanes, kWidth) * kWidth;
  const Panels<T> pa(at.at.rows * at.r, a.lanes, lanes), pb(at.at.width * at.c, b.lanes, lanes);  // one panel each
  const SparseKernels<T>& kernels = sparse_kernels<T>();
  parallel_for_or_stop(threads, 2, [&](int64_t p) { p ? pa.pack(0, a) : pb.pack(0, b); });
  const int64_t rows = std::max<int64_t>(1, kRowsOfPart / at.r);
  parallel_for_or_stop(threads, blocks_in(at.at.rows, rows), [&](int64_t part) {
    const int64_t first = part * rows, last = std::min(at.at.rows, first + rows);
    kernels.block_sampled(out, pa.at(0), pb.at(0), at.at.columns, at.at.starts, at.r, at.c, first, last, lanes);
  });
}

// f(first row, how many of them are in the matrix, row of blocks) for all rows of blocks, in parts.
template <class F>
void each_row_of_blocks(const Bsr& a, int threads, F&& f) {
  const int64_t rows = std::max<int64_t>(1, kRowsOfPart / a.r);
  parallel_for_or_stop(threads, blocks_in(a.at.rows, rows), [&](int64_t part) {
    const int64_t last = std::min(a.at.rows, (part + 1) * rows);
    for (int64_t row = part * rows; row < last; ++row) f(row * a.r, std::min(a.r, a.height - row * a.r), row);
  });
}

// f(the columns of a block, as a constant where it is a usual one)
template <class F>
void with_columns(int64_t c, F&& f) {
  switch (c) {
    case 4:
      return f(std::integral_constant<int64_t, 4>{});
    case 8:
      return f(std::integral_constant<int64_t, 8>{});
    case 16:
      return f(std::integral_constant<int64_t, 16>{});
    default:
      return f(c);
  }
}

// f(row of the dense matrix, row of the block, columns of both) for the rows of block j that are in the matrix.
template <class T, class F>
void each_row_of_block(const Bsr& a, T* dense, auto* values, int64_t j, int64_t first, int64_t rows, F&& f) {
  const int64_t column = a.at.columns[j] * a.c, n = std::min(a.c, a.width - column);
  T* d = dense + first * a.width + column;
  auto* v = values + j * a.r * a.c;
  with_columns(n, [&](auto columns) {
    for (int64_t i = 0; i < rows; ++i) f(d + i * a.width, v + i * a.c, columns);
  });
}

Value bsr_product(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(values, cast_tensor(c.s, c.inputs[0], t));
  OURO_TRY(x, cast_tensor(c.s, c.inputs[3], t));
  const auto* v = values.as<Tensor>();
  const Bsr a = matrix(c.in(1), c.in(2), v->dim(1), v->dim(2), c.integer("height"), c.integer("width"));
  if (!is_sound(c, a.at, "column of blocks")) return Value::error();
  const bool across = c.flag("across"), transposed = c.flag("transposed");
  const int64_t lanes = x.as<Tensor>()->dim(across ? 0 : 1);
  return in_type(c, v->size * lanes, [&]<class T>(T, Tensor* r, int threads) {
    const auto go = transposed ? product_of_transpose<T> : product<T>;
    std::optional<WorkMemory<T>> memory;
    go(a, without_beyond(a, v->data<T>(), memory), dense_operand<T>(x.as<Tensor>(), across),
       dense_operand<T>(r, across), threads);
  });
}

Value bsr_sampled(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(a, cast_tensor(c.s, c.inputs[2], t));
  OURO_TRY(b, cast_tensor(c.s, c.inputs[3], t));
  const bool across = c.flag("across");
  const int64_t height = a.as<Tensor>()->dim(across ? 1 : 0), width = b.as<Tensor>()->dim(across ? 1 : 0);
  const Bsr at = matrix(c.in(0), c.in(1), c.integer("r"), c.integer("c"), height, width);
  if (!is_sound(c, at.at, "column of blocks")) return Value::error();
  const int64_t lanes = b.as<Tensor>()->dim(across ? 0 : 1);
  return in_type(c, at.at.count * at.r * at.c * lanes, [&]<class T>(T, Tensor* r, int threads) {
    sampled<T>(at, dense_operand<T>(a.as<Tensor>(), across), dense_operand<T>(b.as<Tensor>(), across), r->data<T>(),
               threads);
    if (reaches_over(at)) clear_beyond(at, r->data<T>());
  });
}

Value bsr_take(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(x, cast_tensor(c.s, c.inputs[0], t));
  const auto* dense = x.as<Tensor>();
  const Bsr a = matrix(c.in(1), c.in(2), c.integer("r"), c.integer("c"), dense->dim(0), dense->dim(1));
  if (!is_sound(c, a.at, "column of blocks")) return Value::error();
  return in_type(c, a.at.count * a.r * a.c, [&]<class T>(T, Tensor* r, int threads) {
    const bool edges = reaches_over(a);
    each_row_of_blocks(a, threads, [&](int64_t first, int64_t rows, int64_t row) {
      const int64_t size = a.r * a.c;
      if (edges)
        std::fill_n(r->data<T>() + a.at.starts[row] * size, (a.at.starts[row + 1] - a.at.starts[row]) * size, T(0));
      for (int64_t j = a.at.starts[row]; j < a.at.starts[row + 1]; ++j)
        each_row_of_block(a, dense->data<T>(), r->data<T>(), j, first, rows, [](const T* from, T* to, auto n) {
          std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
        });
    });
  });
}

Value bsr_put(OpCall& c) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(values, cast_tensor(c.s, c.inputs[0], t));
  const auto* v = values.as<Tensor>();
  const Bsr a = matrix(c.in(1), c.in(2), v->dim(1), v->dim(2), c.integer("height"), c.integer("width"));
  if (!is_sound(c, a.at, "column of blocks")) return Value::error();
  return in_type(c, a.height * a.width, [&]<class T>(T, Tensor* r, int threads) {
    each_row_of_blocks(a, threads, [&](int64_t first, int64_t rows, int64_t row) {
      std::fill_n(r->data<T>() + first * a.width, rows * a.width, T(0));
      for (int64_t j = a.at.starts[row]; j < a.at.starts[row + 1]; ++j)
        each_row_of_block(a, r->data<T>(), v->data<T>(), j, first, rows,
                          [](T* __restrict to, const T* __restrict from, auto n) {
                            for (int64_t p = 0; p < n; ++p) to[p] += from[p];
                          });
    });
  });
}

constexpr ExecutorRow kRows[] = {
    {"bsr_product", bsr_product}, {"bsr_sampled", bsr_sampled}, {"bsr_take", bsr_take}, {"bsr_put", bsr_put}};

}  // namespace

std::span<const ExecutorRow> block_sparse_executors() { return kRows; }

}  // namespace ouro::runtime
