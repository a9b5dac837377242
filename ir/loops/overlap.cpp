#include "ir/loops/overlap.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/loops/placement.h"

namespace ouro::ir::loops {
namespace {

struct Loop {
  uint32_t var;
  Poly extent;
};

// A load of the input or the store to the output, with the loops around it, outermost first.
struct AccessAt {
  NodeId at;
  std::vector<Loop> loops;
};

// An index: a constant and a coefficient for each variable.
struct Affine {
  Poly constant;
  std::map<uint32_t, Poly> of;  // no zero is kept

  void add(const Affine& b, const Poly& times) {
    constant += b.constant * times;
    for (const auto& [var, c] : b.of)
      if ((of[var] += c * times).is(0)) of.erase(var);
  }
};

class OverlapTest {
 public:
  OverlapTest(const LoweredKernel& k, uint32_t in, uint32_t out, bool device)
      : l_(k), k_(k.kernel), in_(in), out_(out), device_(device), placement_(k.kernel) {}

  bool run() {
    if (!walk(k_.body, {})) return false;
    return store_ && std::ranges::all_of(loads_, [&](const AccessAt& load) { return apart(load, *store_); });
  }

  static bool reduces_together(const std::vector<Stmt>& body) {
    return std::ranges::any_of(body, [](const Stmt& s) {
      return (s.kind == Stmt::Kind::reduce && s.order == ReduceOrder::fold) || reduces_together(s.body);
    });
  }

 private:
  // Notes the accesses in the order in which they stand; false: a load behind the store, or a second store.
  bool walk(const std::vector<Stmt>& body, Placement::Scope scope) {
    for (const Stmt& s : body) {
      if (!note_loads(placement_.before(s, scope))) return false;
      size_t placed = placement_.mark(), depth = loops_.size();
      Placement::Scope inner = scope;
      for (size_t i = 0; i < s.vars.size(); ++i) {
        auto extent = number(s.extents[i]);
        if (!extent) return false;
        inner.vars |= uint64_t{1} << s.vars[i];
        loops_.push_back({s.vars[i], *extent});
      }
      if (s.kind == Stmt::Kind::reduce) {
        if (!note_loads(placement_.inside_reduce(s, inner))) return false;
      } else if (s.kind == Stmt::Kind::store) {
        if (s.buffer == out_ && std::exchange(store_, AccessAt{s.at, loops_})) return false;
      } else if (!walk(s.body, inner)) {
        return false;
      }
      loops_.resize(depth);
      if (s.kind != Stmt::Kind::store) placement_.forget(placed);
      for (uint32_t r : s.results) scope.results |= uint64_t{1} << r;
    }
    return true;
  }

  bool note_loads(const std::vector<NodeId>& nodes) {
    for (NodeId id : nodes) {
      const Node& n = k_.node(id);
      if (n.kind != Node::Kind::load || n.id != in_) continue;
      if (store_) return false;
      loads_.push_back({n.args[0], loops_});
    }
    return true;
  }

  // Condition 2.
  bool apart(const AccessAt& load, const AccessAt& store) const {
    auto a = affine(load.at), b = affine(store.at);
    if (!a || !b) return false;
    size_t common = 0;
    while (common < load.loops.size() && common < store.loops.size() &&
           load.loops[common].var == store.loops[common].var)
      ++common;
    if (common == 0 && !store.loops.empty()) return false;
    if (device_ && common < store.loops.size()) return false;
    Poly range = 0;  // of one iteration of the loops around both; 0: not yet told by the innermost of them
    for (size_t i = common; i-- > 0;) {
      const Loop& loop = store.loops[i];
      if (loop.extent.is(1)) continue;
      auto ca = a->of.find(loop.var), cb = b->of.find(loop.var);
      if (ca == a->of.end() || cb == b->of.end() || !(ca->second == cb->second)) return false;
      if (range.is(0)) {
        range = ca->second;
        if (!stays_below(*a, load, common, range) || !stays_below(*b, store, common, range)) return false;
      } else if (!(ca->second == range)) {
        return false;
      }
      range = range * loop.extent;
    }
    return true;
  }

  // Are all values of the index without its common loops in [0, range)?
  static bool stays_below(const Affine& index, const AccessAt& access, size_t common, const Poly& range) {
    Poly highest = index.constant;
    if (!never_negative(index.constant)) return false;
    size_t used = 0;
    for (size_t i = 0; i < access.loops.size(); ++i) {
      auto c = index.of.find(access.loops[i].var);
      if (c == index.of.end()) continue;
      ++used;
      if (i < common) continue;
      if (!never_negative(c->second)) return false;
      highest += c->second * (access.loops[i].extent - Poly(1));
    }
    return used == index.of.size() && never_negative(range - Poly(1) - highest);
  }

  // For all sizes; sufficient, not necessary. (An access happens only where every extent is at least 1.)
  static bool never_negative(const Poly& p) {
    return std::ranges::all_of(p.terms(), [](const auto& term) { return term.second >= 0; });
  }

  std::optional<Poly> number(NodeId id) const {
    const Node& n = k_.node(id);
    if (n.kind == Node::Kind::constant) return Poly(n.bits);
    if (n.kind == Node::Kind::size && n.id < l_.sizes.size()) return l_.sizes[n.id];
    if (n.kind != Node::Kind::index || (n.leaf != Leaf::add && n.leaf != Leaf::sub && n.leaf != Leaf::mul)) return {};
    auto a = number(n.args[0]), b = number(n.args[1]);
    if (!a || !b) return {};
    return n.leaf == Leaf::mul ? *a * *b : n.leaf == Leaf::add ? *a + *b : *a - *b;
  }

  std::optional<Affine> affine(NodeId id) const {
    if (auto p = number(id)) return Affine{*p, {}};
    const Node& n = k_.node(id);
    if (n.kind == Node::Kind::var) return Affine{0, {{n.id, Poly(1)}}};
    if (n.kind != Node::Kind::index) return {};
    if (n.leaf == Leaf::mul) {
      for (int side = 0; side < 2; ++side)
        if (auto factor = number(n.args[1 - side])) {
          auto a = affine(n.args[side]);
          if (!a) return {};
          Affine out;
          out.add(*a, *factor);
          return out;
        }
      return {};
    }
    if (n.leaf != Leaf::add && n.leaf != Leaf::sub) return {};
    auto a = affine(n.args[0]), b = affine(n.args[1]);
    if (!a || !b) return {};
    a->add(*b, n.leaf == Leaf::add ? 1 : -1);
    return a;
  }

  const LoweredKernel& l_;
  const Kernel& k_;
  uint32_t in_, out_;
  bool device_;
  Placement placement_;
  std::vector<Loop> loops_;
  std::vector<AccessAt> loads_;
  std::optional<AccessAt> store_;
};

}  // namespace

bool may_overwrite(const LoweredKernel& k, uint32_t in, uint32_t out, bool device) {
  if (device && OverlapTest::reduces_together(k.kernel.body)) return false;
  return OverlapTest(k, in, out, device).run();
}

}  // namespace ouro::ir::loops
