// Two groups become one where their loops are the same and one group reads the other, or both read the same value.
#include <algorithm>
#include <map>

#include "ir/loops/grouping.h"

namespace ouro::ir::loops {

namespace {
constexpr size_t kNear = 8;  // readers of one value that are looked at, before and behind a group
}

void Grouping::merge_groups() {
  order_ = OrderGraph(node_count());
  const auto needed = needs();
  for (size_t n = 0; n < needed.size(); ++n)
    for (int need : needed[n]) order_.add(static_cast<int>(n), need);
  order_.seal();
  readers_.assign(g_.values.size(), {});
  for (size_t i = 0; i < groups_.size(); ++i)
    for (ValueId v : groups_[i].reads) readers_[v].push_back(static_cast<int>(i));

  std::set<int> now, later;
  for (size_t i = 0; i < groups_.size(); ++i) now.insert(static_cast<int>(i));
  while (!now.empty()) {
    while (!now.empty()) {
      const int b = *now.begin();
      now.erase(now.begin());
      if (!groups_[static_cast<size_t>(b)].alive) continue;
      for (int a : partners(b)) {
        if (!merge(a, b)) continue;
        // What could not be merged with either may be with both.
        std::vector<int> again = partners(a);
        again.push_back(a);
        for (int x : again) (x > b ? now : later).insert(x);
        break;
      }
    }
    std::swap(now, later);
  }
}

// The groups that may have something to do with one: whose values it reads, that read its values, that read the same.
// A value may have a thousand readers; of those that stand near in the block.
std::vector<int> Grouping::partners(int group) {
  std::set<int> out;
  auto readers = [&](ValueId v) {
    const auto& all = readers_[v];
    const auto at = std::ranges::lower_bound(all, group);
    const auto first = at - std::min<std::ptrdiff_t>(at - all.begin(), kNear);
    const auto last = at + std::min<std::ptrdiff_t>(all.end() - at, kNear + 1);
    for (auto it = first; it != last; ++it) out.insert(order_.find(*it));
  };
  const Group& g = groups_[static_cast<size_t>(group)];
  for (ValueId v : g.reads) {
    if (group_[v] >= 0) out.insert(group_[v]);
    if (!product(g_[v].dims).is(1)) readers(v);
  }
  for (ValueId v : g.members) readers(v);
  out.erase(group);
  return {out.begin(), out.end()};
}

bool Grouping::compatible(const Group& a, const Group& b, Group& joined) const {
  joined.rows = a.rows || b.rows;
  joined.outer = a.outer;
  joined.inner = a.inner;
  if (a.rows && b.rows) return a.outer == b.outer && a.inner == b.inner;
  if (!a.rows && !b.rows) return a.outer == b.outer;
  const Group &rows = a.rows ? a : b, &flat = a.rows ? b : a;
  joined.outer = rows.outer;
  joined.inner = rows.inner;
  return makes_rows(flat, rows.outer, rows.inner);
}

// Would a reduction of these stand inside of another one's loop? What that one reads of the same kernel is computed in
// its loop, and with it whatever this is made of.
bool Grouping::nests_reductions(const std::vector<ValueId>& in_a, const std::vector<ValueId>& in_b) const {
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

// b (which may read a, or share operands with it) becomes a part of a.
bool Grouping::merge(int a, int b) {
  Group &ga = groups_[static_cast<size_t>(a)], &gb = groups_[static_cast<size_t>(b)];
  Group joined;
  joined.reduced = ga.reduced + gb.reduced;
  joined.cost = ga.cost + gb.cost;
  if (joined.reduced > kMaxReduced || joined.cost > kMaxCost || !compatible(ga, gb, joined)) return false;
  auto any = [](const auto& values, auto&& is) { return std::ranges::any_of(values, is); };
  auto has_own_loops = [&](ValueId v) { return own_loops(v); };
  if (joined.rows && (any(ga.members, has_own_loops) || any(gb.members, has_own_loops))) return false;
  // Rows compute an element in each loop that wants it: pays where that costs less than to read it once more.
  auto windows = [&](ValueId v) { return windows_of(g_[v]) != nullptr; };
  if (ga.rows != gb.rows && (any(ga.members, windows) || any(gb.members, windows))) return false;
  if (any(ga.reads, [&](ValueId v) { return group_[v] == b; })) return false;  // the other way round
  const bool b_reads_a = any(gb.reads, [&](ValueId v) { return group_[v] == a; });
  if (!b_reads_a && !any(gb.reads, [&](ValueId v) { return ga.reads.count(v) && !product(g_[v].dims).is(1); }))
    return false;
  joined.reads = ga.reads;
  joined.reads.insert(gb.reads.begin(), gb.reads.end());
  auto in_memory = [&](ValueId v) { return stored_[v]; };
  const auto outputs = std::ranges::count_if(ga.members, in_memory) + std::ranges::count_if(gb.members, in_memory);
  if (joined.reads.size() + static_cast<size_t>(outputs) > kMaxBuffers) return false;
  const bool a_reduces = any(ga.members, [&](ValueId v) { return g_[v].is<form::Reduce>(); });
  bool fits = true;
  for (ValueId user : gb.members)
    each_read(user, [&](ValueId v, Reads how) {
      if (group_[v] != a) return;
      fits = fits && how == Reads::own_place && in_place_[user] &&
             !(a_reduces && varies_along(v, looped_for(user)));  // a reduction inside of another one
    });
  if (!fits || nests_reductions(ga.members, gb.members) || !order_.join(a, b)) return false;
  for (ValueId v : gb.members) group_[v] = a;
  std::ranges::merge(ga.members, gb.members, std::back_inserter(joined.members));
  std::erase_if(joined.reads, [&](ValueId v) { return group_[v] == a; });
  ga = std::move(joined);
  gb = Group{};
  gb.alive = false;
  return true;
}

}  // namespace ouro::ir::loops
