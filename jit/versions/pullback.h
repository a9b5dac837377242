// The pullback that a compiled forward form gives (jit/specialise/residual/waiting.cpp): a run of its program that
// waits for the result's cotangent.
//
// The interpreter does the form again, and its own pullback takes the cotangent, where the run cannot: it has gone on
// already, another cotangent comes than it was made for (a part of the result has none), it is left in the middle, or
// the pullback is differentiated. A form that is compiled so has no effect outside. What it was given must be the same
// objects with the same tensors as then, else it is a RuntimeError.
#pragma once

#include <memory>
#include <span>

#include "jit/versions/version.h"
#include "runtime/object/native.h"
#include "runtime/object/session.h"
#include "runtime/tensor/philox.h"

namespace ouro::jit {

class JitExecutor;

/// What a waiting run was called with, and what it has handed out.
struct WaitingCall {
  JitExecutor& executor;
  std::shared_ptr<Version> version;
  uint8_t place = 0;
  runtime::RandomState drawn{};  // before the form drew
  Value function{};
  std::span<const Value> args{}, nodes{}, inputs{};
  std::span<Value> outputs{};
};

/// The pair (result, pullback); error with an exception set.
Value waiting_pair(Session& s, const WaitingCall& call, std::unique_ptr<WaitingRun> run);
/// The interpreter's pullback in place of such a one; unbound: `f` is another function.
Value interpreted_pullback(Session& s, const Value& f);

}  // namespace ouro::jit
