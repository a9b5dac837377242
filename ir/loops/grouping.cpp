// Roots, what is free, and the groups as they start.
#include "ir/loops/grouping.h"

#include <algorithm>

#include "ir/effect.h"
#include "ir/prim.h"
#include "ir/walk.h"

namespace ouro::ir::loops {
namespace {

constexpr int kCheapChain = 4;   // instructions that are rather repeated than stored
constexpr int kCheapRepeat = 3;  // ... also when a broadcast repeats them many times

bool diagonal(const Value& v) {
  const auto* read = v.get<form::Read>();
  const auto* place = v.get<form::Place>();
  return (read && has_diagonal(read->at)) || (place && has_diagonal(place->at));
}
bool is_view(const Value& v) { return v.is<form::Read>() && !diagonal(v); }

bool overlapping(const std::vector<form::WindowDim>& dims) {
  return std::ranges::any_of(dims, [](const form::WindowDim& d) { return d.size > d.stride; });
}

std::pair<Polys, Polys> split_rows(const form::Reduce& r, const Polys& in) {
  size_t k = in.size() - r.axes.size();
  return {Polys(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(k)),
          Polys(in.begin() + static_cast<std::ptrdiff_t>(k), in.end())};
}

bool same_row(const Polys& dims, const Polys& outer) {
  if (dims.size() < outer.size() || !std::equal(outer.begin(), outer.end(), dims.begin())) return false;
  return std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(outer.size()), dims.end(),
                     [](const Poly& p) { return p.is(1); });
}

}  // namespace

Grouping::Grouping(const Graph& g)
    : g_(g),
      root_(g.values.size()),
      stored_(g.values.size()),
      free_(g.values.size()),
      in_place_(g.values.size(), true),
      looped_(g.values.size(), 0),
      group_(g.values.size(), -1) {
  find_roots_and_stored();
  find_free();
  find_lets();
}

// Wanted in memory: by those outside of kernels, and by whoever reads it in another shape.
void Grouping::find_roots_and_stored() {
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

void Grouping::find_free() {
  std::vector<int> chain(g_.values.size(), 0);
  for (ValueId v = 0; v < g_.values.size(); ++v) {
    const Value& x = g_[v];
    if (!in_kernels(v)) continue;
    int tensors = 0;
    ValueId source = kNoValue;
    for (const Use& u : x.inputs)
      if (u.kind == Use::Kind::value) ++tensors, source = u.value;
    chain[v] = cost_of(x) + (source != kNoValue && free_[root_[source]] ? chain[root_[source]] : 0);
    bool light = is_view(x) || x.is<form::Iota>() || (x.is<form::Elementwise>() && tensors == 0) ||
                 (x.is<form::Elementwise>() && tensors == 1 && chain[v] <= kCheapChain && source_may_repeat(source, x));
    free_[v] = light && !stored_[v];
  }
}

// Reading the source again must be as good as reading this.
bool Grouping::source_may_repeat(ValueId source, const Value& user) const {
  ValueId r = root_[source];
  if (!computed(r) || stored_[r] || free_[r]) return g_[source].dims == user.dims;
  return false;
}

// Users of v in kernels, looking through free values and names.
void Grouping::consumers(ValueId v, std::set<ValueId>& out) const {
  for (ValueId u : g_.users[v]) {
    if (free_[u])
      consumers(u, out);
    else if (in_kernels(u) && group_[u] >= 0)
      out.insert(u);
  }
}

bool Grouping::repeats(ValueId v, ValueId consumer) const {
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

// From users to operands: what is computed inside of its one consumer belongs to that one's group.
void Grouping::make_groups() {
  for (ValueId v = static_cast<ValueId>(g_.values.size()); v-- > 0;) {
    if (!in_kernels(v) || free_[v]) continue;
    std::set<ValueId> users;
    consumers(v, users);
    if (!stored_[v] && users.empty()) continue;  // dead
    if (!stored_[v] && users.size() == 1) {
      const ValueId c = *users.begin();
      Group& group = groups_[static_cast<size_t>(group_[c])];
      if (joins(v, c, group)) {
        group_[v] = group_[c];
        in_place_[v] = in_place_[c] && reads_at_own_place(c, v) == Reads::own_place;
        looped_[v] = looped_for(c);
        continue;
      }
    }
    group_[v] = static_cast<int>(groups_.size());
    Group fresh;
    fresh.members = {v};
    fresh.reduced = reduced_axes(v);
    fresh.cost = cost_of(g_[v]);
    reads(v, -1, fresh.reads);
    set_domain(fresh, v);
    groups_.push_back(std::move(fresh));
  }
  for (Group& group : groups_) std::ranges::reverse(group.members);
}

// v becomes a part of its one consumer's group, if that may be.
bool Grouping::joins(ValueId v, ValueId consumer, Group& group) {
  const int cost = cost_of(g_[v]);
  if (group.reduced + reduced_axes(v) > kMaxReduced || group.cost + cost > kMaxCost) return false;
  std::set<ValueId> all = group.reads;
  all.erase(v);
  reads(v, -1, all);
  if (all.size() >= kMaxBuffers && all.size() > group.reads.size()) return false;
  if (!fits_inside(v, consumer, group)) return false;
  group.members.push_back(v);
  group.reduced += reduced_axes(v);
  group.cost += cost;
  group.reads = std::move(all);
  return true;
}

void Grouping::set_domain(Group& group, ValueId v) const {
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
size_t Grouping::reduced_axes(ValueId v) const {
  const auto* r = g_[v].get<form::Reduce>();
  return r ? std::max<size_t>(r->axes.size(), 1) : 0;
}

// A reduction over other than the last axes: it takes the group's loops for its own, and cannot stand in a row.
bool Grouping::own_loops(ValueId v) const {
  const auto* r = g_[v].get<form::Reduce>();
  return r && !r->last;
}
// The axes of c's operands that a reduction around them, in one group, runs over: bits.
uint64_t Grouping::looped_for(ValueId c) const {
  const auto* r = g_[c].get<form::Reduce>();
  if (!r || r->last) return looped_[c];
  uint64_t axes = 0;
  for (int a : r->axes) axes |= uint64_t{1} << a;
  return axes;
}
// Does v (read at its own place) differ along one of these?
bool Grouping::varies_along(ValueId v, uint64_t axes) const {
  for (size_t a = 0; a < g_[v].dims.size(); ++a)
    if ((axes >> a & 1) && !g_[v].dims[a].is(1)) return true;
  return false;
}

// v as a part of its consumer c, in c's group. A fold makes the group's loops rows; it must stand once per row. No
// reduction may stand inside of another one.
bool Grouping::fits_inside(ValueId v, ValueId c, Group& group) {
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
bool Grouping::makes_rows(const Group& group, const Polys& outer, const Polys& inner) const {
  Polys whole = outer;
  whole.insert(whole.end(), inner.begin(), inner.end());
  return group.outer == whole || same_row(group.outer, outer);
}

Grouping::Reads Grouping::reads_at_own_place(ValueId user, ValueId v) const {
  Reads how = Reads::no;
  each_read(user, [&](ValueId read, Reads h) {
    if (read == v) how = std::max(how, h);
  });
  return how;
}

// Values in memory that a member reads, through free values.
void Grouping::reads(ValueId v, int own, std::set<ValueId>& out) const {
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

// ---------------------------------------------------------------- the order

void Grouping::find_lets() {
  const Function& f = *g_.function;
  const Block& block = f.block(g_.block);
  int last = -1;  // with effects
  let_of_name_.assign(f.names.size(), -1);
  for (uint32_t i = 0; i < block.lets.size(); ++i) {
    const Let& l = block.lets[i];
    ValueId v = g_.of_name[index(l.result)];
    if (v != kNoValue && (computed(v) || l.op == prim::move)) continue;
    if (i < g_.lists.size() && g_.lists[i]) continue;
    bool pure = is_tensor_op(l.op) ? op_info(l.op).def->effect == OpEffect::none : deletable(effects_of(f, l));
    runs_after_.push_back(pure ? -1 : last);
    if (!pure) last = static_cast<int>(lets_.size());
    let_of_name_[index(l.result)] = static_cast<int>(lets_.size());
    lets_.push_back(i);
  }
}

int Grouping::node_of(ValueId v) const {
  const ValueId r = root_[v];
  if (group_[r] >= 0) return group_[r];
  const auto at = std::ranges::lower_bound(lets_, g_[r].let);
  return at != lets_.end() && *at == g_[r].let
             ? static_cast<int>(groups_.size() + static_cast<size_t>(at - lets_.begin()))
             : -1;
}

std::vector<std::set<int>> Grouping::needs() const {
  const Function& f = *g_.function;
  const Block& block = f.block(g_.block);
  const int first_let = static_cast<int>(groups_.size());
  std::vector<int> of_name(f.names.size(), -1);
  for (uint32_t let : lets_) of_name[index(block.lets[let].result)] = let_node(block.lets[let].result);
  auto node_of_value = [&](ValueId v) {
    ValueId r = root_[v];
    if (group_[r] >= 0) return group_[r];
    return g_[r].name == NameId::none ? -1 : of_name[index(g_[r].name)];
  };
  std::vector<std::set<int>> out(node_count());
  for (int gi = 0; gi < first_let; ++gi) {
    auto& needs = out[static_cast<size_t>(gi)];
    for (ValueId x : groups_[static_cast<size_t>(gi)].reads)
      if (int n = node_of_value(x); n >= 0 && n != gi) needs.insert(n);
    for (ValueId v : groups_[static_cast<size_t>(gi)].members) scalar_needs(v, of_name, needs);
  }
  for (size_t i = 0; i < lets_.size(); ++i) {
    auto& needs = out[groups_.size() + i];
    for_each_arg(f, block.lets[lets_[i]], [&](Atom a) {
      if (!a.is_name()) return;
      ValueId v = g_.of_name[index(a.name())];
      int n = v != kNoValue ? node_of_value(v) : of_name[index(a.name())];
      if (n >= 0) needs.insert(n);
    });
    if (runs_after_[i] >= 0) needs.insert(first_let + runs_after_[i]);
  }
  auto node_of_name = [&](NameId n) {
    const ValueId v = g_.of_name[index(n)];
    return v != kNoValue ? node_of_value(v) : of_name[index(n)];
  };
  // A group may have got a part that stands in front of the fence, too, and that is needed there: then it gives way.
  auto needs_it = [&](int node, int other) {
    std::vector<bool> seen(out.size(), false);
    std::vector<int> work{node};
    while (!work.empty()) {
      const int at = work.back();
      work.pop_back();
      if (at == other) return true;
      for (int need : out[static_cast<size_t>(at)])
        if (!seen[static_cast<size_t>(need)]) {
          seen[static_cast<size_t>(need)] = true;
          work.push_back(need);
        }
    }
    return false;
  };
  for (const Fence& fence : g_.fences) {
    const int late = node_of_name(fence.late), after = node_of_name(fence.after);
    if (late >= 0 && after >= 0 && !needs_it(after, late)) out[static_cast<size_t>(late)].insert(after);
  }
  return out;
}

void Grouping::scalar_needs(ValueId v, const std::vector<int>& of_name, std::set<int>& needs) const {
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

void Grouping::store_what_is_read() {
  for (const Group& group : groups_)
    for (ValueId v : group.reads) store(v);
}

}  // namespace ouro::ir::loops
