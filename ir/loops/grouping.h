// The values of a block as kernels see them. A value is another name of a value in memory, or is recomputed by each of
// its consumers, or is a member of the group that computes it. Two passes make the groups: each value that is wanted in
// memory starts a group (grouping.cpp), then groups are merged (merge_groups.cpp). cluster.cpp puts them in order. Each
// pass takes time in proportion to the block, because a group is bounded in its cost and in the buffers that it reads.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "ir/loops/graph.h"
#include "ir/loops/order_graph.h"

namespace ouro::ir::loops {

inline constexpr size_t kMaxBuffers = 24;  // of one kernel
inline constexpr int kMaxCost = 600;
// Axes that a kernel's reductions run over: each is a loop with a variable (of 64) of its own.
inline constexpr size_t kMaxReduced = 40;

struct Group {
  std::vector<ValueId> members;  // in order
  bool rows = false;
  Polys outer, inner;       // inner is empty unless rows
  size_t reduced = 0;       // axes that its reductions run over
  int cost = 0;             // of an element
  std::set<ValueId> reads;  // in memory
  bool alive = true;
};

class Grouping {
 public:
  explicit Grouping(const Graph& g);

  /// Groups as they start; then as many of them as may be are one.
  void make_groups();
  void merge_groups();
  /// A value that another group reads is stored.
  void store_what_is_read();

  const Graph& graph() const { return g_; }
  const std::vector<ValueId>& root() const { return root_; }
  const std::vector<bool>& stored() const { return stored_; }
  const std::vector<Group>& groups() const { return groups_; }
  int group(ValueId v) const { return group_[v]; }  // -1: none
  bool is_free(ValueId v) const { return free_[v]; }
  bool computed(ValueId v) const {
    return !g_[v].is<form::Input>() && !g_[v].is<form::Opaque>() && !is_contraction(g_[v]);
  }

  // Nodes of an order: the groups, then lets that run by themselves.
  const std::vector<uint32_t>& lets() const { return lets_; }
  size_t node_count() const { return groups_.size() + lets_.size(); }
  /// The node that makes a value; -1: none of this block.
  int node_of(ValueId v) const;
  /// The node of effects that this one stands behind; -1: none.
  int runs_after(int node) const {
    const int let = node - static_cast<int>(groups_.size());
    const int before = let < 0 ? -1 : runs_after_[static_cast<size_t>(let)];
    return before < 0 ? -1 : static_cast<int>(groups_.size()) + before;
  }
  /// The let of `name` as a node; -1: it is none that runs by itself.
  int let_node(NameId name) const {
    const int at = let_of_name_[index(name)];
    return at < 0 ? -1 : static_cast<int>(groups_.size()) + at;
  }
  /// For each node, those it needs.
  std::vector<std::set<int>> needs() const;

 private:
  // Computed in some kernel, and not just another name.
  bool in_kernels(ValueId v) const { return computed(v) && root_[v] == v; }
  void store(ValueId v) {
    if (computed(root_[v])) stored_[root_[v]] = true;
  }

  // grouping.cpp
  void find_roots_and_stored();
  void find_free();
  void find_lets();
  bool source_may_repeat(ValueId source, const Value& user) const;
  void consumers(ValueId v, std::set<ValueId>& out) const;
  bool repeats(ValueId v, ValueId consumer) const;
  void set_domain(Group& group, ValueId v) const;
  bool joins(ValueId v, ValueId consumer, Group& group);
  bool fits_inside(ValueId v, ValueId consumer, Group& group);
  void scalar_needs(ValueId v, const std::vector<int>& of_name, std::set<int>& needs) const;

  size_t reduced_axes(ValueId v) const;
  bool own_loops(ValueId v) const;
  uint64_t looped_for(ValueId consumer) const;
  bool varies_along(ValueId v, uint64_t axes) const;
  bool makes_rows(const Group& group, const Polys& outer, const Polys& inner) const;
  void reads(ValueId v, int own, std::set<ValueId>& out) const;

  // How a user reads a value: at its own place only (through free views that keep axes where they are), or elsewhere.
  enum class Reads : uint8_t { no, own_place, elsewhere };
  Reads reads_at_own_place(ValueId user, ValueId v) const;
  /// visit(v, how) for each value in memory or of a group that `user` reads.
  template <class Visit>
  void each_read(ValueId user, Visit&& visit) const;
  template <class Visit>
  void each_read_through(ValueId at, const std::vector<int>& axes, bool own_place, Visit&& visit) const;

  // merge_groups.cpp
  std::vector<int> partners(int group);
  bool compatible(const Group& a, const Group& b, Group& joined) const;
  bool nests_reductions(const std::vector<ValueId>& in_a, const std::vector<ValueId>& in_b) const;
  bool merge(int a, int b);

  const Graph& g_;
  std::vector<ValueId> root_;
  std::vector<bool> stored_, free_;
  std::vector<bool> in_place_;    // is read at its own place all the way up to the group's loops
  std::vector<uint64_t> looped_;  // axes of it that a reduction around it, in its group, runs over
  std::vector<int> group_;
  std::vector<Group> groups_;
  std::vector<uint32_t> lets_;
  std::vector<int> let_of_name_;           // which of lets_ makes a name, or -1
  std::vector<int> runs_after_;            // of each of lets_: the one before it that has effects as well, or -1
  OrderGraph order_{0};                    // while groups are merged
  std::vector<std::vector<int>> readers_;  // of each value, the groups that read it as they started, in order
};

template <class Visit>
void Grouping::each_read(ValueId user, Visit&& visit) const {
  const Value& x = g_[user];
  const bool own_place = x.is<form::Elementwise>() || x.is<form::Reduce>() || x.is<form::Triangle>();
  for (const Use& u : x.inputs) {
    if (u.kind != Use::Kind::value) continue;
    const Polys& in = g_[u.value].dims;
    const Polys& domain = x.is<form::Elementwise>() ? x.dims : in;
    std::vector<int> axes(in.size());
    for (size_t a = 0; a < in.size(); ++a) axes[a] = in[a].is(1) ? -1 : static_cast<int>(a + domain.size() - in.size());
    each_read_through(u.value, axes, own_place, visit);
  }
}

template <class Visit>
void Grouping::each_read_through(ValueId at, const std::vector<int>& axes, bool own_place, Visit&& visit) const {
  if (!free_[at]) {
    bool here = own_place && root_[at] == at;
    for (size_t a = 0; here && a < axes.size(); ++a) {
      if (axes[a] >= 0 && axes[a] != static_cast<int>(a)) here = false;
      if (axes[a] < 0 && !g_[at].dims[a].is(1)) here = false;  // repeated by a view
    }
    visit(root_[at], here ? Reads::own_place : Reads::elsewhere);
    return;
  }
  const Value& x = g_[at];
  const auto* read = x.get<form::Read>();
  bool stays = read != nullptr;
  if (read)
    for (const AxisAt& a : read->at) stays = stays && a.step == 1 && a.start == SymDim::number(0);
  for (const Use& u : x.inputs) {
    if (u.kind != Use::Kind::value) continue;
    const Polys& in = g_[u.value].dims;
    std::vector<int> next(in.size(), -1);
    if (stays) {
      for (size_t a = 0; a < in.size(); ++a)
        next[a] = read->at[a].axis < 0 ? -1 : axes[static_cast<size_t>(read->at[a].axis)];
    } else if (x.is<form::Elementwise>()) {
      for (size_t a = 0; a < in.size(); ++a) next[a] = in[a].is(1) ? -1 : axes[a + axes.size() - in.size()];
    }
    each_read_through(u.value, next, own_place && (stays || x.is<form::Elementwise>()), visit);
  }
}

}  // namespace ouro::ir::loops
