// The loop's choices: what a script, or the library for a demand, lets it choose from (choice.h).
#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/demand/demand.h"
#include "runtime/demand/loop.h"

namespace ouro::runtime {

namespace {
constexpr size_t kMostChoices = 64, kMostWays = 64;
}  // namespace

std::string Loop::add_choice(std::string_view name, std::vector<std::string> ways, bool of_library, bool saves_memory,
                             std::vector<double> holds) {
  recall();
  std::lock_guard guard(lock_);
  if (ways.size() < 2 || ways.size() > kMostWays)
    return fmt::format("choice '{}': from 2 to {} ways are expected, not {}", name, kMostWays, ways.size());
  const auto old = std::ranges::find(choices_, name, &Choice::name);
  const bool chosen_for =
      std::ranges::any_of(demand_kinds(), [&](const DemandKind* k) { return k->leaves_choice && k->name == name; });
  if (chosen_for && !of_library) return fmt::format("choice '{}': a demand is called so", name);
  if (old != choices_.end() && old->of_library != of_library)
    return fmt::format("choice '{}': a demand is called so", name);
  if (old != choices_.end()) choices_.erase(old);
  if (choices_.size() == kMostChoices) return fmt::format("{} choices are the most", kMostChoices);
  Choice& c = choices_.emplace_back();
  c.name = name;
  c.seen.resize(ways.size());
  c.ways = std::move(ways);
  c.of_library = of_library;
  c.saves_memory = saves_memory;
  c.holds = std::move(holds);
  // Not for the library's: metrics of a pruned model depend on how far it had learned.
  for (size_t way = 0; way < c.ways.size() && !of_library; ++way)
    if (const Remembered::Amounts* seen = remembered_.of("choice", c.name + "=" + c.ways[way])) {
      c.seen[way].metrics = *seen;
      if (auto time = c.seen[way].metrics.extract("step_time")) c.seen[way].step_time = time.mapped();
    }
  return {};
}

void Loop::remove_choice(std::string_view name) {
  std::lock_guard guard(lock_);
  std::erase_if(choices_, [&](const Choice& c) { return c.name == name; });
}

std::optional<size_t> Loop::way_of(std::string_view name) {
  std::lock_guard guard(lock_);
  const auto c = std::ranges::find(choices_, name, &Choice::name);
  return c == choices_.end() ? std::nullopt : std::optional(c->way);
}

void Loop::choose_threads(int threads) {
  chosen_threads_.store(threads, std::memory_order_relaxed);
  (void)demands_.set({}, DemandOrigin::script);  // nothing new is asked for: all is worked out again
}

// What the script has told of itself was told of the way before.
void Loop::choose_way(std::string_view name, size_t way) {
  std::lock_guard guard(lock_);
  const auto c = std::ranges::find(choices_, name, &Choice::name);
  if (c == choices_.end() || way >= c->ways.size()) return;
  c->way = way;
  c->since = ticks();
  std::erase_if(measures_.metrics, [&](const auto& m) { return !reasons_.contains(m.first); });
  if (c->of_library) to_carry_.insert(c->name);
}

std::string Loop::no_way(std::string_view name, std::string_view way) {
  std::lock_guard guard(lock_);
  const auto c = std::ranges::find_if(choices_, [&](const Choice& c) { return c.of_library && c.name == name; });
  if (c == choices_.end())
    return fmt::format("{}: the script has given nothing to choose from (demand.{})", name, name);
  if (std::ranges::find(c->ways, way) != c->ways.end()) return {};
  return fmt::format("{} is {}, or 'auto', not '{}'", name, fmt::join(c->ways, ", "), way);
}

bool Loop::carries_later(const std::string& name) {
  std::lock_guard guard(lock_);
  const auto c = std::ranges::find(choices_, name, &Choice::name);
  if (c == choices_.end() || !c->of_library || !c->saves_memory) return false;
  to_carry_.insert(name);
  has_goals_.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace ouro::runtime
