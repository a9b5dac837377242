// Shape rules of rows whose result is written `@` (of views: view.h): by name, over symbolic dims. A rule may also set
// result dtypes.
#pragma once

#include <string_view>

#include "ir/ops/sig.h"

namespace ouro::ir {

// Fills the dims (and number) of call.results; false with call.error. An unknown name is our bug.
bool apply_shape_rule(std::string_view rule, SigCall& call);

}  // namespace ouro::ir
