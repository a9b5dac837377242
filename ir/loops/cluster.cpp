#include "ir/loops/cluster.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "ir/effect.h"
#include "ir/prim.h"
#include "ir/walk.h"
#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

constexpr int kCheapChain = 4;      // instructions that are rather repeated than stored
constexpr int kCheapRepeat = 3;     // ... also when a broadcast repeats them many times
constexpr size_t kMaxBuffers = 24;  // of one kernel
constexpr int kMaxCost = 600;
constexpr size_t kMaxReduced =
    40;  // axes that a kernel's reductions run over: each is a loop with a variable (of 64) of its own

bool diagonal(const Value& v) {
  const auto* read = v.get<form::Read>();
  const auto* place = v.get<form::Place>();
  return (read && has_diagonal(read->at)) || (place && has_diagonal(place->at));
}
bool is_view(const Value& v) { return v.is<form::Read>() && !diagonal(v); }

class Clusterer {
 public:
  explicit Clusterer(const Graph& g)
      : g_(g),
        root_(g.values.size()),
        stored_(g.values.size()),
        free_(g.values.size()),
        in_place_(g.values.size(), true),
        looped_(g.values.size(), 0),
        group_(g.values.size(), -1) {}

  Clustering run() {
    find_roots_and_stored();
    find_free();
    make_groups();
    merge_groups();
    Clustering out;
    order(out);
    out.root = root_;
    out.stored = stored_;
    return out;
  }

 private:
  struct Group {
    std::vector<ValueId> anchors;
    bool rows = false;
    Polys outer, inner;  // inner is empty unless rows
    size_t reduced = 0;  // axes that its reductions run over
    bool alive = true;
  };

  bool computed(ValueId v) const {
    return !g_[v].is<form::Input>() && !g_[v].is<form::Opaque>() && !is_contraction(g_[v]);
  }
  // Computed in some kernel, and not just another name.
  bool in_kernels(ValueId v) const { return computed(v) && root_[v] == v; }

  void store(ValueId v) {
    ValueId r = root_[v];
    if (computed(r)) stored_[r] = true;
  }

  // Wanted in memory: by those outside of kernels, and by whoever reads it in another shape.
  void find_roots_and_stored() {
    std::vector<bool> wanted = g_.live_out;
    auto renames = [&](ValueId v) {  // only changes how memory is read
      const Value& x = g_[v];
      const auto* read = x.get<form::Read>();
      return x.is<form::Reshape>() || (read && read->only_ones && wanted[v]);
    };
    for (ValueId v = static_cast<ValueId>(g_.values.size()); v-- > 0;) {
      const Value& x = g_[v];
      if (needs_index_check(x)) {
        wanted[x.inputs[1].value] = true;
        if (g_.users[v].empty()) wanted[v] = true;  // nobody wants the elements; that its places exist is looked at
      }
      if (is_contraction(x))
        for (const Use& u : x.inputs) wanted[u.value] = true;
      if (renames(v)) wanted[x.inputs[0].value] = true;
    }
    for (ValueId v = 0; v < g_.values.size(); ++v) root_[v] = renames(v) ? root_[g_[v].inputs[0].value] : v;
    for (ValueId v = 0; v < g_.values.size(); ++v)
      if (wanted[v]) store(v);
  }

  void find_free() {
    std::vector<int> chain(g_.values.size(), 0);
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      const Value& x = g_[v];
      if (!in_kernels(v)) continue;
      int tensors = 0;
      ValueId source = kNoValue;
      for (const Use& u : x.inputs)
        if (u.kind == Use::Kind::value) ++tensors, source = u.value;
      chain[v] = cost_of(x) + (source != kNoValue && free_[root_[source]] ? chain[root_[source]] : 0);
      bool light =
          is_view(x) || x.is<form::Iota>() || (x.is<form::Elementwise>() && tensors == 0) ||
          (x.is<form::Elementwise>() && tensors == 1 && chain[v] <= kCheapChain && source_may_repeat(source, x));
      free_[v] = light && !stored_[v];
    }
  }

  // Reading the source again must be as good as reading this.
  bool source_may_repeat(ValueId source, const Value& user) const {
    ValueId r = root_[source];
    if (!computed(r) || stored_[r] || free_[r]) return g_[source].dims == user.dims;
    return false;
  }

  // ---- groups
  // Users of v in kernels, looking through free values and names.
  void consumers(ValueId v, std::set<ValueId>& out) const {
    for (ValueId u : g_.users[v]) {
      if (free_[u])
        consumers(u, out);
      else if (in_kernels(u) && group_[u] >= 0)
        out.insert(u);
    }
  }

  bool repeats(ValueId v, ValueId consumer) const {
    if (cost_of(g_[v]) <= kCheapRepeat && g_[v].is<form::Elementwise>()) return false;
    const Value& c = g_[consumer];
    const Polys& domain = c.is<form::Reduce>() ? g_[c.inputs[0].value].dims : c.dims;
    if (product(g_[v].dims) == product(domain)) return c.is<form::Cat>() || (c.is<form::Place>() && diagonal(c));
    if (c.is<form::Window>() || c.is<form::WindowIndex>()) return overlapping(*windows_of(c));
    if (c.is<form::Gather>() || c.is<form::Cat>()) return false;
    if (c.is<form::Read>() && diagonal(c)) return false;
    if (c.is<form::Place>() && !diagonal(c)) return false;
    return true;
  }
  static bool overlapping(const std::vector<form::WindowDim>& dims) {
    return std::ranges::any_of(dims, [](const form::WindowDim& d) { return d.size > d.stride; });
  }

  static std::pair<Polys, Polys> split_rows(const form::Reduce& r, const Polys& in) {
    size_t k = in.size() - r.axes.size();
    return {Polys(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(k)),
            Polys(in.begin() + static_cast<std::ptrdiff_t>(k), in.end())};
  }

  void make_groups() {
    // From users to operands: what is computed inside of its one consumer belongs to that one's group.
    for (ValueId v = static_cast<ValueId>(g_.values.size()); v-- > 0;) {
      if (!in_kernels(v) || free_[v]) continue;
      std::set<ValueId> users;
      consumers(v, users);
      if (!stored_[v] && users.size() == 1) {
        ValueId c = *users.begin();
        int target = group_[c];
        Group& group = groups_[static_cast<size_t>(target)];
        if (group.reduced + reduced_axes(v) <= kMaxReduced && fits_inside(v, c, group)) {
          group.reduced += reduced_axes(v);
          group_[v] = target;
          in_place_[v] = in_place_[c] && reads_at_own_place(c, v) == Reads::own_place;
          looped_[v] = looped_for(c);
          continue;
        }
      }
      if (!stored_[v] && users.empty()) continue;  // dead
      group_[v] = static_cast<int>(groups_.size());
      Group fresh;
      fresh.anchors = {v};
      fresh.reduced = reduced_axes(v);
      set_domain(fresh, v);
      groups_.push_back(std::move(fresh));
    }
  }

  void set_domain(Group& group, ValueId v) const {
    const Value& x = g_[v];
    const auto* r = x.get<form::Reduce>();
    if (r && r->last && !r->axes.empty()) {
      group.rows = true;
      std::tie(group.outer, group.inner) = split_rows(*r, g_[x.inputs[0].value].dims);
    } else {
      group.outer = x.dims;
    }
  }

  // How many loops of its own v takes in a kernel.
  size_t reduced_axes(ValueId v) const {
    const auto* r = g_[v].get<form::Reduce>();
    return r ? std::max<size_t>(r->axes.size(), 1) : 0;
  }

  // A reduction over other than the last axes: it takes the group's loops for its own, and cannot stand in a row.
  bool own_loops(ValueId v) const {
    const auto* r = g_[v].get<form::Reduce>();
    return r && !r->last;
  }
  // The axes of c's operands that a reduction around them, in one group, runs over: bits.
  uint64_t looped_for(ValueId c) const {
    const auto* r = g_[c].get<form::Reduce>();
    if (!r || r->last) return looped_[c];
    uint64_t axes = 0;
    for (int a : r->axes) axes |= uint64_t{1} << a;
    return axes;
  }
  // Does v (read at its own place) differ along one of these?
  bool varies_along(ValueId v, uint64_t axes) const {
    for (size_t a = 0; a < g_[v].dims.size(); ++a)
      if ((axes >> a & 1) && !g_[v].dims[a].is(1)) return true;
    return false;
  }

  // v as a part of its consumer c, in c's group. A fold makes the group's loops rows; it must stand once per row. No
  // reduction may stand inside of another one.
  bool fits_inside(ValueId v, ValueId c, Group& group) {
    const Value& x = g_[v];
    if (const auto* r = x.get<form::Reduce>()) {
      if (!in_place_[c] || reads_at_own_place(c, v) != Reads::own_place) return false;
      if (own_loops(c)) return false;
      if (varies_along(v, looped_for(c))) return false;
      if (!r->last) return group.outer == x.dims && !group.rows;  // its own loops are the group's
      auto [outer, inner] = split_rows(*r, g_[x.inputs[0].value].dims);
      if (group.rows) return group.outer == outer && group.inner == inner;
      if (!makes_rows(group, outer, inner)) return false;
      group.rows = true;
      group.outer = outer;
      group.inner = inner;
      return true;
    }
    return !repeats(v, c);
  }

  // Could a group over these dims run as rows?
  bool makes_rows(const Group& group, const Polys& outer, const Polys& inner) const {
    Polys whole = outer;
    whole.insert(whole.end(), inner.begin(), inner.end());
    return group.outer == whole || same_row(group.outer, outer);
  }
  static bool same_row(const Polys& dims, const Polys& outer) {
    if (dims.size() < outer.size() || !std::equal(outer.begin(), outer.end(), dims.begin())) return false;
    return std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(outer.size()), dims.end(),
                       [](const Poly& p) { return p.is(1); });
  }

  // How `user` reads `v`: not at all, at its own place only (through free views that keep axes where they are), or
  // elsewhere.
  enum class Reads : uint8_t { no, own_place, elsewhere };
  Reads reads_at_own_place(ValueId user, ValueId v) const {
    const Value& x = g_[user];
    Reads how = Reads::no;
    for (const Use& u : x.inputs) {
      if (u.kind != Use::Kind::value) continue;
      const Polys& in = g_[u.value].dims;
      bool own_place = x.is<form::Elementwise>() || x.is<form::Reduce>() || x.is<form::Triangle>();
      std::vector<int> axes(in.size());
      const Polys& domain = x.is<form::Elementwise>() ? x.dims : in;
      for (size_t a = 0; a < in.size(); ++a)
        axes[a] = in[a].is(1) ? -1 : static_cast<int>(a + domain.size() - in.size());
      how = std::max(how, reads_through(u.value, v, axes, own_place));
    }
    return how;
  }
  Reads reads_through(ValueId at, ValueId v, const std::vector<int>& axes, bool own_place) const {
    if (at == v) {
      if (!own_place) return Reads::elsewhere;
      for (size_t a = 0; a < axes.size(); ++a) {
        if (axes[a] >= 0 && axes[a] != static_cast<int>(a)) return Reads::elsewhere;
        if (axes[a] < 0 && !g_[v].dims[a].is(1)) return Reads::elsewhere;  // repeated by a view
      }
      return Reads::own_place;
    }
    if (root_[at] == v) return Reads::elsewhere;  // in another shape
    if (!free_[at]) return Reads::no;
    const Value& x = g_[at];
    Reads how = Reads::no;
    for (const Use& u : x.inputs) {
      if (u.kind != Use::Kind::value) continue;
      const Polys& in = g_[u.value].dims;
      std::vector<int> next(in.size(), -1);
      const auto* read = x.get<form::Read>();
      const bool stays = read && std::ranges::all_of(read->at, [](const AxisAt& a) {
                           return a.step == 1 && a.start == SymDim::number(0);
                         });
      bool ok = own_place && (stays || x.is<form::Elementwise>());
      if (stays) {
        for (size_t a = 0; a < in.size(); ++a)
          next[a] = read->at[a].axis < 0 ? -1 : axes[static_cast<size_t>(read->at[a].axis)];
      } else if (x.is<form::Elementwise>()) {
        for (size_t a = 0; a < in.size(); ++a) next[a] = in[a].is(1) ? -1 : axes[a + axes.size() - in.size()];
      }
      how = std::max(how, reads_through(u.value, v, next, ok));
    }
    return how;
  }

  // ---- merging
  std::vector<ValueId> group_members(int gi) const {
    std::vector<ValueId> out;
    for (ValueId v = 0; v < group_.size(); ++v)
      if (group_[v] == gi) out.push_back(v);
    return out;
  }

  // Values in memory that a member reads, through free values.
  void reads(ValueId v, int own, std::set<ValueId>& out) const {
    for (const Use& u : g_[v].inputs) {
      if (u.kind != Use::Kind::value) continue;
      ValueId r = root_[u.value];
      bool same = r == u.value && computed(r);
      if (same && free_[r])
        reads(r, own, out);
      else if (!same || group_[r] != own || own < 0)
        out.insert(r);
    }
  }

  bool compatible(const Group& a, const Group& b, Group& joined) const {
    joined = a;
    if (a.rows && b.rows) return a.outer == b.outer && a.inner == b.inner;
    if (!a.rows && !b.rows) return a.outer == b.outer;
    const Group &rows = a.rows ? a : b, &flat = a.rows ? b : a;
    joined.rows = true;
    joined.outer = rows.outer;
    joined.inner = rows.inner;
    return makes_rows(flat, rows.outer, rows.inner);
  }

  void merge_groups() {
    build_order_graph();
    bool changed = true;
    while (changed) {
      changed = false;
      for (int b = 0; b < static_cast<int>(groups_.size()); ++b)
        for (int a = 0; a < static_cast<int>(groups_.size()); ++a)
          if (a != b && groups_[static_cast<size_t>(a)].alive && groups_[static_cast<size_t>(b)].alive &&
              try_merge(a, b))
            changed = true;
    }
  }

  // Would a reduction of these stand inside of another one's loop? What that one reads of the same kernel is computed
  // in its loop, and with it whatever this is made of.
  bool nests_reductions(const std::vector<ValueId>& in_a, const std::vector<ValueId>& in_b) const {
    auto reduces = [&](ValueId v) { return g_[v].is<form::Reduce>(); };
    if (std::ranges::count_if(in_a, reduces) + std::ranges::count_if(in_b, reduces) < 2) return false;
    std::map<ValueId, uint64_t, std::greater<>> looped;  // the axes that loops around a value run over: users first
    for (ValueId v : in_a) looped[v] = 0;
    for (ValueId v : in_b) looped[v] = 0;
    for (auto& [user, axes] : looped) {
      const auto* r = g_[user].get<form::Reduce>();
      if (r && varies_along(user, axes)) return true;
      uint64_t inside = axes;
      if (r && !r->last)
        for (int a : r->axes) inside |= uint64_t{1} << a;
      if (!inside) continue;
      std::set<ValueId> read;
      reads(user, -1, read);
      for (ValueId v : read)
        if (auto it = looped.find(v); it != looped.end()) it->second |= inside;
    }
    return false;
  }

  // Merges b (which may read a, or share operands with it) into a.
  bool try_merge(int a, int b) {
    Group& ga = groups_[static_cast<size_t>(a)];
    Group& gb = groups_[static_cast<size_t>(b)];
    Group joined;
    if (ga.reduced + gb.reduced > kMaxReduced || !compatible(ga, gb, joined)) return false;
    joined.reduced = ga.reduced + gb.reduced;
    std::vector<ValueId> in_a = group_members(a), in_b = group_members(b);
    auto has_own_loops = [&](ValueId v) { return own_loops(v); };
    if (joined.rows && (std::ranges::any_of(in_a, has_own_loops) || std::ranges::any_of(in_b, has_own_loops)))
      return false;
    // Rows compute an element in each loop that wants it: pays where that costs less than to read it once more.
    auto windows = [&](ValueId v) { return windows_of(g_[v]) != nullptr; };
    if (ga.rows != gb.rows && (std::ranges::any_of(in_a, windows) || std::ranges::any_of(in_b, windows))) return false;
    std::set<ValueId> ra, rb;
    int cost = 0;
    for (ValueId v : in_a) reads(v, a, ra), cost += cost_of(g_[v]);
    for (ValueId v : in_b) reads(v, b, rb), cost += cost_of(g_[v]);
    bool b_reads_a = std::any_of(rb.begin(), rb.end(), [&](ValueId v) { return group_[v] == a; });
    bool a_reads_b = std::any_of(ra.begin(), ra.end(), [&](ValueId v) { return group_[v] == b; });
    if (a_reads_b) return false;  // the other way round
    bool share =
        std::any_of(rb.begin(), rb.end(), [&](ValueId v) { return ra.count(v) && !product(g_[v].dims).is(1); });
    if ((!b_reads_a && !share) || cost > kMaxCost) return false;
    std::set<ValueId> all = ra;
    all.insert(rb.begin(), rb.end());
    size_t outputs =
        static_cast<size_t>(std::count_if(in_a.begin(), in_a.end(), [&](ValueId v) { return stored_[v]; }) +
                            std::count_if(in_b.begin(), in_b.end(), [&](ValueId v) { return stored_[v]; }));
    if (all.size() + outputs > kMaxBuffers) return false;
    const bool a_reduces = std::ranges::any_of(in_a, [&](ValueId v) { return g_[v].is<form::Reduce>(); });
    for (ValueId user : in_b)
      for (ValueId v : in_a) {
        Reads how = reads_at_own_place(user, v);
        if (how == Reads::no) continue;
        if (how == Reads::elsewhere || !in_place_[user]) return false;
        if (a_reduces && varies_along(v, looped_for(user))) return false;  // a reduction inside of another one
      }
    if (nests_reductions(in_a, in_b)) return false;
    if (path_between(a, b) || path_between(b, a)) return false;
    for (ValueId v : in_b) group_[v] = a;
    joined.anchors = ga.anchors;
    joined.anchors.insert(joined.anchors.end(), gb.anchors.begin(), gb.anchors.end());
    ga = std::move(joined);
    gb.alive = false;
    build_order_graph();
    return true;
  }

  // ---- the order: nodes are groups, then lets that run by themselves
  size_t node_count() const { return groups_.size() + loose_.size(); }

  void build_order_graph() {
    const Function& f = *g_.function;
    const Block& block = f.block(g_.block);
    if (loose_.empty()) find_loose(block);
    std::vector<int> of_name(f.names.size(), -1);
    for (size_t i = 0; i < loose_.size(); ++i)
      of_name[index(block.lets[loose_[i]].result)] = static_cast<int>(groups_.size() + i);
    auto node_of_value = [&](ValueId v) {
      ValueId r = root_[v];
      if (group_[r] >= 0) return group_[r];
      return g_[r].name == NameId::none ? -1 : of_name[index(g_[r].name)];
    };
    needs_.assign(node_count(), {});
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      if (group_[v] < 0) continue;
      std::set<ValueId> r;
      reads(v, group_[v], r);
      auto& needs = needs_[static_cast<size_t>(group_[v])];
      for (ValueId x : r)
        if (int n = node_of_value(x); n >= 0 && n != group_[v]) needs.insert(n);
      scalar_needs(v, of_name, needs);
    }
    for (size_t i = 0; i < loose_.size(); ++i) {
      auto& needs = needs_[groups_.size() + i];
      for_each_arg(f, block.lets[loose_[i]], [&](Atom a) {
        if (!a.is_name()) return;
        ValueId v = g_.of_name[index(a.name())];
        int n = v != kNoValue ? node_of_value(v) : of_name[index(a.name())];
        if (n >= 0) needs.insert(n);
      });
      if (i > 0 && ordered_[i]) needs.insert(static_cast<int>(groups_.size()) + last_ordered_[i]);
      needs.erase(-1);
    }
  }

  void scalar_needs(ValueId v, const std::vector<int>& of_name, std::set<int>& needs) const {
    const Value& x = g_[v];
    auto scalar = [&](const Use& u) {
      if (u.kind == Use::Kind::scalar && of_name[index(u.name)] >= 0) needs.insert(of_name[index(u.name)]);
    };
    for (const Use& u : x.inputs) {
      scalar(u);
      if (u.kind == Use::Kind::value && computed(root_[u.value]) && free_[root_[u.value]])
        scalar_needs(root_[u.value], of_name, needs);
    }
    for (const Use& u : scalar_params(x)) scalar(u);
  }

  void find_loose(const Block& block) {
    const Function& f = *g_.function;
    int last = -1;
    for (uint32_t i = 0; i < block.lets.size(); ++i) {
      const Let& l = block.lets[i];
      ValueId v = g_.of_name[index(l.result)];
      if (v != kNoValue && (computed(v) || l.op == prim::move)) continue;
      bool pure = is_tensor_op(l.op) ? op_info(l.op).def->effect == OpEffect::none : deletable(effects_of(f, l));
      loose_.push_back(i);
      ordered_.push_back(!pure && last >= 0);
      last_ordered_.push_back(last);
      if (!pure) last = static_cast<int>(loose_.size()) - 1;
    }
  }

  // Is there a way from a to b over a third node?
  bool path_between(int a, int b) const {
    std::vector<bool> seen(node_count(), false);
    std::function<bool(int)> reaches = [&](int n) {  // does n need a?
      if (n == a) return true;
      if (seen[static_cast<size_t>(n)]) return false;
      seen[static_cast<size_t>(n)] = true;
      return std::any_of(needs_[static_cast<size_t>(n)].begin(), needs_[static_cast<size_t>(n)].end(), reaches);
    };
    for (int n : needs_[static_cast<size_t>(b)])
      if (n != a && reaches(n)) return true;
    return false;
  }

  void order(Clustering& out) {
    // A value that another group reads is stored.
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      if (group_[v] < 0) continue;
      std::set<ValueId> r;
      reads(v, group_[v], r);
      for (ValueId x : r) store(x);
    }
    build_order_graph();
    size_t n = node_count();
    std::vector<uint32_t> key(n, 0);
    for (ValueId v = 0; v < g_.values.size(); ++v)
      if (group_[v] >= 0 && g_[v].let != UINT32_MAX) {
        uint32_t& k = key[static_cast<size_t>(group_[v])];
        k = std::max(k, g_[v].let);
      }
    for (size_t i = 0; i < loose_.size(); ++i) key[groups_.size() + i] = loose_[i];
    std::vector<int> by_key;
    for (size_t i = 0; i < n; ++i)
      if (i >= groups_.size() || groups_[i].alive) by_key.push_back(static_cast<int>(i));
    std::stable_sort(by_key.begin(), by_key.end(),
                     [&](int a, int b) { return key[static_cast<size_t>(a)] < key[static_cast<size_t>(b)]; });
    std::vector<char> state(n, 0);
    std::function<void(int)> place = [&](int node) {
      char& s = state[static_cast<size_t>(node)];
      if (s == 2) return;
      if (s == 1) ouro_bug("clusters need each other");
      s = 1;
      for (int need : needs_[static_cast<size_t>(node)]) place(need);
      s = 2;
      emit(node, out);
    };
    for (int node : by_key) place(node);
  }

  void emit(int node, Clustering& out) const {
    if (static_cast<size_t>(node) >= groups_.size()) {
      out.steps.push_back(
          {.kind = Step::Kind::let, .cluster = {}, .let = loose_[static_cast<size_t>(node) - groups_.size()]});
      return;
    }
    const Group& group = groups_[static_cast<size_t>(node)];
    Step step{.kind = Step::Kind::kernel, .cluster = {}};
    std::vector<bool> in(g_.values.size(), false);
    std::function<void(ValueId)> include = [&](ValueId v) {
      if (in[v]) return;
      in[v] = true;
      for (const Use& u : g_[v].inputs)
        if (u.kind == Use::Kind::value && root_[u.value] == u.value && computed(u.value) &&
            (free_[u.value] || group_[u.value] == node))
          include(u.value);
    };
    for (ValueId v = 0; v < g_.values.size(); ++v)
      if (group_[v] == node) include(v);
    for (ValueId v = 0; v < g_.values.size(); ++v) {
      if (!in[v]) continue;
      step.cluster.members.push_back(v);
      if (group_[v] == node && stored_[v]) step.cluster.outputs.push_back(v);
      if (needs_index_check(g_[v]))
        out.steps.push_back({.kind = Step::Kind::check_places, .cluster = {}, .value = v, .let = g_[v].let});
    }
    step.cluster.outer = group.outer;
    if (group.rows) step.cluster.inner = group.inner;
    if (!step.cluster.outputs.empty()) out.steps.push_back(std::move(step));
  }

  const Graph& g_;
  std::vector<ValueId> root_;
  std::vector<bool> stored_, free_;
  std::vector<bool> in_place_;    // is read at its own place all the way up to the group's loops
  std::vector<uint64_t> looped_;  // axes of it that a reduction around it, in its group, runs over
  std::vector<int> group_;
  std::vector<Group> groups_;
  std::vector<uint32_t> loose_;
  std::vector<bool> ordered_;
  std::vector<int> last_ordered_;
  std::vector<std::set<int>> needs_;
};

}  // namespace

Clustering cluster(const Graph& g) { return Clusterer(g).run(); }

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
