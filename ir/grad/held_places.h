// Updates that hold containers (ir/anf.h), as ones that follow their path: what reverse mode takes apart.
#pragma once

#include "ir/anf.h"

namespace ouro::ir::grad {

/// f with no update that holds containers; null if it has none. What changes a place while a value for it is computed
/// is then seen by the write.
FunctionRef without_held_places(const Function& f);

}  // namespace ouro::ir::grad
