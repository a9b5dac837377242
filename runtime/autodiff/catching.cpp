// Forms that give what they raise (ir/grad/raising.h), by kind of callable.
#include "ir/grad/raising.h"
#include "ir/grad/reverse.h"
#include "runtime/autodiff/forms.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/metaclass.h"

namespace ouro::runtime::autodiff {
namespace {

Value of_function(Session& s, const Value& v) {
  Function* f = v.as<Function>();
  if (f->code->is_generator || ir::grad::is_forward_form(*f->code)) return Value::none();
  State::Pair& p = pair_of(s, f->code);
  if (!p.catching) p.catching = ir::grad::catching(*f->code);
  const ir::FunctionRef code = p.catching;
  State::Pair& caught = pair_of(s, code);
  if (!caught.forward && caught.error.empty())
    caught.forward = ir::grad::reverse(*code, false, &caught.error, follows_tests(s, *code));
  return caught.forward ? with_defaults(s, derived_function(f, caught.forward), f) : Value::none();
}

// Of a native or a built-in class that has `form`: one that grad_rules says, or that of the function which does the
// same.
Value of_builtin(Session& s, const void* what, const Value& form) {
  const auto& own = state(s).catching;
  if (auto it = own.find(what); it != own.end()) return it->second;
  auto* f = cast_exact<Function>(form);
  if (!f || !ir::grad::is_forward_form(*f->code)) return Value::none();
  const Value& source = f->captures.back();
  return kind_of(source) == ObjectKind::function ? of_function(s, source) : Value::none();
}

Value with_receiver(Session& s, Value form, const Value& self, const Value& method) {
  return form.is_none() ? form : adapter(s, "with_holder", {form, self, method});
}

Value of_native(Session& s, const Value& v) {
  auto* n = v.as<Native>();
  OURO_TRY_DO(forward_form(s, v));  // so that grad_rules is there, and the form of a text
  const auto& forms = state(s).natives;
  const auto it = forms.find(n->def);
  if (it == forms.end() && !state(s).catching.contains(n->def)) return caught_native(v);
  OURO_TRY(form, of_builtin(s, n->def, it == forms.end() ? Value() : it->second));
  return n->self.is_unbound() ? form : with_receiver(s, form, n->self, v);
}

Value of_class(Session& s, const Value& v) {
  Type* t = v.as<Type>();
  OURO_TRY_DO(rules_module(s));
  const auto& forms = state(s).classes;
  if (auto it = forms.find(t); it != forms.end()) return of_builtin(s, t, it->second);
  const Value init = find_dunder(s, t, Dunder::init_), make = find_dunder(s, t, Dunder::new_);
  if (t->is_exception)
    return kind_of(init) == ObjectKind::function ? adapter(s, "catching_exception", {v, init}) : Value::none();
  if (t->builtin) return caught_native(v);
  if (called_by_metaclass(s, t)) {
    OURO_TRY(form, catching_form(s, find_dunder(s, metaclass_of(s, t), Dunder::call_)));
    return form.is_none() ? form : adapter(s, "with_self", {form, v});
  }
  auto* made = cast_exact<StaticMethod>(make);
  const bool bare = make.is_unbound() || (made && kind_of(made->function) == ObjectKind::native);
  if (!bare || t->layout != ObjectKind::instance) {
    OURO_TRY(text, protocol_function(s, "construct"));
    OURO_TRY(construct, catching_form(s, text));
    return adapter(s, "with_self", {construct, v});
  }
  if (kind_of(init) != ObjectKind::function) return Value::none();
  return adapter(s, "catching_constructor", {v, init});
}

Value of_instance(Session& s, const Value& v) {
  if (has_own(s, v, kOwnForm)) return Value::none();
  if (has_own(s, v, kDifferentiatesAs)) {
    OURO_TRY(wrapped, lookup_attr(s, v, intern(kDifferentiatesAs)));
    return catching_form(s, wrapped);
  }
  const Value method = find_dunder(s, type_of(s, v), Dunder::call_);
  if (kind_of(method) != ObjectKind::function) return Value::none();
  OURO_TRY(form, of_function(s, method));
  return form.is_none() ? form : adapter(s, "with_self", {form, v});
}

}  // namespace

Value catching_form(Session& s, const Value& f) {
  if (!stack_left(s)) return Value::error();
  switch (kind_of(f)) {
    case ObjectKind::function:
      return of_function(s, f);
    case ObjectKind::native:
      return of_native(s, f);
    case ObjectKind::type:
      return of_class(s, f);
    case ObjectKind::static_method:
      return catching_form(s, f.as<StaticMethod>()->function);
    case ObjectKind::bound_method: {
      auto* m = f.as<BoundMethod>();
      OURO_TRY(form, catching_form(s, m->function));
      return with_receiver(s, form, m->self, f);
    }
    case ObjectKind::instance:
      return of_instance(s, f);
    default:
      return Value::none();
  }
}

}  // namespace ouro::runtime::autodiff
