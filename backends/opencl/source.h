// Kernels of the loop IR as one program in OpenCL C.
//
// Numbers follow ir/ops/leaf.h to the bit, given a device that divides and takes roots as IEEE 754 says and keeps
// denormals (the build options ask for both): contraction is off, integers wrap, leaf functions are those of
// ir/ops/leaf_math.h, written into the program once for each type that it uses. None of OpenCL's own mathematical
// functions is called, for their results differ between devices and PoCL's are slow.
#pragma once

#include <span>
#include <string>

#include "ir/loops/loop_ir.h"

namespace ouro::backends::opencl {

/// The program: kernel i is `k<i>`, with the buffers, then sizes (long), then scalars (double or long) as arguments.
/// It is to run with groups of device::kGroup items.
std::string source(std::span<const ir::loops::Kernel* const> kernels);

/// Does any kernel compute with f64 (also a scalar argument), which a device may lack?
bool needs_f64(const ir::loops::Kernel& k);

}  // namespace ouro::backends::opencl
