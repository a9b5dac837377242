#include "ir/loops/cluster.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/loops/grouping.h"
#include "ir/opt/edit.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

// Groups and lets in an order in which each stands behind what it needs, as near as may be to where its text stands.
// One that gives back at least as much memory as it takes runs as soon as it can: the gradient of a bias, which is
// summed up where the parameters are updated, would else keep what it is the sum of until the end of the step. So
// numbers that kernels take are there first: an optimizer's (its step size and the like) stand behind the whole
// backward pass, and would hold up every update. What leaves the block does not count: it has memory of its own.
class Ordering {
 public:
  explicit Ordering(const Grouping& made)
      : made_(made),
        g_(made.graph()),
        included_(g_.values.size(), -1),
        needs_(made.needs()),
        state_(needs_.size(), fresh),
        missing_(needs_.size(), 0),
        needed_by_(needs_.size()),
        reads_(needs_.size()),
        readers_(g_.values.size(), 0),
        ahead_(needs_.size(), false) {
    for (size_t n = 0; n < needs_.size(); ++n) {
      missing_[n] = needs_[n].size();
      for (int need : needs_[n]) needed_by_[static_cast<size_t>(need)].push_back(static_cast<int>(n));
    }
    find_reads();
  }

  std::vector<Step> run() {
    const auto& groups = made_.groups();
    const size_t n = made_.node_count();
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
    numbers_first();
    std::vector<std::pair<int, std::set<int>::const_iterator>> work;
    auto visit = [&](int node) {
      State& s = state_[static_cast<size_t>(node)];
      if (s == open) ouro_bug("clusters need each other");
      if (s == done) return;
      s = open;
      work.emplace_back(node, needs_[static_cast<size_t>(node)].begin());
    };
    for (int root : by_key) {
      visit(root);
      while (!work.empty()) {
        auto& [node, next] = work.back();
        if (next != needs_[static_cast<size_t>(node)].end()) {
          visit(*next++);
          continue;
        }
        const int ready = node;
        work.pop_back();
        carry_out(ready);
      }
    }
    return std::move(steps_);
  }

 private:
  enum State : char { fresh, open, done };

  const Let& let_of(int node) const {
    return g_.function->block(g_.block).lets[made_.lets()[static_cast<size_t>(node) - made_.groups().size()]];
  }

  // Arithmetic of numbers alone that kernels take the results of. Those that cannot raise are carried out ahead; of
  // those that may only floats: a power of ints may be too long to be made twice.
  void numbers_first() {
    const auto& groups = made_.groups();
    const Function& f = *g_.function;
    std::vector<bool> wanted(needs_.size(), false);
    for (size_t n = 0; n < groups.size(); ++n)
      if (groups[n].alive)
        for (int need : needs_[n])
          if (static_cast<size_t>(need) >= groups.size()) wanted[static_cast<size_t>(need)] = true;
    for (size_t n = needs_.size(); n-- > groups.size();)
      if (wanted[n])
        for_each_arg(f, let_of(static_cast<int>(n)), [&](Atom a) {
          if (const int need = a.is_name() ? made_.let_node(a.name()) : -1; need >= 0)
            wanted[static_cast<size_t>(need)] = true;
        });
    for (size_t n = groups.size(); n < needs_.size(); ++n)
      if (wanted[n] && is_number(let_of(static_cast<int>(n)))) {
        ahead_[n] = true;
        // At its place it keeps the order of what raises and of effects; who takes the number does not wait for that.
        std::erase_if(needed_by_[n], [&](int user) {
          if (made_.runs_after(user) == static_cast<int>(n)) return false;
          needs_[static_cast<size_t>(user)].erase(static_cast<int>(n));
          --missing_[static_cast<size_t>(user)];
          return true;
        });
        steps_.push_back(
            {.kind = Step::Kind::let, .cluster = {}, .let = made_.lets()[n - groups.size()], .ahead = true});
      }
  }
  bool is_number(const Let& l) const {
    const Function& f = *g_.function;
    if (is_tensor_op(l.op) || l.handover != Let::kNoHandover) return false;
    const Type* t = f.name_info(l.result).type;
    if (!t || !(t->kind == TypeKind::floating || t->kind == TypeKind::integer || t->kind == TypeKind::boolean))
      return false;
    bool there = true;  // all that it takes
    for_each_arg(f, l, [&](Atom a) {
      if (!a.is_name()) return;
      const Type* of = f.name_info(a.name()).type;
      const int need = made_.let_node(a.name());
      there = there && of &&
              (of->kind == TypeKind::floating || of->kind == TypeKind::integer || of->kind == TypeKind::boolean) &&
              (need < 0 || ahead_[static_cast<size_t>(need)]);
    });
    return there &&
           (opt::is_pure(f, l) || (t->kind == TypeKind::floating && (l.op == prim::truediv || l.op == prim::pow)));
  }

  // What a node reads in memory, of what is made in this block.
  void find_reads() {
    const auto& groups = made_.groups();
    const Function& f = *g_.function;
    auto add = [&](size_t node, ValueId v) {
      const ValueId r = made_.root()[v];
      if (g_[r].is<form::Input>() || !reads_[node].insert(r).second) return;
      ++readers_[r];
    };
    for (size_t i = 0; i < groups.size(); ++i)
      if (groups[i].alive)
        for (ValueId v : groups[i].reads) add(i, v);
    for (size_t i = 0; i < made_.lets().size(); ++i)
      for_each_arg(f, f.block(g_.block).lets[made_.lets()[i]], [&](Atom a) {
        if (a.is_name() && g_.of_name[index(a.name())] != kNoValue) add(groups.size() + i, g_.of_name[index(a.name())]);
      });
    for (ValueId v = 0; v < g_.values.size(); ++v)
      if (g_.live_out[v]) ++readers_[made_.root()[v]];  // is never given back
  }

  int64_t bytes_of(ValueId v) const {
    constexpr int64_t kLikely = 64;  // of an axis of which nothing is known
    return product(g_[v].dims).evaluate([](uint32_t) { return kLikely; }) * static_cast<int64_t>(size_of(g_[v].type));
  }
  // Its own name, or another one of it.
  bool leaves(ValueId v) const { return g_.live_out[v]; }
  bool gives_back(int node) const {
    const size_t n = static_cast<size_t>(node);
    int64_t bytes = 0;
    bool any = false;
    for (ValueId v : reads_[n])
      if (readers_[v] == 1) bytes += bytes_of(v), any = true;
    if (!any) return false;
    if (n < made_.groups().size()) {
      for (ValueId v : made_.groups()[n].members)
        if (made_.stored()[v] && !leaves(v)) bytes -= bytes_of(v);
    } else {
      const Let& l = g_.function->block(g_.block).lets[made_.lets()[n - made_.groups().size()]];
      const ValueId v = g_.of_name[index(l.result)];
      if (v == kNoValue || !is_contraction(g_[v])) return false;
      bytes -= bytes_of(v);
    }
    return bytes >= 0;
  }

  // The node, and those that can run now and give back memory.
  void carry_out(int first) {
    std::vector<int> now{first};
    while (!now.empty()) {
      const int node = now.back();
      now.pop_back();
      const size_t n = static_cast<size_t>(node);
      if (state_[n] == done) continue;
      state_[n] = done;
      emit(node);
      for (ValueId v : reads_[n]) --readers_[v];
      std::vector<int> candidates;
      for (int user : needed_by_[n]) {
        --missing_[static_cast<size_t>(user)];
        candidates.push_back(user);
      }
      // Who reads last what this one has read, gives it back now.
      for (ValueId v : reads_[n])
        if (readers_[v] == 1)
          for (int user : users_of(v)) candidates.push_back(user);
      std::sort(candidates.begin(), candidates.end(), std::greater<>());
      for (int user : candidates)
        if (state_[static_cast<size_t>(user)] == fresh && missing_[static_cast<size_t>(user)] == 0 && gives_back(user))
          now.push_back(user);
    }
  }
  // Nodes that need the one which makes v.
  const std::vector<int>& users_of(ValueId v) const {
    static const std::vector<int> none;
    const int maker = made_.node_of(v);
    return maker < 0 ? none : needed_by_[static_cast<size_t>(maker)];
  }

  void emit(int node) {
    const size_t groups = made_.groups().size();
    if (static_cast<size_t>(node) >= groups) {
      if (ahead_[static_cast<size_t>(node)] && opt::is_pure(*g_.function, let_of(node))) return;
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
  std::vector<std::set<int>> needs_;
  std::vector<State> state_;
  std::vector<size_t> missing_;              // of a node's needs, those that have not run
  std::vector<std::vector<int>> needed_by_;  // the other way round
  std::vector<std::set<ValueId>> reads_;
  std::vector<int> readers_;  // of a value, the nodes that have not read it yet
  std::vector<bool> ahead_;   // by node
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
