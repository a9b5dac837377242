// Calls of forward forms that are no part of the compiled program they stand in (jit/specialise/residual/apart.cpp).
#pragma once

#include <vector>

#include "runtime/object/native.h"
#include "runtime/object/session.h"
#include "support/dtype.h"

namespace ouro::runtime::autodiff {

/// A pattern says what a value must be: a number, bool or None stands for all of its type, like_tensor() for the
/// tensors of the host with that dtype and shape, a tuple for tuples of such.
Value like_tensor(DType dtype, std::vector<int64_t> shape);
/// Is it that? (Of two patterns: are they the same?)
bool is_alike(const Value& v, const Value& pattern);

/// form, args, pattern: the form's pair (y, pullback), where y is alike and compiled code has done all of the call.
/// Else an error, raise_not_compiled() or another one, and nothing has been done, since compiled forms change and show
/// nothing outside: the interpreter can do the call around it from the beginning.
Value call_apart(Session& s, const Args& a);
Value raise_not_compiled(Session& s);
/// pullback, dy, env: for an operation none of whose arguments has a cotangent of its own.
Value pull_apart(Session& s, const Args& a);

}  // namespace ouro::runtime::autodiff
