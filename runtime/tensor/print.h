// The text of a tensor.
#pragma once

#include <string>

#include "runtime/tensor/tensor.h"

namespace ouro::runtime {

std::string tensor_text(Session& s, const Tensor* t);

}  // namespace ouro::runtime
