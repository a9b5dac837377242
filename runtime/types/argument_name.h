// What a refused argument is called in "argument 1 must be str, not ...": its class, but None by its name.
#pragma once

#include <string>

#include "runtime/object/ops.h"

namespace ouro::runtime {

inline std::string argument_name(Session& s, const Value& v) { return v.is_none() ? "None" : type_name(s, v); }

}  // namespace ouro::runtime
