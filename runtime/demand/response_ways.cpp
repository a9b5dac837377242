#include "runtime/demand/response_ways.h"

#include <algorithm>
#include <cmath>

#include "runtime/demand/loop.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

constexpr double kUnseen = 0.7;  // of the cost of the way before, for one that was never in force
constexpr double kRoom = 0.9;    // of a cost, that a more exact way may take
constexpr double kExact = 0.99;  // as a cost: the more exact way is better where there is time for it

// The goals that are costs, and what is measured of them.
struct Cost {
  const char* goal;
  double (*measured)(const Measures& m);
  bool is_memory = false;
};
constexpr Cost kCosts[] = {{"step_time", [](const Measures& m) { return m.step_time; }},
                           {"latency", [](const Measures& m) { return m.latency; }},
                           {"energy", [](const Measures& m) { return m.energy; }},
                           {"memory", [](const Measures& m) { return static_cast<double>(m.memory); }, true}};

bool moves(const Choice& c, const Cost& cost) { return !cost.is_memory || c.saves_memory; }

// What a way takes of what the one in force does.
double ratio_of(const Choice& c, size_t way, double Choice::Seen::*what, double here) {
  const double seen = c.seen[way].*what, seen_here = c.seen[c.way].*what;
  if (!std::isnan(seen)) return seen / (std::isnan(seen_here) ? here : seen_here);
  return way > c.way ? kUnseen : 1 / kUnseen;
}

}  // namespace

Proposal to_way(const Situation& now, const Choice& c, size_t way) {
  Proposal p;
  p.text = c.name + "=" + c.ways[way];
  p.cost = ratio_of(c, way, &Choice::Seen::step_time, now.measures.step_time);
  p.new_shapes = c.of_library;
  for (const Cost& cost : kCosts)
    if (moves(c, cost)) {
      const double is = cost.measured(now.measures);
      p.predicted[cost.goal] = is * (cost.is_memory ? ratio_of(c, way, &Choice::Seen::memory, is) : p.cost);
    }
  for (const auto& [goal, target] : now.wanted) {
    const auto is = now.measures.metrics.find(goal);
    if (is == now.measures.metrics.end()) continue;
    const auto seen = c.seen[way].metrics.find(goal);
    if (seen != c.seen[way].metrics.end())
      p.predicted[goal] = seen->second;
    else
      p.predicted[goal] = way < c.way ? std::max(is->second, target) : is->second;
  }
  auto choose = [name = c.name](size_t to) {
    return [name, to](Session& s) { s.demands.loop().choose_way(name, to); };
  };
  p.apply = choose(way);
  p.undo = choose(c.way);
  return p;
}

bool cost_missed(const Situation& now, const Choice& c) {
  return std::ranges::any_of(kCosts, [&](const Cost& cost) {
    const auto target = now.wanted.find(cost.goal);
    return moves(c, cost) && target != now.wanted.end() && cost.measured(now.measures) > target->second;
  });
}

bool metric_missed(const Situation& now) {
  return std::ranges::any_of(now.wanted, [&](const auto& wanted) {
    const auto is = now.measures.metrics.find(wanted.first);
    return is != now.measures.metrics.end() && is->second < wanted.second;
  });
}

bool broke_a_floor(const Situation& now, const Choice& c, size_t way) {
  return std::ranges::any_of(c.seen[way].metrics, [&](const auto& seen) {
    const auto floor = now.wanted.find(seen.first);
    return floor != now.wanted.end() && seen.second < floor->second;
  });
}

std::optional<Proposal> to_more_exact(const Situation& now, const Choice& c) {
  if (c.way == 0) return std::nullopt;
  auto asked = [&](const Cost& cost) { return moves(c, cost) && now.wanted.contains(cost.goal); };
  Proposal p = to_way(now, c, std::ranges::any_of(kCosts, asked) ? c.way - 1 : 0);
  p.cost = kExact;
  for (const Cost& cost : kCosts)
    if (asked(cost) && p.predicted[cost.goal] > kRoom * now.wanted.at(cost.goal)) return std::nullopt;
  return p;
}

}  // namespace ouro::runtime
