// What each instruction of PTX does, by its name with all its modifiers ("add.rn.f32", "setp.lt.s64").
#pragma once

#include <string_view>

#include "program.h"

namespace gpu {

/// Null for an unknown name.
Step find_step(std::string_view name);

/// Bytes of a type's name ("f32": 4), 0 for no type. A predicate has 1.
uint32_t bytes_of(std::string_view type);

}  // namespace gpu
