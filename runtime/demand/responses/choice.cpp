// The script's own choices (choice.h): a cheaper way where a time is missed, a more exact one where a metric is. What
// is expected of a way is in response_ways.h. Before the script has told its metrics of the way in force no further one
// is tried.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/demand/response.h"
#include "runtime/demand/response_ways.h"

namespace ouro::runtime {

namespace {

std::optional<Proposal> propose(const Situation& now) {
  if (now.floor_unknown) return std::nullopt;
  if (metric_missed(now))
    for (const Choice& c : now.choices)
      if (!c.of_library && c.way > 0) return to_way(now, c, c.way - 1);
  for (const Choice& c : now.choices)
    if (!c.of_library && cost_missed(now, c) && c.way + 1 < c.ways.size()) return to_way(now, c, c.way + 1);
  return std::nullopt;
}

// Nobody asks for a time any more, or there is time for a more exact way.
std::optional<Proposal> relax(const Situation& now) {
  for (const Choice& c : now.choices)
    if (!c.of_library)
      if (std::optional<Proposal> p = to_more_exact(now, c)) return p;
  return std::nullopt;
}

// The choice that the text "name=way" is of, and its way.
std::pair<const Choice*, size_t> choice_of(const Situation& now, std::string_view text) {
  for (const Choice& c : now.choices)
    for (size_t way = 0; way < c.ways.size() && !c.of_library; ++way)
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
  if (std::ranges::all_of(now.choices, &Choice::of_library)) return {};
  if (now.floor_unknown) return "the script has not told its metrics since the last choice";
  std::string out;
  for (const Choice& c : now.choices)
    if (!c.of_library && c.way + 1 == c.ways.size())
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
