// Kernels of the loop IR as PTX for NVIDIA GPUs, through LLVM's NVPTX.
//
// The text is all a driver needs (it assembles it for the GPU at hand); nothing of the CUDA toolkit takes part. Numbers
// follow ir/ops/leaf.h to the bit: divisions and roots are the correctly rounded ones, contraction is off, denormals
// stay, leaf functions are those of ir/ops/leaf_math.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/loops/loop_ir.h"

namespace ouro::backends::ptx {

/// One module; kernel i is `k<i>`, with pointers to the buffers, then sizes (i64), then scalars (f64 or i64) as
/// arguments; to be run with blocks of device::kGroup threads. `target` is "sm_80", "sm_90", ... Empty and `error` set
/// when there is no such target.
std::string assembly(std::span<const ir::loops::Kernel* const> kernels, std::string_view target, std::string& error);

/// The newest target whose code a GPU of that compute capability runs (a driver assembles it for newer ones, too);
/// empty for one that is older than all.
std::string target_for(int major, int minor);

}  // namespace ouro::backends::ptx
