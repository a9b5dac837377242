// locals(), vars() and dir() without arguments, in a function or class body. Variables are names of the intermediate
// representation, which a function called at run time could not find: so the call is written out here, as a dict of
// what is bound at this point. That of a class body is its namespace itself. Order as CPython 3.11's: parameters,
// locals, own cells, captured variables, the last two by name.
#include <algorithm>

#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

/// Is this `name()`, and is `name` the built-in function's as far as the text tells?
bool Lowerer::is_builtin_call(const Call& e, std::string_view name) {
  auto* n = dyn<Name>(e.func);
  if (!n || n->id.text() != name || !e.args.empty() || !e.keywords.empty()) return false;
  Storage at = scope_.vars[var_index(n->id)].storage;
  bool outside = at == Storage::global || (at == Storage::class_name && !scope_.binds(n->id));
  return outside && !names_.scopes.front().binds(n->id);
}

bool Lowerer::is_locals_call(const Call& e) {
  if (scope_.kind == Scope::Kind::module) return false;
  return is_builtin_call(e, "locals") || is_builtin_call(e, "vars") || is_builtin_call(e, "dir");
}

Atom Lowerer::locals_dict(Span span) {
  if (scope_.kind == Scope::Kind::class_) return namespace_;
  struct Group {
    std::vector<uint32_t> params, locals, cells, captured;
  } g;
  for (uint32_t i = 0; i < scope_.vars.size(); ++i) {
    const Variable& v = scope_.vars[i];
    if (v.storage == Storage::captured)
      g.captured.push_back(i);
    else if (v.storage == Storage::local || v.storage == Storage::cell)
      (v.has(Variable::kParam) ? g.params : v.has(Variable::kCaptured) ? g.cells : g.locals).push_back(i);
  }
  const ir::Signature& sig = b_.head().sig;
  if (sig.varargs) {  // *args stands before the keyword-only parameters there, after them here
    auto at = g.params.begin() + sig.positional;
    std::rotate(at, at + 1, at + 1 + sig.kwonly);
  }
  auto by_name = [&](uint32_t a, uint32_t b) { return scope_.vars[a].name.text() < scope_.vars[b].name.text(); };
  std::sort(g.cells.begin(), g.cells.end(), by_name);
  std::sort(g.captured.begin(), g.captured.end(), by_name);
  Atoms args;  // of a hidden function: names, each with a value, a cell, or nothing
  for (auto* group : {&g.params, &g.locals, &g.cells, &g.captured})
    for (uint32_t i : *group) {
      const Variable& v = scope_.vars[i];
      args.push_back(b_.string(v.name.text()));
      args.push_back(v.storage == Storage::local  ? b_.read_var(slots_[i].var)
                     : v.storage == Storage::cell ? slots_[i].cell
                                                  : captures_[v.slot]);
    }
  Atom make = builtin(span, "dict_of_locals");
  return b_.call(make, view(args));
}

Atom Lowerer::call_locals(const Call& e) {
  Atom dict = locals_dict(e.span);
  if (!is_builtin_call(e, "dir")) return dict;
  Atom sorted = builtin(e.span, "sorted");
  return b_.call(sorted, {dict});
}

}  // namespace ouro::frontend
