#include <algorithm>

#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/walk.h"

namespace ouro::ir::opt {

// Backwards from what is noticed: a let is needed if it cannot be dropped or a needed one uses it, what is passed to a
// block if the block's parameter is.
FunctionRef drop_dead(const FunctionRef& source) {
  Edit e(source);
  const Function& f = *source;
  std::vector<bool> needed(f.names.size(), false);
  std::vector<NameId> work;
  auto need = [&](Atom a) {
    if (!a.is_name() || needed[index(a.name())]) return;
    needed[index(a.name())] = true;
    work.push_back(a.name());
  };
  std::vector<Binding> where = bindings(f);
  for (const Block& b : f.blocks) {
    for (const Let& l : b.lets)
      if (!is_droppable(f, l)) {
        need(Atom(l.result));
        for_each_arg(f, l, need);
      }
    for_each_handover(f, b, [&](uint32_t, const Handover& h) {
      for (uint32_t i = 0; i < h.nargs; ++i) need(f.args(h)[i]);
    });
    if (!b.term.a.is_none()) need(b.term.a);
    if (!b.term.b.is_none()) need(b.term.b);
  }
  // Parameters of the call, and those that a handler gets, are there whether they are needed or not.
  std::vector<bool> fixed(f.blocks.size(), false);
  fixed[0] = true;
  for (const Handover& h : f.handovers) fixed[index(h.handler)] = true;
  std::vector<std::vector<std::pair<BlockId, uint32_t>>> into(f.blocks.size());  // edges: block, target
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (uint32_t k = 0; k < f.blocks[b].term.targets.size(); ++k) {
      const Target& t = f.blocks[b].term.targets[k];
      into[index(t.block)].emplace_back(BlockId{b}, k);
      for (uint32_t i = 0; fixed[index(t.block)] && i < t.nargs; ++i) need(f.args(t)[i]);
    }
  while (!work.empty()) {
    const NameId name = work.back();
    Binding at = where[index(name)];
    work.pop_back();
    if (at.block == BlockId::none) continue;
    if (at.position == Binding::kParam) {
      if (fixed[index(at.block)]) continue;
      const std::vector<NameId>& params = f.block(at.block).params;
      const auto i = std::ranges::find(params, name) - params.begin();
      for (auto [b, k] : into[index(at.block)]) need(f.args(f.block(b).term.targets[k])[i]);
      continue;
    }
    for_each_arg(f, f.block(at.block).lets[static_cast<size_t>(at.position)], need);
  }
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (uint32_t i = 0; i < f.blocks[b].lets.size(); ++i)
      if (!needed[index(f.blocks[b].lets[i].result)] && is_droppable(f, f.blocks[b].lets[i])) e.remove(BlockId{b}, i);
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    const std::vector<NameId>& params = f.blocks[b].params;
    const auto is_needed = [&](NameId p) { return needed[index(p)]; };
    if (fixed[b] || std::ranges::all_of(params, is_needed)) continue;
    Function& out = e.function();
    for (auto [from, k] : into[b]) {
      std::vector<Atom> args;
      for (size_t i = 0; i < params.size(); ++i)
        if (is_needed(params[i])) args.push_back(f.args(f.block(from).term.targets[k])[i]);
      Target& t = out.blocks[index(from)].term.targets[k];
      t.args_begin = static_cast<uint32_t>(out.atoms.size());
      t.nargs = static_cast<uint32_t>(args.size());
      out.atoms.insert(out.atoms.end(), args.begin(), args.end());
    }
    std::erase_if(out.blocks[b].params, [&](NameId p) { return !is_needed(p); });
    e.mark_changed();
  }
  return e.finish();
}

}  // namespace ouro::ir::opt
