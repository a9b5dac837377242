// The script's own choices (choice.h): a cheaper way where a time is missed, a more exact one where a metric is.
//
// What a way takes and gives is predicted by what was measured when it was last in force, times how the way in force
// has changed since. Of a way that was never in force the metrics are taken to stay as they are and the time to fall;
// the loop measures it then. So a way that falls below a floor is known for it, and is not tried again while the floor
// is asked for. Before the script has told its metrics of the way in force no further one is tried.
#include <cmath>

#include <fmt/format.h>

#include "runtime/demand/loop.h"
#include "runtime/demand/response.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

constexpr double kUnseen = 0.7;  // of the time of the way before, for one that was never in force
constexpr double kRoom = 0.9;    // of a time, that a more exact way may take
constexpr double kExact = 0.99;  // as a cost: the more exact way is better where there is time for it
constexpr const char* kTimes[] = {"step_time", "latency", "energy"};

double time_of(const Situation& now, const Choice& c, size_t way) {
  const double here = now.measures.step_time, seen = c.seen[way].step_time, seen_here = c.seen[c.way].step_time;
  if (!std::isnan(seen)) return std::isnan(seen_here) ? seen : seen * here / seen_here;
  return way > c.way ? here * kUnseen : here / kUnseen;
}

Proposal to_way(const Situation& now, const Choice& c, size_t way) {
  Proposal p;
  p.text = c.name + "=" + c.ways[way];
  const double ratio = time_of(now, c, way) / now.measures.step_time;
  p.cost = ratio;
  p.predicted["step_time"] = now.measures.step_time * ratio;
  p.predicted["latency"] = now.measures.latency * ratio;
  p.predicted["energy"] = now.measures.energy * ratio;
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

bool time_missed(const Situation& now) {
  const double is[] = {now.measures.step_time, now.measures.latency, now.measures.energy};
  for (size_t i = 0; i < std::size(kTimes); ++i)
    if (const auto t = now.wanted.find(kTimes[i]); t != now.wanted.end() && is[i] > t->second) return true;
  return false;
}

bool metric_missed(const Situation& now) {
  for (const auto& [goal, target] : now.wanted)
    if (const auto is = now.measures.metrics.find(goal); is != now.measures.metrics.end() && is->second < target)
      return true;
  return false;
}

std::optional<Proposal> propose(const Situation& now) {
  if (now.floor_unknown) return std::nullopt;
  if (metric_missed(now))
    for (const Choice& c : now.choices)
      if (c.way > 0) return to_way(now, c, c.way - 1);
  if (time_missed(now))
    for (const Choice& c : now.choices)
      if (c.way + 1 < c.ways.size()) return to_way(now, c, c.way + 1);
  return std::nullopt;
}

// Nobody asks for a time any more, or there is time for a more exact way.
std::optional<Proposal> relax(const Situation& now) {
  bool asked = false;
  for (const char* goal : kTimes) asked |= now.wanted.contains(goal);
  for (const Choice& c : now.choices) {
    if (c.way == 0) continue;
    Proposal p = to_way(now, c, asked ? c.way - 1 : 0);
    p.cost = kExact;
    bool fits = true;
    for (const char* goal : kTimes)
      if (const auto t = now.wanted.find(goal); t != now.wanted.end() && p.predicted[goal] > kRoom * t->second)
        fits = false;
    if (fits) return p;
  }
  return std::nullopt;
}

// The choice that the text "name=way" is of, and its way.
std::pair<const Choice*, size_t> choice_of(const Situation& now, std::string_view text) {
  for (const Choice& c : now.choices)
    for (size_t way = 0; way < c.ways.size(); ++way)
      if (text == c.name + "=" + c.ways[way]) return {&c, way};
  return {};
}

std::string in_force(const Situation& now, std::string_view text) {
  const Choice* c = choice_of(now, text).first;
  return c ? c->name + "=" + c->ways[c->way] : std::string();
}

std::optional<Proposal> again(const Situation& now, std::string_view text) {
  const auto [c, way] = choice_of(now, text);
  if (!c || way == c->way || now.floor_unknown) return std::nullopt;
  return to_way(now, *c, way);
}

std::string limit(const Situation& now) {
  if (now.floor_unknown) return "the script has not told its metrics since the last choice";
  std::string out;
  for (const Choice& c : now.choices)
    if (c.way + 1 == c.ways.size())
      out += fmt::format("{}{} is {}, the cheapest", out.empty() ? "" : "; ", c.name, c.ways[c.way]);
  return out;
}

}  // namespace

extern const Response choice_response;
const Response choice_response{
    .name = "choice",
    .moves = "step_time latency energy accuracy",
    .what =
        "takes a cheaper way of those that the script has (`demand.choice`) where a time is missed, a more exact one "
        "where a metric is",
    .propose = propose,
    .relax = relax,
    .limit = limit,
    .in_force = in_force,
    .again = again,
};

}  // namespace ouro::runtime
