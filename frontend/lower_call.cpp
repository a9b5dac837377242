// Calls: `a.f(x)` is one operation, call.method; the arguments' kinds stand in a CallSig. Where evaluating the
// arguments may do anything that shows, method.get looks `f` up before them, as CPython does, and call.loaded calls it.
#include <algorithm>

#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

/// Does it give the same whatever runs before it?
bool Lowerer::is_fixed(const ExprNode* e) {
  if (auto* s = dyn<Starred>(e)) return is_fixed(s->value);
  if (auto* n = dyn<Name>(e)) {
    uint32_t i = var_index(mangled(n->id));
    return scope_.vars[i].storage == Storage::local && assigned_.has(i);
  }
  if (auto* u = dyn<UnaryOp>(e)) return u->op == UnaryOperator::USub && dyn<Constant>(u->operand);
  return dyn<Constant>(e);
}

/// `*v`: the call spreads it. Where what follows may see or change what that does, its items are taken before.
void Lowerer::spread(const Starred& e, bool at_once, CallArgs& out) {
  Atom whole = expr(e.value);
  if (at_once && !dyn<List>(e.value) && !dyn<Tuple>(e.value) && !dyn<ListComp>(e.value)) {
    NameId items = let(e.span, prim::list);
    let(e.span, prim::list_extend, {items, whole});
    whole = let(e.span, prim::list_to_tuple, {items});
  }
  out.add(whole, CallSig::Kind::star);
}

void Lowerer::arguments(Exprs args, Seq<Keyword> keywords, CallArgs& out, bool of_class) {
  if (args.size() > kMaxOperands) {
    out.add(list_or_set(*args[0], args, false), CallSig::Kind::star);
    args = {};
  }
  const bool fixed =
      std::all_of(keywords.begin(), keywords.end(), [&](const Keyword* k) { return is_fixed(k->value); });
  size_t open = args.size() + !fixed;  // what stands from there on gives the same whatever runs before it
  while (open && open <= args.size() && is_fixed(args[open - 1])) --open;
  const bool alone = args.size() == 1 && !of_class;  // it is spread after the keywords
  for (size_t i = 0; i < args.size(); ++i) {
    if (auto* s = dyn<Starred>(args[i]))
      spread(*s, !alone && i + 1 < open, out);
    else
      out.add(expr(args[i]));
  }
  for (const Keyword* k : keywords)
    out.add(expr(k->value), k->arg ? CallSig::Kind::keyword : CallSig::Kind::double_star, k->arg);
}

/// Does evaluating it neither run anything nor fail?
bool Lowerer::is_calm(const ExprNode* e) {
  auto all = [&](Exprs elts) {
    return std::all_of(elts.begin(), elts.end(), [&](const ExprNode* x) { return !dyn<Starred>(x) && is_calm(x); });
  };
  if (dyn<Constant>(e)) return true;
  if (auto* n = dyn<Name>(e)) {
    uint32_t i = var_index(mangled(n->id));
    Storage at = scope_.vars[i].storage;
    if (at == Storage::local) return assigned_.has(i);
    return at == Storage::cell || at == Storage::captured || names_.scopes.front().binds(n->id);
  }
  if (auto* s = dyn<Starred>(e)) return is_calm(s->value);  // spread by the call itself
  if (auto* u = dyn<UnaryOp>(e)) return u->op == UnaryOperator::USub && dyn<Constant>(u->operand);
  if (auto* l = dyn<Lambda>(e)) return l->args->defaults.empty() && l->args->kw_defaults.empty();
  if (auto* t = dyn<Tuple>(e)) return all(t->elts);
  if (auto* l = dyn<List>(e)) return all(l->elts);
  return false;
}

Atom Lowerer::method_call(const Call& e, const Attribute& a) {
  CallArgs args;
  Atom receiver = expr(a.value);
  bool calm = std::all_of(e.args.begin(), e.args.end(), [&](const ExprNode* x) { return is_calm(x); }) &&
              std::all_of(e.keywords.begin(), e.keywords.end(), [&](const Keyword* k) { return is_calm(k->value); });
  if (calm) {
    arguments(e.args, e.keywords, args);
    b_.set_span(e.span);
    return b_.call_method(receiver, mangled(a.attr), view(args.atoms), std::move(args.sig));
  }
  Atom loaded = let(a.span, prim::method_get, {receiver}, mangled(a.attr));
  arguments(e.args, e.keywords, args);
  b_.set_span(e.span);
  return b_.call_loaded(loaded, receiver, mangled(a.attr), view(args.atoms), std::move(args.sig));
}

Atom Lowerer::call(const Call& e) {
  if (is_super_call(e)) return call_super(e);
  if (is_locals_call(e)) return call_locals(e);
  if (auto* a = dyn<Attribute>(e.func)) return method_call(e, *a);
  CallArgs args;
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
