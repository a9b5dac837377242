// Runs a kernel of the loop IR one element at a time: what every other backend's code must give, bit for bit.
#pragma once

#include <cstdint>

#include "ir/loops/loop_ir.h"
#include "runtime/machine/backend.h"

namespace ouro::backends {

/// Iterations [begin, end) of the first parallel loop (of one iteration if there is none). Buffers hold their element
/// types. False: one of kStopBits turned up in `poll`, which is looked at as often as anything is computed, and the
/// rest was left.
bool evaluate(const ir::loops::Kernel& kernel, void* const* buffers, const int64_t* sizes,
              const runtime::ScalarArg* scalars, int64_t begin, int64_t end,
              const std::atomic<uint32_t>* poll = nullptr);

/// The extent of the first parallel loop for these sizes; 1 if there is none.
int64_t launch_range(const ir::loops::Kernel& kernel, const int64_t* sizes);

}  // namespace ouro::backends
