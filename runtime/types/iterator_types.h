#pragma once

#include "runtime/object/object.h"

namespace ouro::runtime {

// iter(function, sentinel): calls until the result equals the sentinel.
Value make_callable_iterator(const Value& function, const Value& sentinel);

}  // namespace ouro::runtime
