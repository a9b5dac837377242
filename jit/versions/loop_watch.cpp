#include "jit/versions/loop_watch.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "jit/versions/executor.h"
#include "runtime/demand/loop.h"

namespace ouro::jit {

using runtime::ExecutionPlan;

namespace {
constexpr std::chrono::milliseconds kBetweenLooks{1}, kBetweenBeats{8};
constexpr uint16_t kLeastTemporaries = 1;
}  // namespace

bool LoopWatch::stressed() {
  static const bool stressed = std::getenv("OURO_STRESS_MOVES") != nullptr;
  return stressed;
}

// Null while it is being compiled, and where that failed.
std::shared_ptr<Version> LoopWatch::version_for(ExecutionPlan plan, bool wait) {
  const auto find = [&] {
    return std::ranges::find_if(f_.versions,
                                [&](const auto& v) { return v->made == running_->made && v->demands == plan; });
  };
  auto at = find();
  if (at == f_.versions.end()) {
    (void)jit_.derive(s_, f_, *running_, plan, /*placed=*/false, wait);
    at = find();
  }
  return at != f_.versions.end() && (*at)->state.load(std::memory_order_acquire) == Version::State::ready ? *at
                                                                                                          : nullptr;
}

bool LoopWatch::may_change() const {
  return s_.demands.latched_once() && !runtime::inside_transform(s_, frame_.caller);
}

PlanRef LoopWatch::next() {
  ExecutionPlan wanted = running_->demands;
  if (stressed()) {
    wanted.temporaries = wanted.temporaries ? 0 : kLeastTemporaries;
    next_ = version_for(wanted, /*wait=*/true);
    return next_ ? next_->compiled : nullptr;
  }
  if (s_.demands.loop().has_goals() && may_change()) beat();
  wanted = s_.demands.wanted();
  const ExecutionPlan now = running_->demands;
  wanted.device = now.device, wanted.micro_batch = now.micro_batch;  // these wait, the rest does not
  if (wanted == now) return nullptr;
  const Clock::time_point time = Clock::now();
  if (time < look_again_) return nullptr;
  look_again_ = time + kBetweenLooks;
  if (!may_change()) return nullptr;
  next_ = version_for(wanted, /*wait=*/false);
  return next_ ? next_->compiled : nullptr;
}

// Goals are looked at after each step. This one may take as long as the program runs.
void LoopWatch::beat() {
  const Clock::time_point time = Clock::now();
  if (time < next_beat_) return;
  next_beat_ = time + kBetweenBeats;
  if (running_->demands.micro_batch && running_->plan()->micro_batching().refusal.empty())
    return;  // chunks of one step
  s_.demands.loop().turn(s_, [this] { return jit_.is_compiling(); });
}

void LoopWatch::moved() {
  ++moves_;
  running_ = next_.get();
  held_ = std::move(next_);
  held_->calls.fetch_add(1, std::memory_order_relaxed);
  held_->last_step = s_.demands.loop().steps();
  if (stressed()) return;
  s_.demands.latched_goes_on(held_->demands);
  s_.demands.log(fmt::format("{}: in the middle of a loop", held_->made->typed->qualname.text()));
}

}  // namespace ouro::jit
