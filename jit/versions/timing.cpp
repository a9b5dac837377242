// The executor's part in timing. In the mode auto nobody has asked for the compiler, so a function waits until its
// specialisation is worth the pause (jit/versions/pauses.h), its versions are compared with the interpreter
// (jit/versions/trial.h), and what the run has learned of it is kept for the next one (jit/versions/experience.h).
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/spans.h"
#include "jit/versions/executor.h"
#include "runtime/interpreter/code.h"
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "support/timeline.h"
#include "support/trace.h"

namespace ouro::jit {

using runtime::Code;
using runtime::Frame;

// ---------------------------------------------------------------- when a version is made

bool JitExecutor::is_limited(const Session& s, const FunctionVersions& f) const {
  return s.options.mode == runtime::Mode::auto_ && !f.marked && !everything_ && compile_after.count() > 0 &&
         f.versions.size() >= f.worth;
}

bool JitExecutor::must_wait(const Session& s, const FunctionVersions& f, uint64_t calls) const {
  if (!is_limited(s, f) || f.allowance_ms > 0) return false;
  const bool at_once = !is_sliced(s, f);
  return !f.cost.seen() || !pauses_.may_begin(f.cost, run_ms(), f.versions.empty() ? calls : f.misses, at_once);
}

bool JitExecutor::is_sliced(const Session& s, const FunctionVersions& f) const {
  if (f.changed >= kMostChanged || s.options.mode != runtime::Mode::auto_) return false;
  return stress_slices_ || is_limited(s, f);
}

// ---------------------------------------------------------------- versions beside the interpreter

bool JitExecutor::is_tried(const Version& v) const {
  return session_.options.mode == runtime::Mode::auto_ && v.demands.device == runtime::DeviceId::cpu;
}

bool JitExecutor::on_trial(Session& s, Call& c) {
  if (!is_tried(*c.fitting)) return false;
  Trial& trial = c.fitting->trial;
  if (trial.state() != Trial::State::lost) return trial.interprets_next();
  if (!trial.ask_again(runtime::frame_code(c.frame)->calls)) step_aside(s, c);
  return true;
}

void JitExecutor::step_aside(Session& s, const Call& c) {
  if (s.options.mode != runtime::Mode::auto_ || times_all) return;
  const auto serves = [](const auto& v) {
    return v->state != Version::State::failed && v->trial.state() != Trial::State::lost;
  };
  for (const FunctionVersions* f : versions_of(c.function.code).functions)
    if (std::ranges::any_of(f->versions, serves)) return;
  Code* code = runtime::frame_code(c.frame);
  code->entry = nullptr;
  code->call_trigger = code->calls + 1 + std::min<uint32_t>(code->calls / 8, 1000);
}

void JitExecutor::interpret(Call& c) {
  ++c.function.interpreted_calls;
  const bool tried = c.fitting && is_tried(*c.fitting) && !c.fitting->trial.decided();
  const bool waits = !c.fitting && is_limited(session_, c.function);
  if (!tried && !waits && !times_all) return;
  // Calls that were left by an exception have not ended here. Their frames lay where this one lies, or above it.
  std::erase_if(timed_, [&](const Timed& t) { return t.frame >= &c.frame; });
  timed_.push_back({&c.frame, &c.function, c.fitting, c.start, c.compiler_ns, session_.interpreter->frames, c.left});
  c.frame.set(Frame::kTimed);
}

void JitExecutor::call_ended(const Frame& frame) {
  const auto at = std::ranges::find(timed_, &frame, &Timed::frame);
  if (at == timed_.end()) return;
  const Timed t = std::move(*at);
  timed_.erase(at, timed_.end());
  const auto elapsed = static_cast<uint64_t>(ms_since(t.start) * 1e6);
  const uint64_t ns = elapsed - std::min(elapsed, compiler_ns_ - t.compiler_ns);
  if (times_all) note_time(t.function->code->qualname, "interpreted", t.start);
  t.function->interpreted_ns += ns;
  ++t.function->timed_calls;
  if (session_.options.mode == runtime::Mode::auto_) note_time_under(*t.function, frame, ns);
  t.function->cost.call_ms = static_cast<double>(ns) / 1e6;
  t.function->cost.frames = session_.interpreter->frames - t.frames;
  if (t.version) judge(*t.version, ns, !t.left);
}

void JitExecutor::note_time_under(FunctionVersions& f, const Frame& frame, uint64_t ns) {
  const FunctionVersions* by = nullptr;
  runtime::each_caller(frame, [&](const ir::Function& code) {
    const auto at = index_.find(&code);
    if (at != index_.end() && !at->second->functions.empty()) by = at->second->functions.front();
    return !by || !by->refused.empty();
  });
  if (by && !by->refused.empty()) by = nullptr;
  const auto known = std::ranges::find(f.under, by, &TimeUnder::by);
  if (known != f.under.end())
    known->ns += ns;
  else
    f.under.push_back({by, ns});
}

void JitExecutor::judge(Version& v, uint64_t ns, bool interpreted) {
  if (!is_tried(v) || v.trial.decided()) return;
  interpreted ? v.trial.interpreted(ns) : v.trial.compiled(ns);
  if (v.trial.state() != Trial::State::lost) return;
  log_event("compiler", fmt::format("{} is interpreted: compiled it takes {:.1f} us, interpreted {:.1f} us",
                                    v.made->typed->qualname.text(), static_cast<double>(v.trial.least_compiled()) / 1e3,
                                    static_cast<double>(v.trial.least_interpreted()) / 1e3));
  if (v.symbolic || v.trial.least_compiled() * 9 < v.trial.least_interpreted() * 10)
    return;  // of other sizes it may win
  queue_->push([made = v.made, cache = cache_, plan = runtime::plan_text(v.demands)] {
    cache->keep_slower(*made->typed, plan);
  });
}

uint64_t JitExecutor::call_took(const Call& c, Version& v, bool whole) {
  const auto ns = static_cast<uint64_t>(ms_since(c.start) * 1e6);
  v.nanoseconds.fetch_add(ns, std::memory_order_relaxed);
  if (times_all) note_time(c.function.code->qualname, "compiled", c.start);
  if (whole) judge(v, ns, /*interpreted=*/false);
  return ns;
}

// ---------------------------------------------------------------- for the next run

void JitExecutor::program_ended() {
  const auto expected_ms = [&](const FunctionVersions& f) { return pauses_.expected_ms(f.cost); };
  const auto times = [&](const FunctionVersions& f) {
    uint64_t timed = 0, compiled = 0;
    for (const FunctionVersions* of_code : versions_of(f.code).functions) {
      timed += of_code->timed_calls;
      for (const auto& v : of_code->versions) compiled += v->calls.load(std::memory_order_relaxed);
    }
    const double interpreted =
        static_cast<double>(runtime::code_of(session_, f.code)->calls) - static_cast<double>(compiled);
    return timed ? std::max(1.0, interpreted / static_cast<double>(timed)) : 1.0;
  };
  const Untried untried(order_, expected_ms, times);
  for (const auto& f : order_)
    if (!f->marked) experience_.learn(Experience::key_of(session_, *f), *f, untried.of(*f));
  experience_.store();
}

}  // namespace ouro::jit
