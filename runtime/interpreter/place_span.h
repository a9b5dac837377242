// Where in the text a write to a place failed. The `update` of `a.b[i].c op= v` is one operation with one span; a
// traceback shows the part of the target that could not be read.
#pragma once

#include "ir/anf.h"

namespace ouro::runtime {

class Session;

// `whole` is the span of the update: the target, or the statement if augmented. `step` < steps: reading that step
// failed;
// == steps: the target could not be written. Unknown if the text does not say.
Span place_span(Session& s, Span whole, const ir::PlacePath& path, size_t step);

}  // namespace ouro::runtime
