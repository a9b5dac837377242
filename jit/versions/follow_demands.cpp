// The executor's part in demands: versions for another plan, and what compiled functions hold of memory.
#include <algorithm>
#include <map>

#include "jit/versions/executor.h"
#include "runtime/demand/loop.h"

namespace ouro::jit {

using runtime::Session;

bool JitExecutor::follow_demands(Session& s) {
  const runtime::ExecutionPlan now = s.demands.plan(), next = s.demands.wanted();
  bool follows = false;
  for (auto& f : order_) {
    std::vector<std::shared_ptr<Version>> there = f->versions;
    for (auto& v : there) {
      if (!(v->demands == now) || v->state != Version::State::ready || v->calls == 0 || v->superseded) continue;
      follows = true;
      derive(s, *f, *v, next);
    }
  }
  return follows;
}

void JitExecutor::make_room(Session& s) {
  let_go(s);
  drop_idle_memory(s);
}

void JitExecutor::let_go(Session&) {
  if (in_slice_) return;  // the one that asks
  for (const auto& f : order_) f->attempt = nullptr;
}

bool JitExecutor::is_idle(Session& s, const Version& v) {
  constexpr uint64_t kLately = 8;  // steps
  return !(v.demands == s.demands.running_plan()) || v.last_step + kLately < s.demands.loop().steps();
}

// What a version holds is a fixed part, and a part for each row of a chunk: the line through what it holds now, and
// what the version of the whole batch did, if there was one; else the sums that chunks are added to are what is fixed.
void JitExecutor::estimate_chunks(Session& s, Version& v, runtime::PlanMemory& out) const {
  const Plan::MicroBatching& batch = v.plan()->micro_batching();
  out.no_batch = batch.refusal;
  out.rows = batch.rows;
  v.kept = std::max<int64_t>(v.plan()->held_bytes(s), v.plan()->peak_bytes());
  const auto rows = static_cast<double>(batch.rows), size = batch.size ? static_cast<double>(batch.size) : rows;
  if (rows < 2) return;
  const auto kept = static_cast<double>(v.kept);
  double fixed = std::min(kept, static_cast<double>(batch.sums));
  if (batch.size && batch.size < batch.rows)
    for (const auto& f : order_)
      for (const auto& w : f->versions)
        if (w->made == v.made && !w->demands.micro_batch && w->demands.temporaries == v.demands.temporaries &&
            w->kept > v.kept)
          fixed = std::max(0.0, kept - (static_cast<double>(w->kept) - kept) * size / (rows - size));
  out.sums = static_cast<int64_t>(fixed);
  out.whole = static_cast<int64_t>((kept - fixed) * rows / size);
}

runtime::PlanMemory JitExecutor::memory_of_plans(Session& s) {
  runtime::PlanMemory out;
  std::map<std::pair<const SpecialiseResult*, uint32_t>, int64_t> unbounded;  // by program and rows of a chunk
  Version* most = nullptr;
  for (const auto& f : order_)
    for (const auto& v : f->versions) {
      if (v->state.load(std::memory_order_acquire) != Version::State::ready || v->calls == 0) continue;
      out.held[v->made] += v->plan()->held_bytes(s);
      if (!v->demands.temporaries) unbounded[{v->made.get(), v->demands.micro_batch}] = v->plan()->peak_bytes();
      if (is_idle(s, *v)) {
        out.idle += v->plan()->held_bytes(s);
      } else if (!most || v->plan()->peak_bytes() > most->plan()->peak_bytes()) {
        most = v.get();
      }
    }
  if (!most) return out;
  out.temporaries = out.unbounded = most->plan()->peak_bytes();
  auto at = unbounded.find({most->made.get(), most->demands.micro_batch});
  if (at != unbounded.end())
    out.unbounded = at->second;
  else if (most->demands.temporaries)
    out.unbounded = std::max(out.temporaries, most->plan()->recomputing().before);
  constexpr double kReached = 1.02;
  for (const auto& f : order_)
    for (const auto& v : f->versions) {
      if (v->made != most->made || v->demands.micro_batch != most->demands.micro_batch || !v->demands.temporaries ||
          v->state.load(std::memory_order_acquire) != Version::State::ready)
        continue;
      const int64_t peak = v->plan()->peak_bytes();  // 0: it has not run yet
      const auto bound = static_cast<double>(runtime::temporaries_at(v->demands.temporaries));
      if (static_cast<double>(peak) > kReached * bound && (!out.least || peak < out.least)) out.least = peak;
    }
  if (!s.demands.may_choose_micro_batch()) return out;
  estimate_chunks(s, *most, out);
  return out;
}

void JitExecutor::drop_idle(Session& s) {
  for (const auto& f : order_)
    for (const auto& v : f->versions)
      if (v->state.load(std::memory_order_acquire) == Version::State::ready && is_idle(s, *v)) v->plan()->drop_held(s);
}

bool JitExecutor::ready_to_move(Session& s) {
  const runtime::ExecutionPlan now = s.demands.plan(), next = s.demands.wanted();
  if (next.device == now.device) return true;
  bool ready = true;
  for (auto& f : order_) {
    std::vector<std::shared_ptr<Version>> there = f->versions;
    for (auto& v : there) {
      const Version::State state = v->state.load(std::memory_order_acquire);
      const bool serves = state == Version::State::ready || state == Version::State::compiling;
      if (!(v->demands == now) || v->placed || !serves) continue;
      derive(s, *f, *v, next);
      for (auto& w : f->versions)
        if (w->made == v->made && w->demands == next)
          ready = ready && w->state.load(std::memory_order_acquire) != Version::State::compiling;
    }
  }
  return ready;
}

// Demands that go on changing ask for one plan after the other. What nobody waits for any more is not compiled. Those
// that were called last stay, so that going back compiles nothing.
void JitExecutor::drop_old_plans(Session& s, FunctionVersions& f, const SpecialiseResult& made) {
  constexpr size_t kMostPlans = 12;
  const auto of_made = [&](const auto& v) { return v->made.get() == &made; };
  const auto may_go = [&](const auto& v) {
    return of_made(v) && !(v->demands == s.demands.plan()) && !(v->demands == s.demands.wanted()) &&
           !(v->demands == s.demands.running_plan()) && !(v->demands == runtime::ExecutionPlan{});
  };
  const auto is_compiling = [](const auto& v) {
    return v->state.load(std::memory_order_acquire) == Version::State::compiling;
  };
  const auto wanted = [&](const auto& v) { return !is_compiling(v) || !may_go(v); };
  const auto first = f.versions.begin() + 1;  // before it is the one that is made now
  const auto unwanted = std::stable_partition(first, f.versions.end(), wanted);
  std::for_each(unwanted, f.versions.end(), [&](const auto& v) { queue_->drop(v.get()); });
  f.versions.erase(unwanted, f.versions.end());
  while (static_cast<size_t>(std::ranges::count_if(f.versions, of_made)) > kMostPlans) {
    auto oldest = f.versions.end();
    for (auto v = f.versions.begin() + 1; v != f.versions.end(); ++v)
      if (may_go(*v) && (oldest == f.versions.end() || (*v)->last_call < (*oldest)->last_call)) oldest = v;
    if (oldest == f.versions.end()) return;
    f.versions.erase(oldest);
  }
}

std::shared_ptr<Version> JitExecutor::derive(Session& s, FunctionVersions& f, const Version& from,
                                             runtime::ExecutionPlan plan, bool placed, bool wait) {
  if (from.made->places && plan.device != runtime::DeviceId::cpu) return nullptr;
  for (auto& v : f.versions)
    if (v->made == from.made && v->demands == plan) {
      v->placed = v->placed && placed;
      return nullptr;
    }
  auto v = std::make_shared<Version>();
  v->placed = placed;
  v->made = from.made;
  v->demands = plan;
  v->why = "asked for " + runtime::plan_text(plan);
  v->symbolic = from.symbolic;
  if (from.plan()) {
    v->sizes = from.plan()->sizes();
    v->like = from.compiled;
  }
  if (plan.temporaries || plan.micro_batch || from.trial.state() == Trial::State::won) v->trial.win();
  f.versions.insert(f.versions.begin(), v);
  drop_old_plans(s, f, *from.made);
  start_compile(s, v, wait);
  return v;
}

}  // namespace ouro::jit
