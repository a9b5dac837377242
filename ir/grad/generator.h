#pragma once

#include "ir/anf.h"

namespace ouro::ir::grad {

/// A generator as a function that makes an object of grad_rules.generator, and the *step* that the object calls for
/// each value: step(object, at, sent, error) goes on behind the yield number `at` (0: from the start), gives what is
/// yielded next and leaves the number of that yield in object.at; a return leaves object.at below zero and
/// object.value. Names that are bound in one block and used in another are attributes of the object, so a step is an
/// ordinary function, which reverse mode differentiates as any other, in the order in which the values are asked for.
///
/// This is how generators of other languages are compiled: a switch on where to go on, locals in a frame on the heap.
FunctionRef as_steps(const Function& f);
/// As as_steps, for callers that take one value after the other and never send or throw: `yield from` goes through an
/// iterator as a loop does. Null where the function uses the value of a `yield from`, which an iterator does not give.
FunctionRef as_plain_steps(const Function& f);

}  // namespace ouro::ir::grad
