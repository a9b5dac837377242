// Contractions as kernels: matrix products and convolutions in the words of the loop IR, so that whatever takes a
// kernel (the evaluator, the host, a device) takes them too, and so that what surrounds one can be put into it.
//
// All have one form, which a backend may recognise and tile: perfectly nested parallel loops over the result, one
// serial reduction (combine add) of a product of two loads, one store.
//
//   C[rows, columns] = sum over k of A[rows, k] B[k, columns]
//
// Convolutions are that product with indices computed, and no matrix of columns in memory: what lies in the padding, or
// between the places that a stride leaves out, is a conditional load of 0. Sums run over k in its order, the last
// variable fastest; half floats are summed in f32, every other type in itself.
//
// What is static (types, transposition, strides of windows) is in the form, extents are run-time sizes: one kernel
// serves every shape. Buffers are dense and row-major: b0 and b1 the operands, b2 the result.
#pragma once

#include <cstdint>

#include "ir/loops/loop_ir.h"

namespace ouro::ir::loops {

/// c = a b: a [m, k] or, transposed, [k, m]; b [k, n] or [n, k]; c [m, n].
///
/// Sizes: m, n, k; if batched also batch, a_stride, b_stride, c_stride: elements from one product's operand to the next
/// (0: the same for all).
struct MatmulForm {
  DType dtype = DType::f32;     // numeric
  bool round_operands = false;  // f32 only: to bf16, to nearest even, as they are loaded
  bool a_transposed = false, b_transposed = false;
  bool batched = false;
};
Kernel matmul_kernel(const MatmulForm& form);

/// Over `rank` spatial dims; image [batch, in_channels, in...], weight [out_channels, in_channels / groups, kernel...],
/// result [batch, out_channels, out...].
///
/// Sizes: batch, in_channels, out_channels, then the `rank` extents each of in, out and kernel. Precondition:
/// (out - 1) * stride + (kernel - 1) * dilation < in + 2 * padding, as it is for the extents of a convolution.
struct ConvolutionForm {
  enum class Kind : uint8_t {
    forward,  // b0 = image,                   b1 = weight  -> result
    input,    // b0 = cotangent of the result, b1 = weight  -> cotangent of the image
    weight,   // b0 = cotangent of the result, b1 = image   -> cotangent of the weight
  };
  Kind kind = Kind::forward;
  DType dtype = DType::f32;
  bool round_operands = false;  // as of MatmulForm
  int rank = 2;                 // 1 to 3
  int64_t groups = 1;
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};
Kernel convolution_kernel(const ConvolutionForm& form);

}  // namespace ouro::ir::loops
