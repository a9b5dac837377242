// The dependence test: may a kernel's output be the very memory of one of its inputs?
//
// Statements run in the order of the text, but what does not depend on each other runs in any order: iterations of
// `parallel` loops (threads, groups of a device) and of `loop` loops (lanes of a vector). A load stands where
// ir/loops/placement.h puts it, which is before the first statement that needs it and not again for later ones. So the
// output may be the input's memory if
//
//   1. each load of the input stands, in the text, before the one store to the output, and
//   2. an element that is loaded by one iteration of the loops around both is stored by no other one. (What stands in
//      front of the first loop is computed by every thread as it begins, when another one may have stored already.)
//
// For 2 the index of each access is split, as polynomials in the sizes, into an affine form of the variables of the
// loops around both and a rest, which moves with the loops around only one of them (the elements of a row, for a
// softmax). If the coefficients are equal and those of a number in mixed radix, each iteration has a range of its own;
// if both rests stay in it, 2 holds (the strong case of the tests of Banerjee 1988 and Goff, Kennedy, Tseng 1991; no
// weaker one is tried). What this cannot tell is not shared.
#pragma once

#include "ir/loops/lower.h"

namespace ouro::ir::loops {

/// Precondition: the buffers have as many elements, of one type.
/// `device`: every iteration of the loops is an item of its own, which computes for itself what stands in front of
/// them, and items that reduce together (a `fold`) run the statements of one iteration without waiting for each other.
bool may_overwrite(const LoweredKernel& k, uint32_t in, uint32_t out, bool device = false);

}  // namespace ouro::ir::loops
