// Contractions: products of matrices and convolutions, the one engine that every tier uses (eager, compiled, reference), so that a product has the
// same bits wherever it is computed (RULES E24). The engine stands in backends/contract and registers itself; this is its interface.
//
// All arrays are dense and row-major apart from the strides named here; results are overwritten. `threads` bounds the threads used and never
// changes a bit. No function here may fail: when no candidate takes a size or type, the plain loops do.
#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace ouro::runtime {

// c[b] = op(a[b]) op(b[b]) for each batch; op(x) is x or its transpose. A batch stride of 0 repeats an operand.
struct MatmulDesc {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;  // a is [k, m], b is [n, k]
  int64_t a_batch = 0, b_batch = 0, c_batch = 0;  // elements
};

enum class ConvKind : uint8_t { forward, input, weight };
// x [batch, groups * in, size...], w [groups * out, in, kernel...], y [batch, groups * out, result...]; `in` and `out` are per group.
struct ConvDesc {
  DType dtype = DType::f32;
  ConvKind kind = ConvKind::forward;
  int rank = 2;
  int64_t batch = 0, groups = 1, in = 0, out = 0;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, result[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};

struct ContractEngine {
  void (*matmul)(const MatmulDesc&, const void* a, const void* b, void* c, int threads);
  // forward: a = x, b = w, c = y; input: a = y's cotangent, b = w, c = x's; weight: a = y's cotangent, b = x, c = w's.
  void (*conv)(const ConvDesc&, const void* a, const void* b, void* c, int threads);
  // Which candidate runs a description ("plain", "onednn"), for explain and tests.
  const char* (*chosen)(const MatmulDesc&);
};
const ContractEngine& contract_engine();               // ouro_bug if nobody registered
void register_contract_engine(const ContractEngine* e);  // once, at start

}  // namespace ouro::runtime
