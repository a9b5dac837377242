// def and lambda: defaults and annotations are evaluated here, then the closure is made and handed
// to the decorators.
#include "frontend/lowerer.h"
#include "frontend/unparse.h"

namespace ouro::frontend {
using namespace ast;

Atom Lowerer::closure(const Scope& inner, FunctionRef code, Atom defaults, Atom kw_defaults, Atom annotations,
                      Span span) {
  Atoms args;
  args.push_back(defaults);
  args.push_back(kw_defaults);
  args.push_back(annotations);
  for (const ScopeCapture& c : inner.captures) args.push_back(captured(c));
  Symbol name = code->name;
  Atom constant = b_.code(std::move(code));
  b_.set_span(span);
  NameId f = b_.let(prim::function, view(args), ir::index(constant.constant()));
  b_.set_hint(f, name);
  return f;
}

Atom Lowerer::defaults_of(const Arguments& a, Span span) {
  Atom known;
  if (constant_tuple(a.defaults, known)) return known;
  Atoms items;
  for (const ExprNode* d : a.defaults) items.push_back(expr(d));
  return let(span, prim::tuple, items);
}

Atom Lowerer::kw_defaults_of(const Arguments& a, Span span) {
  Atoms items;
  for (size_t i = 0; i < a.kwonlyargs.size(); ++i) {
    if (!a.kw_defaults[i]) continue;
    items.push_back(b_.string(mangled(a.kwonlyargs[i]->arg).text()));
    items.push_back(expr(a.kw_defaults[i]));
  }
  return items.empty() ? b_.none() : Atom(let(span, prim::dict, items));
}

Atom Lowerer::annotation(const ExprNode* e) {
  if (names_.future_annotations) return b_.string(unparse(e));
  if (auto* s = dyn<Starred>(e)) {  // *args: *Ts
    Atom v = expr(s->value);
    NameId one = let(e->span, prim::unpack, {v}, 1u);
    return let(e->span, prim::tuple_get, {one}, 0u);
  }
  return expr(e);
}

Atom Lowerer::annotations_of(const Arguments& a, const ExprNode* returns, Span span) {
  Atoms items;
  auto add = [&](Symbol name, const ExprNode* e) {
    if (!e) return;
    Atom value = annotation(e);
    items.push_back(b_.string(mangled(name).text()));
    items.push_back(value);
  };
  for (const Arg* p : a.args) add(p->arg, p->annotation);
  for (const Arg* p : a.posonlyargs) add(p->arg, p->annotation);
  if (a.vararg) add(a.vararg->arg, a.vararg->annotation);
  for (const Arg* p : a.kwonlyargs) add(p->arg, p->annotation);
  if (a.kwarg) add(a.kwarg->arg, a.kwarg->annotation);
  if (returns) add(intern("return"), returns);
  return items.empty() ? b_.none() : Atom(let(span, prim::dict, items));
}

void Lowerer::function_def(const FunctionDef& s) {
  Atoms decorators;
  for (const ExprNode* d : s.decorator_list) decorators.push_back(expr(d));
  Atom defaults = defaults_of(*s.args, s.span);
  Atom kw_defaults = kw_defaults_of(*s.args, s.span);
  Atom annotations = annotations_of(*s.args, s.returns, s.span);
  Scope& inner = names_.of(&s);
  FunctionRef code = Lowerer(names_, inner, s.span).function(s);
  Atom f = closure(inner, std::move(code), defaults, kw_defaults, annotations, s.span);
  for (size_t i = decorators.size(); i-- > 0;) {
    b_.set_span(s.decorator_list[i]->span);
    f = b_.call(decorators[i], {f});
  }
  assign(mangled(s.name), f, s.span);
}

Atom Lowerer::lambda_expr(const Lambda& e) {
  Atom defaults = defaults_of(*e.args, e.span);
  Atom kw_defaults = kw_defaults_of(*e.args, e.span);
  Scope& inner = names_.of(&e);
  FunctionRef code = Lowerer(names_, inner, e.span).lambda(e);
  return closure(inner, std::move(code), defaults, kw_defaults, b_.none(), e.span);
}

}  // namespace ouro::frontend
