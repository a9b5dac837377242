// Reverse mode as a transformation of ANF; the theory is at the head of reverse.cpp.
#pragma once

#include <string>

#include "ir/anf.h"

namespace ouro::ir::grad {

/// The forward form of a function. It takes the parameters and captures of `f`, in one more capture (the last, `self`)
/// the function value it was made of, has the effects of `f`, and returns the tuple (y, pullback); the pullback is a
/// closure made of the inner function "f'", (dy, env) -> tuple of cotangents of f's parameters. Null with `error` set
/// if `f` has something that reverse mode does not take yet.
///
/// flat: the forward form takes all entry parameters by position (`*args` as a tuple, `**kwargs` as a dict).
/// tests: what comparisons, `in`, `not`, lengths and the truth of branches call in scripts is followed.
FunctionRef reverse(const Function& f, bool flat, std::string* error, bool tests = true);

/// Is `f` a result of reverse()? Then its last capture is the function it was made of.
bool is_forward_form(const Function& f);

}  // namespace ouro::ir::grad
