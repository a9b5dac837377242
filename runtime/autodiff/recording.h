// Derivatives of the script functions that a built-in operation calls: `any(g)` draws from a generator, `len(o)` calls
// __len__, `print(o)` calls __str__. The operation itself has no rule, but the functions that it calls have forward
// forms, so their changes can be differentiated.
//
// While a Recording stands, each call of a script function from C++ runs the function's forward form, and its pullback
// is kept. In the backward pass they run in reverse order, each with the zero cotangent: what such a function returns
// goes into a built-in operation, which has no derivative, but what it changed stands in the shadow map. Within the
// forward form nothing is recorded: it keeps what it needs itself, or, in a derivative of higher order, the Recording
// around this one does.
#pragma once

#include <vector>

#include "runtime/object/executor.h"
#include "runtime/object/session.h"

namespace ouro::runtime::autodiff {

// Another recorder for a while, or none: what is called then has no derivative.
class RecorderSet {
 public:
  RecorderSet(Session& s, CallRecorder* during) : s_(s), before_(s.recorder) { s.recorder = during; }
  ~RecorderSet() { s_.recorder = before_; }
  RecorderSet(const RecorderSet&) = delete;
  RecorderSet& operator=(const RecorderSet&) = delete;
  CallRecorder* before() const { return before_; }

 private:
  Session& s_;
  CallRecorder* before_;
};

class Recording final : public CallRecorder {
 public:
  explicit Recording(Session& s) : set_(s, this) {}

  Value call(Session& s, const Value& function, const Args& args) override;

  bool empty() const { return calls_.empty(); }
  // The calls as a tuple, for run_back().
  Value calls() const;

 private:
  RecorderSet set_;
  std::vector<Value> calls_;  // (pullback, arguments)
};

// The pullbacks of calls, the last first. `given` are the operation's own arguments: a cotangent of one that it handed
// on is added to `sums`, which has their number. False with an exception set.
bool run_back(Session& s, const Value& calls, const Value& env, std::span<const Value> given, std::vector<Value>& sums);

}  // namespace ouro::runtime::autodiff
