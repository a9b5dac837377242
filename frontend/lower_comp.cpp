// Comprehensions: functions of their first iterator, as in CPython 3.11. The iterable of the first
// `for` is evaluated outside.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

Atom Lowerer::comprehension_expr(const ExprNode& e, Seq<Comprehension> generators, const ExprNode* elt,
                                 const ExprNode* value) {
  Scope& inner = names_.of(&e);
  FunctionRef code = Lowerer(names_, inner, e.span).comprehension(e, generators, elt, value);
  Atom f = closure(inner, std::move(code), b_.tuple_const({}), b_.none(), b_.none(), e.span);
  Atom iterable = read_only(generators[0]->iter);
  Atom iterator = let(e.span, prim::iter, {iterable});
  b_.set_span(e.span);
  return b_.call(f, {iterator});
}

FunctionRef Lowerer::comprehension(const ExprNode& e, Seq<Comprehension> generators, const ExprNode* elt,
                                   const ExprNode* value) {
  bool lazy = scope_.kind == Scope::Kind::generator_exp;
  begin(lazy ? ir::Function::Kind::generator : ir::Function::Kind::comprehension, nullptr);
  Atom iterator = b_.read_var(slots_[var_index(intern(".0"))].var);
  Atom result;
  if (!lazy) {
    ir::Op make = scope_.kind == Scope::Kind::list_comp  ? prim::list
                  : scope_.kind == Scope::Kind::set_comp ? prim::set
                                                         : prim::dict;
    result = let(e.span, make);
  }
  generator(generators, 0, iterator, result, elt, value);
  if (!lazy) b_.return_(result);
  return end();
}

void Lowerer::generator(Seq<Comprehension> generators, size_t i, Atom iterator, Atom result, const ExprNode* elt,
                        const ExprNode* value) {
  if (i == generators.size()) {
    Atom item = expr(elt);
    switch (scope_.kind) {
      case Scope::Kind::list_comp:
        let(elt->span, prim::list_append, {result, item});
        return;
      case Scope::Kind::set_comp:
        let(elt->span, prim::set_add, {result, item});
        return;
      case Scope::Kind::dict_comp: {
        Atom v = expr(value);
        let(cover(elt->span, value->span), prim::dict_set, {result, item, v});
        return;
      }
      default:
        b_.set_span(elt->span);
        b_.yield(item);
        return;
    }
  }
  const Comprehension& g = *generators[i];
  if (i > 0) {
    Atom iterable = read_only(g.iter);
    iterator = let(g.iter->span, prim::iter, {iterable});
  }
  BlockId head = b_.new_block(), body = b_.new_block(), done = b_.new_block();
  b_.jump(head, {});
  b_.switch_to(head);
  Assigned before = assigned_;
  Atom item = let(g.iter->span, prim::iter_next, {iterator});
  Atom over = let(g.iter->span, prim::is_end, {item});
  b_.branch(over, done, body);
  start(body);
  store(g.target, item);
  for (const ExprNode* test : g.ifs) {
    BlockId next = b_.new_block();
    Outcome o = condition(test, next, head);
    start(next);
    assigned_ = o.if_true;
  }
  generator(generators, i + 1, iterator, result, elt, value);
  b_.jump(head, {});
  b_.seal(head);
  start(done);
  assigned_ = before;
}

}  // namespace ouro::frontend
