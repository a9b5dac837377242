// The optimiser's passes, each a function from a finished typed function to another. A pass does one thing;
// ir/opt/pipeline.cpp is the list.
#pragma once

#include "ir/anf.h"

namespace ouro::ir::opt {

/// Lets whose results nobody uses, where dropping them cannot be noticed.
FunctionRef drop_dead(const FunctionRef& f);
/// One let for equal ones: the first that dominates. Pure lets only.
FunctionRef share_equal(const FunctionRef& f);
/// Arithmetic on constants, tuples taken apart where they were made, branches on constants. As Python computes: what
/// would raise or leave 64 bits is left alone.
FunctionRef fold_constants(const FunctionRef& f);
/// A block that only one jump leads to becomes the end of the block that jumps.
FunctionRef merge_blocks(const FunctionRef& f);
/// The rules of ir/opt/rules.h.
FunctionRef simplify(const FunctionRef& f);
/// Pure lets whose operands a loop does not change move in front of it.
FunctionRef hoist_invariants(const FunctionRef& f);
/// A tensor that is written slice by slice, or added up of slices in zeros, is one join: a loop over an axis, unrolled,
/// and its gradient take time and memory in proportion to the tensor, not to its square.
FunctionRef gather_slices(const FunctionRef& f);
/// What joins many tensors joins few, in steps: a kernel that did it at once would ask for each element which of them
/// it is in. (The host copies them; this is for devices, and not in the list.)
FunctionRef split_joins(const FunctionRef& f);

}  // namespace ouro::ir::opt
