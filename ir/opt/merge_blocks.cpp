#include <algorithm>

#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/walk.h"

namespace ouro::ir::opt {

namespace {

// Where a block that does nothing leads to: the last edge of the way.
const Target& end_of_way(const Function& f, const Target& t) {
  const Target* at = &t;
  for (size_t steps = 0; steps < f.blocks.size(); ++steps) {
    const Block& b = f.block(at->block);
    if (!b.lets.empty() || !b.params.empty() || b.loop_head || b.handler || b.term.kind != Terminator::Kind::jump)
      break;
    at = &b.term.targets[0];
  }
  return *at;
}

bool alike(const Function& f, const Target& a, const Target& b) {
  return a.block == b.block && std::equal(f.args(a), f.args(a) + a.nargs, f.args(b), f.args(b) + b.nargs);
}

}  // namespace

// A branch whose ways are one is none.
FunctionRef merge_blocks(const FunctionRef& source) {
  Edit e(source);
  Function& f = e.function();
  for (Block& b : f.blocks) {
    if (b.term.kind != Terminator::Kind::branch) continue;
    const Target x = end_of_way(f, b.term.targets[0]), y = end_of_way(f, b.term.targets[1]);
    if (!alike(f, x, y)) continue;
    b.term.kind = Terminator::Kind::jump;
    b.term.a = Atom();
    b.term.targets = {x};
    e.mark_changed();
  }
  std::vector<BlockId> order = reverse_postorder(f);
  std::vector<uint32_t> ways(f.blocks.size(), 0);  // into each block
  ways[0] = 2;                                     // the call
  for (BlockId b : order)
    for (const Target& t : f.block(b).term.targets) ++ways[index(t.block)];
  for (const Handover& h : f.handovers) ways[index(h.handler)] += 2;
  std::vector<bool> gone(f.blocks.size(), false);
  for (BlockId b : order) {
    if (gone[index(b)]) continue;
    Block& into = f.blocks[index(b)];
    while (into.term.kind == Terminator::Kind::jump) {
      const Target way = into.term.targets[0];
      Block& next = f.blocks[index(way.block)];
      if (ways[index(way.block)] != 1 || way.block == b) break;
      for (size_t i = 0; i < next.params.size(); ++i) e.replace(next.params[i], f.args(way)[i]);
      into.lets.insert(into.lets.end(), next.lets.begin(), next.lets.end());
      into.term = std::move(next.term);
      next = Block{};
      next.term.kind = Terminator::Kind::unreachable;
      gone[index(way.block)] = true;
      e.mark_changed();
    }
  }
  return e.finish();
}

}  // namespace ouro::ir::opt
