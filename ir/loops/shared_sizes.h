// Kernels of a program that differ only in small sizes share one kernel.
//
// Kernels have small sizes as constants, which makes them quicker. But an unrolled loop whose tensors grow (a text that
// is generated word by word, a cache of keys) would have kernels of its own for each turn, and compiling them would
// take longer than the work. So kernels are compared by their structure, without the integers in it. Where many kernels
// of one structure differ, the integers that differ become parameters:
//
//   [... 7 ... 32 ...], [... 8 ... 32 ...], [... 9 ... 32 ...]   ──►   [... n0 ... 32 ...] with n0 = 7, 8, 9
//
// The order of sums does not depend on whether a size is a constant (ir/ops/reduce_order.h), so results keep their
// bits.
#pragma once

#include <vector>

#include "ir/loops/lower.h"

namespace ouro::ir::loops {

/// Kernels of one structure with at most so many different integers are left as they are: what a model has at a few
/// resolutions is to be quick.
inline constexpr size_t kFewSizes = 5;

/// The new parameters are behind those of each kernel, also in LoweredKernel::sizes.
void share_sizes(std::vector<LoweredKernel>& kernels);

}  // namespace ouro::ir::loops
