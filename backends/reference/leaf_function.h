// Leaf functions (exp, tanh, ...) of one number: the templates of ir/ops/leaf_math.h on plain C++ arithmetic.
#pragma once

#include "ir/ops/leaf.h"

namespace ouro::backends {

float leaf_function(ir::Leaf leaf, float a, float b);
double leaf_function(ir::Leaf leaf, double a, double b);

}  // namespace ouro::backends
