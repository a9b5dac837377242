// The shape of a lowered kernel's loops: neighbouring loops that every access walks as one become one, reductions get
// one variable.
//
// Loops over (i, j) with extents (m, n) collapse into one over t = i n + j when the index of every load and store moves
// by n times as much along i as along j, as polynomials. A reduction whose variables do not collapse gets its indices
// by division: its order is defined on the flat number of the element (ir/ops/reduce_order.h).
#pragma once

#include "ir/loops/lower.h"

namespace ouro::ir::loops {

/// Collapses what can be, and fills in range and work.
void schedule(LoweredKernel& k);

}  // namespace ouro::ir::loops
