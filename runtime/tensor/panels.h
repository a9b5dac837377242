// What products with sparse matrices share (sparse.cpp, sparse_blocks.cpp): where a matrix has its places, and the
// dense operand in panels (runtime/tensor/kernels.h), which lie in one block of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ir/type.h"
#include "runtime/machine/part_memory.h"
#include "runtime/machine/threads.h"
#include "runtime/tensor/call.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/kernels.h"

namespace ouro::runtime {

inline constexpr int64_t kSmallProduct = 1 << 16;  // multiplications, below which one thread does all
inline constexpr int64_t kRowsOfPart = 64;

template <class T>
const SparseKernels<T>& sparse_kernels() {
  if constexpr (sizeof(T) == 4)
    return kernels().sparse_f32;
  else
    return kernels().sparse_f64;
}

// Where a matrix in compressed rows has its places, or one in block rows its blocks: then rows and width are those of
// blocks.
struct Csr {
  const int64_t *columns, *starts;
  int64_t rows, width, count;
};

// False, and an error, where the places do not stand in such a matrix; `column` is what a column is called.
bool is_sound(OpCall& c, const Csr& a, std::string_view column = "column");

// A dense operand: `rows` rows of `lanes`; across: what it has of a row are elements of all its own rows.
template <class T>
struct Dense {
  T* data;
  int64_t rows, lanes;
  bool across;
};

template <class T>
Dense<T> dense_operand(Tensor* t, bool across) {
  return {t->data<T>(), t->dim(across ? 1 : 0), t->dim(across ? 0 : 1), across};
}

// The rows of a dense operand, and behind them rows of 0 up to `rows`.
template <class T>
class Panels {
 public:
  Panels(int64_t rows, int64_t lanes, int64_t width)
      : rows_(rows),
        lanes_(lanes),
        width_(width),
        count_((lanes + width - 1) / width),
        memory_(count_ * rows * width) {}
  int64_t count() const { return count_; }
  T* at(int64_t panel) const { return memory_.data() + panel * rows_ * width_; }
  int64_t lanes_of(int64_t panel) const { return std::min(width_, lanes_ - panel * width_); }

  void pack(int64_t panel, const Dense<T>& x) const {
    const int64_t n = lanes_of(panel), first = panel * width_;
    T* to = at(panel);
    if (n < width_)
      std::fill_n(to, rows_ * width_, T(0));
    else
      std::fill_n(to + x.rows * width_, (rows_ - x.rows) * width_, T(0));
    if (x.across)
      sparse_kernels<T>().transpose(to, width_, x.data + first * x.rows, x.rows, n, x.rows);
    else
      for (int64_t r = 0; r < x.rows; ++r) std::copy_n(x.data + r * lanes_ + first, n, to + r * width_);
  }
  void clear(int64_t panel, int64_t first, int64_t rows) const {
    std::fill_n(at(panel) + first * width_, rows * width_, T(0));
  }
  /// Rows of a panel, from `first` on, to where they belong in a dense result.
  void unpack(int64_t panel, const T* from, int64_t first, int64_t rows, const Dense<T>& y) const {
    const int64_t n = lanes_of(panel), lane = panel * width_;
    if (y.across)
      sparse_kernels<T>().transpose(y.data + lane * y.rows + first, y.rows, from, width_, rows, n);
    else
      for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * width_, n, y.data + (first + r) * lanes_ + lane);
  }

 private:
  int64_t rows_, lanes_, width_, count_;
  WorkMemory<T> memory_;
};

// The rows of a panel that a part computes.
template <class T>
struct alignas(64) RowsOfPart {
  T rows[kRowsOfPart * kCsrLanesBytes / sizeof(T)];
};

// The lanes of a panel for so many: a quarter, a half or all of kCsrLanesBytes.
template <class T>
int64_t panel_width(int64_t lanes) {
  constexpr int64_t kWide = kCsrLanesBytes / sizeof(T);
  return lanes <= kWide / 4 ? kWide / 4 : lanes <= kWide / 2 ? kWide / 2 : kWide;
}

// f(of the type that the operation is done in, where there is anything to do)
template <class F>
Value in_type(OpCall& c, int64_t work, F&& f) {
  const DType t = ir::compute_type(c.dtype());
  OURO_TRY(r, make_tensor(c.s, t, c.shape));
  const int threads = work > kSmallProduct ? session_threads(c.s) : 1;
  if (r.as<Tensor>()->size) {
    if (t == DType::f64)
      f(double{}, r.as<Tensor>(), threads);
    else
      f(float{}, r.as<Tensor>(), threads);
  }
  return cast_tensor(c.s, r, c.dtype());
}

}  // namespace ouro::runtime
