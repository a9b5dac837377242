// A compiled loop that runs while a demand changes goes on in the version for the new plan.
//
// A loop of a million turns is one call, and a plan is adopted between calls. So its version asks here at the head of
// each loop of the program (NextPlan). Where another plan is wanted, the version for it is begun, compiled beside the
// running one, and the loop goes on in it at the first head after it is ready. Both versions are made of one optimised
// function, so what one has in its registers at a head is what the other expects there.
//
// Not every change can be taken over in the middle. A device and the rows of a chunk hold from the next call on. Where
// a derivative has kept something of the turns so far, the precision does; and where a transform that is interpreted
// is at work around the call, nothing changes until it is done.
#pragma once

#include <chrono>
#include <memory>

#include "jit/plan/plan.h"
#include "jit/versions/version.h"
#include "runtime/interpreter/frame.h"

namespace ouro::jit {

class JitExecutor;

class LoopWatch final : public NextPlan {
 public:
  using Clock = std::chrono::steady_clock;
  /// `frame`: of the call that the version does; `begun`: when.
  LoopWatch(JitExecutor& jit, runtime::Session& s, FunctionVersions& f, Version& v, const runtime::Frame& frame,
            Clock::time_point begun)
      : jit_(jit), s_(s), f_(f), running_(&v), frame_(frame), next_beat_(begun + kQuickCall) {}
  PlanRef next() override;
  void moved() override;
  bool has_moved() const { return moves_ > 0; }

  /// Stress mode (OURO_STRESS_MOVES): at each head the run goes on in the other of two versions, of which one computes
  /// again what it can.
  static bool stressed();

 private:
  static constexpr std::chrono::milliseconds kQuickCall{100};  // goals are looked at when it has ended
  std::shared_ptr<Version> version_for(runtime::ExecutionPlan plan, bool wait);
  bool may_change() const;
  void beat();

  JitExecutor& jit_;
  runtime::Session& s_;
  FunctionVersions& f_;
  Version* running_;
  std::shared_ptr<Version> next_, held_;
  const runtime::Frame& frame_;
  Clock::time_point look_again_{}, next_beat_;
  size_t moves_ = 0;
};

}  // namespace ouro::jit
