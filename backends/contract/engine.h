// The contraction engine (runtime/contract.h): candidates, and who is chosen.
//
// Candidates are oneDNN's sgemm (f32, libdnnl.so.2, loaded when first needed) and plain loops (every type). The choice depends on nothing but the
// description and on whether the library is there, so it is the same in every tier and every run. A library is admitted only where its bits do not
// depend on threads or on how rows are split (RULES E24); oneDNN's sgemm was found to keep that, and is called with one thread per worker of our
// own pool. Convolutions are im2col and products: image by image, weight gradients in fixed chunks of the batch.
#pragma once

#include "runtime/contract.h"

namespace ouro::backends {

// Makes this engine the process's. Idempotent.
void register_contractions();
// Without oneDNN, for tests and --library=plain. Before the first product.
void disable_libraries();

}  // namespace ouro::backends
