#define OURO_ISA v2
#include "runtime/tensor/kernels.inc"

namespace ouro::runtime {
constinit const KernelTable kKernelsV2 = v2::make_table("v2");
}  // namespace ouro::runtime
