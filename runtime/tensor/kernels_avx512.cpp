#define OURO_ISA avx512
#include "runtime/tensor/kernels.inc"

namespace ouro::runtime {
constinit const KernelTable kKernelsAvx512 = avx512::make_table("avx512");
}  // namespace ouro::runtime
