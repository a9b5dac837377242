// Walking a Function: atoms, edges, predecessors, dominators, liveness.
//
// A raising let inside a `try` is an edge from the point before it to its handler. So dominance is computed on
// *segments*: a block is cut before each let that hands over, and what is bound after the cut is not seen by that
// handler. Dominators: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001). Liveness: per use, up to
// the binding (Boissinot et al. 2011, "by use"), linear in the size of the answer.
#pragma once

#include <vector>

#include "ir/anf.h"

namespace ouro::ir {

/// Every atom that a let reads itself (not its handover).
template <class Fn>
void for_each_arg(const Function& f, const Let& l, Fn&& fn) {
  for (uint32_t i = 0; i < l.nargs; ++i) fn(f.args(l)[i]);
}

/// Every handover of a block in order: fn(position, const Handover&); the terminator's position is lets.size().
template <class Fn>
void for_each_handover(const Function& f, const Block& b, Fn&& fn) {
  for (uint32_t i = 0; i < b.lets.size(); ++i)
    if (b.lets[i].handover != Let::kNoHandover) fn(i, f.handovers[b.lets[i].handover]);
  if (b.term.handover != Let::kNoHandover) fn(static_cast<uint32_t>(b.lets.size()), f.handovers[b.term.handover]);
}

/// Every use of a name in a block, handover and jump arguments included: fn(position, NameId).
template <class Fn>
void for_each_use(const Function& f, const Block& b, Fn&& fn) {
  auto use = [&fn](uint32_t pos, Atom a) {
    if (a.is_name()) fn(pos, a.name());
  };
  auto uses = [&use](uint32_t pos, const Atom* a, uint32_t n) {
    for (uint32_t k = 0; k < n; ++k) use(pos, a[k]);
  };
  uint32_t end = static_cast<uint32_t>(b.lets.size());
  for (uint32_t i = 0; i < end; ++i) uses(i, f.args(b.lets[i]), b.lets[i].nargs);
  for_each_handover(f, b, [&](uint32_t pos, const Handover& h) { uses(pos, f.args(h), h.nargs); });
  if (!b.term.a.is_none()) use(end, b.term.a);
  if (!b.term.b.is_none()) use(end, b.term.b);
  for (const Target& t : b.term.targets) uses(end, f.args(t), t.nargs);
}

/// Predecessors of each block, one entry per edge, handovers included.
std::vector<std::vector<BlockId>> predecessors(const Function& f);

/// Blocks in reverse postorder of a depth-first walk from the entry; unreachable blocks are left out.
std::vector<BlockId> reverse_postorder(const Function& f);

/// Where a name is bound. Parameters have position kParam.
struct Binding {
  static constexpr int32_t kParam = -1;
  BlockId block = BlockId::none;
  int32_t position = kParam;
};
std::vector<Binding> bindings(const Function& f);

class Dominators {
 public:
  explicit Dominators(const Function& f);
  bool reachable(BlockId b) const { return node_[first_[index(b)]].order != UINT32_MAX; }
  /// The whole of `a` up to its terminator need not be passed: entering `b` implies `a` was entered.
  bool dominates(BlockId a, BlockId b) const;
  /// Is a name bound at `def` surely bound at position `pos` of block `b` (position lets.size(): the terminator)?
  bool available(Binding def, BlockId b, uint32_t pos) const;

 private:
  struct Node {
    uint32_t order = UINT32_MAX;  // reverse postorder number
    uint32_t idom = UINT32_MAX;
    uint32_t enter = 0, leave = 0;  // numbers of a walk over the dominator tree
  };
  uint32_t segment(BlockId b, uint32_t pos) const;  // the node in which position `pos` is evaluated
  bool node_dominates(uint32_t a, uint32_t b) const {
    return node_[a].enter <= node_[b].enter && node_[b].leave <= node_[a].leave;
  }
  std::vector<uint32_t> first_;              // first node of each block
  std::vector<std::vector<uint32_t>> cuts_;  // positions of the lets that hand over
  std::vector<Node> node_;
};

/// Names live where a block begins (its own parameters excluded) and where it ends.
struct Liveness {
  explicit Liveness(const Function& f);
  std::vector<std::vector<NameId>> live_in;
  /// What the successors need of this block after its terminator; a handler's needs are live at each let that hands
  /// over to it.
  std::vector<NameId> live_out(const Function& f, BlockId b) const;
};

}  // namespace ouro::ir
