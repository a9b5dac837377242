// The contraction engine: matrix products and convolutions, the same for every tier (eager rows, compiled plans), so
// that they have the same bits.
//
// Everything is brought to products of matrices of one size class; for each, *candidates* are asked in order whether
// they take it. The choice depends on operation, dtype and size alone (never on time or threads), and a candidate is
// admitted only if its bits do not depend on threads: work is cut into parts by size, each part is one call on one
// thread (docs/design/rules.md E24). The last candidate is the plain loop nest: sums in the order of k, no contraction
// of a*b+c. Libraries register from backends/contract.
//
// Convolutions are products of the weight matrix and the columns of the image (Chellapilla et al. 2006), image by
// image, in tiles of some megabytes (runtime/machine/convolve.cpp); the weight's gradient is summed over chunks of 8
// images, the chunks in order. What they work in counts as memory of the client: std::bad_alloc where there is none.
//
// Precision bf16 (a demand): the operands of f32 contractions are rounded to bf16, to nearest even; products of those
// are exact in f32, sums and results stay f32. Other dtypes are not touched.
//
// All operands are dense and row-major; c never overlaps a or b. Any thread may call.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace ouro::runtime {

// How f32 contractions take their operands: as they are, or rounded to bf16 (sums stay f32, as do the tensors: masters
// in f32).
enum class Precision : uint8_t { f32, bf16 };

// c[i] = a[i] b[i] for each of `batch` products: a [m, k] (or [k, m] if `a_transposed`), b [k, n] (or [n, k] if
// `b_transposed`), c [m, n]. Strides are elements from one product's operand to the next (0: the same one). Any numeric
// dtype; half floats are summed in f32.
struct Matmul {
  DType dtype = DType::f32;
  Precision precision = Precision::f32;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool a_transposed = false, b_transposed = false;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;
};
void matmul(const Matmul& d, const void* a, const void* b, void* c, int threads);
// As above with an offset table in place of strides (broadcast batches): element offsets of each product's operands.
void matmul(const Matmul& d, const void* a, const int64_t* a_at, const void* b, const int64_t* b_at, void* c,
            int threads);

// Over `rank` (1 to 3) spatial dims; weight [out_channels, in_channels / groups, kernel...].
struct Convolution {
  enum class Kind : uint8_t {
    forward,  // x = image [batch, in_channels, in...],  y = weight  -> [batch, out_channels, out...]
    input,    // x = cotangent of the result,            y = weight  -> cotangent of the image
    weight,   // x = cotangent of the result,            y = image   -> cotangent of the weight
  };
  Kind kind = Kind::forward;
  DType dtype = DType::f32;  // f32 or f64
  Precision precision = Precision::f32;
  int rank = 2;
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};
void convolve(const Convolution& d, const void* x, const void* y, void* result, int threads);

// A library's single-threaded c = alpha-free a b (or c += a b if `add`), row-major with leading dimensions; false: not
// taken.
using GemmF32 = bool (*)(bool a_transposed, bool b_transposed, int64_t m, int64_t n, int64_t k, const float* a,
                         int64_t lda, const float* b, int64_t ldb, bool add, float* c, int64_t ldc);
void register_gemm_f32(GemmF32 gemm);

}  // namespace ouro::runtime
