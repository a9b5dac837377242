// object and type: what every value and every class can do.
#include <algorithm>

#include "runtime/model/model.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/types/argument_name.h"
#include "runtime/types/dict_type.h"

namespace ouro::runtime {

namespace {

bool is_scripted_instance(const Value& v) { return cast<Instance>(v) != nullptr; }

Value object_repr(Session& s, const Args& a) {
  const Value& v = a[0];
  Type* t = type_of(s, v);
  const Value& native = unwrap(v);
  if (!native.same(v) && slots_of(s, native).repr) return repr(s, native);
  if (!is_scripted_instance(v) && slots_of(s, v).repr) return slots_of(s, v).repr(s, v);
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, " object at 0x%012llx>", static_cast<unsigned long long>(v.bits()));
  Value module = type_lookup(s, t, intern("__module__"));
  std::string prefix = cast<Str>(module) && !t->builtin ? std::string(cast<Str>(module)->view()) + "." : "";
  return make_str("<" + prefix + std::string(t->qualname.as<Str>()->view()) + buffer);
}
Value object_str(Session& s, const Args& a) { return repr(s, a[0]); }
Value object_eq(Session&, const Args& a) { return a[0].same(a[1]) ? Value::boolean(true) : Value::not_implemented(); }
Value object_ne(Session& s, const Args& a) {
  Value r = call_dunder(s, a[0], Dunder::eq_, {a[1]});
  if (r.is_error() || r.is(Tag::not_implemented)) return r;
  int t = truth(s, r);
  return t < 0 ? Value::error() : Value::boolean(!t);
}
Value object_order(Session&, const Args&) { return Value::not_implemented(); }
Value object_hash(Session&, const Args& a) {
  auto bits = static_cast<uint64_t>(a[0].bits());
  auto h = static_cast<int64_t>(bits >> 4 | bits << 60);
  return Value::integer(h == -1 ? -2 : h);
}
Value object_format(Session& s, const Args& a) {
  Str* spec = cast<Str>(a[1]);
  const Value& native = unwrap(a[0]);
  const bool scripted = is_scripted_instance(a[0]) || is_metaclassed(a[0]);
  if (scripted && spec && !spec->size) return str(s, a[0]);
  if ((!native.same(a[0]) && slots_of(s, native).format) || !scripted)
    return format(s, native, spec ? spec->view() : "");
  if (spec && spec->size)
    return raise_type_error(s, "unsupported format string passed to %s.__format__", type_name(s, a[0]).c_str());
  return str(s, a[0]);
}
Value object_init(Session& s, const Args& a) {
  if (a.size() <= 1 && a.keywords.empty()) return Value::none();
  Type* t = type_of(s, a[0]);
  const Value& init = find_dunder(s, t, Dunder::init_);
  if (Native* n = cast_exact<Native>(init); !n || n->owner != s.object_type())
    return raise_type_error(s, "object.__init__() takes exactly one argument (the instance to initialize)");
  auto* made = cast_exact<StaticMethod>(find_dunder(s, t, Dunder::new_));
  if (made && !cast_exact<Native>(made->function)) return Value::none();
  if (t->layout != ObjectKind::instance) return Value::none();
  return raise_type_error(s, "%s.__init__() takes exactly one argument (the instance to initialize)",
                          std::string(t->text()).c_str());
}
Value object_new(Session& s, const Args& a) {
  Type* t = a.size() ? cast_exact<Type>(a[0]) : nullptr;
  if (a.size() == 0) return raise_type_error(s, "object.__new__(): not enough arguments");
  if (!t) return raise_type_error(s, "object.__new__(X): X is not a type object (%s)", type_name(s, a[0]).c_str());
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  return construct_bare(s, t, rest);
}
Symbol name_arg(Session& s, const Value& v) {
  Str* n = cast<Str>(v);
  if (!n) raise_type_error(s, "attribute name must be string, not '%s'", type_name(s, v).c_str());
  return n ? str_symbol(n) : Symbol();
}
Value object_getattribute_(Session& s, const Args& a) {
  Symbol n = name_arg(s, a[1]);
  return n ? object_getattribute(s, a[0], n) : Value::error();
}
Value object_setattr_(Session& s, const Args& a) {
  Symbol n = name_arg(s, a[1]);
  return n && object_setattr(s, a[0], n, a[2]) ? Value::none() : Value::error();
}
Value object_delattr_(Session& s, const Args& a) {
  Symbol n = name_arg(s, a[1]);
  return n && object_setattr(s, a[0], n, Value()) ? Value::none() : Value::error();
}
Value object_init_subclass(Session& s, const Args& a) {
  if (a.size() > 1 || !a.keywords.empty())
    return raise_type_error(s, "%s.__init_subclass__() takes no keyword arguments",
                            text_of(s, a[0].as<Type>()->qualname).c_str());
  return Value::none();
}

// Built-in classes other than `type` keep these where CPython's have no name for them.
bool is_hidden(Session& s, Type* t, Symbol name) {
  static const Symbol module = intern("__module__"), notes = intern("__notes__"), dict = intern("__dict__");
  if (!t->builtin || t == s.type(ObjectKind::type) || t == s.type(ObjectKind::function)) return false;
  return name == module || name == notes || (name == dict && t == s.object_type());
}
void class_names(Session& s, Type* t, Set* names) {
  for (Type* m : t->mro) {
    ready_type(s, m);
    for (auto& e : m->names.entries())
      if (e.name && !is_hidden(s, m, e.name)) set_add(s, names, s.str(e.name));
  }
}
Value object_dir(Session& s, const Args& a) {
  Value names = make_set();
  Set* set = names.as<Set>();
  const Value& v = a[0];
  if (Instance* i = cast<Instance>(v)) {
    if (i->shape) {
      for (uint32_t k = 0; k < i->shape->count; ++k)
        if (!i->slots[k].is_unbound()) set_add(s, set, s.str(i->shape->slots.name(k)));
    } else if (i->dict.is_object() && !set_update(s, set, i->dict)) {
      return Value::error();
    }
  }
  if (Function* f = cast_exact<Function>(v); f && f->dict.is_object() && !set_update(s, set, f->dict))
    return Value::error();
  if (auto f = slots_of(s, v).dir) {
    OURO_TRY(extra, f(s, v));
    if (!set_update(s, set, extra)) return Value::error();
  }
  if (Type* t = cast_exact<Type>(v)) {
    class_names(s, t, set);
    return list_of(s, names);
  }
  if (!cast_exact<Module>(v)) class_names(s, type_of(s, v), set);  // a module has only its own
  return list_of(s, names);
}
Value object_reduce(Session& s, const Args& a) {
  return raise_type_error(s, "cannot pickle '%s' object", type_name(s, a[0]).c_str());
}
Value object_getstate(Session& s, const Args& a) {
  Instance* i = cast<Instance>(a[0]);
  if (!i || !i->type->has_dict) return Value::none();
  Dict* d = instance_dict(s, i);
  return d->used ? dict_copy(d) : Value::none();
}
Value object_subclasshook(Session&, const Args&) { return Value::not_implemented(); }
// CPython's sizes without the collector's 16 bytes.
Value object_sizeof(Session&, const Args& a) {
  switch (kind_of(a[0])) {
    case ObjectKind::none:
      return Value::integer(16);
    case ObjectKind::tuple:
      return Value::integer(24 + 8 * static_cast<int64_t>(a[0].as<Tuple>()->size));
    case ObjectKind::range:
      return Value::integer(48);
    case ObjectKind::generator:
      return Value::integer(184);
    case ObjectKind::function:
      return Value::integer(136);
    case ObjectKind::instance: {
      Instance* i = a[0].as<Instance>();
      if (i->type->has_dict) return Value::integer(40);
      return Value::integer(16 + 8 * (i->shape ? static_cast<int64_t>(i->shape->count) : 0));
    }
    default:
      return Value::integer(64);
  }
}

constexpr NativeDef kObjectMethods[] = {
    {"__repr__", "", object_repr, "Return repr(self)."},
    {"__str__", "", object_str, "Return str(self)."},
    {"__eq__", "value, /", object_eq, "Return self==value."},
    {"__ne__", "value, /", object_ne, "Return self!=value."},
    {"__lt__", "value, /", object_order, "Return self<value."},
    {"__le__", "value, /", object_order, "Return self<=value."},
    {"__gt__", "value, /", object_order, "Return self>value."},
    {"__ge__", "value, /", object_order, "Return self>=value."},
    {"__hash__", "", object_hash, "Return hash(self)."},
    {"__format__", "format_spec, /", object_format, "Default object formatter."},
    {"__init__", "", object_init, "Initialize self.  See help(type(self)) for accurate signature."},
    {"__getattribute__", "name, /", object_getattribute_, "Return getattr(self, name)."},
    {"__setattr__", "name, value, /", object_setattr_, "Implement setattr(self, name, value)."},
    {"__delattr__", "name, /", object_delattr_, "Implement delattr(self, name)."},
    {"__dir__", "", object_dir, "Default dir() implementation."},
    {"__reduce__", "", object_reduce, ""},
    {"__reduce_ex__", "protocol, /", object_reduce, ""},
    {"__getstate__", "", object_getstate, ""},
    {"__sizeof__", "", object_sizeof, ""},
};
constexpr NativeDef kObjectClassMethods[] = {{"__init_subclass__", "", object_init_subclass, "", true},
                                             {"__subclasshook__", "", object_subclasshook, "", true}};
constexpr NativeDef kObjectStaticMethods[] = {{"__new__", "", object_new, "Create and return a new object.", true}};

Value get_class(Session& s, const Value& v) { return Value::share(type_of(s, v)); }
bool set_class(Session& s, const Value& v, const Value& cls) {
  Instance* i = cast<Instance>(v);
  Type* t = cast_exact<Type>(cls);
  if (cls.is_unbound()) return !raise_type_error(s, "can't delete __class__ attribute").is_error();
  if (!t) {
    raise_type_error(s, "__class__ must be set to a class, not '%s' object", type_name(s, cls).c_str());
    return false;
  }
  if (!i || t->builtin || i->type->builtin) {
    raise_type_error(s, "__class__ assignment only supported for mutable types or ModuleType subclasses");
    return false;
  }
  if (!same_places(i->type, t)) {
    raise_type_error(s, "__class__ assignment: '%s' object layout differs from '%s'", std::string(t->text()).c_str(),
                     std::string(i->type->text()).c_str());
    return false;
  }
  instance_dict(s, i);  // shapes belong to a class
  Value old = Value::steal(i->type);
  ++t->refs;
  i->type = t;
  return true;
}
Value get_dict(Session& s, const Value& v) {
  if (Instance* i = cast<Instance>(v); i && (i->type->has_dict || i->type->is_exception))
    return Value::share(instance_dict(s, i));
  Value e = make_exception(s, ExcKind::AttributeError, "'" + type_name(s, v) + "' object has no attribute '__dict__'");
  return set_pending(s, std::move(e));
}
bool set_dict(Session& s, const Value& v, const Value& d) {
  Instance* i = cast<Instance>(v);
  if (i && !i->type->has_dict && !i->type->is_exception) return !get_dict(s, v).is_error();
  if (i && d.is_unbound()) {
    instance_dict(s, i);
    i->dict = make_dict();
    return true;
  }
  if (!i || !cast<Dict>(d)) {
    raise_type_error(s, "__dict__ must be set to a dictionary, not a '%s'", type_name(s, d).c_str());
    return false;
  }
  instance_dict(s, i);
  i->dict = unwrap(d);  // `self.__dict__ = self` of a dict's subclass shares the dict inside
  return true;
}
constexpr GetSetDef kObjectGetSet[] = {
    {"__class__", get_class, set_class, "the object's class"},
    {"__dict__", get_dict, set_dict, "dictionary for instance variables (if defined)"}};

constexpr TypeSlots kObjectSlots{};
constexpr TypeDef kObject{.name = "object",
                          .kind = ObjectKind::instance,
                          .slots = &kObjectSlots,
                          .methods = kObjectMethods,
                          .class_methods = kObjectClassMethods,
                          .static_methods = kObjectStaticMethods,
                          .getset = kObjectGetSet,
                          .doc = "The base class of the class hierarchy."};

// ---------------------------------------------------------------- type

Type* self_type(const Value& v) { return v.as<Type>(); }

Value type_repr(Session& s, const Value& v) {
  Type* t = self_type(v);
  std::string name(t->text());
  Value m = type_lookup(s, t, intern("__module__"));
  if (Str* text = cast<Str>(m); text && text->view() != "builtins")
    name = std::string(text->view()) + "." + std::string(cast<Str>(t->qualname)->view());
  return make_str("<class '" + name + "'>");
}
Value type_construct(Session& s, Type* metaclass, const Args& a) {
  const bool plain = metaclass == s.type(ObjectKind::type);
  if (plain && a.size() == 1 && a.keywords.empty()) return Value::share(type_of(s, a[0]));
  if (a.size() != 3 && plain) return raise_type_error(s, "type() takes 1 or 3 arguments");
  if (a.size() != 3) return raise_type_error(s, "type.__new__() takes exactly 3 arguments (%zu given)", a.size());
  if (!cast<Str>(a[0]))
    return raise_type_error(s, "type.__new__() argument 1 must be str, not %s", argument_name(s, a[0]).c_str());
  if (cast<Str>(a[0])->view().find('\0') != std::string_view::npos)
    return raise_value_error(s, "type name must not contain null characters");
  if (!cast_exact<Tuple>(a[1]))
    return raise_type_error(s, "type.__new__() argument 2 must be tuple, not %s", argument_name(s, a[1]).c_str());
  if (!cast<Dict>(a[2]))
    return raise_type_error(s, "type.__new__() argument 3 must be dict, not %s", argument_name(s, a[2]).c_str());
  if (cast<Str>(a[0])->view().find('\0') != std::string_view::npos)
    return raise_value_error(s, "type name must not contain null characters");
  Tuple* bases = a[1].as<Tuple>();
  Type* winner = metaclass_among(s, metaclass, {bases->begin(), bases->size});
  if (!winner) return Value::error();
  if (winner != metaclass) {
    auto* own = cast_exact<StaticMethod>(find_dunder(s, winner, Dunder::new_));
    if (own && !cast_exact<Native>(own->function)) {
      const Value all[] = {Value::share(winner), a[0], a[1], a[2]};
      return call(s, own->function, Args{all, a.keywords, a.names});
    }
  }
  Value ns = dict_copy(cast<Dict>(a[2]));
  static const Symbol module = intern("__module__");
  if (!dict_find_symbol(s, ns.as<Dict>(), module)) dict_set_symbol(s, ns.as<Dict>(), module, make_str("__main__"));
  return make_class_of(s, winner, a[0], a[1], ns, Args{{}, a.keywords, a.names});
}
Value type_init(Session& s, const Args& a) {
  if (a.size() == 2 || a.size() == 4) return Value::none();
  return raise_type_error(s, "type.__init__() takes 1 or 3 arguments");
}
Value type_get_item(Session& s, const Value& v, const Value& key) {
  Type* t = self_type(v);
  Value m = type_lookup(s, t, dunder_symbol(Dunder::class_getitem_));
  if (!m.is_unbound()) {
    OURO_TRY(bound, bind_descriptor(s, m, Value(), t));
    return call(s, bound, {key});
  }
  static constexpr ObjectKind kGeneric[] = {ObjectKind::list, ObjectKind::dict,      ObjectKind::tuple,
                                            ObjectKind::set,  ObjectKind::frozenset, ObjectKind::type};
  if (!t->builtin || std::find(std::begin(kGeneric), std::end(kGeneric), t->layout) == std::end(kGeneric))
    return raise_type_error(s, "type '%s' is not subscriptable", std::string(t->text()).c_str());
  auto* g = new_object<GenericAlias>(ObjectKind::generic_alias);
  g->origin = v;
  g->args = cast_exact<Tuple>(key) ? key : make_tuple({key});
  return Value::steal(g);
}
// X | Y: a union, kept for isinstance and annotations. A GenericAlias without origin.
Value type_union(Session& s, BinOp op, const Value& a, const Value& b) {
  auto fits = [&](const Value& v) { return v.is_none() || cast_exact<Type>(v) || cast_exact<GenericAlias>(v); };
  if (op != BinOp::or_ || !fits(a) || !fits(b)) return Value::not_implemented();
  std::vector<Value> parts;
  auto add = [&](const Value& v) {
    if (auto* g = cast_exact<GenericAlias>(v); g && g->origin.is_none()) {
      Tuple* t = g->args.as<Tuple>();
      for (size_t i = 0; i < t->size; ++i) parts.push_back((*t)[i]);
    } else {
      parts.push_back(v.is_none() ? Value::share(s.type(ObjectKind::none)) : v);
    }
  };
  add(a);
  add(b);
  std::vector<Value> unique;
  for (Value& p : parts)
    if (std::none_of(unique.begin(), unique.end(), [&](Value& u) { return u.same(p); })) unique.push_back(p);
  if (unique.size() == 1) return unique[0];
  auto* g = new_object<GenericAlias>(ObjectKind::generic_alias);
  g->origin = Value::none();
  g->args = make_tuple_moved(unique);
  return Value::steal(g);
}

Value type_mro(Session&, const Value& v) {
  std::vector<Value> out;
  for (Type* m : self_type(v)->mro) out.push_back(Value::share(m));
  return make_tuple_moved(out);
}
Value type_get_name(Session&, const Value& v) { return self_type(v)->name; }
// None of these can be deleted: false where `value` says so.
bool deletable(Session& s, const Value& v, const char* name, const Value& value) {
  if (!value.is_unbound()) return true;
  raise_type_error(s, "cannot delete '%s' attribute of immutable type '%s'", name,
                   std::string(self_type(v)->text()).c_str());
  return false;
}
bool type_set_name(Session& s, const Value& v, const Value& n) {
  if (!deletable(s, v, "__name__", n)) return false;
  if (!cast<Str>(n))
    return !raise_type_error(s, "can only assign string to %s.__name__, not '%s'",
                             std::string(self_type(v)->text()).c_str(), type_name(s, n).c_str())
                .is_error();
  if (cast<Str>(n)->view().find('\0') != std::string_view::npos)
    return !raise_value_error(s, "type name must not contain null characters").is_error();
  self_type(v)->name = unwrap(n);
  return true;
}
Value type_get_qualname(Session&, const Value& v) { return self_type(v)->qualname; }
bool type_set_qualname(Session& s, const Value& v, const Value& n) {
  if (!deletable(s, v, "__qualname__", n)) return false;
  if (!cast<Str>(n))
    return !raise_type_error(s, "can only assign string to %s.__qualname__, not '%s'",
                             std::string(self_type(v)->text()).c_str(), type_name(s, n).c_str())
                .is_error();
  self_type(v)->qualname = unwrap(n);
  return true;
}
bool type_set_bases(Session& s, const Value& v, const Value& bases) { return set_bases(s, self_type(v), bases); }
Value type_get_bases(Session&, const Value& v) { return make_tuple(std::span<const Value>(self_type(v)->bases)); }
Value type_get_base(Session&, const Value& v) {
  return self_type(v)->base ? Value::share(self_type(v)->base) : Value::none();
}
Value type_get_dict(Session& s, const Value& v) {
  Type* t = self_type(v);
  ready_type(s, t);
  Value d = make_dict();
  for (auto& e : t->names.entries())
    if (e.name) dict_set_symbol(s, d.as<Dict>(), e.name, e.value);
  if (!s.type(ObjectKind::mapping_proxy)) return d;
  return make_mapping_proxy(std::move(d));
}
Value type_get_doc(Session& s, const Value& v) {
  const Value* d = own_type_name(s, self_type(v), intern("__doc__"));
  if (d && cast_exact<GetSet>(*d)) return make_str("type(object) -> the object's type");  // `type` itself
  return d ? *d : Value::none();
}
Value type_get_module(Session& s, const Value& v) {
  Value m = type_lookup(s, self_type(v), intern("__module__"));
  return m.is_unbound() || cast_exact<GetSet>(m) ? make_str("builtins") : m;  // of `type`: its own descriptor
}
bool type_set_module(Session& s, const Value& v, const Value& m) {
  if (!deletable(s, v, "__module__", m)) return false;
  self_type(v)->names.set(intern("__module__"), m);
  type_changed(s, self_type(v));
  return true;
}
bool type_set_doc(Session& s, const Value& v, const Value& d) {
  if (!deletable(s, v, "__doc__", d)) return false;
  self_type(v)->names.set(intern("__doc__"), d);
  type_changed(s, self_type(v));
  return true;
}
Value type_get_annotations(Session& s, const Value& v) {
  Type* t = self_type(v);
  static const Symbol name = intern("__annotations__");
  if (const Value* a = own_type_name(s, t, name)) return *a;
  if (t->builtin)
    return raise_error(s, ExcKind::AttributeError, "type object '%s' has no attribute '__annotations__'",
                       std::string(t->text()).c_str());
  Value d = make_dict();
  t->names.set(name, d);
  type_changed(s, t);
  return d;
}
Value type_get_mro(Session& s, const Value& v) { return type_mro(s, v); }
Value mro_method(Session& s, const Args& a) {
  OURO_TRY(t, type_mro(s, a[0]));
  return list_of(s, t);
}
Value subclasses_method(Session&, const Args& a) {
  std::vector<Value> out;
  for (Type* t : self_type(a[0])->subclasses) out.push_back(Value::share(t));
  return make_list_moved(out);
}
Value instancecheck_method(Session& s, const Args& a) { return Value::boolean(is_a(s, a[1], self_type(a[0]))); }
Value subclasscheck_method(Session& s, const Args& a) {
  Type* t = cast_exact<Type>(a[1]);
  if (!t) return raise_type_error(s, "issubclass() arg 1 must be a class");
  return Value::boolean(is_subtype(t, self_type(a[0])));
}
// Without the metaclass's own __call__, which this may be called from.
Value type_call(Session& s, const Args& a) {
  Args rest = a;
  rest.positional = a.positional.subspan(1);
  Type* t = self_type(a[0]);
  return t == s.type(ObjectKind::type) ? call_type_itself(s, rest) : construct(s, t, rest);
}
Value type_prepare(Session&, const Args&) { return make_dict(); }
constexpr NativeDef kTypeMethods[] = {{"__call__", "", type_call, "Call self as a function.", true},
                                      {"mro", "", mro_method, "Return a type's method resolution order."},
                                      {"__subclasses__", "", subclasses_method, ""},
                                      {"__init__", "", type_init, "", true},
                                      {"__instancecheck__", "instance, /", instancecheck_method, ""},
                                      {"__subclasscheck__", "subclass, /", subclasscheck_method, ""}};
constexpr NativeDef kTypeClassMethods[] = {
    {"__prepare__", "", type_prepare, "The namespace of a class statement's body.", true}};
constexpr GetSetDef kTypeGetSet[] = {{"__name__", type_get_name, type_set_name},
                                     {"__qualname__", type_get_qualname, type_set_qualname},
                                     {"__bases__", type_get_bases, type_set_bases},
                                     {"__base__", type_get_base},
                                     {"__mro__", type_get_mro},
                                     {"__dict__", type_get_dict},
                                     {"__doc__", type_get_doc, type_set_doc},
                                     {"__module__", type_get_module, type_set_module},
                                     {"__annotations__", type_get_annotations}};
constexpr TypeSlots kTypeSlots{.binary = type_union,
                               .binary_ops = bit(BinOp::or_),
                               .repr = type_repr,
                               .get_item = type_get_item,
                               .construct = type_construct};
constexpr TypeDef kType{.name = "type",
                        .kind = ObjectKind::type,
                        .slots = &kTypeSlots,
                        .methods = kTypeMethods,
                        .class_methods = kTypeClassMethods,
                        .getset = kTypeGetSet};

}  // namespace

Value call_type_itself(Session& s, const Args& args) {
  OURO_TRY(made, type_construct(s, s.type(ObjectKind::type), args));
  if (args.size() != 3 || !is_metaclassed(made)) return made;
  Type* metaclass = metaclass_of(s, made.as<Type>());
  const Value all[] = {made, args[0], args[1], args[2]};
  OURO_TRY_DO(call(s, find_dunder(s, metaclass, Dunder::init_), Args{all, args.keywords, args.names}));
  return made;
}

void register_object_type(Session& s) {
  define_type(s, kObject);
  define_type(s, kType);
}

}  // namespace ouro::runtime
