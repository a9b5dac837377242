#include "runtime/interpreter/names_set.h"

#include <algorithm>
#include <unordered_set>

#include "ir/prim.h"

namespace ouro::runtime {

namespace prim = ir::prim;

namespace {

using Names = std::unordered_set<uint32_t>;  // of symbols

struct NamesSet {
  Names names;
};

// A call that is given the text "__class__": setattr and its like.
bool names_class(const ir::Function& f, const ir::Let& l) {
  if (l.op != prim::call && l.op != prim::call_method && l.op != prim::call_loaded) return false;
  return std::any_of(f.args(l), f.args(l) + l.nargs, [&](ir::Atom a) {
    if (a.is_name()) return false;
    const ir::Constant& c = f.constant(a.constant());
    return c.kind == ir::Constant::Kind::string && c.text == "__class__";
  });
}

void look_through(const ir::Function& f, Names& set) {
  static const Symbol class_name = intern("__class__");
  const bool own_globals = f.kind == ir::Function::Kind::module;  // the module's code sets them before others read them
  for (const ir::Block& b : f.blocks)
    for (const ir::Let& l : b.lets) {
      if (l.op == prim::attr_set || l.op == prim::attr_del) set.insert(l.attr);
      if (names_class(f, l)) set.insert(class_name.id());
      if (!own_globals && (l.op == prim::global_set || l.op == prim::global_del)) set.insert(l.attr);
    }
  for (const ir::PlacePath& p : f.paths) {
    if (!own_globals && p.root == ir::PlacePath::Root::global) set.insert(p.name.id());
    for (const ir::PlacePath::Step& step : p.steps)
      if (!step.is_item) set.insert(step.attr.id());
  }
  for (const ir::Constant& c : f.constants)
    if (c.code) look_through(*c.code, set);
}

}  // namespace

void note_names_set(Session& s, const ir::Function& module) { look_through(module, s.state<NamesSet>().names); }

bool is_set_by_functions(Session& s, Symbol name) { return s.state<NamesSet>().names.count(name.id()) != 0; }

}  // namespace ouro::runtime
