// NVIDIA GPUs as backends: kernels become one PTX module a step (backends/ptx), which the driver assembles for the GPU
// at hand. Nothing of the CUDA toolkit takes part.
#pragma once

#include <memory>
#include <string>

#include "runtime/machine/backend.h"

namespace ouro::backends {

/// The driver's first GPU. Null and a text in `error` when there is none.
std::shared_ptr<runtime::Backend> make_cuda_backend(std::string& error);

}  // namespace ouro::backends
