// OpenCL devices as backends (PoCL, GPU drivers): kernels become one program a step in OpenCL C (opencl/source.h).
#pragma once

#include <memory>
#include <string>

#include "runtime/machine/backend.h"

namespace ouro::backends {

/// The first device of any platform that has shared virtual memory; GPUs before others. Null and a text in `error`
/// when there is none. OURO_OPENCL_OPTIONS in the environment is added to what programs are built with.
std::shared_ptr<runtime::Backend> make_opencl_backend(std::string& error);

}  // namespace ouro::backends
