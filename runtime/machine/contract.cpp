#include "runtime/machine/contract.h"

#include <algorithm>
#include <atomic>

#include "runtime/machine/product.h"
#include "runtime/machine/rounded_operand.h"
#include "runtime/machine/threads.h"

namespace ouro::runtime {

namespace {

std::atomic<GemmF32> g_gemm{nullptr};

constexpr int64_t kLibraryFrom = 4096;  // m n k from which a library's call pays
constexpr int64_t kPartWork = 1 << 21;  // multiplications of one part
constexpr int64_t kCallWork = 1 << 28;  // multiplications of one call of a library: some 10 ms

// The thread sanitizer would be called by the function that chooses a clone, which runs before the sanitizer does.
#if defined(__SANITIZE_THREAD__)
#define OURO_CLONES
#else
#define OURO_CLONES __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#endif

// row += x y, elementwise: a product, then a sum, each rounded (no contraction), so every width has the same bits.
OURO_CLONES void add_scaled(float* row, const float* y, float x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] + x * y[j];
}
OURO_CLONES void add_scaled(double* row, const double* y, double x, int64_t n) {
  for (int64_t j = 0; j < n; ++j) row[j] = row[j] + x * y[j];
}
template <class T>
void add_scaled(T* row, const T* y, T x, int64_t n) {  // integers wrap
  using U = uint64_t;
  for (int64_t j = 0; j < n; ++j)
    row[j] = static_cast<T>(static_cast<U>(row[j]) + static_cast<U>(x) * static_cast<U>(y[j]));
}

// A piece of b as [k, n], where it is [n, k].
constexpr int64_t kPackedRows = 16, kPackedColumns = 256;

// Half floats are computed in f32 (runtime/tensor casts around); everything else in itself, bool as a sum of products
// modulo 2. Each element is a sum in the order of k.
template <class T>
void multiply_plainly(const Product& p, const T* a, const T* b, T* c) {
  if (!p.add)
    for (int64_t i = 0; i < p.m; ++i) std::fill(c + i * p.ldc, c + i * p.ldc + p.n, T(0));
  auto factor = [&](int64_t i, int64_t l) { return p.a_transposed ? a[l * p.lda + i] : a[i * p.lda + l]; };
  if (!p.b_transposed) {
    for (int64_t i = 0; i < p.m && !stop_asked(); ++i)
      for (int64_t l = 0; l < p.k; ++l) {
        if ((l & 0xff) == 0xff && stop_asked()) return;
        add_scaled(c + i * p.ldc, b + l * p.ldb, factor(i, l), p.n);
      }
    return;
  }
  T packed[kPackedRows * kPackedColumns];
  for (int64_t j = 0; j < p.n; j += kPackedColumns)
    for (int64_t l = 0; l < p.k && !stop_asked(); l += kPackedRows) {
      const int64_t columns = std::min(kPackedColumns, p.n - j), rows = std::min(kPackedRows, p.k - l);
      for (int64_t x = 0; x < columns; ++x)
        for (int64_t y = 0; y < rows; ++y) packed[y * columns + x] = b[(j + x) * p.ldb + l + y];
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t y = 0; y < rows; ++y)
          add_scaled(c + i * p.ldc + j, packed + y * columns, factor(i, l + y), columns);
    }
}

}  // namespace

template <class T>
void multiply(const Product& p, const T* a, const T* b, T* c) {
  if constexpr (std::is_same_v<T, float>) {
    GemmF32 gemm = g_gemm.load(std::memory_order_acquire);
    if (gemm && p.m * p.n * p.k >= kLibraryFrom) {
      // Cut into calls of rows and columns, never along k, that an interrupt is seen between.
      auto some = [](int64_t wanted, int64_t all) { return std::min(all, std::max<int64_t>(64, wanted / 64 * 64)); };
      const int64_t rows = some(kCallWork / (p.n * p.k), p.m), columns = some(kCallWork / (rows * p.k), p.n);
      for (int64_t i = 0; i < p.m; i += rows)
        for (int64_t j = 0; j < p.n && !stop_asked(); j += columns) {
          Product q = p;
          q.m = std::min(rows, p.m - i), q.n = std::min(columns, p.n - j);
          const float* of_a = p.a_transposed ? a + i : a + i * p.lda;
          const float* of_b = p.b_transposed ? b + j * p.ldb : b + j;
          float* to = c + i * p.ldc + j;
          if (!gemm(q.a_transposed, q.b_transposed, q.m, q.n, q.k, of_a, q.lda, of_b, q.ldb, q.add, to, q.ldc))
            multiply_plainly(q, of_a, of_b, to);
        }
      return;
    }
  }
  multiply_plainly(p, a, b, c);
}
template void multiply<float>(const Product&, const float*, const float*, float*);
template void multiply<double>(const Product&, const double*, const double*, double*);

namespace {

// Rows [row0, row1) of one product of dense matrices.
template <class T>
void product_rows(const Matmul& d, const T* a, const T* b, T* c, int64_t row0, int64_t row1) {
  const Product p{.m = row1 - row0,
                  .n = d.n,
                  .k = d.k,
                  .lda = d.a_transposed ? d.m : d.k,
                  .ldb = d.b_transposed ? d.k : d.n,
                  .ldc = d.n,
                  .a_transposed = d.a_transposed,
                  .b_transposed = d.b_transposed};
  multiply(p, d.a_transposed ? a + row0 : a + row0 * d.k, b, c + row0 * d.n);
}

// Rows of a part: by size alone.
int64_t rows_per_part(const Matmul& d) {
  int64_t rows = std::max<int64_t>(1, kPartWork / std::max<int64_t>(1, d.n * d.k));
  return std::min(d.m, std::max<int64_t>(16, (rows + 15) / 16 * 16));
}

template <class T>
void matmul_as(const Matmul& d, const T* a, const int64_t* a_at, const T* b, const int64_t* b_at, T* c, int threads) {
  if (d.m == 0 || d.n == 0 || d.batch == 0) return;
  if (d.k == 0) {
    std::fill(c, c + d.batch * d.m * d.n, T(0));
    return;
  }
  int64_t rows = rows_per_part(d), parts = (d.m + rows - 1) / rows;
  // Several small products make one part.
  int64_t group = parts > 1 ? 1 : std::max<int64_t>(1, kPartWork / (d.m * d.n * d.k));
  int64_t groups = (d.batch + group - 1) / group;
  parallel_for_or_stop(threads, groups * parts, [&](int64_t part) {
    int64_t g = part / parts, r = part % parts;
    for (int64_t i = g * group; i < std::min(d.batch, (g + 1) * group); ++i)
      product_rows(d, a + (a_at ? a_at[i] : i * d.a_stride), b + (b_at ? b_at[i] : i * d.b_stride), c + i * d.m * d.n,
                   r * rows, std::min(d.m, (r + 1) * rows));
  });
}

void dispatch(const Matmul& d, const void* a, const int64_t* a_at, const void* b, const int64_t* b_at, void* c,
              int threads) {
  auto go = [&](auto zero) {
    using T = decltype(zero);
    matmul_as<T>(d, static_cast<const T*>(a), a_at, static_cast<const T*>(b), b_at, static_cast<T*>(c), threads);
  };
  switch (d.dtype) {
    case DType::f32:
      return go(float{});
    case DType::f64:
      return go(double{});
    case DType::i64:
      return go(int64_t{});
    case DType::i32:
      return go(int32_t{});
    case DType::i16:
      return go(int16_t{});
    case DType::i8:
      return go(int8_t{});
    case DType::u8:
    case DType::boolean:
      return go(uint8_t{});
    default:
      return;  // half floats: the caller casts
  }
}

}  // namespace

void matmul(const Matmul& d, const void* a, const void* b, void* c, int threads) {
  if (d.precision == Precision::f32 || d.dtype != DType::f32) return dispatch(d, a, nullptr, b, nullptr, c, threads);
  auto size = [&](int64_t stride, int64_t one) { return d.batch == 0 ? 0 : (d.batch - 1) * stride + one; };
  RoundedOperand ra(a, size(d.a_stride, d.m * d.k), threads), rb(b, size(d.b_stride, d.k * d.n), threads);
  dispatch(d, ra.data(), nullptr, rb.data(), nullptr, c, threads);
}
void matmul(const Matmul& d, const void* a, const int64_t* a_at, const void* b, const int64_t* b_at, void* c,
            int threads) {
  if (d.precision == Precision::f32 || d.dtype != DType::f32) return dispatch(d, a, a_at, b, b_at, c, threads);
  auto size = [&](const int64_t* at, int64_t one) {
    return d.batch == 0 ? 0 : *std::max_element(at, at + d.batch) + one;
  };
  RoundedOperand ra(a, size(a_at, d.m * d.k), threads), rb(b, size(b_at, d.k * d.n), threads);
  dispatch(d, ra.data(), a_at, rb.data(), b_at, c, threads);
}

void register_gemm_f32(GemmF32 gemm) { g_gemm.store(gemm, std::memory_order_release); }

}  // namespace ouro::runtime
