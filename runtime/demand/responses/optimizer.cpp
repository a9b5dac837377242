// Another optimizer for a missed memory: somebody asks for optimizer="auto", and the script has several
// (`demand.optimizer`). Adam's state is twice the parameters, that of SGD with momentum once, that of plain SGD
// nothing.
//
// What each holds is known (Choice::holds), so the gain is a difference of two numbers. The state of the optimizer that
// goes is lost, and the losses are others from then on. So this counts as a step that takes half as long again
// (kOtherResults): where values can be computed again instead, with the same bits, that is cheaper. The first one in
// the script's order that meets the goal is taken, else the one that holds least. When the goal leaves room the first
// one that fits comes back, and where a metric falls under its floor one before that has not broken it.
#include <algorithm>

#include "runtime/demand/response.h"
#include "runtime/demand/response_ways.h"

namespace ouro::runtime {

namespace {

constexpr double kOtherResults = 1.5;  // as a cost
constexpr double kPreferred = 0.99;    // likewise: an earlier one in the script's order
constexpr double kRoom = 0.1;          // of the target, to be left by one that comes back

const Choice* optimizers(const Situation& now) {
  for (const Choice& c : now.choices)
    if (c.of_library && c.name == "optimizer") return &c;
  return nullptr;
}

double held(const Choice& c, size_t way) { return way < c.holds.size() ? c.holds[way] : 0; }

// A compiled step has its new state beside the old one until it ends, and keeps that memory.
double kept(const Situation& now, const Choice& c, size_t way) {
  return held(c, way) * (now.plans.temporaries > 0 ? 2 : 1);
}

Proposal to_optimizer(const Situation& now, const Choice& c, size_t way, double cost) {
  Proposal p = to_way(now, c, way);
  p.cost = cost;
  for (const char* time : {"step_time", "latency", "energy"}) p.predicted.erase(time);  // they hang on the model
  p.predicted["memory"] = static_cast<double>(now.measures.memory) + kept(now, c, way) - kept(now, c, c.way);
  return p;
}

std::optional<Proposal> propose(const Situation& now) {
  const Choice* c = optimizers(now);
  if (!c || !now.may_switch || now.floor_unknown) return std::nullopt;
  if (metric_missed(now)) {
    size_t way = c->way;
    while (way > 0 && broke_a_floor(now, *c, --way)) {
    }
    return way < c->way ? std::optional(to_optimizer(now, *c, way, kPreferred)) : std::nullopt;
  }
  if (now.memory_over() <= 0) return std::nullopt;
  std::optional<Proposal> least;
  for (size_t way = 0; way < c->ways.size(); ++way) {
    if (held(*c, way) >= held(*c, c->way) || broke_a_floor(now, *c, way)) continue;
    Proposal p = to_optimizer(now, *c, way, kOtherResults);
    if (p.predicted["memory"] <= now.wanted.at("memory")) return p;
    if (!least || p.predicted["memory"] < least->predicted["memory"]) least = std::move(p);
  }
  return least;
}

std::optional<Proposal> relax(const Situation& now) {
  const Choice* c = optimizers(now);
  if (!c || !now.may_switch) return std::nullopt;
  const auto target = now.wanted.find("memory");
  for (size_t way = 0; way < c->way; ++way) {
    Proposal p = to_optimizer(now, *c, way, kPreferred);
    if (target == now.wanted.end() || p.predicted["memory"] <= (1 - kRoom) * target->second) return p;
  }
  return std::nullopt;
}

std::string limit(const Situation& now) {
  const Choice* c = optimizers(now);
  if (!c || !now.may_switch) return {};
  if (now.floor_unknown) return "the script has not told its metrics since the last choice";
  const double least = *std::ranges::min_element(c->holds);
  return held(*c, c->way) <= least ? "the optimizer is " + c->ways[c->way] + ", which holds least" : std::string();
}

}  // namespace

extern const Response optimizer_response;
const Response optimizer_response{
    .name = "optimizer",
    .moves = "memory accuracy",
    .what =
        "only with optimizer=\"auto\": another optimizer of those that the script has given to `demand.optimizer` "
        "takes "
        "over, whose state is smaller; the parameters stay, and results are others from then on",
    .propose = propose,
    .relax = relax,
    .limit = limit,
};

}  // namespace ouro::runtime
