#include "backends/contract/onednn.h"

#include <dlfcn.h>

namespace ouro::backends {

namespace {

struct Library {
  SgemmFn sgemm = nullptr;
  void (*set_threads)(int) = nullptr;
  Library() {
    void* h = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!h) return;
    auto sym = [&](const char* name) { return dlsym(h, name); };  // dependencies (libgomp) are searched too
    set_threads = reinterpret_cast<void (*)(int)>(sym("omp_set_num_threads"));
    if (!set_threads) return;  // another threading runtime: its bits are not known
    sgemm = reinterpret_cast<SgemmFn>(sym("dnnl_sgemm"));
  }
};
const Library& library() {
  static const Library l;
  return l;
}

}  // namespace

SgemmFn onednn_sgemm() { return library().sgemm; }

void single_thread_onednn() {
  thread_local bool done = false;
  if (done) return;
  library().set_threads(1);
  done = true;
}

}  // namespace ouro::backends
