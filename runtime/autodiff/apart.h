// Calls of forward forms that are no part of the compiled program they stand in (jit/specialise/residual/apart.cpp).
#pragma once

#include <span>
#include <string>

#include "ir/type.h"
#include "runtime/object/native.h"
#include "runtime/object/session.h"

namespace ouro::runtime::autodiff {

/// What a value is that a program may hold without a box: "float", "int", "bool", "None", a tensor's dtype and sizes;
/// empty: something else.
std::string kind_text(const Value& v);
std::string kind_text(DType dtype, std::span<const int64_t> shape);

/// form, args: (y, pullback).
Value call_apart(Session& s, const Args& a);
/// form, args, kinds: the parts of y, then the pullback; RuntimeError where y is not of those kinds (a text, or a tuple
/// of kinds), or where compiled code does not do all of the call. Compiled forms change and show nothing outside, so
/// then nothing has been done, and the interpreter can do the call around it from the beginning.
Value call_apart_as(Session& s, const Args& a);
/// The error that says so.
Value raise_not_compiled(Session& s);
/// pullback, dy, env: for an operation none of whose arguments has a cotangent of its own.
Value pull_apart(Session& s, const Args& a);

}  // namespace ouro::runtime::autodiff
