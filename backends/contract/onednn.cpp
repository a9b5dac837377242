#include "backends/contract/onednn.h"

#include <dlfcn.h>

#include <cstdint>
#include <new>

#include "runtime/machine/contract.h"
#include "support/process_end.h"
#include "support/signals.h"

namespace ouro::backends {

namespace {

// dnnl_sgemm(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc), row-major; 0 is success.
using Sgemm = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float,
                      float*, int64_t);
using SetThreads = void (*)(int);

struct Library {
  Sgemm sgemm = nullptr;
  SetThreads set_threads = nullptr;
  Library() {
    void* dnnl = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!dnnl) return;
    sgemm = reinterpret_cast<Sgemm>(dlsym(dnnl, "dnnl_sgemm"));
    if (void* gomp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL))
      set_threads = reinterpret_cast<SetThreads>(dlsym(gomp, "omp_set_num_threads"));
  }
};

const Library& library() {
  static const Library lib;
  return lib;
}

bool gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b, int64_t ldb,
          bool add, float* c, int64_t ldc) {
  const Library& lib = library();
  if (!lib.sgemm || !lib.set_threads || process_ends()) return false;
  // OpenMP's thread count is per calling thread: Ouro's own pool does the splitting.
  static thread_local bool single = false;
  if (!single) {
    lib.set_threads(1);
    single = true;
  }
  // Its kernels pack their operands into allocated memory that they address by the stack pointer.
  support::SignalsHeld held;
  try {
    return lib.sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, add ? 1.0f : 0.0f, c, ldc) == 0;
  } catch (const std::bad_alloc&) {  // before it wrote anything: it packs first
    return false;
  }
}

}  // namespace

void register_onednn() { runtime::register_gemm_f32(&gemm); }

}  // namespace ouro::backends
