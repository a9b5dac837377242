// The loop's promises: what a response is expected to bring, what came of it, and what is remembered of that.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "runtime/demand/demand.h"
#include "runtime/demand/loop.h"
#include "runtime/object/session.h"
#include "support/byte_size.h"

namespace ouro::runtime {

namespace {
constexpr size_t kMeasured = 3;        // steps, before a promise is checked
constexpr size_t kUntilHot = 8;        // steps more, for new shapes: their code is compiled after it was first met
constexpr uint64_t kMostWaits = 4096;  // steps that the loop waits for that code
constexpr double kGainAtLeast = 0.25;  // of what was promised
constexpr double kStore = 1;           // seconds, from one time that measures are stored to the next
constexpr double kBroken = 1.05;       // times the target of a goal that was held
constexpr int64_t kWorthTelling = 256 * 1024;
}  // namespace

Loop::Amounts Loop::all_measured() const {
  Amounts out = measures_.metrics;
  for (const auto& [goal, why] : reasons_) out.erase(goal);
  out["memory"] = static_cast<double>(measures_.memory);
  out["step_time"] = measures_.step_time;
  out["latency"] = measures_.latency;
  out["energy"] = measures_.energy;
  return out;
}

void Loop::recall() {
  if (std::exchange(recalled_, true) || !store_) return;
  remembered_ = Remembered::read(store_->load());
}

// What was measured counts for more than what a response expects.
void Loop::foresee(const Response& r, const Situation& now, const Amounts& is, Proposal& p) const {
  const Remembered::Amounts* seen = remembered_.of(r.name, p.text);
  if (!seen || !r.in_force) return;
  const Remembered::Amounts* here = remembered_.of(r.name, r.in_force(now, p.text));
  for (const auto& [goal, amount] : *seen) {
    double was = 0;
    if (const auto at = here ? here->find(goal) : seen->end(); here && at != here->end()) was = at->second;
    if (const auto at = is.find(goal); at != is.end()) p.predicted[goal] = was > 0 ? at->second * amount / was : amount;
    if (goal == "step_time" && was > 0) p.cost = p.cost < 1 ? amount / was : std::max(1.0, amount / was);
  }
}

// Bytes that something else than the response has taken since then: the script, another function.
double Loop::taken_by_others(Session& s, const Pending& p) const {
  if (p.held.empty() || !between_steps_ || !s.executor) return 0;
  const PlanMemory now = s.executor->memory_of_plans(s);
  int64_t change = 0;
  for (const auto& [program, before] : p.held) {
    const auto at = now.held.find(program);
    change += (at == now.held.end() ? 0 : at->second) - before;
  }
  return static_cast<double>(measures_.memory - change) - p.all_before.at("memory");
}

void Loop::keep_measures(const Pending& p, double of_others) {
  if (!p.response->in_force) return;
  Amounts now = all_measured();
  now["memory"] -= of_others;
  (void)remembered_.keep(p.response->name, p.value_before, p.all_before);
  to_be_stored_ |= remembered_.keep(p.response->name, p.proposal.text, now);
  if (stored_ > 0 && seconds() < stored_ + kStore) return;
  stored_ = seconds();
  store_measures();
}

bool Loop::settled(Session& s) {
  if (!pending_) return true;
  Pending& p = *pending_;
  if (!(demands_.running_plan() == demands_.wanted())) return false;
  const bool compiles = p.proposal.new_shapes && ++p.waits < kMostWaits && compiles_ && compiles_();
  if (!p.since || compiles) {
    p.since = ticks();
    timed_ = powered_ = 0;
    return false;
  }
  if (ticks() < p.since + kMeasured + (p.proposal.new_shapes ? kUntilHot : 0)) return false;
  Amounts now = measured();
  const double of_others = taken_by_others(s, p);
  if (const auto memory = now.find("memory"); memory != now.end()) memory->second -= of_others;
  bool kept = true, broken = false;  // `broken`: a goal that was held is not any more
  std::string outcome;
  std::vector<std::pair<std::string, double>> came;
  for (const Asked& a : asked_) {
    const std::string_view goal = a.kind->name;
    const Amounts &promises = p.proposal.predicted, &before = p.before;
    const auto promised = promises.find(goal), was = before.find(goal), is = std::as_const(now).find(goal);
    if (promised == promises.end() || was == before.end() || is == now.end()) continue;
    came.emplace_back(goal, is->second);
    outcome += fmt::format("{}{} {} -> {} (promised {})", outcome.empty() ? "" : ", ", goal, a.kind->show(was->second),
                           a.kind->show(is->second), a.kind->show(promised->second));
    const double gain = was->second - promised->second;  // of what is to be small
    if (const auto bytes = static_cast<int64_t>(std::abs(of_others)); goal == "memory" && bytes >= kWorthTelling)
      outcome +=
          fmt::format("; besides, others have {} {}", of_others > 0 ? "taken" : "given back", byte_size_text(bytes));
    const auto target = fixed_.find(goal);
    const bool met = target != fixed_.end() && holds(a.kind->relation, target->second, is->second);
    const double slack = a.kind->relation == DemandKind::Relation::at_least ? 1 / kBroken : kBroken;
    broken = broken || (target != fixed_.end() && holds(a.kind->relation, target->second, was->second) &&
                        !holds(a.kind->relation, target->second * slack, is->second));
    if (gain > 0 && !met && was->second - is->second < kGainAtLeast * gain) kept = false;
  }
  kept = kept && !(broken && count_met(now) < count_met(p.before));
  {
    std::lock_guard guard(lock_);
    for (Tried& t : candidates_)
      if (t.taken && t.name == p.response->name) t.measured = came;
    if (p.decision >= dropped_) decisions_[p.decision - dropped_].outcome = outcome.empty() ? "in force" : outcome;
  }
  if (!kept) {
    failed_.insert({p.response, p.proposal.text});
    demands_.log(fmt::format("step {}: {} {} did not bring what was promised: {}", measures_.steps, p.response->name,
                             p.proposal.text, outcome));
  }
  keep_measures(p, of_others);
  Pending done = std::move(p);
  pending_.reset();
  tell({measures_.steps, seconds(), {}, std::string(done.response->name), done.proposal.text, outcome});
  quiet_until_ = std::max(quiet_until_, ticks() + 1);
  if (!kept && done.proposal.undo) {
    decide({}, *done.response, "undone", "it did not bring what was promised");
    done.proposal.undo(s);
    (void)library_follows(s);
    tell({measures_.steps,
          seconds(),
          {},
          std::string(done.response->name),
          "undone",
          "it did not bring what was promised"});
  }
  return true;
}

}  // namespace ouro::runtime
