// Views: what a row that moves elements and computes nothing does to indices.
//
// A view's row names one rule of this file. From a call's shapes and parameters the rule computes an index map. The
// map gives the result's shape (infer), the interpreter's strides (runtime/tensor/view.cpp), the index expressions of
// loops (ir/loops/graph.cpp), and which views undo each other (ir/opt/rules_shape.cpp). jit/plan/check/meaning.cpp says
// once more, independently, what each view means.
//
//   reads    result[o] = x[i]. `at` has one entry for each axis a of x: i[a] = start + step * o[axis], or start alone
//   places   result[o] = x[i]. `at` has one entry for each axis a of the result: o[a] = start + i[axis], or start
//            alone; the other elements of the result are a fill, and elements that would lie outside are dropped
//   flat     the same elements in row-major order
//   joins    the inputs behind each other along `axis`
//   band     x where column - row is at most (lower) or at least (upper) a parameter, else 0
//
// A reading map without steps, read the other way, is the placing map of its transpose: transposed().
#pragma once

#include <cstdint>

#include "ir/type.h"
#include "support/small_vec.h"

namespace ouro::ir {

struct SigCall;

struct AxisAt {
  int axis = -1;  // of the other side; -1: none
  int step = 1;   // 1, or -1 where the axis is read backwards
  SymDim start{};
  bool operator==(const AxisAt&) const = default;
};

struct IndexMap {
  enum class Way : uint8_t { reads, places, flat, joins, band } way = Way::flat;
  SmallVec<AxisAt, 6> at{};
  int axis = 0;        // of joins
  bool upper = false;  // of band
};

// Fills call.map and the dims of call.results[0]; false with call.error. A rule is a function of its own, so that a row
// names it and one that is not there does not build.
using ViewRule = bool (*)(SigCall& call);

namespace view {

// Is it one of the rules whose way is `flat`? Then nothing moves.
bool only_shape(ViewRule rule);

// The same elements in another shape.
bool reshape(SigCall& call);    // shape, one size may be -1
bool flatten(SigCall& call);    // start_dim to end_dim
bool unflatten(SigCall& call);  // axis, sizes
bool squeeze(SigCall& call);    // axis
bool unsqueeze(SigCall& call);  // axis
// The axes in another order.
bool permute(SigCall& call);       // dims
bool permute_back(SigCall& call);  // dims
bool transpose(SigCall& call);     // dim0, dim1
bool reverse_axes(SigCall& call);
bool movedim(SigCall& call);  // source, destination
// Elements repeated.
bool expand(SigCall& call);     // sizes
bool expand_as(SigCall& call);  // to the second input's shape
bool unreduce(SigCall& call);   // a reduction's result to the second input's shape: axis, keepdim
// A part, and a part put into a whole.
bool flip(SigCall& call);           // dims
bool narrow(SigCall& call);         // axis, start, length
bool narrow_back(SigCall& call);    // into the second input's shape: axis, start
bool pad(SigCall& call);            // pad: pairs from the last axis on, negative ones cut
bool diagonal(SigCall& call);       // offset, dim1, dim2: as the last axis
bool diagonal_back(SigCall& call);  // into the second input's shape
bool cat(SigCall& call);            // axis
bool lower_band(SigCall& call);
bool upper_band(SigCall& call);

}  // namespace view
}  // namespace ouro::ir
