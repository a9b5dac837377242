// Block kernels: each leaf of ir/ops/leaf.h over n elements of one type, and the loops of reductions. The same source
// (kernels.inc) is compiled for several instruction sets; the widest one the CPU has (or --cpu= allows) is chosen at
// start. The results have the same bits in all of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/ops/combine.h"

namespace ouro::runtime {

// out[i] = leaf(a[i], b[i], c[i]); operands the leaf lacks are null. Operands may be `out` itself (not overlap it
// otherwise).
using LeafKernel = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n);
using CastKernel = void (*)(void* out, const void* in, int64_t n);

// Products with a matrix in compressed rows (kernels_sparse.inc). A panel of the dense operand has kCsrLanesBytes of
// each row in `rows`, or a quarter of that where there are few lanes, half of it in `columns`, a multiple of that in
// `sampled`; panels are aligned to 64 bytes.
inline constexpr int kCsrLanesBytes = 128;
template <class T>
struct SparseKernels {
  void (*transpose)(T* to, int64_t to_row, const T* from, int64_t from_row, int64_t rows, int64_t columns);
  void (*rows)(T* out, const T* in, const T* values, const int64_t* columns, const int64_t* starts, int64_t first,
               int64_t last, int64_t lanes);
  void (*columns)(T* out, const T* in, const T* values, const int64_t* columns, const int64_t* starts, int64_t rows);
  void (*sampled)(T* out, const T* a, const T* b, const int64_t* columns, const int64_t* starts, int64_t first,
                  int64_t last, int64_t lanes);
  // The same with blocks [r, c] of values (kernels_blocks.inc). Panels have kCsrLanesBytes of each row, a half or a
  // quarter of that, in `block_sampled` a multiple of the half; the operand by whose rows the blocks are multiplied has
  // whole blocks of them. `first` and `last` are rows of the matrix, columns of blocks, rows of blocks.
  void (*block_rows)(T* out, const T* in, const T* values, const int64_t* columns, const int64_t* starts, int64_t r,
                     int64_t c, int64_t first, int64_t last, int64_t lanes);
  void (*block_columns)(T* out, const T* in, const T* values, const int64_t* columns, const int64_t* starts, int64_t r,
                        int64_t c, int64_t rows, int64_t first, int64_t last, int64_t lanes);
  void (*block_sampled)(T* out, const T* a, const T* b, const int64_t* columns, const int64_t* starts, int64_t r,
                        int64_t c, int64_t first, int64_t last, int64_t lanes);
};

struct KernelTable {
  std::string_view name;
  LeafKernel leaf[ir::kLeafCount][kDTypeCount];  // by operand type; null where the leaf does not exist for it
  CastKernel cast[kDTypeCount][kDTypeCount];     // [from][to]
  // By the line of combine.h, and by the type that it is done in (combine_type).
  // One row of n elements in the order A of reduce_order.h -> *out.
  void (*fold[ir::kCombineCount][kDTypeCount])(void* out, const void* in, int64_t n);
  // Order B: in is [rows, inner] with the given row stride (elements); out is [inner].
  void (*columns[ir::kCombineCount][kDTypeCount])(void* out, const void* in, int64_t rows, int64_t inner,
                                                  int64_t stride);
  void (*fill[4])(void* out, uint64_t bits, int64_t n);  // by log2 of the element size
  // out[i] = in[i * stride], by log2 of the element size
  void (*gather[4])(void* out, const void* in, int64_t stride, int64_t n);
  // C[m, n] (row stride ldc) = A[m, k] B[k, n] with element strides; plain order over k, one accumulator per element.
  void (*matmul_f32)(float* c, int64_t ldc, const float* a, int64_t ams, int64_t aks, const float* b, int64_t bks,
                     int64_t m, int64_t n, int64_t k);
  void (*matmul_f64)(double* c, int64_t ldc, const double* a, int64_t ams, int64_t aks, const double* b, int64_t bks,
                     int64_t m, int64_t n, int64_t k);
  bool (*columns_outside)(const int64_t* columns, int64_t n, int64_t width);
  SparseKernels<float> sparse_f32;
  SparseKernels<double> sparse_f64;
};

extern const KernelTable kKernelsV2, kKernelsAvx2, kKernelsAvx512;

// The table in use; `limit_kernels` ("v2", "avx2", "avx512") is called before the first use, by --cpu=.
const KernelTable& kernels();
bool limit_kernels(std::string_view name);
// Is it a name that --cpu= takes?
bool is_processor(std::string_view name);

}  // namespace ouro::runtime
