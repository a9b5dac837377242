// The special methods that scripts see on built-in classes (int.__add__, list.__len__), made from the class's slots.
#pragma once

#include "runtime/object/type_slots.h"

namespace ouro::runtime {

// Calls add(row) for each special method that the slots give.
void for_each_slot_wrapper(const TypeSlots& slots, bool is_base_object,
                           void (*add)(void* context, const NativeDef& row), void* context);

// Special methods that fill a slot of a C type are "slot wrappers" to CPython; the others are ordinary methods of it.
bool is_slot_wrapper(std::string_view name);

}  // namespace ouro::runtime
