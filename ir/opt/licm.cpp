#include <algorithm>

#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/walk.h"

namespace ouro::ir::opt {
namespace {

// The natural loop of a head: the blocks that reach one of its back edges without passing it.
std::vector<bool> loop_of(const Function& f, const Dominators& d, const std::vector<std::vector<BlockId>>& before,
                          BlockId head) {
  std::vector<bool> in(f.blocks.size(), false);
  in[index(head)] = true;
  std::vector<BlockId> work;
  for (BlockId p : before[index(head)])
    if (d.reachable(p) && d.dominates(head, p) && !in[index(p)]) in[index(p)] = true, work.push_back(p);
  while (!work.empty()) {
    BlockId b = work.back();
    work.pop_back();
    for (BlockId p : before[index(b)])
      if (!in[index(p)]) in[index(p)] = true, work.push_back(p);
  }
  return in;
}

}  // namespace

// The loop's one entry must be a plain jump: what is hoisted goes to its end. Pure lets cannot raise, so a loop that
// never runs loses only time. What is done with a name that may be None stays behind the branch that asks.
FunctionRef hoist_invariants(const FunctionRef& source) {
  auto f = std::make_shared<Function>(*source);
  Dominators d(*source);
  auto before = predecessors(*source);
  bool changed = false;
  for (uint32_t h = 0; h < f->blocks.size(); ++h) {
    if (!f->blocks[h].loop_head || !d.reachable(BlockId{h})) continue;
    std::vector<bool> in = loop_of(*f, d, before, BlockId{h});
    BlockId entry = BlockId::none;
    int entries = 0;
    for (BlockId p : before[h])
      if (!in[index(p)]) entry = p, ++entries;
    if (entries != 1 || f->block(entry).term.kind != Terminator::Kind::jump) continue;
    std::vector<bool> inside(f->names.size(), false);
    for (uint32_t b = 0; b < f->blocks.size(); ++b) {
      if (!in[b]) continue;
      for (NameId p : f->blocks[b].params) inside[index(p)] = true;
      for (const Let& l : f->blocks[b].lets) inside[index(l.result)] = true;
    }
    for (BlockId b : reverse_postorder(*source)) {
      if (!in[index(b)]) continue;
      std::erase_if(f->blocks[index(b)].lets, [&](const Let& l) {
        bool fixed = is_pure(*f, l);
        for_each_arg(*f, l, [&](Atom a) {
          fixed = fixed && !(a.is_name() && (inside[index(a.name())] || f->name_info(a.name()).optional));
        });
        if (!fixed) return false;
        inside[index(l.result)] = false;
        f->blocks[index(entry)].lets.push_back(l);
        return changed = true;
      });
    }
  }
  if (!changed) return source;
  return f;
}

}  // namespace ouro::ir::opt
