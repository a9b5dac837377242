#include "runtime/interpreter/names_set.h"

#include <unordered_set>

#include "ir/prim.h"

namespace ouro::runtime {

namespace prim = ir::prim;

namespace {

using Names = std::unordered_set<uint32_t>;  // of symbols

struct NamesSet {
  Names names;
};

void look_through(const ir::Function& f, Names& set) {
  static const Symbol class_name = intern("__class__");
  const bool own_globals = f.kind == ir::Function::Kind::module;  // the module's code sets them before others read them
  for (const ir::Block& b : f.blocks)
    for (const ir::Let& l : b.lets) {
      if (l.op == prim::attr_set || l.op == prim::attr_del) set.insert(l.attr);
      if (!own_globals && (l.op == prim::global_set || l.op == prim::global_del)) set.insert(l.attr);
    }
  for (const ir::PlacePath& p : f.paths) {
    if (!own_globals && p.root == ir::PlacePath::Root::global) set.insert(p.name.id());
    for (const ir::PlacePath::Step& step : p.steps)
      if (!step.is_item) set.insert(step.attr.id());
  }
  for (const ir::Constant& c : f.constants) {
    if (c.code) look_through(*c.code, set);
    // setattr may get the name through a variable.
    if (c.kind == ir::Constant::Kind::string && c.text == "__class__") set.insert(class_name.id());
  }
}

}  // namespace

void note_names_set(Session& s, const ir::Function& module) { look_through(module, s.state<NamesSet>().names); }

bool is_set_by_functions(Session& s, Symbol name) { return s.state<NamesSet>().names.count(name.id()) != 0; }

}  // namespace ouro::runtime
