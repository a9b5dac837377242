#include "ir/loops/cluster.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/loops/grouping.h"
#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

// Groups and lets in an order in which each stands behind what it needs, as near as may be to where its text stands.
class Ordering {
 public:
  explicit Ordering(const Grouping& made) : made_(made), g_(made.graph()), included_(g_.values.size(), -1) {}

  std::vector<Step> run() {
    const auto& groups = made_.groups();
    const size_t n = made_.node_count();
    const std::vector<std::set<int>> needs = made_.needs();
    std::vector<uint32_t> key(n, 0);
    std::vector<int> by_key;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].alive) by_key.push_back(static_cast<int>(i));
      for (ValueId v : groups[i].members)
        if (g_[v].let != UINT32_MAX) key[i] = std::max(key[i], g_[v].let);
    }
    for (size_t i = groups.size(); i < n; ++i) {
      by_key.push_back(static_cast<int>(i));
      key[i] = made_.lets()[i - groups.size()];
    }
    std::stable_sort(by_key.begin(), by_key.end(),
                     [&](int a, int b) { return key[static_cast<size_t>(a)] < key[static_cast<size_t>(b)]; });
    enum : char { fresh, open, done };
    std::vector<char> state(n, fresh);
    std::vector<std::pair<int, std::set<int>::const_iterator>> work;
    auto visit = [&](int node) {
      char& s = state[static_cast<size_t>(node)];
      if (s == open) ouro_bug("clusters need each other");
      if (s == done) return;
      s = open;
      work.emplace_back(node, needs[static_cast<size_t>(node)].begin());
    };
    for (int root : by_key) {
      visit(root);
      while (!work.empty()) {
        auto& [node, next] = work.back();
        if (next != needs[static_cast<size_t>(node)].end()) {
          visit(*next++);
          continue;
        }
        state[static_cast<size_t>(node)] = done;
        emit(node);
        work.pop_back();
      }
    }
    return std::move(steps_);
  }

 private:
  void emit(int node) {
    const size_t groups = made_.groups().size();
    if (static_cast<size_t>(node) >= groups) {
      steps_.push_back(
          {.kind = Step::Kind::let, .cluster = {}, .let = made_.lets()[static_cast<size_t>(node) - groups]});
      return;
    }
    const Group& group = made_.groups()[static_cast<size_t>(node)];
    Step step{.kind = Step::Kind::kernel, .cluster = {}};
    std::vector<ValueId>& members = step.cluster.members;
    for (ValueId v : group.members) include(v, node, members);
    std::sort(members.begin(), members.end());
    for (ValueId v : members) {
      if (made_.group(v) == node && made_.stored()[v]) step.cluster.outputs.push_back(v);
      if (needs_index_check(g_[v]))
        steps_.push_back({.kind = Step::Kind::check_places, .cluster = {}, .value = v, .let = g_[v].let});
    }
    step.cluster.outer = group.outer;
    if (group.rows) step.cluster.inner = group.inner;
    if (!step.cluster.outputs.empty()) steps_.push_back(std::move(step));
  }

  void include(ValueId v, int node, std::vector<ValueId>& members) {
    if (included_[v] == node) return;
    included_[v] = node;
    members.push_back(v);
    for (const Use& u : g_[v].inputs)
      if (u.kind == Use::Kind::value && made_.root()[u.value] == u.value && made_.computed(u.value) &&
          (made_.is_free(u.value) || made_.group(u.value) == node))
        include(u.value, node, members);
  }

  const Grouping& made_;
  const Graph& g_;
  std::vector<int> included_;  // the node whose members a value was last one of
  std::vector<Step> steps_;
};

}  // namespace

Clustering cluster(const Graph& g) {
  Grouping made(g);
  made.make_groups();
  made.merge_groups();
  made.store_what_is_read();
  Clustering out;
  out.steps = Ordering(made).run();
  out.root = made.root();
  out.stored = made.stored();
  return out;
}

std::string print(const Graph& g, const Clustering& c) {
  std::string out;
  auto list = [](const std::vector<ValueId>& v) {
    std::string s;
    for (ValueId x : v) s += fmt::format("{}v{}", s.empty() ? "" : " ", x);
    return s;
  };
  auto dims = [](const Polys& p) {
    std::string s;
    for (const Poly& x : p) s += fmt::format("{}{}", s.empty() ? "" : ", ", x.text());
    return "[" + s + "]";
  };
  for (const Step& s : c.steps) {
    if (s.kind == Step::Kind::let)
      out += fmt::format("let {}\n", name_of(g.function->block(g.block).lets[s.let].op));
    else if (s.kind == Step::Kind::check_places)
      out += fmt::format("check v{}\n", s.value);
    else
      out += fmt::format("kernel {}{}: {} -> {}\n", dims(s.cluster.outer),
                         s.cluster.inner.empty() ? "" : " rows " + dims(s.cluster.inner), list(s.cluster.members),
                         list(s.cluster.outputs));
  }
  return out;
}

}  // namespace ouro::ir::loops
