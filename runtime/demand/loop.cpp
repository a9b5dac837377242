#include "runtime/demand/loop.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "runtime/demand/cores.h"
#include "runtime/demand/demand.h"
#include "runtime/object/session.h"
#include "support/timeline.h"
#include "support/trace.h"

namespace ouro::runtime {

namespace {

constexpr uint64_t kQuiet = 5;  // steps after a decision
constexpr size_t kMostDecisions = 64;
constexpr uint64_t kShadowEvery = 50;  // steps, after the first ones
constexpr uint64_t kFewerBack = 4;     // times as many samples, each time that bf16 was not exact enough
constexpr uint64_t kMostNeeded = 1 << 12;
constexpr double kLook = 0.1;  // seconds, from one look at what the machine has left, or at the library, to the next
constexpr std::string_view kLoss = "loss";
constexpr std::string_view kNotYet = "it is not measured yet";
constexpr std::string_view kNoStep =
    "no step has ended since it was asked for; a step is a call of a compiled function that changes a model or "
    "something else that it is given, or a block `with demand.step():`";
constexpr double kMainGoal = 0.5;  // more than the others, among choices that meet as many

double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void note_in_trace(const Loop::Decision& d) {
  if (!timeline_on()) return;
  const uint64_t now = now_ns();
  add_time_span({intern(d.response + " " + d.text), "demand", now, now + 1, Track::script});
}

bool is_served_by(std::string_view goal, const Response& r) {
  for (size_t at = 0; at < r.moves.size();) {
    const size_t end = std::min(r.moves.find(' ', at), r.moves.size());
    if (r.moves.substr(at, end - at) == goal) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

void Loop::store_measures() {
  if (store_ && std::exchange(to_be_stored_, false)) store_->store(remembered_.text());
}

void Loop::ask(std::vector<Asked> goals) {
  std::lock_guard guard(lock_);
  std::ranges::stable_sort(goals, {}, &Asked::serial);
  if (goals == asked_next_) return;
  asked_next_ = std::move(goals);
  has_goals_.store(true, std::memory_order_relaxed);
  goals_changed_.store(true, std::memory_order_release);
}

void Loop::report_metric(std::string_view name, double value) {
  std::lock_guard guard(lock_);
  // Told between the step after which a choice was made and the next one: it is of the way before.
  for (const Choice& c : choices_)
    if (c.since && c.since == ticks() && !in_block_) return;
  measures_.metrics.insert_or_assign(std::string(name), value);
  told_loss_ |= name == kLoss;
}

// A change may alter shapes, so it is made between two steps, and not at every safe point.
bool Loop::library_follows(Session& s) {
  for (auto at = to_carry_.begin(); at != to_carry_.end();) {
    const std::string name = *at;
    if (carry_ && !carry_(s, name)) return false;
    at = to_carry_.erase(to_carry_.find(name));
  }
  return true;
}

void Loop::look_now(Session& s) {
  const double at = seconds();
  if (at - last_look_ < kLook) return;
  last_look_ = at;
  look_(s);
}

// With the lock held.
void Loop::see_ways() {
  for (Choice& c : choices_)
    if (ticks() >= c.since + kQuiet)
      c.seen[c.way] = {measures_.step_time, static_cast<double>(measures_.memory), measures_.metrics};
}

void Loop::served(const std::string& goal, double reached, std::string why) {
  std::string unmet;
  {
    std::lock_guard guard(lock_);
    if (std::isnan(reached))
      measures_.metrics.erase(goal);
    else
      measures_.metrics.insert_or_assign(goal, reached);
    take_goals();
    fill_matrix();
    for (Target& t : targets_)
      if (t.goal == goal && !t.met) {
        if (t.why != why && !why.empty()) unmet = fmt::format("{}={} cannot be met, because {}", goal, t.asked, why);
        t.why = why;
      }
    reasons_.insert_or_assign(goal, std::move(why));
  }
  if (!unmet.empty()) demands_.log(std::move(unmet));
}

void Loop::step_ended(Session& s, uint64_t ns, Compiles compiles) {
  const bool has_goals = has_goals_.load(std::memory_order_relaxed);
  {
    std::lock_guard guard(lock_);
    times_[timed_ % kLast] = 1e-9 * static_cast<double>(ns);
    if (has_goals) {
      see_precision();
      const double now = processor_seconds();
      if (processor_time_ > 0) energies_[powered_++ % kLast] = now - processor_time_;
      processor_time_ = now;
    }
    ++timed_;
    ++measures_.steps;
    see_memory(s);
  }
  if (!has_goals) return;
  compiles_ = std::move(compiles);
  between_steps_ = true;
  beat(s);
  compiles_ = {};
}

void Loop::turn(Session& s, Compiles compiles) {
  {
    std::lock_guard guard(lock_);
    ++turns_;
    see_memory(s);
    see_precision();
  }
  compiles_ = std::move(compiles);
  between_steps_ = false;
  beat(s);
  compiles_ = {};
}

// With the lock held. A change of versions raises what is held for some steps; the highest use is that of the program.
void Loop::see_memory(Session& s) {
  measures_.memory = s.memory.used();
  const ExecutionPlan plan = demands_.running_plan();
  const bool changed = std::exchange(plan_seen_, plan) != plan;
  if (changed || pending_ || demands_.waiting()) restless_until_ = ticks() + kQuiet;
  if (ticks() >= restless_until_ || !measures_.highest_memory)
    measures_.highest_memory = std::max(measures_.highest_memory, measures_.memory);
}

// With the lock held.
void Loop::measure() {
  auto median = [](std::array<double, kLast> values, size_t n) {
    n = std::min(n, kLast);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(n));
    return n ? *middle : 0.0;
  };
  const size_t n = std::min(timed_, kLast);
  if (const double result = result_.load(std::memory_order_relaxed); !told_loss_ && !std::isnan(result))
    measures_.metrics.insert_or_assign(std::string(kLoss), result);
  measures_.step_time = median(times_, timed_);
  measures_.energy = median(energies_, powered_);
  measures_.latency =
      *std::max_element(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(n, 1)));
}

Loop::Amounts Loop::measured() const {
  Amounts out;
  for (const Asked& a : asked_)
    if (const double x = a.kind->measured(a.kind->name, measures_); !std::isnan(x)) out[std::string(a.kind->name)] = x;
  return out;
}

// With the lock held.
void Loop::take_goals() {
  if (!goals_changed_.exchange(false, std::memory_order_acquire)) return;
  std::vector<Asked> before = std::move(asked_);
  asked_ = asked_next_;
  for (const Asked& a : asked_)
    if (std::ranges::find(before, a) == before.end()) fixed_.erase(std::string(a.kind->name));
  failed_.clear();
  quiet_until_ = 0;
  const bool followed =
      std::ranges::any_of(asked_, [](const Asked& a) { return a.kind->follows && a.kind->follows(a.value); });
  if (followed == follows_) return;
  follows_ = followed;
  looked_ = -kLook;
  watch_ = MemoryWatch();
  measures_.allowance = kUnknownAmount;
}

// Finds the targets anew that move with the machine.
void Loop::look_at_machine() {
  const double at = seconds();
  if (!follows_ || at - looked_ < kLook) return;
  looked_ = at;
  if (!watch_.see(at, memory_left(), resident_memory(), measures_.memory)) return;
  std::lock_guard guard(lock_);
  measures_.allowance = watch_.allowance();
  for (const Asked& a : asked_) {
    if (!a.kind->follows || !a.kind->follows(a.value)) continue;
    fixed_.erase(std::string(a.kind->name));
    for (Target& t : targets_)
      if (t.goal == a.kind->name) t.why.clear();
  }
  failed_.clear();
}

// Shadow runs are wanted while there is an error contract and nobody asks for f32.
void Loop::plan_shadows(const Situation& now) {
  const bool wanted = now.asked_precision != Precision::f32 && now.wanted.contains("error");
  if (wanted == (shadow_next_ != kNever)) return;
  shadows_ = 0;
  std::lock_guard guard(lock_);
  measures_.lowered = {.runs = measures_.lowered.runs};
  shadow_next_ = wanted ? measures_.steps : kNever;
}

// With the lock held.
void Loop::see_precision() {
  Measures::Lowered& l = measures_.lowered;
  const bool low = demands_.running_plan().precision == Precision::bf16;
  if (low == l.runs) return;
  if (!low) l.needed = std::min(l.needed * kFewerBack, kMostNeeded);
  l.runs = low;
  l.samples = shadows_ = 0;
  if (shadow_next_ != kNever) shadow_next_ = measures_.steps + 1;
}

void Loop::shadow_ran(double difference) {
  std::lock_guard guard(lock_);
  Measures::Lowered& l = measures_.lowered;
  shadow_next_ = measures_.steps + std::min(uint64_t{1} << std::min<uint64_t>(shadows_++, 32), kShadowEvery);
  if (std::isnan(difference)) return;
  differences_[l.samples++ % differences_.size()] = difference;
  l.worst =
      *std::max_element(differences_.begin(),
                        differences_.begin() + static_cast<std::ptrdiff_t>(std::min(l.samples, differences_.size())));
}

// With the lock held.
void Loop::fill_matrix() {
  std::vector<Target> before = std::move(targets_);
  targets_.clear();
  for (const Asked& a : asked_) {
    const std::string name(a.kind->name);
    auto at = fixed_.find(name);
    if (at == fixed_.end()) {
      const double target = a.kind->target(a.value, measures_);
      if (!std::isnan(target)) at = fixed_.emplace(name, target).first;
    }
    targets_.push_back(look_at(a, at == fixed_.end() ? kUnknownAmount : at->second, before));
  }
}

Loop::Target Loop::look_at(const Asked& a, double target, const std::vector<Target>& before) const {
  const std::string name(a.kind->name);
  Target t{.goal = name, .asked = a.value};
  t.target = target;
  t.measured = a.kind->measured(name, measures_);
  t.predicted = kUnknownAmount;
  for (const Target& old : before)
    if (old.goal == name && old.asked == a.value) t.predicted = old.predicted, t.why = old.why;
  t.met = !std::isnan(t.target) && !std::isnan(t.measured) && holds(a.kind->relation, t.target, t.measured);
  if (t.met) t.why.clear();
  const bool told = a.kind->relation == DemandKind::Relation::at_least;  // by the script, at any time
  if (const auto reason = reasons_.find(name); reason != reasons_.end() && !reason->second.empty() && !t.met)
    t.why = reason->second;
  else if (std::isnan(t.measured))
    t.why = measures_.steps || told ? a.kind->unmeasured : kNoStep;
  else if (t.why == a.kind->unmeasured || t.why == kNoStep || t.why == kNotYet)
    t.why.clear();
  if (!t.met && t.why.empty() && (std::isnan(t.measured) || std::isnan(t.target))) t.why = kNotYet;
  return t;
}

Situation Loop::situation(Session& s) const {
  Situation now{.measures = measures_,
                .plan = demands_.running_plan(),
                .plans = {},
                .wanted = fixed_,
                .may_round = demands_.may_choose_micro_batch(),
                .may_switch = demands_.leaves_choice("optimizer"),
                .asked_precision = demands_.asked_precision()};
  for (auto it = now.wanted.begin(); it != now.wanted.end();)
    it = std::ranges::any_of(asked_, [&](const Asked& a) { return a.kind->name == it->first; }) ? std::next(it)
                                                                                                : now.wanted.erase(it);
  now.choices = choices_;
  for (const auto& [goal, why] : reasons_) now.measures.metrics.erase(goal);  // the library's, not the script's
  for (const Asked& a : asked_)
    if (a.kind->relation == DemandKind::Relation::at_least && !reasons_.contains(a.kind->name)) {
      now.has_floor = true;
      if (std::isnan(a.kind->measured(a.kind->name, measures_))) now.floor_unknown = true;
    }
  if (demands_.asked("threads") == "auto") {
    now.threads = demands_.threads();
    now.most_threads = chosen_threads() ? available_cores() : now.threads;
  }
  if (s.executor) now.plans = s.executor->memory_of_plans(s);
  return now;
}

void Loop::beat(Session& s) {
  {
    std::lock_guard guard(lock_);
    take_goals();
    orders_ = orders_next_;
    measure();
    see_ways();
  }
  look_at_machine();
  {
    std::lock_guard guard(lock_);
    fill_matrix();
  }
  if (!(between_steps_ ? library_follows(s) : to_carry_.empty()) || !settled(s)) return;
  recall();
  const Situation now = situation(s);
  plan_shadows(now);
  follow_orders(s, now);
  if (ticks() < quiet_until_) return;
  choose(s, now);
  if (asked_.empty() && !pending_ && to_carry_.empty() && !now.plan.temporaries &&
      !(now.may_round && now.plan.micro_batch) && (!chosen_threads() || now.threads == now.most_threads) &&
      std::ranges::all_of(choices_, [](const Choice& c) { return c.way == 0; }) &&
      !goals_changed_.load(std::memory_order_acquire)) {
    has_goals_.store(false, std::memory_order_relaxed);
    processor_time_ = 0;
    powered_ = 0;
  }
}

// How many goals would be met, the main one counted a little more.
double Loop::count_met(const Amounts& amounts) const {
  double met = 0;
  for (size_t i = 0; i < asked_.size(); ++i) {
    const auto target = fixed_.find(asked_[i].kind->name), amount = amounts.find(asked_[i].kind->name);
    if (target == fixed_.end() || amount == amounts.end()) continue;
    if (holds(asked_[i].kind->relation, target->second, amount->second)) met += i == 0 ? 1 + kMainGoal : 1;
  }
  return met;
}

void Loop::choose(Session& s, const Situation& now) {
  const Amounts is = measured();
  const double met = count_met(is);
  std::vector<Candidate> choices;
  auto consider = [&](const Response& r, std::optional<Proposal> p) {
    if (!p) return;
    Amounts then = is;
    for (const auto& [goal, amount] : p->predicted) then[goal] = amount;
    choices.push_back({&r, std::move(*p), count_met(then)});
  };
  // Values that were in force before, where they would meet more.
  auto consider_remembered = [&](const Response& r) {
    const Remembered::Values* values = r.again ? remembered_.of(r.name) : nullptr;
    if (!values) return;
    for (const auto& [text, seen] : *values) {
      if (r.in_force(now, text) == text) continue;
      if (std::ranges::any_of(choices, [&](const Candidate& c) { return c.response == &r && c.proposal.text == text; }))
        continue;
      std::optional<Proposal> p = r.again(now, text);
      if (!p) continue;
      foresee(r, now, is, *p);
      consider(r, std::move(p));
      if (choices.back().met <= met) choices.pop_back();
    }
  };
  std::string goal;
  for (const Target& t : targets_)
    if (goal.empty() && !t.met && !std::isnan(t.measured) && !std::isnan(t.target)) goal = t.goal;
  for (const Response* r : responses()) {
    if (orders_.vetoed.contains(r->name) || orders_.pinned.contains(r->name)) continue;
    if (!goal.empty() && r->propose) {
      std::optional<Proposal> p = r->propose(now);
      if (p) foresee(*r, now, is, *p);
      consider(*r, std::move(p));
      consider_remembered(*r);
    }
    if (!r->relax) continue;
    std::optional<Proposal> p = r->relax(now);
    if (p) {
      const double cost = p->cost;
      foresee(*r, now, is, *p);
      p->cost = cost;
    }
    consider(*r, std::move(p));
  }
  // What is taken back costs less than what runs: it is chosen where it loses no goal.
  auto better = [](const Candidate& a, const Candidate& b) {
    return a.met != b.met ? a.met > b.met : a.proposal.cost < b.proposal.cost;
  };
  std::ranges::stable_sort(choices, better);
  Candidate* best = nullptr;
  for (Candidate& c : choices) {
    const bool helps = c.met > met || (c.met == met && c.proposal.cost < 1);
    // Nothing meets the goal; what brings it nearer is better than nothing.
    const bool nearer =
        c.met == met && !goal.empty() && is_served_by(goal, *c.response) && c.proposal.predicted.contains(goal) &&
        is.contains(goal) && asked_.front().kind->name == goal &&
        (asked_.front().kind->relation == DemandKind::Relation::at_least ? c.proposal.predicted.at(goal) > is.at(goal)
                                                                         : c.proposal.predicted.at(goal) < is.at(goal));
    if ((helps || nearer) && !failed_.contains({c.response, c.proposal.text})) {
      best = &c;
      break;
    }
  }
  if (!choices.empty()) {
    std::lock_guard guard(lock_);
    candidates_.clear();
    for (const Candidate& c : choices) {
      Tried t{.name = std::string(c.response->name), .text = c.proposal.text, .cost = c.proposal.cost};
      t.predicted.assign(c.proposal.predicted.begin(), c.proposal.predicted.end());
      if (const Remembered::Amounts* seen = remembered_.of(t.name, t.text))
        t.remembered.assign(seen->begin(), seen->end());
      t.taken = &c == best;
      if (!t.taken)
        t.why = failed_.contains({c.response, c.proposal.text}) ? "it did not bring what was promised"
                : best && best->met > c.met                     ? "fewer goals would be met"
                : best                                          ? "another one costs less"
                                                                : "no goal would be met by it";
      candidates_.push_back(std::move(t));
    }
  }
  if (best) {
    const std::string served(goal_served(*best, goal));
    return carry_out(s, *best->response, std::move(best->proposal), served);
  }
  std::vector<std::string> unmet;  // logged without the lock: who sets demands holds theirs and takes this one
  {
    std::lock_guard guard(lock_);
    for (Target& t : targets_)
      if (!t.met && !std::isnan(t.measured) && !std::isnan(t.target))
        for (const Asked& a : asked_)
          if (a.kind->name == t.goal) {
            const bool first = t.why.empty();
            t.why = why_not(a, now);
            if (first) unmet.push_back(fmt::format("{}={} cannot be met: {}", t.goal, t.asked, t.why));
          }
  }
  for (std::string& text : unmet) demands_.log(std::move(text));
}

// Of the goals that are missed, the one that the response is for.
std::string_view Loop::goal_served(const Candidate& c, std::string_view missed) const {
  for (const Target& t : targets_)
    if (!t.met && !std::isnan(t.measured) && !std::isnan(t.target) && is_served_by(t.goal, *c.response)) return t.goal;
  return missed;
}

std::string Loop::why_not(const Asked& goal, const Situation& now) const {
  std::string out;
  auto say = [&](std::string text) { out += (out.empty() ? "" : "; ") + text; };
  if (const auto at = reasons_.find(goal.kind->name); at != reasons_.end() && !at->second.empty()) return at->second;
  bool any = false;
  for (const Response* r : responses()) {
    if (!is_served_by(goal.kind->name, *r)) continue;
    any = true;
    if (orders_.vetoed.contains(r->name))
      say(fmt::format("{} is vetoed", r->name));
    else if (orders_.pinned.contains(r->name))
      say(fmt::format("{} is pinned", r->name));
    else if (std::string text = r->limit && r->moves.starts_with(goal.kind->name) ? r->limit(now) : std::string();
             !text.empty())
      say(std::move(text));
    else if (std::ranges::any_of(failed_, [&](const auto& f) { return f.first == r; }))
      say(fmt::format("{} was tried and did not bring what was promised", r->name));
  }
  if (!any) return fmt::format("no response moves {}", goal.kind->name);
  return out.empty() ? "no response has anything to give" : out;
}

void Loop::decide(std::string_view goal, const Response& r, std::string text, std::string outcome) {
  std::lock_guard guard(lock_);
  if (decisions_.size() == kMostDecisions) decisions_.pop_front(), ++dropped_;
  decisions_.push_back({.step = measures_.steps,
                        .at = seconds(),
                        .goal = std::string(goal),
                        .response = std::string(r.name),
                        .text = std::move(text),
                        .outcome = std::move(outcome)});
  note_in_trace(decisions_.back());
}

void Loop::tell(Decision d) {
  std::function<void(const Decision&)> told;
  {
    std::lock_guard guard(lock_);
    told = told_;
  }
  if (told) told(d);
}

void Loop::on_decision(std::function<void(const Decision&)> told) {
  std::lock_guard guard(lock_);
  told_ = std::move(told);
}

void Loop::carry_out(Session& s, const Response& r, Proposal p, std::string_view goal) {
  demands_.log(fmt::format("step {}: {} {}{}{}", measures_.steps, r.name, p.text, goal.empty() ? "" : ", for ", goal));
  decide(goal, r, p.text, "taking effect");
  {
    std::lock_guard guard(lock_);
    for (Target& t : targets_)
      if (const auto at = p.predicted.find(t.goal); at != p.predicted.end()) t.predicted = at->second;
  }
  std::string value_before = r.in_force ? r.in_force(situation(s), p.text) : std::string();
  decltype(PlanMemory::held) held;
  if (r.memory_of_plans && between_steps_ && s.executor) held = s.executor->memory_of_plans(s).held;
  p.apply(s);
  (void)library_follows(s);
  tell({measures_.steps, seconds(), std::string(goal), std::string(r.name), p.text, "taking effect"});
  pending_ = Pending{
      &r, std::move(p), measured(), all_measured(), std::move(value_before), 0, dropped_ + decisions_.size() - 1};
  if (r.memory_of_plans) pending_->held = std::move(held);
  quiet_until_ = ticks() + kQuiet;
}

// One after the other: what takes effect is measured before the next.
void Loop::follow_orders(Session& s, const Situation& now) {
  while (!pending_) {
    std::string name;
    {
      std::lock_guard guard(lock_);
      auto& waiting = orders_next_.carry_out;
      if (waiting.empty()) return;
      name = std::move(waiting.extract(waiting.begin()).value());
    }
    for (const Response* r : responses()) {
      if (r->name != name || !r->propose) continue;
      if (std::optional<Proposal> p = r->propose(now))
        carry_out(s, *r, std::move(*p), "order");
      else
        demands_.log(
            fmt::format("step {}: {} was ordered and not done: {}", measures_.steps, name, nothing_to_give(*r, now)));
      break;
    }
  }
}

std::string Loop::nothing_to_give(const Response& r, const Situation& now) const {
  std::string why = r.limit ? r.limit(now) : std::string();
  if (!why.empty()) return why;
  for (const Target& t : targets_)
    if (!t.met && is_served_by(t.goal, r)) return "it has nothing to give";
  return fmt::format("no goal that it moves is missed ({})", r.moves);
}

std::string Loop::order(std::string_view response, Order order) {
  std::vector<std::string_view> names;
  for (const Response* r : responses()) names.push_back(r->name);
  if (std::ranges::find(names, response) == names.end())
    return fmt::format("there is no response '{}'; there are: {}", response, fmt::join(names, ", "));
  std::lock_guard guard(lock_);
  const std::string name(response);
  orders_next_.vetoed.erase(name);
  orders_next_.pinned.erase(name);
  if (order == Order::veto) orders_next_.vetoed.insert(name);
  if (order == Order::pin) orders_next_.pinned.insert(name);
  if (order == Order::carry_out) orders_next_.carry_out.insert(name);
  goals_changed_.store(true, std::memory_order_release);
  has_goals_.store(true, std::memory_order_relaxed);
  return {};
}

Loop::State Loop::state() {
  std::lock_guard guard(lock_);
  if (timed_) measure();
  State out;
  out.measures = measures_;
  // As it is now: metrics are told between steps, goals are asked for and taken back there.
  for (const Asked& a : asked_next_) {
    const auto at = fixed_.find(a.kind->name);
    const bool old = std::ranges::find(asked_, a) != asked_.end();
    const double target = old && at != fixed_.end() ? at->second : a.kind->target(a.value, measures_);
    Target& now = out.targets.emplace_back(look_at(a, target, targets_));
    if (old || a.kind->relation == DemandKind::Relation::at_least) continue;
    now.target = now.measured = kUnknownAmount;
    now.met = false;
    now.why = kNoStep;
  }
  out.candidates = candidates_;
  out.decisions.assign(decisions_.begin(), decisions_.end());
  out.choices = choices_;
  out.vetoed.assign(orders_next_.vetoed.begin(), orders_next_.vetoed.end());
  out.pinned.assign(orders_next_.pinned.begin(), orders_next_.pinned.end());
  return out;
}

}  // namespace ouro::runtime
