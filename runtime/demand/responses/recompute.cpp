// Recompute instead of keep (ir/loops/recompute.h): a version of the step that holds fewer temporaries.
//
// Cost. A value that is dropped is computed twice, at most; what a backward pass keeps of the forward pass takes about
// a third of a step to compute. So a step takes up to 4/3 of its time where nothing is kept; where part of it is kept
// the cheapest to compute were dropped first, and the part below is squared.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/demand/response.h"
#include "runtime/object/session.h"
#include "support/byte_size.h"

namespace ouro::runtime {

namespace {

constexpr double kForward = 1.0 / 3;
constexpr double kMargin = 0.01;  // of the target
constexpr double kRoom = 0.08;    // of the temporaries, at least, to be taken back
constexpr double kReached = 1.02;

double cost_of(double budget, double unbounded) {
  const double dropped = std::clamp(1 - budget / unbounded, 0.0, 1.0);
  return 1 + kForward * dropped * dropped;
}

std::string text_of(uint16_t level) {
  return level ? "temporaries=" + byte_size_text(temporaries_at(level)) : "temporaries=all";
}

Proposal to_level(const Situation& now, uint16_t level) {
  const uint16_t before = now.plan.temporaries;
  const auto unbounded = static_cast<double>(now.plans.unbounded), held = static_cast<double>(now.plans.temporaries);
  const double bound = level ? static_cast<double>(temporaries_at(level)) : unbounded;
  const double budget = std::min(std::max(bound, static_cast<double>(now.plans.least)), unbounded);
  Proposal p;
  p.text = text_of(level);
  p.cost = cost_of(budget, unbounded) / cost_of(held, unbounded);
  p.predicted["memory"] = static_cast<double>(now.measures.memory) - held + budget;
  for (const auto& [goal, measured] :
       {std::pair{"step_time", now.measures.step_time}, {"latency", now.measures.latency}})
    p.predicted[goal] = measured * p.cost;
  auto apply = [](uint16_t to) { return [to](Session& s) { s.demands.bound_temporaries(to); }; };
  p.apply = apply(level);
  p.undo = apply(before);
  return p;
}

std::string in_force(const Situation& now, std::string_view) { return text_of(now.plan.temporaries); }

std::optional<Proposal> again(const Situation& now, std::string_view text) {
  if (now.plans.temporaries == 0) return std::nullopt;
  if (text == text_of(0)) return to_level(now, 0);
  // The text has fewer digits than the bytes of the level, and levels are four percent apart.
  uint64_t bytes = 0;
  if (!read_byte_size(text.substr(text.find('=') + 1), bytes)) return std::nullopt;
  const uint16_t level = temporaries_within(static_cast<int64_t>(1.01 * static_cast<double>(bytes)));
  return level && text == text_of(level) ? std::optional(to_level(now, level)) : std::nullopt;
}

// A tighter bound was tried, and the step held no less: there is no more to be dropped.
bool is_least(const Situation& now) {
  return now.plans.least &&
         static_cast<double>(now.plans.temporaries) <= kReached * static_cast<double>(now.plans.least);
}

std::optional<Proposal> propose(const Situation& now) {
  const double over = now.memory_over();
  if (over <= 0 || now.plans.temporaries == 0 || is_least(now)) return std::nullopt;
  const double budget = static_cast<double>(now.plans.temporaries) - over - kMargin * now.wanted.at("memory");
  const uint16_t level = temporaries_within(static_cast<int64_t>(budget));
  if (now.plan.temporaries && level >= now.plan.temporaries) return std::nullopt;
  return to_level(now, level);
}

std::optional<Proposal> relax(const Situation& now) {
  if (!now.plan.temporaries || now.plans.unbounded == 0) return std::nullopt;
  const auto held = static_cast<double>(now.plans.temporaries), unbounded = static_cast<double>(now.plans.unbounded);
  const auto target = now.wanted.find("memory");
  if (target == now.wanted.end()) return to_level(now, 0);
  const double room = target->second * (1 - kMargin) - static_cast<double>(now.measures.memory);
  if (held + room >= unbounded) return to_level(now, 0);
  if (room < kRoom * unbounded) return std::nullopt;
  const uint16_t level = temporaries_within(static_cast<int64_t>(held + room));
  return level > now.plan.temporaries ? std::optional(to_level(now, level)) : std::nullopt;
}

std::string limit(const Situation& now) {
  if (now.plans.temporaries == 0) return "no step is compiled, so none of its values can be computed again";
  if (!is_least(now)) return {};
  return fmt::format("the step cannot do with less than {} of temporaries, and {} are parameters, data and results",
                     byte_size_text(now.plans.temporaries),
                     byte_size_text(now.measures.memory - now.plans.temporaries));
}

}  // namespace

extern const Response recompute_response;
const Response recompute_response{
    .name = "recompute",
    .moves = "memory step_time latency",
    .what =
        "the compiled step computes some of its values a second time instead of keeping them for the backward pass; "
        "no bit changes",
    .propose = propose,
    .relax = relax,
    .limit = limit,
    .memory_of_plans = true,
    .in_force = in_force,
    .again = again,
};

}  // namespace ouro::runtime
