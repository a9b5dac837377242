// Registers for names: live ranges over the linear order of blocks (with holes), merged along jumps and within source
// variables where they do not overlap, then numbered. (Copy coalescing on intervals, after Poletto & Sarkar 1999 and
// Boissinot et al. 2009.)
//
// Position p of a let is even: it reads its operands at p and binds its result at p+1; what it hands over to a handler
// is read at p too.
#include <algorithm>

#include "ir/prim.h"
#include "ir/walk.h"
#include "runtime/interpreter/code.h"

namespace ouro::runtime {
using namespace ir;

namespace {

struct Range {
  uint32_t begin, end;  // half open
};
using Ranges = std::vector<Range>;

// The first range that ends behind `position`.
template <class R>
auto ending_after(R& ranges, uint32_t position) {
  return std::upper_bound(ranges.begin(), ranges.end(), position, [](uint32_t p, const Range& r) { return p < r.end; });
}

// Time of the shorter list times the logarithm of the longer one, or of one walk over what both span: a register that
// thousands of short lives share is asked about each of them.
bool overlap(const Ranges& a, const Ranges& b) {
  if (a.size() < b.size()) return overlap(b, a);
  if (b.empty()) return false;
  if (b.size() * 8 < a.size()) {
    return std::any_of(b.begin(), b.end(), [&](const Range& r) {
      auto i = ending_after(a, r.begin);
      return i != a.end() && i->begin < r.end;
    });
  }
  for (auto i = ending_after(a, b[0].begin), j = b.begin(); i != a.end() && j != b.end();) {
    if (i->begin < j->end && j->begin < i->end) return true;
    if (i->end < j->end)
      ++i;
    else
      ++j;
  }
  return false;
}

Ranges merged(const Range* a, const Range* a_end, const Ranges& b) {
  Ranges out;
  out.reserve(static_cast<size_t>(a_end - a) + b.size());
  std::merge(a, a_end, b.begin(), b.end(), std::back_inserter(out),
             [](const Range& x, const Range& y) { return x.begin < y.begin; });
  size_t n = 0;
  for (const Range& r : out) {
    if (n && out[n - 1].end >= r.begin)
      out[n - 1].end = std::max(out[n - 1].end, r.end);
    else
      out[n++] = r;
  }
  out.resize(n);
  return out;
}

// a becomes the union; only what stands behind the start of b is touched. b is given up.
void merge_into(Ranges& a, Ranges& b) {
  if (a.size() < b.size()) std::swap(a, b);
  if (b.empty()) return;
  auto from = std::lower_bound(a.begin(), a.end(), b[0].begin, [](const Range& r, uint32_t p) { return r.end < p; });
  Ranges tail = merged(a.data() + (from - a.begin()), a.data() + a.size(), b);
  a.erase(from, a.end());
  a.insert(a.end(), tail.begin(), tail.end());
}

class Allocator {
 public:
  Allocator(const ir::Function& f, const std::vector<BlockId>& order, const std::vector<std::vector<NameId>>& live_in)
      : f_(f),
        order_(order),
        live_in_(live_in),
        ranges_(f.names.size()),
        parent_(f.names.size()),
        used_(f.names.size(), false) {
    for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<uint32_t>(i);
  }

  RegisterPlan run() {
    build_ranges();
    coalesce();
    return number();
  }

 private:
  void add_range(uint32_t name, uint32_t begin, uint32_t end) {
    used_[name] = true;
    Ranges& r = ranges_[name];
    if (!r.empty() && r.back().begin <= end &&
        begin <= r.back().end) {  // built backward within a block, blocks forward
      r.back().begin = std::min(r.back().begin, begin);
      r.back().end = std::max(r.back().end, end);
    } else {
      r.push_back({begin, end});
    }
  }

  void build_block(BlockId id, uint32_t begin) {
    const Block& b = f_.block(id);
    uint32_t n = static_cast<uint32_t>(b.lets.size()), end = begin + 2 * (n + 2);
    auto at = [&](uint32_t let) { return begin + 2 * (let + 1); };
    // The end of life in this block of each name, found backward; kDead: not live.
    auto live = [&](NameId name, uint32_t until) {
      uint32_t& e = until_[index(name)];
      if (e == 0) touched_.push_back(index(name));
      e = std::max(e, until);
    };
    auto define = [&](NameId name, uint32_t pos) {
      uint32_t& e = until_[index(name)];
      add_range(index(name), pos, std::max(e, pos + 1));
      e = 0;
    };
    for (const Target& t : b.term.targets) {
      for (NameId name : live_in_[index(t.block)]) live(name, end);
      for (uint32_t k = 0; k < t.nargs; ++k)
        if (f_.args(t)[k].is_name()) live(f_.args(t)[k].name(), end);
    }
    if (b.term.a.is_name()) live(b.term.a.name(), at(n) + 1);
    if (b.term.b.is_name()) live(b.term.b.name(), at(n) + 1);
    auto hand_over = [&](uint32_t h, uint32_t pos) {
      if (h == Let::kNoHandover) return;
      const Handover& ho = f_.handovers[h];
      for (uint32_t k = 0; k < ho.nargs; ++k)
        if (f_.args(ho)[k].is_name()) live(f_.args(ho)[k].name(), pos + 1);
      for (NameId name : live_in_[index(ho.handler)]) live(name, pos + 1);
    };
    hand_over(b.term.handover, at(n));
    for (uint32_t i = n; i-- > 0;) {
      const Let& l = b.lets[i];
      if (l.result != NameId::none) define(l.result, at(i) + 1);
      for (uint32_t k = 0; k < l.nargs; ++k)
        if (f_.args(l)[k].is_name()) live(f_.args(l)[k].name(), at(i) + 1);
      hand_over(l.handover, at(i));
    }
    for (NameId p : b.params) define(p, begin);
    for (uint32_t name : touched_)
      if (until_[name]) {
        add_range(name, begin, until_[name]);
        until_[name] = 0;
      }
    touched_.clear();
  }

  void build_ranges() {
    until_.assign(f_.names.size(), 0);
    uint32_t pos = 2;
    for (BlockId id : order_) {
      build_block(id, pos);
      pos += 2 * (static_cast<uint32_t>(f_.block(id).lets.size()) + 2);
    }
    for (Ranges& r : ranges_) {
      std::sort(r.begin(), r.end(), [](const Range& x, const Range& y) { return x.begin < y.begin; });
      r = merged(r.data(), r.data() + r.size(), {});
    }
    for (NameId p : f_.blocks[0].params) {  // all parameters are there at once
      used_[index(p)] = true;
      Ranges entry{{0, 3}};
      merge_into(ranges_[index(p)], entry);
    }
  }

  uint32_t find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(NameId a, NameId b) {
    uint32_t x = find(index(a)), y = find(index(b));
    if (x == y || !used_[index(a)] || !used_[index(b)]) return;
    if (ranges_[x].size() * ranges_[y].size() > 1u << 20 || overlap(ranges_[x], ranges_[y])) return;
    if (y < x) std::swap(x, y);  // entry parameters have the smallest numbers
    parent_[y] = x;
    merge_into(ranges_[x], ranges_[y]);
  }

  void coalesce() {
    auto edge = [&](BlockId to, const Atom* args, uint32_t n, uint32_t skip) {
      const Block& b = f_.block(to);
      for (uint32_t k = 0; k < n; ++k)
        if (args[k].is_name()) join(b.params[k + skip], args[k].name());
    };
    auto edges = [&](bool heads) {
      for (BlockId id : order_) {
        const Block& b = f_.block(id);
        for (const Target& t : b.term.targets)
          if (f_.block(t.block).loop_head == heads) edge(t.block, f_.args(t), t.nargs, 0);
      }
    };
    edges(true);
    // An in-place operation leaves its result where the operand was.
    for (BlockId id : order_)
      for (const Let& l : f_.block(id).lets)
        if ((l.op == prim::update || is_in_place(l.op)) && l.nargs && f_.args(l)[0].is_name() &&
            l.result != NameId::none)
          join(l.result, f_.args(l)[0].name());
    edges(false);
    for (BlockId id : order_)
      for_each_handover(f_, f_.block(id),
                        [&](uint32_t, const Handover& h) { edge(h.handler, f_.args(h), h.nargs, 1); });
    std::vector<std::pair<uint32_t, uint32_t>> by_hint;
    for (uint32_t i = 0; i < f_.names.size(); ++i)
      if (used_[i] && f_.names[i].hint) by_hint.emplace_back(f_.names[i].hint.id(), i);
    std::sort(by_hint.begin(), by_hint.end());
    for (size_t i = 1; i < by_hint.size(); ++i)
      if (by_hint[i].first == by_hint[i - 1].first) join(NameId{by_hint[i - 1].second}, NameId{by_hint[i].second});
  }

  RegisterPlan number() {
    RegisterPlan plan;
    plan.reg_of.assign(f_.names.size(), -1);
    std::vector<int32_t> of_class(f_.names.size(), -1);
    uint32_t next = 0;
    for (NameId p : f_.blocks[0].params) of_class[find(index(p))] = static_cast<int32_t>(next++);
    std::vector<bool> named(f_.names.size(), false);
    for (uint32_t i = 0; i < f_.names.size(); ++i)
      if (used_[i] && f_.names[i].hint) named[find(i)] = true;
    for (BlockId id : order_)  // an iterator stays until its loop is left, not just until its last use
      for (const Let& l : f_.block(id).lets)
        if (l.op == prim::iter && l.result != NameId::none) named[find(index(l.result))] = true;
    std::vector<uint32_t> nameless;
    for (uint32_t i = 0; i < f_.names.size(); ++i) {
      if (!used_[i] || find(i) != i || of_class[i] >= 0) continue;
      if (named[i])
        of_class[i] = static_cast<int32_t>(next++);
      else
        nameless.push_back(i);
    }
    std::sort(nameless.begin(), nameless.end(),
              [&](uint32_t x, uint32_t y) { return ranges_[x][0].begin < ranges_[y][0].begin; });
    std::vector<std::pair<int32_t, Ranges>> shared;
    for (uint32_t c : nameless) {
      bool placed = false;
      size_t tries = 0;
      for (auto it = shared.rbegin(); it != shared.rend() && tries < 16; ++it, ++tries) {
        if (overlap(it->second, ranges_[c])) continue;
        merge_into(it->second, ranges_[c]);
        of_class[c] = it->first;
        placed = true;
        break;
      }
      if (placed) continue;
      of_class[c] = static_cast<int32_t>(next);
      shared.emplace_back(static_cast<int32_t>(next++), ranges_[c]);
    }
    for (uint32_t i = 0; i < f_.names.size(); ++i)
      if (used_[i]) plan.reg_of[i] = of_class[find(i)];
    plan.nregs = next;
    return plan;
  }

  const ir::Function& f_;
  const std::vector<BlockId>& order_;
  const std::vector<std::vector<NameId>>& live_in_;
  std::vector<Ranges> ranges_;
  std::vector<uint32_t> parent_;
  std::vector<bool> used_;
  std::vector<uint32_t> until_, touched_;
};

}  // namespace

RegisterPlan assign_registers(const ir::Function& f, const std::vector<ir::BlockId>& order,
                              const std::vector<std::vector<ir::NameId>>& live_in) {
  return Allocator(f, order, live_in).run();
}

}  // namespace ouro::runtime
