// Names of types and numbers in OpenCL C.
#pragma once

#include <string>
#include <string_view>

#include "support/dtype.h"

namespace ouro::backends::opencl {

/// In registers; f16 and bf16 are their bits.
std::string_view register_type(DType t);
/// In buffers.
std::string_view memory_type(DType t);
/// An expression of exactly these bits.
std::string literal(DType t, uint64_t bits);

}  // namespace ouro::backends::opencl
