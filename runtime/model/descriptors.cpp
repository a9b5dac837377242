// property, staticmethod, classmethod, super, and the descriptors of slots and computed attributes.
#include <algorithm>

#include "runtime/interpreter/frame.h"
#include "runtime/model/model.h"
#include "runtime/model/native_help.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"

namespace ouro::runtime {

namespace {

// ---------------------------------------------------------------- property

Property* prop(const Value& v) { return unwrap(v).as<Property>(); }

Value doc_of(Session& s, const Value& f) {
  static const Symbol doc = intern("__doc__");
  Value d = lookup_attr(s, f, doc);
  return d.is_unbound() || d.is_error() ? Value::none() : d;
}
Value or_none(const Value& v) { return v.is_unbound() ? Value::none() : v; }

bool property_init(Session& s, const Value& self, const Args& a) {
  Value parts[4] = {Value::none(), Value::none(), Value::none(), Value::none()};
  static constexpr std::string_view kNames[] = {"fget", "fset", "fdel", "doc"};
  if (a.size() + a.keywords.size() > 4)
    return !raise_type_error(s, "property() takes at most 4 arguments (%zu given)", a.size() + a.keywords.size())
                .is_error();
  for (size_t i = 0; i < a.size(); ++i) parts[i] = a[i];
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view name = a.names[k].as<Str>()->view();
    size_t i = static_cast<size_t>(std::ranges::find(kNames, name) - std::begin(kNames));
    if (i == 4)
      return !raise_type_error(s, "'%s' is an invalid keyword argument for property()", a.names[k].as<Str>()->data)
                  .is_error();
    parts[i] = a.keywords[k];
  }
  Property* p = prop(self);
  p->doc = parts[3].is_none() && !parts[0].is_none() ? doc_of(s, parts[0]) : parts[3];
  p->get = parts[0], p->set = parts[1], p->del = parts[2];
  Instance* own = cast_exact<Instance>(self);  // of a subclass, whose own text would hide it
  static const Symbol doc = intern("__doc__");
  return !own || !own->type->has_dict || (set_own_attribute(s, own, doc, p->doc), true);
}
Value property_construct(Session& s, Type*, const Args& a) {
  Value v = Value::steal(new_object<Property>(ObjectKind::property));
  return property_init(s, v, a) ? v : Value::error();
}
// `self` with other functions, of its own class.
Value property_like(Session& s, const Value& self, const Value& get, const Value& set, const Value& del,
                    const Value& doc) {
  return call(s, Value::share(type_of(s, self)), {or_none(get), or_none(set), or_none(del), or_none(doc)});
}
Value property_getter(Session& s, const Args& a) {
  Property* p = prop(a[0]);
  bool of_getter = p->get.is_object() && doc_of(s, p->get).same(p->doc);
  return property_like(s, a[0], a[1], p->set, p->del, of_getter ? Value::none() : p->doc);
}
Value property_setter(Session& s, const Args& a) {
  return property_like(s, a[0], prop(a[0])->get, a[1], prop(a[0])->del, prop(a[0])->doc);
}
Value property_deleter(Session& s, const Args& a) {
  return property_like(s, a[0], prop(a[0])->get, prop(a[0])->set, a[1], prop(a[0])->doc);
}
template <Value Property::*field>
Value property_field(Session&, const Value& v) {
  return or_none(prop(v)->*field);
}
Value descriptor_get(Session& s, const Args& a) {
  Type* owner = a.size() > 2 ? cast_exact<Type>(a[2]) : nullptr;
  if (a[1].is_none() && (a.size() < 3 || a[2].is_none() || a[2].is_unbound()))
    return raise_type_error(s, "__get__(None, None) is invalid");
  if (!owner) owner = type_of(s, a[1]);
  return a[1].is_none() && cast<Property>(a[0])
             ? a[0]
             : bind_descriptor(s, unwrap(a[0]), a[1].is_none() ? Value() : a[1], owner);
}
Value property_set(Session& s, const Args& a) {
  auto* p = prop(a[0]);
  if (p->set.is_none())
    return raise_error(s, ExcKind::AttributeError, "property of '%s' object has no setter",
                       class_path(s, a[1]).c_str());
  OURO_TRY_DO(call(s, p->set, {a[1], a[2]}));
  return Value::none();
}
Value property_delete(Session& s, const Args& a) {
  auto* p = prop(a[0]);
  if (p->del.is_none())
    return raise_error(s, ExcKind::AttributeError, "property of '%s' object has no deleter",
                       class_path(s, a[1]).c_str());
  OURO_TRY_DO(call(s, p->del, {a[1]}));
  return Value::none();
}
bool set_property_doc(Session&, const Value& v, const Value& d) {
  prop(v)->doc = d;
  return true;
}
constexpr NativeDef kPropertyMethods[] = {
    {"getter", "fget, /", property_getter, ""},          {"setter", "fset, /", property_setter, ""},
    {"deleter", "fdel, /", property_deleter, ""},        {"__get__", "instance, owner=None, /", descriptor_get, ""},
    {"__set__", "instance, value, /", property_set, ""}, {"__delete__", "instance, /", property_delete, ""}};
// Is one of the functions marked as abstract?
Value any_abstract(Session& s, std::initializer_list<const Value*> functions) {
  static const Symbol mark = intern("__isabstractmethod__");
  for (const Value* f : functions) {
    Value a = lookup_attr(s, *f, mark);
    if (a.is_error()) return a;
    int t = a.is_unbound() ? 0 : truth(s, a);
    if (t) return t < 0 ? Value::error() : Value::boolean(true);
  }
  return Value::boolean(false);
}
Value property_abstract(Session& s, const Value& v) {
  return any_abstract(s, {&prop(v)->get, &prop(v)->set, &prop(v)->del});
}
constexpr GetSetDef kPropertyGetSet[] = {{"__isabstractmethod__", property_abstract},
                                         {"fget", property_field<&Property::get>},
                                         {"fset", property_field<&Property::set>},
                                         {"fdel", property_field<&Property::del>},
                                         {"__doc__", property_field<&Property::doc>, set_property_doc}};
constexpr TypeSlots kPropertySlots{.construct = property_construct, .init = property_init};
constexpr TypeDef kProperty{.name = "property",
                            .kind = ObjectKind::property,
                            .slots = &kPropertySlots,
                            .methods = kPropertyMethods,
                            .getset = kPropertyGetSet};

// ---------------------------------------------------------------- staticmethod, classmethod

template <class T>
T* wrapper(const Value& v) {
  return unwrap(v).as<T>();
}
template <class T>
bool wrapper_init(Session& s, const Value& self, const Args& a) {
  const char* name = T::kKind == ObjectKind::static_method ? "staticmethod" : "classmethod";
  if (a.keywords.size() > 0) return !raise_type_error(s, "%s() takes no keyword arguments", name).is_error();
  if (a.size() != 1) return !raise_type_error(s, "%s expected 1 argument, got %zu", name, a.size()).is_error();
  wrapper<T>(self)->function = a[0];
  Instance* own = cast_exact<Instance>(self);  // it has these from the function; others ask it
  if (!own || !own->type->has_dict) return true;
  for (const char* copied : {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__"}) {
    Value v = lookup_attr(s, a[0], intern(copied));
    if (v.is_error() || (!v.is_unbound() && !object_setattr(s, self, intern(copied), v))) return false;
  }
  return true;
}
// Without a function yet in a subclass, whose __init__ gives it.
template <class T>
Value wrapper_construct(Session& s, Type* t, const Args& a) {
  auto* x = new_object<T>(T::kKind);
  x->function = Value::none();
  Value v = Value::steal(x);
  return !t->builtin || wrapper_init<T>(s, v, a) ? v : Value::error();
}
template <class T>
Value wrapped(Session&, const Value& v) {
  return wrapper<T>(v)->function;
}
template <class T>
Value wrapper_attr(Session& s, const Value& v, Symbol name) {
  if (!name.text().starts_with("__") || name.text() == "__name__" || name.text() == "__qualname__" ||
      name.text() == "__doc__" || name.text() == "__isabstractmethod__" || name.text() == "__module__" ||
      name.text() == "__annotations__")
    return lookup_attr(s, wrapper<T>(v)->function, name);
  return Value();
}
template <class T>
Value wrapper_repr(Session& s, const Value& v) {
  OURO_TRY(shown, repr(s, wrapper<T>(v)->function));
  return make_str(std::string(T::kKind == ObjectKind::static_method ? "<staticmethod(" : "<classmethod(")
                      .append(cast<Str>(shown)->view())
                      .append(")>"));
}
Value static_call(Session& s, const Value& f, const Args& a) { return call(s, wrapper<StaticMethod>(f)->function, a); }
constexpr NativeDef kGetMethods[] = {{"__get__", "instance, owner=None, /", descriptor_get, ""}};
template <class T>
Value wrapped_abstract(Session& s, const Value& v) {
  return any_abstract(s, {&wrapper<T>(v)->function});
}
constexpr GetSetDef kStaticGetSet[] = {{"__func__", wrapped<StaticMethod>},
                                       {"__wrapped__", wrapped<StaticMethod>},
                                       {"__isabstractmethod__", wrapped_abstract<StaticMethod>}};
constexpr GetSetDef kClassGetSet[] = {{"__func__", wrapped<ClassMethod>},
                                      {"__wrapped__", wrapped<ClassMethod>},
                                      {"__isabstractmethod__", wrapped_abstract<ClassMethod>}};
constexpr TypeSlots kStaticSlots{.repr = wrapper_repr<StaticMethod>,
                                 .get_attr = wrapper_attr<StaticMethod>,
                                 .call = static_call,
                                 .construct = wrapper_construct<StaticMethod>,
                                 .init = wrapper_init<StaticMethod>};
constexpr TypeSlots kClassSlots{.repr = wrapper_repr<ClassMethod>,
                                .get_attr = wrapper_attr<ClassMethod>,
                                .construct = wrapper_construct<ClassMethod>,
                                .init = wrapper_init<ClassMethod>};
constexpr TypeDef kStatic{.name = "staticmethod",
                          .kind = ObjectKind::static_method,
                          .slots = &kStaticSlots,
                          .methods = kGetMethods,
                          .getset = kStaticGetSet};
constexpr TypeDef kClass{.name = "classmethod",
                         .kind = ObjectKind::class_method,
                         .slots = &kClassSlots,
                         .methods = kGetMethods,
                         .getset = kClassGetSet};

// ---------------------------------------------------------------- super

Value super_construct(Session& s, Type*, const Args& a) {
  if (a.size() == 0) {
    const Frame* top = s.interpreter->top;
    bool has_parameter = top && top->code->function->sig.positional > 0;
    return raise_error(s, ExcKind::RuntimeError,
                       has_parameter ? "super(): __class__ cell not found" : "super(): no arguments");
  }
  if (a.keywords.size() > 0) return raise_type_error(s, "super() takes no keyword arguments");
  if (a.size() > 2) return raise_type_error(s, "super() expected at most 2 arguments, got %zu", a.size());
  Type* t = cast_exact<Type>(a[0]);
  if (!t) return raise_type_error(s, "super() argument 1 must be a type, not %s", type_name(s, a[0]).c_str());
  auto* x = new_object<Super>(ObjectKind::super);
  Value v = Value::steal(x);
  x->type = a[0];
  if (a.size() < 2) return v;
  x->self = a[1];
  Type* cls = cast_exact<Type>(a[1]);
  if (cls && is_subtype(cls, t))
    x->self_type = cls;
  else if (is_a(s, a[1], t))
    x->self_type = type_of(s, a[1]);
  else
    return raise_type_error(s, "super(type, obj): obj must be an instance or subtype of type");
  ++x->self_type->refs;  // the object may become one of another class
  return v;
}
Value super_repr(Session& s, const Value& v) {
  auto* x = v.as<Super>();
  std::string text = "<super: <class '" + std::string(x->type.as<Type>()->text()) + "'>, ";
  text += x->self_type ? "<" + std::string(x->self_type->text()) + " object>>" : std::string("NULL>");
  (void)s;
  return make_str(text);
}
constexpr TypeSlots kSuperSlots{.repr = super_repr, .construct = super_construct};
constexpr TypeDef kSuper{.name = "super", .kind = ObjectKind::super, .slots = &kSuperSlots, .subclassable = false};

// ---------------------------------------------------------------- members

Value member_repr(Session&, const Value& v) {
  auto* m = v.as<Member>();
  return make_str("<member '" + m->name.str() + "' of '" + std::string(m->owner->text()) + "' objects>");
}
Value member_name(Session& s, const Value& v) { return s.str(v.as<Member>()->name); }
Value member_owner(Session&, const Value& v) { return Value::share(v.as<Member>()->owner); }
Value qualified(const Type* owner, std::string_view name) {
  return make_str(std::string(owner->qualname.as<Str>()->view()) + "." + std::string(name));
}
Value member_qualname(Session&, const Value& v) {
  return qualified(v.as<Member>()->owner, v.as<Member>()->name.text());
}
constexpr GetSetDef kMemberGetSet[] = {
    {"__name__", member_name}, {"__qualname__", member_qualname}, {"__objclass__", member_owner}};
Value data_set(Session& s, const Args& a) {
  return write_descriptor(s, a[0], a[1], a[2]) ? Value::none() : Value::error();
}
Value data_delete(Session& s, const Args& a) {
  return write_descriptor(s, a[0], a[1], Value()) ? Value::none() : Value::error();
}
constexpr NativeDef kDataMethods[] = {{"__get__", "instance, owner=None, /", descriptor_get, ""},
                                      {"__set__", "instance, value, /", data_set, "Set an attribute of instance."},
                                      {"__delete__", "instance, /", data_delete, "Delete an attribute of instance."}};
constexpr TypeSlots kMemberSlots{.repr = member_repr};
constexpr TypeDef kMember{.name = "member_descriptor",
                          .kind = ObjectKind::member,
                          .slots = &kMemberSlots,
                          .methods = kDataMethods,
                          .getset = kMemberGetSet,
                          .subclassable = false};

Value getset_repr(Session&, const Value& v) {
  auto* g = v.as<GetSet>();
  return make_str("<attribute '" + std::string(g->def->name) + "' of '" + std::string(g->owner->text()) + "' objects>");
}
Value getset_name(Session&, const Value& v) { return make_str(v.as<GetSet>()->def->name); }
Value getset_doc(Session&, const Value& v) {
  auto* g = v.as<GetSet>();
  const std::string_view doc = g->def->doc.empty() ? native_help_doc(g->owner->text(), g->def->name) : g->def->doc;
  return doc.empty() ? Value::none() : make_str(doc);
}
Value getset_owner(Session&, const Value& v) { return Value::share(v.as<GetSet>()->owner); }
Value getset_qualname(Session&, const Value& v) { return qualified(v.as<GetSet>()->owner, v.as<GetSet>()->def->name); }
constexpr GetSetDef kGetSetGetSet[] = {{"__name__", getset_name},
                                       {"__qualname__", getset_qualname},
                                       {"__doc__", getset_doc},
                                       {"__objclass__", getset_owner}};
constexpr TypeSlots kGetSetSlots{.repr = getset_repr};
constexpr TypeDef kGetSet{.name = "getset_descriptor",
                          .kind = ObjectKind::get_set,
                          .slots = &kGetSetSlots,
                          .methods = kDataMethods,
                          .getset = kGetSetGetSet,
                          .subclassable = false};

}  // namespace

void register_descriptor_types(Session& s) {
  for (const TypeDef* d : {&kProperty, &kStatic, &kClass, &kSuper, &kMember, &kGetSet}) define_type(s, *d);
}

}  // namespace ouro::runtime
