// What the objects of a class contain, and which bases, __slots__, __class__ and __bases__ fit together.
//
// As in CPython, a class is *solid* where its objects have places that those of its base have not: a built-in class
// with a value of its own, or one with names in __slots__. Of several bases one line of solid classes must hold all
// others; the base that ends it is __base__ (Type::base).
#pragma once

#include <span>

#include "runtime/object/object.h"

namespace ouro::runtime {

/// The base whose objects those of a class with these bases extend; null, with the error, if there is none.
Type* best_base(Session& s, std::span<const Value> bases);
/// Type::base and Type::layout of a new class from its bases, and whether it is of exceptions; false: they conflict.
bool choose_layout(Session& s, Type* t);
/// Type::solid from the base and the class's own __slots__.
void settle_solid(Type* t);
/// __slots__ become Member descriptors; without "__dict__" among them (or in a base) other attributes are refused.
bool apply_slots(Session& s, Type* t);
/// `__dict__` and `__weakref__` of the first class of a line whose objects have them.
void add_instance_descriptors(Session& s, Type* t);

}  // namespace ouro::runtime
