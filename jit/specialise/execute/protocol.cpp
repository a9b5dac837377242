// Objects of script classes. What Python does with them is Ouro text (stdlib/protocol.ouro), executed here like any
// other function; the primitives of that text (runtime/protocol/in_ouro.cpp is their meaning) stand below as a table.
#include "runtime/protocol/in_ouro.h"

#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/specialise/execute/native_table.h"
#include "jit/specialise/states/checkpoint.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/sequence_operators.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Arguments = std::vector<AVal>;
using Keywords = std::vector<std::pair<Symbol, AVal>>;

bool Specialiser::is_instance(const AVal& a) const {
  return a.extends_tuple() || (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::instance);
}

const runtime::Type* Specialiser::class_of_instance(const AVal& a) {
  return (a.extends_tuple() ? a.known : read(a.heap).cls).as<runtime::Type>();
}

AVal Specialiser::own_attribute(const AVal& a, Symbol name) {
  if (!a.extends_tuple()) return load_slot(a.heap, name);
  if (class_of_instance(a)->has_dict && is_changeable(name))
    abandon(Reason::interpreter_changed, fmt::format("attribute {}, which the interpreter may have set", name.text()));
  return {};
}

AVal Specialiser::protocol_function(std::string_view name) {
  Value f = runtime::protocol_function(session, name);
  if (f.is_error()) {
    session.pending = Value();
    abandon(Reason::internal, "the text of the protocol is not there");
  }
  if (protocol_module_.is_unbound()) protocol_module_ = f.as<runtime::Function>()->globals;
  return concrete_function(f);
}

// One of the text's own natives.
AVal Specialiser::protocol_native(std::string_view name) {
  const Value module = runtime::import_module(session, intern("_protocol"));
  const Value f = module.is_error() ? module : runtime::get_attr(session, module, intern(name));
  if (!f.is_error()) return AVal::of(f);
  session.pending = Value();
  abandon(Reason::internal, "the text of the protocol is not there");
}

// The text's function, executed; where that cannot be done, `boxed_form` of the whole (the interpreter does it).
template <class F>
AVal Specialiser::executed(std::string_view name, const Arguments& args, F boxed_form) {
  const Checkpoint before = checkpoint();
  try {
    return call(protocol_function(name), args);
  } catch (const Abandon& a) {
    in_try_ = before.in_try;
    if (a.whole || abandon_symbol_ || in_try_) throw;
    const Abandon reason = a;
    undo(before);
    for (const AVal& v : args)
      if (!can_box(AVal::of(Value::none()), {v}, {})) throw reason;
    AVal out = boxed_form();
    const Span here = before.span;
    if (fallbacks_.size() > before.notes)  // not on a way that ends in a raise
      fallbacks_.back() = {reason.why, reason.span.known() ? reason.span : here, current_function(), here};
    return out;
  }
}

AVal Specialiser::by_protocol(ir::Op op, const Arguments& args) {
  return executed(runtime::name_in_protocol(ir::op_name(op)), args, [&] { return boxed(op, args); });
}
AVal Specialiser::by_protocol(std::string_view name, ir::Op op, const Arguments& args, const Arguments& operands,
                              uint32_t attr) {
  return executed(name, args, [&] { return boxed(op, operands, attr); });
}

AVal Specialiser::context_methods(const AVal& a) {
  if (a.is(AKind::dynamic) && !a.type) return boxed(prim::with_methods, {a});
  return by_protocol("manager", prim::with_methods, {a}, {a});
}

// A field of an f-string: `conversion` is 0, or r, s or a.
AVal Specialiser::formatted(const AVal& a, const AVal& spec, char conversion) {
  const bool scripts = may_run_scripts(a) || may_run_scripts(spec);
  const auto boxed_form = [&] {
    return scripts ? boxed(prim::format, {a, spec}, static_cast<uint32_t>(conversion), ir::types::string())
                   : emit(prim::format, {a, spec}, ir::types::string(), static_cast<uint32_t>(conversion));
  };
  if (is_instance(a)) return executed("field", {a, spec, AVal::of(Value::integer(conversion))}, boxed_form);
  const auto v = concrete(a), how = concrete(spec);
  if (!v || !how) return boxed_form();
  Value x = conversion == 'r'   ? runtime::repr(session, *v)
            : conversion == 's' ? runtime::str(session, *v)
            : conversion == 'a' ? runtime::ascii(session, *v)
                                : *v;
  auto* text = cast_exact<runtime::Str>(*how);
  Value out = x.is_error() ? x : runtime::format(session, x, text ? text->view() : "");
  if (out.is_error()) {
    abandon_raises();
  }
  return AVal::of(out);
}

// The sub-patterns' values of a class or mapping pattern.
AVal Specialiser::pattern(ir::Op op, const Arguments& args, uint32_t count) {
  Arguments all = args;
  if (op == prim::match_class) all.push_back(AVal::of(Value::integer(count)));
  return call(protocol_function(runtime::name_in_protocol(ir::op_name(op))), all);
}

bool Specialiser::has_own_new(const Value& cls) {
  const AVal make = type_attr(cls, intern("__new__"));
  if (make.is(AKind::closure)) return true;
  if (!make.is(AKind::known)) return !make.is(AKind::unbound);
  auto* made = cast_exact<runtime::StaticMethod>(make.known);
  return !cast_exact<runtime::Native>(made ? made->function : make.known);
}

// A special method, bound: unbound if the class has none.
AVal Specialiser::special_method(const AVal& a, std::string_view name) {
  AVal m = class_lookup(a, intern(name));
  if (m.is(AKind::unbound)) return m;
  if (m.is(AKind::closure)) return bind(m, a);
  return call(protocol_function("through"), {m, a, AVal::of(class_of(a))});
}

// A method of `object` on an object of a script class, of lists, dicts and frozen sets, and object.__new__: what the
// text says it is. Unbound if there is no such text, or the call may raise.
AVal Specialiser::text_of_native(const runtime::Native& n, const Arguments& args) {
  const bool made = !n.owner && n.def->name == "__new__";  // a static method
  const auto of = [&](ObjectKind kind) { return n.owner && n.owner == session.type(kind); };
  const bool of_list = of(ObjectKind::list), of_container = of_list || of(ObjectKind::dict);
  const bool of_set = of(ObjectKind::frozenset);
  if (args.empty() || !(made || of_container || of_set || n.owner == session.object_type())) return {};
  if (of_set) {
    if (!args[0].is(AKind::known)) return {};
  } else if (of_container) {
    const AObject::Kind kind = of_list ? AObject::Kind::list : AObject::Kind::dict;
    if (!args[0].is(AKind::ref) || kind_at(args[0].heap) != kind || read(args[0].heap).poisoned) return {};
  } else if (made) {
    auto* cls = args[0].is(AKind::known) ? cast_exact<runtime::Type>(args[0].known) : nullptr;
    if (!cls || args.size() > 1 || cls->builtin || cls->layout != ObjectKind::instance || cls->has_del || cls->is_abc)
      return {};
  } else if (!is_instance(args[0])) {
    return {};
  }
  if (n.def->name == "__init__" && args.size() > 1 && !has_own_new(class_of(args[0]))) return {};  // that raises
  protocol_function("load");                                                                       // the text is there
  Value f = runtime::text_of_native(session, n.def);
  return f.is_unbound() ? AVal{} : concrete_function(f);
}

namespace {

AVal boolean(bool b) { return AVal::of(Value::boolean(b)); }

#define N(name) \
  AVal name([[maybe_unused]] Specialiser& s, [[maybe_unused]] const Arguments& a, [[maybe_unused]] const Keywords& k)

Symbol name_of(Specialiser& s, const AVal& a) {
  const Value v = s.need_constant(a, "is an attribute's name");
  auto* t = cast_exact<runtime::Str>(v);
  if (!t) s.abandon(Reason::raises, "an attribute's name that is no text");
  return runtime::str_symbol(t);
}

N(n_find) {
  const auto cls = s.concrete(a.at(0));
  if (!cls || kind_of(*cls) != ObjectKind::type) s.abandon(Reason::unknown_object, "a class that is not known");
  const Symbol name = name_of(s, a.at(1));
  AVal v = s.type_attr(*cls, name);
  if (!v.is(AKind::unbound)) return v;
  s.stays_absent(*cls, name);
  return a.at(2);
}
N(n_own) {
  if (!s.is_instance(a.at(0))) s.abandon(Reason::unknown_object, "attributes of an object that is not followed");
  if (a[0].is(AKind::ref) && s.read(a[0].heap).poisoned) s.abandon_torn(s.read(a[0].heap), "an object");
  const Symbol name = name_of(s, a.at(1));
  AVal v = s.own_attribute(a[0], name);
  if (v.is(AKind::poison)) s.abandon_parted(v, fmt::format("attribute {} differs between branches", name.text()));
  return v.is(AKind::unbound) ? a.at(2) : v;
}
N(n_set_own) {
  if (!s.is_instance(a.at(0)) || a[0].extends_tuple())
    s.abandon(Reason::unknown_object, "attributes of an object that is not followed");
  s.store_slot(a[0].heap, name_of(s, a.at(1)), a.at(2));
  return AVal::of(Value::none());
}
N(n_bare) {
  const auto cls = s.concrete(a.at(0));
  auto* t = cls ? cast_exact<runtime::Type>(*cls) : nullptr;
  if (!t || t->builtin || t->layout != ObjectKind::instance)
    s.abandon(Reason::unknown_object, "an object of a class that is not followed");
  s.makes_object_of(*t);
  AObject o;
  o.kind = AObject::Kind::instance;
  o.cls = *cls;
  return AVal::of_heap(s.allocate(std::move(o)));
}
N(n_drop_own) { s.abandon(Reason::language, "deletion of an attribute"); }
N(n_native_load) { s.abandon(Reason::raises, fmt::format("attribute {} is not there", name_of(s, a.at(1)).text())); }
N(n_native_store) {
  s.abandon(Reason::unknown_object, fmt::format("assignment to attribute {}", name_of(s, a.at(1)).text()));
}
N(n_scripted) {
  const AVal& v = a.at(0);
  if (v.is(AKind::dynamic) && !v.type) s.abandon(Reason::unknown_object, "the class of a boxed value");
  if (v.is(AKind::known))
    return boolean(kind_of(v.known) == ObjectKind::instance || kind_of(v.known) == ObjectKind::exception);
  return boolean(s.is_instance(v));
}
N(n_bound) {
  AVal v = s.bind_descriptor(a.at(0), a.at(1));
  if (v.is(AKind::poison)) s.abandon(Reason::language, "an attribute that is computed");
  return v;
}
N(n_is_builtin_data) {
  if (!a.at(0).is(AKind::known)) return boolean(false);
  const ObjectKind kind = kind_of(a[0].known);
  return boolean(kind == ObjectKind::property || kind == ObjectKind::member || kind == ObjectKind::get_set);
}
const runtime::TypeSlots* slots_of(Specialiser& s, const AVal& a) { return s.class_of(a).as<runtime::Type>()->slots; }
N(n_concatenates) {
  const Symbol name = name_of(s, a.at(1));
  const Value cls = s.class_of(a.at(0));
  auto* t = cls.as<runtime::Type>();
  if (t->sequence_operators && !t->builtin) s.type_attr(cls, name);  // what the answer stands on
  return boolean(runtime::is_of_sequence(t, runtime::dunder_of(name)));
}
// The operators of None, numbers and tensors know nothing of a script's objects; of others (a list that is extended by
// any iterable) the interpreter decides.
AVal declined(Specialiser& s, const AVal& builtin, const AVal& object) {
  const AVal& v = builtin;
  if (!s.native_of(object).is(AKind::unbound))
    s.abandon(Reason::class_hook, "an operator on an object that extends a built-in class");
  const bool plain = (v.is(AKind::known) && (v.known.is_none() || v.known.is_bool() || v.known.is_int() ||
                                             v.known.is_float() || kind_of(v.known) == ObjectKind::str)) ||
                     s.is_number(v) || s.is_tensor(v);
  if (!plain) s.abandon(Reason::unknown_object, "an operator of a built-in container on an object");
  return AVal::of(Value::not_implemented());
}
N(n_left) {
  // str % object formats it.
  if (a.at(1).is(AKind::known) && kind_of(a[1].known) == ObjectKind::str)
    s.abandon(Reason::unknown_object, "an operator of str on an object");
  if (a[1].is(AKind::tuple) || (a[1].is(AKind::known) && kind_of(a[1].known) == ObjectKind::tuple))
    if (AVal y = s.tuple_operator(name_of(s, a.at(0)).text(), a[1], a.at(2)); !y.is(AKind::unbound)) return y;
  return declined(s, a.at(1), a.at(2));
}
N(n_right) { return declined(s, a.at(2), a.at(1)); }
N(n_in_place) {
  const auto* t = slots_of(s, a.at(1));
  if (t && t->inplace) s.abandon(Reason::unknown_object, "an in-place operator of a built-in container on an object");
  return AVal::of(Value::not_implemented());
}
N(n_compare) {
  if (s.is_tensor(a.at(1))) s.abandon(Reason::computed_test, "a tensor compared with an object");
  return declined(s, a[1], a.at(2));
}
N(n_to_length) {
  if (auto v = s.concrete(a.at(0)); v && !v->is_int()) s.abandon(Reason::raises, "a length that is no int");
  // Where it cannot be made a constant, the native looks at it.
  if (a[0].is(AKind::dynamic) && a[0].type == ir::types::integer() && !s.witness(a[0]))
    return s.emit_call(s.protocol_native("to_length"), {a[0]}, {}, ir::types::integer());
  const int64_t n = s.need_int(a[0], "is a length");
  if (n < 0) s.abandon(Reason::raises, "a negative length");
  return AVal::of(Value::integer(n));
}
N(n_is_iterator) {
  if (a.at(0).is(AKind::ref) && s.kind_at(a[0].heap) == AObject::Kind::iterator) return boolean(true);
  s.abandon(Reason::unknown_object, "iteration over an object whose iterator is not followed");
}
N(n_index_iterator) { s.abandon(Reason::unknown_object, "iteration by index over an object"); }

constexpr NativeRow kRows[] = {{"find", n_find},
                               {"own", n_own},
                               {"set_own", n_set_own},
                               {"drop_own", n_drop_own},
                               {"bare", n_bare},
                               {"native_store", n_native_store},
                               {"native_load", n_native_load},
                               {"scripted", n_scripted},
                               {"bound", n_bound},
                               {"is_builtin_data", n_is_builtin_data},
                               {"concatenates", n_concatenates},
                               {"native_left", n_left},
                               {"native_right", n_right},
                               {"native_in_place", n_in_place},
                               {"native_compare", n_compare},
                               {"to_length", n_to_length},
                               {"is_iterator", n_is_iterator},
                               {"index_iterator", n_index_iterator}};

}  // namespace

std::span<const NativeRow> protocol_natives() { return kRows; }

}  // namespace ouro::jit
