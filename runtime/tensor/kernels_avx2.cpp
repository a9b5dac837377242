#define OURO_ISA avx2
#include "runtime/tensor/kernels.inc"

namespace ouro::runtime {
constinit const KernelTable kKernelsAvx2 = avx2::make_table("avx2");
}  // namespace ouro::runtime
