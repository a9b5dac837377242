// Forward forms of everything that can be called, by kind.
#include <algorithm>
#include <iterator>
#include <optional>

#include "ir/effect.h"
#include "ir/grad/reverse.h"
#include "runtime/autodiff/forms.h"
#include "runtime/autodiff/natives.h"
#include "runtime/autodiff/recording.h"
#include "runtime/autodiff/special.h"
#include "runtime/object/bind.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/tensor/tensor.h"
#include "support/small_vec.h"

namespace ouro::runtime::autodiff {

const Value& rules_module(Session& s) {
  State& st = state(s);
  if (st.rules.is_unbound()) {
    // While it is imported nothing in it is differentiated; if that fails (memory, an interrupt), the next one tries
    // again.
    struct Importing {
      Value& rules;
      bool done = false;
      ~Importing() {
        if (!done) rules = Value();
      }
    } importing{st.rules};
    st.rules = Value::none();
    Value module = import_module(s, intern("ouro.grad_rules"));
    static const Value failed = Value::error();
    if (module.is_error()) return failed;
    st.table = get_attr(s, module, "RULES");
    st.rules = std::move(module);
    importing.done = true;
  }
  return st.rules;
}

Value rules_function(Session& s, std::string_view name) {
  State& st = state(s);
  auto it = st.found.find(std::string(name));
  if (it != st.found.end()) return it->second;
  const Value& module = rules_module(s);
  if (module.is_error()) return module;
  Value f = lookup_attr(s, module, intern(name));
  if (!f.is_unbound() && !f.is_error()) st.found.emplace(name, f);
  return f;
}

Value find_rule(Session& s, std::string_view name) {
  State& st = state(s);
  std::string key = "rule " + std::string(name);
  auto it = st.found.find(key);
  if (it != st.found.end()) return it->second;
  const Value& module = rules_module(s);
  if (module.is_error()) return module;
  Value f = dict_get_str(s, st.table.as<Dict>(), name);
  if (!f.is_error()) st.found.emplace(std::move(key), f);
  return f;
}

bool follows_tests(Session& s, const ir::Function& code) {
  const SourceFile* file = s.sources.file(code.span.file);
  if (!file) return true;
  constexpr std::string_view kOfNumbers[] = {"ouro/nn/", "ouro/ops/", "ouro/distributions/", "ouro/metrics/"};
  return std::ranges::none_of(kOfNumbers, [&](std::string_view folder) { return file->name().starts_with(folder); });
}

State::Pair& pair_of(Session& s, const ir::FunctionRef& code) {
  State::Pair& p = state(s).pairs[code.get()];
  if (!p.source) p.source = code;
  return p;
}

Value adapter(Session& s, std::string_view name, std::initializer_list<Value> args) {
  OURO_TRY(f, rules_function(s, name));
  return call(s, f, args);
}

Value with_defaults(Session& s, Value form, const Function* f) {
  return f->flags & kComputedDefaults ? adapter(s, "with_defaults", {form, Value::share(const_cast<Function*>(f))})
                                      : form;
}

Value derived_function(Function* f, const ir::FunctionRef& code) {
  Value v = Value::steal(new_object<Function>(ObjectKind::function));
  Function* d = v.as<Function>();
  d->code = code;
  d->globals = f->globals;
  d->name = f->name, d->qualname = f->qualname, d->doc = f->doc;
  d->defaults = f->defaults, d->kwdefaults = f->kwdefaults;
  d->module_name = f->module_name;
  d->captures = f->captures;
  d->captures.push_back(Value::share(f));
  return v;
}

namespace {

Value of_function(Session& s, const Value& v) {
  Function* f = v.as<Function>();
  State::Pair& p = pair_of(s, f->code);
  if (!p.forward && p.error.empty())
    p.forward = ir::grad::reverse(*f->code, false, &p.error, follows_tests(s, *f->code));
  return p.forward ? with_defaults(s, derived_function(f, p.forward), f) : plain_form(v);
}

Value of_native(Session& s, const Value& v) {
  Native* n = v.as<Native>();
  if (rules_module(s).is_error()) return Value::error();
  auto it = state(s).natives.find(n->def);
  if (it == state(s).natives.end()) {
    const ir::OpInfo* row = operation_of(n->def);
    const bool in_text = n->owner == s.object_type() || n->owner == s.type(ObjectKind::property) ||
                         n->owner == s.type(ObjectKind::list) || n->owner == s.type(ObjectKind::dict);
    if (!row && in_text) {  // object.__setattr__: what the text says
      OURO_TRY_DO(protocol_function(s, "load"));
      if (Value text = text_of_native(s, n->def); !text.is_unbound()) {
        OURO_TRY(form, forward_form(s, text));
        it = state(s).natives.emplace(n->def, form).first;
        return n->self.is_unbound() ? it->second : adapter(s, "with_self", {it->second, n->self});
      }
    }
    if (!row) return plain_form(v);
    OURO_TRY(form, adapter(s, "row_native", {Value::integer(static_cast<int64_t>(row->op))}));
    it = state(s).natives.emplace(n->def, form).first;
  }
  if (n->self.is_unbound()) return it->second;
  return adapter(s, "with_holder", {it->second, n->self, v});
}

// Classes made by scripts: a bare instance, then __init__ under differentiation.
Value of_class(Session& s, const Value& v) {
  Type* t = v.as<Type>();
  if (rules_module(s).is_error()) return Value::error();
  auto it = state(s).classes.find(t);
  if (it != state(s).classes.end()) return it->second;
  if (t->is_exception) {
    const Value& own = find_dunder(s, t, Dunder::init_);
    return adapter(s, "exception", {v, kind_of(own) == ObjectKind::function ? own : Value::none()});
  }
  if (t == s.type(ObjectKind::type)) return rules_function(s, "type_form");
  if (t->builtin) return plain_form(v);
  if (called_by_metaclass(s, t)) {
    OURO_TRY(form, forward_form(s, find_dunder(s, metaclass_of(s, t), Dunder::call_)));
    return adapter(s, "with_self", {form, v});
  }
  return constructing_form(s, v);
}

}  // namespace

Value constructing_form(Session& s, const Value& v) {
  Type* t = v.as<Type>();
  Value init = find_dunder(s, t, Dunder::init_), make = find_dunder(s, t, Dunder::new_);
  StaticMethod* made = cast_exact<StaticMethod>(make);
  const bool extends = t->layout != ObjectKind::instance;  // a built-in class, whose __new__ and __init__ do their part
  if (extends || (!make.is_unbound() && (!made || kind_of(made->function) != ObjectKind::native))) {
    OURO_TRY(form, protocol_function(s, "construct"));
    OURO_TRY(construct, forward_form(s, form));
    return adapter(s, "with_self", {construct, v});
  }
  if (kind_of(init) != ObjectKind::function) return plain_form(v);
  return adapter(s, "constructor", {v, init});
}

namespace {

Value of_instance(Session& s, const Value& v) {
  auto asked = [&](std::string_view name) { return has_own(s, v, name) ? lookup_attr(s, v, intern(name)) : Value(); };
  Value rule = asked(kOwnForm);
  if (rule.is_error()) return rule;
  if (!rule.is_unbound()) return rule;
  Value wrapped = asked(kDifferentiatesAs);
  if (wrapped.is_error()) return wrapped;
  if (!wrapped.is_unbound()) return forward_form(s, wrapped);
  Value method = find_dunder(s, type_of(s, v), Dunder::call_);
  if (kind_of(method) != ObjectKind::function) return plain_form(v);
  OURO_TRY(form, of_function(s, method));
  return adapter(s, "with_holder", {form, v, Value::none()});
}

}  // namespace

Value forward_form(Session& s, const Value& f) {
  if (!stack_left(s)) return Value::error();
  switch (kind_of(f)) {
    case ObjectKind::none:
      return f;
    case ObjectKind::function:
      return of_function(s, f);
    case ObjectKind::native:
      return of_native(s, f);
    case ObjectKind::pullback:
      return forward_form(s, f.as<Pullback>()->function);
    case ObjectKind::type:
      return of_class(s, f);
    case ObjectKind::bound_method: {
      auto* m = f.as<BoundMethod>();
      OURO_TRY(form, forward_form(s, m->function));
      return adapter(s, "with_holder", {form, m->self, f});
    }
    case ObjectKind::static_method:
      return forward_form(s, f.as<StaticMethod>()->function);
    case ObjectKind::instance:
    case ObjectKind::exception:
    case ObjectKind::opaque:
      return of_instance(s, f);
    default:
      return plain_form(f);
  }
}

// An object that extends tuple, a value, whose class has a __call__ of its own.
static bool calls_its_items(Session& s, const Value& v) {
  return kind_of(v) == ObjectKind::instance && kind_of(unwrap(v)) == ObjectKind::tuple &&
         kind_of(find_dunder(s, type_of(s, v), Dunder::call_)) == ObjectKind::function;
}

Value forward_method(Session& s, const Value& receiver, Symbol name) {
  static const Symbol called = intern("__call__");
  if (name == called) {
    const ObjectKind k = kind_of(receiver);
    if (k == ObjectKind::function || k == ObjectKind::native || k == ObjectKind::bound_method) {
      OURO_TRY(form, forward_form(s, receiver));
      return adapter(s, "without_self", {form});
    }
  }
  if (Instance* i = cast_exact<Instance>(receiver); i && i->type && !i->type->has_getattribute) {
    Value method = type_lookup(s, i->type, name);
    if (kind_of(method) == ObjectKind::function && !instance_slot(s, i, name)) return of_function(s, method);
  } else if (receiver.is_object() || receiver.is_float() || receiver.is_int() || receiver.is_bool()) {
    ObjectKind k = kind_of(receiver);
    if (k != ObjectKind::module && k != ObjectKind::type && k != ObjectKind::super && k != ObjectKind::instance) {
      Value method = type_lookup(s, type_of(s, receiver), name);
      if (kind_of(method) == ObjectKind::native && method.as<Native>()->self.is_unbound()) return of_native(s, method);
    }
  }
  OURO_TRY(f, get_attr(s, receiver, name));
  if (calls_its_items(s, f)) {  // its cotangent is that of the attribute
    OURO_TRY(caller, adapter(s, "attribute_caller", {make_str(name.text())}));
    return forward_form(s, caller);
  }
  OURO_TRY(form, forward_form(s, f));
  return adapter(s, "without_self", {form});
}

void mark_computed_defaults(Function* f) { f->flags |= kComputedDefaults; }

Value class_of_slot(Session& s, const Value& v, Symbol name) {
  Instance* i = cast<Instance>(v);
  Type* t = i ? i->type : cast_exact<Type>(v);
  if (!t || (i && instance_slot(s, i, name))) return Value::none();
  const auto among = [&](Type* line) {
    for (Type* b : line->mro)
      if (const Value* held = own_type_name(s, b, name))
        return b->flags & kFlagUser && active(s, *held) ? Value::share(b) : Value::none();
    return Value();
  };
  Value owner = among(t);
  if (owner.is_unbound() && !i && has_metaclass(t)) owner = among(metaclass_of(s, t));
  return owner.is_unbound() ? Value::none() : owner;
}

void mark_class(Session& s, Type* t) {
  t->flags |= kFlagUser;
  state(s).classes_hold = true;
}

Value flat_form(Session& s, const Value& form) {
  Function* f = cast_exact<Function>(form);
  if (!f || !ir::grad::is_forward_form(*f->code)) return form;
  Function* source = cast_exact<Function>(f->captures.back());
  const State::Pair& own = pair_of(s, source->code);
  const bool catches = own.catching && pair_of(s, own.catching).forward == f->code;
  const ir::FunctionRef code = catches ? own.catching : source->code;
  State::Pair& p = pair_of(s, code);
  if (!p.flat) p.flat = ir::grad::reverse(*code, true, &p.error, follows_tests(s, *code));
  Value flat = derived_function(source, p.flat);
  flat.as<Function>()->defaults = Value::none();
  flat.as<Function>()->kwdefaults = Value::none();
  return flat;
}

// ---- operators that call ------------------------------------------------------------------------------------------

namespace {

// A class whose metaclass a script made has special methods as an object has.
bool scripted(const Value& v) {
  const ObjectKind k = kind_of(v);
  return k == ObjectKind::instance || k == ObjectKind::exception || is_metaclassed(v);
}

bool has_script_dunder(Session& s, const Value& v, Dunder d) {
  return scripted(v) && kind_of(find_dunder(s, type_of(s, v), d)) == ObjectKind::function;
}

// What special.h asks of values.
struct Operands {
  Session& s;
  std::span<const Value> args;

  size_t count() const { return args.size(); }
  const Value& at(size_t i) const {  // rules and scripts may give too few
    static const Value absent;
    return i < args.size() ? args[i] : absent;
  }
  bool scripted(size_t i) const { return autodiff::scripted(at(i)); }
  bool extends_container(size_t i) const {
    const ObjectKind k = kind_of(unwrap(at(i)));
    const bool container = k == ObjectKind::list || k == ObjectKind::tuple || k == ObjectKind::dict ||
                           k == ObjectKind::set || k == ObjectKind::frozenset;
    return container && scripted(i) && kind_of(find_dunder(s, type_of(s, at(i)), Dunder::iter_)) == ObjectKind::native;
  }
  bool list(size_t i) const { return kind_of(unwrap(at(i))) == ObjectKind::list; }
  bool tuple(size_t i) const { return kind_of(unwrap(at(i))) == ObjectKind::tuple; }
  bool dict(size_t i) const { return kind_of(unwrap(at(i))) == ObjectKind::dict; }
  bool set(size_t i) const {
    const ObjectKind k = kind_of(unwrap(at(i)));
    return k == ObjectKind::set || k == ObjectKind::frozenset;
  }
  bool slice(size_t i) const { return cast<Slice>(at(i)); }
  bool gradient(size_t i) const { return cast_exact<Record>(at(i)); }
  bool tensor(size_t i) const { return is_tensor(at(i)); }
  bool by_index() const {
    const ObjectKind k = kind_of(unwrap(at(0)));
    constexpr ObjectKind kIndexed[] = {ObjectKind::list,  ObjectKind::tuple, ObjectKind::str,
                                       ObjectKind::bytes, ObjectKind::range, ObjectKind::bytearray};
    return std::ranges::find(kIndexed, k) != std::end(kIndexed) && has(1, "__index__") && !is_integer(at(1)) &&
           !has(0, "__getitem__") && !has(0, "__setitem__") && !has(0, "__delitem__");
  }
  bool has(size_t i, std::string_view special) const { return has_script_dunder(s, at(i), dunder_of(intern(special))); }
  bool asks(size_t i, std::string_view special) const {
    if (!scripted(i)) return false;
    const Value m = find_dunder(s, type_of(s, at(i)), dunder_of(intern(special)));
    return !m.is_unbound() && !m.is_none() && kind_of(m) != ObjectKind::native;
  }
  bool asked_as_key(size_t i) const { return has(i, "__hash__") || has(i, "__eq__"); }
  // Looks at a few items only: to record where there is nothing to record costs little.
  bool holds_objects(size_t i) const {
    int left = 64;
    return holds_objects(at(i), left);
  }
  static bool holds_objects(const Value& v, int& left) {
    const auto one = [&](const Value& x) { return --left < 0 || autodiff::scripted(x) || holds_objects(x, left); };
    if (auto* l = cast<List>(v)) return std::any_of(l->begin(), l->end(), one);
    if (auto* t = cast<Tuple>(v)) return std::any_of(t->begin(), t->end(), one);
    size_t at = 0;
    Value *key, *value;
    if (auto* t = cast<Set>(v))
      while (set_next(t, at, key))
        if (one(*key)) return true;
    if (auto* d = cast<Dict>(v))
      while (dict_next(d, at, key, value))
        if (one(*key) || one(*value)) return true;
    return false;
  }
  // What has no places of its own, by index, has its items drawn.
  bool drawn(size_t i) const {
    constexpr ObjectKind kDrawn[] = {ObjectKind::generator, ObjectKind::set,       ObjectKind::frozenset,
                                     ObjectKind::dict,      ObjectKind::dict_keys, ObjectKind::dict_values,
                                     ObjectKind::dict_items};
    const Value& v = extends_container(i) ? unwrap(at(i)) : at(i);
    return autodiff::scripted(v) || cast_iterator(v) || std::ranges::find(kDrawn, kind_of(v)) != std::end(kDrawn);
  }
  bool iterator_of_script(size_t i) const { return scripted(i); }
  std::string_view text(size_t i) const {
    auto* t = cast<Str>(at(i));
    return t ? t->view() : std::string_view();
  }
  bool value_method() const {
    if (scripted(0) && kind_of(unwrap(at(0))) == ObjectKind::tuple) {
      const ObjectKind k = kind_of(type_lookup(s, type_of(s, at(0)), intern(text(1))));
      return k == ObjectKind::function || k == ObjectKind::native;
    }
    if (!is_tensor(at(0)) && !at(0).is_float()) return false;
    return kind_of(type_lookup(s, type_of(s, at(0)), intern(text(1)))) == ObjectKind::native;
  }
  bool called_value() const { return calls_its_items(s, at(0)); }
  bool identified() const { return true; }
  bool data_of_class() const { return state(s).classes_hold && !class_of_slot(s, at(0), intern(text(1))).is_none(); }
  bool load_asks() const {
    Instance* i = cast_exact<Instance>(at(0));
    if (!i || !i->type) return false;
    const Symbol name = intern(text(1));
    Value found = type_lookup(s, i->type, name);
    return kind_of(found) == ObjectKind::property || autodiff::scripted(found) || i->type->has_getattribute ||
           (i->type->has_getattr && found.is_unbound() && !instance_slot(s, i, name));
  }
  bool load_of_class_asks() const {
    Type* t = cast_exact<Type>(at(0));
    if (!t || t->builtin) return false;
    const Symbol name = intern(text(1));
    const Value found = type_lookup(s, t, name);
    if (kind_of(found) == ObjectKind::instance) return true;  // a descriptor
    if (!has_metaclass(t)) return false;
    Type* m = metaclass_of(s, t);
    const Value above = type_lookup(s, m, name);
    return kind_of(above) == ObjectKind::property || kind_of(above) == ObjectKind::instance || m->has_getattribute ||
           (m->has_getattr && found.is_unbound() && above.is_unbound());
  }
  bool store_asks() const {
    Type* t = nullptr;
    if (Instance* i = cast_exact<Instance>(at(0)))
      t = i->type;
    else if (is_metaclassed(at(0)))
      t = metaclass_of(s, at(0).as<Type>());
    if (!t) return false;
    Value found = type_lookup(s, t, intern(text(1)));
    return kind_of(found) == ObjectKind::property || kind_of(found) == ObjectKind::instance || t->has_setattr;
  }
  bool delete_asks() const {
    Instance* i = cast_exact<Instance>(at(0));
    if (!i || !i->type) return false;
    const ObjectKind found = kind_of(type_lookup(s, i->type, intern(text(1))));
    return found == ObjectKind::property || found == ObjectKind::instance || asks(0, "__delattr__");
  }
  bool stores_in_class() const {
    Type* t = cast_exact<Type>(at(0));
    return t && !t->builtin;
  }
  bool computed() const {
    const Value& v = at(0);
    switch (kind_of(v)) {
      case ObjectKind::module:
      case ObjectKind::type:
      case ObjectKind::record:
      case ObjectKind::opaque:
      case ObjectKind::super:
        return false;
      case ObjectKind::exception:
        if (text(1) != "value") return false;
        break;
      case ObjectKind::instance:
        if (v.as<Instance>()->native.is_unbound()) return false;
        break;
      case ObjectKind::tensor:
        return false;  // sizes and kinds; what is a view of it has a rule
      default:
        break;
    }
    return kind_of(type_lookup(s, type_of(s, v), intern(text(1)))) == ObjectKind::get_set;
  }
  bool missing() const {
    return kind_of(unwrap(at(0))) == ObjectKind::dict && has_script_dunder(s, at(0), dunder_of(intern("__missing__")));
  }
  bool slots_by_item() const { return autodiff::slots_by_item(at(0)); }
  bool dict_of_class() const { return kind_of(at(0)) == ObjectKind::type && text(1) == "__dict__"; }
  bool made_generic() const {
    Type* t = cast_exact<Type>(at(0));
    if (!t || t->builtin) return false;
    const Value found = type_lookup(s, t, intern("__class_getitem__"));
    const auto* m = cast_exact<ClassMethod>(found);
    return kind_of(m ? m->function : found) == ObjectKind::function;
  }
};

// caught(f, ...) of the arguments that f is to have.
Value catching(Session& s, const Value& f) {
  OURO_TRY(caught, rules_function(s, "caught"));
  return make_bound_method(std::move(caught), f);
}

}  // namespace

bool update_is_called(Session& s, std::span<const Value> args) {
  return called_by(ir::prim::update, Operands{s, args}).by != Called::By::nothing;
}

bool load_is_called(Session& s, const Value& object, Symbol name) {
  const Value operands[] = {object, s.str(name)};
  return called_by(ir::prim::attr_get, Operands{s, operands}).by != Called::By::nothing;
}

bool is_scripted(const Value& v) { return scripted(v); }

Value forward_special(Session& s, std::string_view prim, std::span<const Value> args) {
  const bool caught = prim.starts_with(kCaught);
  if (caught) prim.remove_prefix(kCaught.size());
  const auto op = ir::op_by_name(prim);
  if (!op || ir::is_tensor_op(*op)) return Value::none();
  if ((ir::is_operator(*op) || ir::is_test(*op)) &&
      std::ranges::all_of(args, [](const Value& a) { return !a.is_object() || is_tensor(a); }))
    return Value::none();  // numbers and tensors: they call nothing
  const Called called = called_by(*op, Operands{s, args});
  switch (called.by) {
    case Called::By::nothing:
      return Value::none();
    case Called::By::form: {
      OURO_TRY(form, rules_function(s, called.function));
      return caught ? adapter(s, "formed", {form}) : form;
    }
    case Called::By::recorded: {
      const Value form = recorded_primitive_form(prim);
      return caught ? adapter(s, "formed", {form}) : form;
    }
    case Called::By::rule: {
      OURO_TRY(f, rules_function(s, called.function));
      return caught ? catching(s, f) : forward_form(s, f);
    }
    case Called::By::text: {
      OURO_TRY(f, protocol_function(s, called.function));
      return caught ? catching(s, f) : forward_form(s, f);
    }
  }
  return Value::none();
}

}  // namespace ouro::runtime::autodiff
