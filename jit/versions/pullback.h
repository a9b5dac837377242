// The pullback that a compiled forward form gives (jit/specialise/residual/waiting.cpp): a run of its program that
// waits for the result's cotangent.
//
// A run goes on once, which is enough for `grad` and `value_and_grad`; what `vjp` gives may be called again and again,
// so its forms are interpreted (ReusablePullbacks).
//
// Where the run is left in the middle, or another kind of cotangent comes than it was made for, the interpreter does
// the form again, and its own pullback takes the cotangent. A form that is compiled so has no effect outside. It must
// find the same objects with the same tensors as then, else it is a RuntimeError.
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
  std::span<Value> args{}, nodes{}, inputs{}, outputs{};
};

/// The pair (result, pullback); error with an exception set.
Value waiting_pair(Session& s, const WaitingCall& call, std::unique_ptr<WaitingRun> run);

}  // namespace ouro::jit
