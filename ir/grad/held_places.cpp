#include "ir/grad/held_places.h"

#include <algorithm>

#include "ir/prim.h"

namespace ouro::ir::grad {

FunctionRef without_held_places(const Function& source) {
  if (std::ranges::none_of(source.paths, [](const PlacePath& p) { return p.held; })) return nullptr;
  Function f = source;
  for (Block& b : f.blocks)
    for (Let& l : b.lets) {
      if (l.op != prim::update || !f.paths[l.attr].held) continue;
      const PlacePath& path = f.paths[l.attr];
      const uint32_t lead = l.nargs - 1 - path.containers();
      const uint32_t begin = static_cast<uint32_t>(f.atoms.size());
      for (uint32_t i = 0; i < lead; ++i) f.atoms.push_back(Atom(f.atoms[l.args_begin + i]));
      f.atoms.push_back(Atom(f.atoms[l.args_begin + l.nargs - 1]));
      l.args_begin = begin;
      l.nargs = lead + 1;
    }
  for (PlacePath& p : f.paths) p.held = false;
  return std::make_shared<const Function>(std::move(f));
}

}  // namespace ouro::ir::grad
