// Exceptions that come out of a called function, on the way to reverse mode.
//
// What an exception carries was computed by the function that raised it, which has no pullback then: it did not return.
// So a call inside a `try` is made one that always returns, and the exception is raised behind it, in the function that
// handles it:
//
//   y = call f(a)  unwind ^h      =>   y, e = call caught(f, a)  unwind ^h
//                                      if e is None ... else raise e  unwind ^h
//
// `caught` (module _ad) has the forward form of f's *catching* variant: the body of f with a handler around all of it,
// which returns (None, e) where f raises e, and (y, None) where f returns y. Its own calls stand inside of that
// handler, so exceptions from further down come the same way.
//
// So does what an operator, an attribute, an item, an iterator or a pattern calls in a script's class:
//
//   y = add a, b  unwind ^h       =>   f = ad.special[caught.add] a, b
//                                      y_e = ad.try_call f (a, b)
//                                      y = ad.value[add] y_e, a, b  unwind ^h
//
// f gives (y, None) or (None, e), and is None where nothing is called; ad.value raises e. What no script function
// raises has no such form: its exceptions are those of forward forms, which pass through without a pullback.
#pragma once

#include "ir/anf.h"

namespace ouro::ir::grad {

// f with its calls inside of `try` made so; null if there are none.
FunctionRef with_caught_calls(const Function& f);
// The catching variant of a function that is no generator.
FunctionRef catching(const Function& f);

}  // namespace ouro::ir::grad
