// oneDNN's sgemm by dlopen; nothing is linked.
#pragma once

#include <cstdint>

namespace ouro::backends {

// Row-major c[m, n] = op(a) op(b) + beta c. The calling thread's OpenMP team is one thread.
using SgemmFn = int (*)(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

// Null when the library is not there.
SgemmFn onednn_sgemm();
// Makes this thread's OpenMP team one thread. Cheap after the first call of a thread.
void single_thread_onednn();

}  // namespace ouro::backends
