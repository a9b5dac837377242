// Pruning for a missed time (or memory, where units leave the model), under a floor: somebody asks for sparsity="auto",
// and a metric of the script has a floor (accuracy=0.85).
//
// The library then has a choice (stdlib/nn/pruning.ouro) whose ways are how much is pruned, from nothing on. Where a
// cost is missed the next amount is proposed; where a metric falls below its floor, or the gain does not come, the
// amount before. Pruned weights come back with the values that they had. The floor ranks above all costs, also those
// that were asked for before it, because it is the condition for pruning at all. An amount that broke a floor is not
// tried again while that floor is asked for, so the program does not go to and fro.
#include <algorithm>

#include "runtime/demand/response.h"
#include "runtime/demand/response_ways.h"

namespace ouro::runtime {

namespace {

constexpr uint64_t kFirst = 9;  // steps before the first proposal: their median is what a gain is measured against

const Choice* amounts(const Situation& now) {
  for (const Choice& c : now.choices)
    if (c.of_library && c.name == "sparsity") return &c;
  return nullptr;
}

// Proposed at cost 0: nothing may outweigh a floor.
Proposal back_to(const Situation& now, const Choice& c, size_t way) {
  Proposal p = to_way(now, c, way);
  std::erase_if(p.predicted, [&](const auto& goal) { return !now.measures.metrics.contains(goal.first); });
  p.cost = 0;
  return p;
}

std::optional<Proposal> propose(const Situation& now) {
  const Choice* c = amounts(now);
  if (!c || !now.has_floor || now.floor_unknown || now.measures.steps < kFirst) return std::nullopt;
  if (metric_missed(now)) return c->way > 0 ? std::optional(back_to(now, *c, c->way - 1)) : std::nullopt;
  if (!cost_missed(now, *c) || c->way + 1 == c->ways.size() || broke_a_floor(now, *c, c->way + 1)) return std::nullopt;
  return to_way(now, *c, c->way + 1);
}

// Without a floor nothing stays pruned.
std::optional<Proposal> relax(const Situation& now) {
  const Choice* c = amounts(now);
  if (!c || c->way == 0) return std::nullopt;
  return now.has_floor ? to_more_exact(now, *c) : back_to(now, *c, 0);
}

std::string limit(const Situation& now) {
  const Choice* c = amounts(now);
  if (!c) return {};
  if (!now.has_floor) return "sparsity=auto prunes only while a metric has a floor, such as accuracy=0.85";
  if (now.floor_unknown) return "the script has not told its metrics since the last choice";
  const std::string is = "sparsity is " + c->ways[c->way];
  if (c->way + 1 == c->ways.size()) return is + ", the most";
  return broke_a_floor(now, *c, c->way + 1) ? is + "; with " + c->ways[c->way + 1] + " a metric is under its floor"
                                            : "";
}

}  // namespace

extern const Response pruning_response;
const Response pruning_response{
    .name = "pruning",
    .moves = "step_time latency energy memory accuracy",
    .what =
        "only with sparsity=\"auto\", and while a metric has a floor: weights are left out, or units leave the model, "
        "where a time is missed; they come back where the metric falls under its floor",
    .propose = propose,
    .relax = relax,
    .limit = limit,
};

}  // namespace ouro::runtime
