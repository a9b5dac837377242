#include "runtime/tensor/kernels.h"

#include <atomic>

namespace ouro::runtime {

namespace {

std::atomic<int> limit{2};  // set once by the command line, before the first kernel

const KernelTable* choose() {
  const int most = limit.load();
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("fma")) return &kKernelsV2;  // the others are compiled with it
  if (most >= 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return &kKernelsAvx512;
  if (most >= 1 && __builtin_cpu_supports("avx2")) return &kKernelsAvx2;
  return &kKernelsV2;
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable* const chosen = choose();
  return *chosen;
}

namespace {

// -1: no such processor.
int level_of(std::string_view name) {
  if (name == "v2" || name == "x86-64-v2") return 0;
  if (name == "avx2" || name == "x86-64-v3") return 1;
  if (name == "avx512" || name == "x86-64-v4" || name == "native" || name.empty()) return 2;
  return -1;
}

}  // namespace

bool is_processor(std::string_view name) { return level_of(name) >= 0; }

bool limit_kernels(std::string_view name) {
  if (!is_processor(name)) return false;
  limit = level_of(name);
  return true;
}

}  // namespace ouro::runtime
