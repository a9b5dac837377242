// Joining nodes of a program, against a search of the whole graph.
#include "ir/loops/order_graph.h"

#include <functional>
#include <random>
#include <set>

#include <catch2/catch.hpp>

using ouro::ir::loops::OrderGraph;

namespace {

// The same, by brute force.
struct Naive {
  std::vector<std::set<int>> needs;
  std::vector<int> part_of;

  bool reaches(int from, int to, bool directly) {
    std::set<int> seen;
    std::function<bool(int, bool)> walk = [&](int n, bool first) {
      for (int need : needs[static_cast<size_t>(n)]) {
        need = part_of[static_cast<size_t>(need)];
        if (need == n) continue;
        if (need == to) {
          if (!first || directly) return true;
          continue;
        }
        if (seen.insert(need).second && walk(need, false)) return true;
      }
      return false;
    };
    return walk(from, true);
  }
  bool join(int a, int b) {
    if (reaches(a, b, false) || reaches(b, a, false)) return false;
    for (int& p : part_of)
      if (p == b) p = a;
    auto moved = std::move(needs[static_cast<size_t>(b)]);
    needs[static_cast<size_t>(a)].insert(moved.begin(), moved.end());
    needs[static_cast<size_t>(b)].clear();
    return true;
  }
};

}  // namespace

TEST_CASE("nodes are joined where nothing has to run between them") {
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const int n = 2 + below(40), edges = below(3 * n);
    OrderGraph g(static_cast<size_t>(n));
    Naive naive{std::vector<std::set<int>>(static_cast<size_t>(n)), {}};
    for (int i = 0; i < n; ++i) naive.part_of.push_back(i);
    std::vector<int> names(naive.part_of);  // the numbers are in no order
    std::shuffle(names.begin(), names.end(), random);
    for (int e = 0; e < edges; ++e) {
      int a = below(n), b = below(n);
      if (a == b) continue;
      if (a < b) std::swap(a, b);
      g.add(names[static_cast<size_t>(a)], names[static_cast<size_t>(b)]);
      naive.needs[static_cast<size_t>(names[static_cast<size_t>(a)])].insert(names[static_cast<size_t>(b)]);
    }
    g.seal();
    for (int k = 0; k < 3 * n; ++k) {
      const int a = g.find(below(n)), b = g.find(below(n));
      if (a == b) continue;
      CAPTURE(round, k, a, b);
      REQUIRE(g.join(a, b) == naive.join(a, b));
      REQUIRE(g.find(b) == naive.part_of[static_cast<size_t>(b)]);
    }
  }
}
