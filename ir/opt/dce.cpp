#include "ir/opt/edit.h"
#include "ir/opt/passes.h"
#include "ir/walk.h"

namespace ouro::ir::opt {

// Backwards from what is noticed: a let is needed if it cannot be dropped or a needed one uses it.
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
    for (const Target& t : b.term.targets)
      for (uint32_t i = 0; i < t.nargs; ++i) need(f.args(t)[i]);
  }
  while (!work.empty()) {
    Binding at = where[index(work.back())];
    work.pop_back();
    if (at.block == BlockId::none || at.position == Binding::kParam) continue;
    for_each_arg(f, f.block(at.block).lets[static_cast<size_t>(at.position)], need);
  }
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (uint32_t i = 0; i < f.blocks[b].lets.size(); ++i)
      if (!needed[index(f.blocks[b].lets[i].result)] && is_droppable(f, f.blocks[b].lets[i])) e.remove(BlockId{b}, i);
  return e.finish();
}

}  // namespace ouro::ir::opt
