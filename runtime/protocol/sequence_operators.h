// Which operators of a class are those of a sequence. CPython keeps `a + b` of numbers and of sequences in slots of
// their own and asks all numbers first: `[1] * x` is x.__rmul__([1]) if x has one. A class that derives from list has
// list's slots until it says otherwise.
#pragma once

#include "runtime/object/dunder.h"
#include "runtime/object/object.h"
#include "runtime/object/operators.h"

namespace ouro::runtime {

// What of a class is a sequence's: `+` and `*` (both ways), and `+=` and `*=`. A class that derives from a sequence is
// asked for an inherited `+=` as a number is, before the other operand.
enum class SequenceOp : uint8_t { add = 1, mul = 2, iadd = 4, imul = 8 };

// The bits of a built-in class, and of another one, from its line of bases.
uint8_t sequence_operators(const TypeSlots& t);
uint8_t sequence_operators(Session& s, Type* t);
// Is what class t has for `name` (__add__, __mul__, __iadd__, __imul__) a sequence's?
bool is_of_sequence(const Type* t, Dunder name);

}  // namespace ouro::runtime
