// Calls: `a.f(x)` is one operation, call.method; the arguments' kinds stand in a CallSig.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

void Lowerer::arguments(Exprs args, Seq<Keyword> keywords, CallArgs& out) {
  if (args.size() > kMaxOperands) {
    out.add(list_or_set(*args[0], args, false), CallSig::Kind::star);
    args = {};
  }
  for (const ExprNode* a : args) {
    if (auto* s = dyn<Starred>(a))
      out.add(expr(s->value), CallSig::Kind::star);
    else
      out.add(expr(a));
  }
  for (const Keyword* k : keywords)
    out.add(expr(k->value), k->arg ? CallSig::Kind::keyword : CallSig::Kind::double_star, k->arg);
}

Atom Lowerer::call(const Call& e) {
  if (is_super_call(e)) return call_super(e);
  if (is_locals_call(e)) return call_locals(e);
  CallArgs args;
  if (auto* a = dyn<Attribute>(e.func)) {
    Atom receiver = expr(a->value);
    arguments(e.args, e.keywords, args);
    b_.set_span(e.span);
    return b_.call_method(receiver, mangled(a->attr), view(args.atoms), std::move(args.sig));
  }
  Atom callee = expr(e.func);
  arguments(e.args, e.keywords, args);
  b_.set_span(e.span);
  return b_.call(callee, view(args.atoms), std::move(args.sig));
}

// `super()` in a method stands for `super(__class__, first parameter)`; a plain call says what is
// wrong where there is no parameter.
bool Lowerer::is_super_call(const Call& e) {
  static const Symbol super_ = intern("super");
  auto* n = dyn<Name>(e.func);
  if (!n || n->id != super_ || !e.args.empty() || !e.keywords.empty() || b_.head().sig.positional == 0) return false;
  const Variable& v = scope_.vars[var_index(super_)];
  return v.storage == Storage::global && !names_.scopes.front().binds(super_);
}

Atom Lowerer::call_super(const Call& e) {
  static const Symbol class_ = intern("__class__");
  Atom callee = expr(e.func);
  Variable* c = scope_.find(class_);
  if (!c || c->storage != Storage::captured) {
    Atom error = builtin(e.span, "RuntimeError");
    b_.raise(b_.call(error, {b_.string("super(): __class__ cell not found")}));
    return b_.none();
  }
  Atom cls = load(class_, e.span);
  Atom self = load(b_.head().sig.names[0], e.span);
  b_.set_span(e.span);
  return b_.call(callee, {cls, self});
}

}  // namespace ouro::frontend
