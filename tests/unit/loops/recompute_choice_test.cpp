// The choice of what is computed again (ir/loops/recompute_choice.h) beside the optimum, on small graphs.
//
// The optimum is what the integer program of Checkmate (Jain et al., 2020) finds: operations in a given order, before
// each of which any values may be computed again, as often as wanted, and dropped. Here it is found by Dijkstra's
// search over what lies in memory before each operation.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <random>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "ir/loops/recompute_choice.h"

using namespace ouro::ir::loops;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Operation i makes value i out of those in sources[i].
struct Small {
  std::vector<std::vector<int>> sources;
  std::vector<int64_t> bytes;
  std::vector<double> work;
  size_t size() const { return bytes.size(); }

  int64_t peak() const {
    std::vector<size_t> last(size());
    for (size_t i = 0; i < size(); ++i) {
      last[i] = i;
      for (int s : sources[i]) last[static_cast<size_t>(s)] = i;
    }
    int64_t most = 0;
    for (size_t at = 0; at < size(); ++at) {
      int64_t now = 0;
      for (size_t i = 0; i <= at; ++i)
        if (last[i] >= at) now += bytes[i];
      most = std::max(most, now);
    }
    return most;
  }

  RecomputeModel model() const {
    std::vector<Droppable> values;
    for (size_t i = 0; i < size(); ++i) {
      Droppable x{.id = static_cast<uint32_t>(i),
                  .bytes = bytes[i],
                  .work = work[i],
                  .again = true,
                  .made = static_cast<int>(i)};
      for (size_t r = i + 1; r < size(); ++r)
        if (std::ranges::count(sources[r], static_cast<int>(i))) x.reads.push_back(static_cast<int>(r));
      for (int s : sources[i]) x.sources.push_back(static_cast<uint32_t>(s));
      x.gaps = gaps_of(x.made, x.reads);
      values.push_back(x);
    }
    return {std::move(values), size()};
  }

  // The least work of what is computed again; kNever: the budget cannot be met.
  double optimum(int64_t budget) const {
    const size_t n = size(), masks = size_t{1} << n;
    std::vector<uint32_t> needs(n, 0);
    for (size_t i = 0; i < n; ++i)
      for (int s : sources[i]) needs[i] |= 1u << s;
    std::vector<int64_t> held(masks, 0);
    for (uint32_t m = 1; m < masks; ++m) {
      const auto low = static_cast<size_t>(__builtin_ctz(m));
      held[m] = held[m & (m - 1)] + bytes[low];
    }
    std::vector<double> best((n + 1) * masks, kNever);
    using State = std::pair<double, size_t>;
    std::priority_queue<State, std::vector<State>, std::greater<>> open;
    auto reach = [&](double cost, size_t at, uint32_t mask) {
      double& known = best[at * masks + mask];
      if (held[mask] > budget || cost >= known) return;
      known = cost;
      open.emplace(cost, at * masks + mask);
    };
    reach(0, 0, 0);
    while (!open.empty()) {
      const auto [cost, state] = open.top();
      open.pop();
      if (cost > best[state]) continue;
      const size_t at = state / masks;
      const auto mask = static_cast<uint32_t>(state % masks);
      if (at == n) return cost;
      if ((mask & needs[at]) == needs[at]) reach(cost, at + 1, mask | 1u << at);
      for (size_t i = 0; i < at; ++i) {
        const uint32_t bit = 1u << i;
        if (mask & bit)
          reach(cost, at, mask & ~bit);
        else if ((mask & needs[i]) == needs[i])
          reach(cost + work[i], at, mask | bit);
      }
    }
    return kNever;
  }
};

// A chain of layers and its way back: layer i of the way back reads what layer i made and what it read.
Small chain(int depth, std::mt19937& random, bool even) {
  Small out;
  auto add = [&](std::vector<int> sources) {
    out.sources.push_back(std::move(sources));
    out.bytes.push_back(even ? 100'000 : 20'000 * static_cast<int64_t>(1 + random() % 10));
    out.work.push_back(even ? 1e6 : 1e5 * static_cast<double>(1 + random() % 20));
    return static_cast<int>(out.size()) - 1;
  };
  std::vector<int> made{add({})};
  for (int i = 1; i < depth; ++i) made.push_back(add({made.back()}));
  int g = made.back();
  for (int i = depth; i-- > 0;) {
    std::vector<int> sources{g};
    if (made[static_cast<size_t>(i)] != g) sources.push_back(made[static_cast<size_t>(i)]);
    if (i > 0) sources.push_back(made[static_cast<size_t>(i - 1)]);
    g = add(std::move(sources));
  }
  return out;
}

// Operands from nearby mostly, from far now and then.
Small any_graph(int count, std::mt19937& random) {
  Small out;
  for (int i = 0; i < count; ++i) {
    std::vector<int> sources;
    for (int k = 0; k < 2 && i > 0; ++k) {
      const int near = std::max(0, i - 1 - static_cast<int>(random() % 2)),
                far = static_cast<int>(random() % static_cast<unsigned>(i));
      const int s = random() % 3 ? near : far;
      if (!std::ranges::count(sources, s)) sources.push_back(s);
    }
    out.sources.push_back(sources);
    out.bytes.push_back(20'000 * static_cast<int64_t>(1 + random() % 10));
    out.work.push_back(1e5 * static_cast<double>(1 + random() % 20));
  }
  return out;
}

// Of a kind of graphs, at budgets between the least that can be met and what is held without one.
struct Compared {
  std::vector<double> ratios;  // of the work chosen to the least
  int missed = 0;              // budgets that can be met, and were not
  std::vector<double> least;   // of a graph: the least budget that is met, to the least that can be

  void add(const Small& g) {
    RecomputeModel model = g.model();
    const int64_t peak = g.peak();
    int64_t met = peak, can = peak;
    for (int share = 95; share >= 20; share -= 5) {
      const int64_t budget = peak * share / 100;
      const double optimal = g.optimum(budget);
      if (optimal == kNever) break;
      can = budget;
      const RecomputeModel::Outcome o = choose(model, budget);
      CHECK(o.work >= 0);
      if (o.peak > budget) {
        ++missed;
        continue;
      }
      met = budget;
      if (optimal > 0) {
        CHECK(o.work >= optimal * 0.999);
        ratios.push_back(o.work / optimal);
      }
    }
    least.push_back(static_cast<double>(met) / static_cast<double>(can));
  }
  static double at(double share, std::vector<double> list) {
    if (list.empty()) return 1;
    std::ranges::sort(list);
    return list[std::min(list.size() - 1, static_cast<size_t>(share * static_cast<double>(list.size())))];
  }
  std::string text() const {
    return fmt::format(
        "{} budgets met: median {:.2f}, nine tenths {:.2f}, worst {:.2f}; {} missed; least budget: median {:.2f}, "
        "worst {:.2f}",
        ratios.size(), at(0.5, ratios), at(0.9, ratios), at(1, ratios), missed, at(0.5, least), at(1, least));
  }
};

}  // namespace

TEST_CASE("the_choice_of_what_is_computed_again_is_near_the_optimum") {
  std::mt19937 random(20261128);
  Compared even, uneven, any;
  for (int depth = 3; depth <= 7; ++depth) even.add(chain(depth, random, true));
  for (int i = 0; i < 100; ++i) uneven.add(chain(6, random, false));
  for (int i = 0; i < 100; ++i) any.add(any_graph(12, random));
  INFO("even chains: " << even.text());
  INFO("uneven chains: " << uneven.text());
  INFO("any graphs: " << any.text());
  for (const Compared* c : {&even, &uneven, &any}) {
    CHECK(c->ratios.size() > 15);
    CHECK(Compared::at(0.5, c->ratios) == Approx(1));
    CHECK(Compared::at(0.9, c->ratios) < 1.1);
    CHECK(Compared::at(0.5, c->least) < 1.25);
    CHECK(Compared::at(1, c->least) < 1.5);  // values are computed again once, the optimum does it more often
  }
  CHECK(Compared::at(1, even.ratios) == Approx(1));
  CHECK(Compared::at(1, uneven.ratios) < 2.5);
}

TEST_CASE("a_move_is_evaluated_as_the_whole_model_would_be") {
  std::mt19937 random(5);
  for (int graph = 0; graph < 50; ++graph) {
    const Small g = any_graph(12, random);
    RecomputeModel model = g.model(), again = g.model();
    const int64_t budget = g.peak() / 2;
    auto any_way = [&](size_t i) {
      const size_t ways = model.values()[i].gaps.size() + 2, way = random() % ways;
      return way + 1 == ways ? RecomputeModel::kHeld : way;
    };
    for (size_t i = 0; i < g.size(); ++i) model.dropped[i] = any_way(i);
    again.dropped = model.dropped;
    const RecomputeModel::Outcome before = model.evaluate(budget);
    for (int k = 0; k < 20; ++k) {
      const size_t i = random() % g.size(), way = any_way(i), was = again.dropped[i];
      const RecomputeModel::Outcome fast = model.with(i, way, budget);
      again.dropped[i] = way;
      const RecomputeModel::Outcome whole = again.evaluate(budget);
      again.dropped[i] = was;
      CHECK(std::tuple(fast.peak, fast.excess, fast.work, fast.worst) ==
            std::tuple(whole.peak, whole.excess, whole.work, whole.worst));
    }
    CHECK(model.dropped == again.dropped);
    CHECK(model.with(0, model.dropped[0], budget).excess == before.excess);
  }
}
