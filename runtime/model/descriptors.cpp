// property, staticmethod, classmethod, super, and the descriptors of slots and computed attributes.
#include "runtime/interpreter/frame.h"
#include "runtime/model/model.h"
#include "runtime/ops.h"
#include "runtime/protocol/lookup.h"

namespace ouro::runtime {

namespace {

// ---------------------------------------------------------------- property

Property* prop(const Value& v) { return v.as<Property>(); }

Value doc_of(Session& s, const Value& f) {
  static const Symbol doc = intern("__doc__");
  Value d = lookup_attr(s, f, doc);
  return d.is_unbound() || d.is_error() ? Value::none() : d;
}
Value make_property(Session& s, Value get, Value set, Value del, Value doc) {
  auto* p = new_object<Property>(ObjectKind::property);
  Value v = Value::steal(p);
  p->doc = doc.is_none() && !get.is_none() ? doc_of(s, get) : std::move(doc);
  p->get = std::move(get), p->set = std::move(set), p->del = std::move(del);
  return v;
}
Value or_none(const Value& v) { return v.is_unbound() ? Value::none() : v; }
Value property_construct(Session& s, Type*, const Args& a) {
  Value parts[4] = {Value::none(), Value::none(), Value::none(), Value::none()};
  static constexpr std::string_view kNames[] = {"fget", "fset", "fdel", "doc"};
  if (a.size() > 4) return raise_type_error(s, "property expected at most 4 arguments, got %zu", a.size());
  for (size_t i = 0; i < a.size(); ++i) parts[i] = a[i];
  for (size_t k = 0; k < a.keywords.size(); ++k)
    for (size_t i = 0; i < 4; ++i)
      if (a.names[k].as<Str>()->view() == kNames[i]) parts[i] = a.keywords[k];
  return make_property(s, parts[0], parts[1], parts[2], parts[3]);
}
Value property_getter(Session& s, const Args& a) {
  return make_property(s, a[1], prop(a[0])->set, prop(a[0])->del, Value::none());
}
Value property_setter(Session& s, const Args& a) {
  return make_property(s, prop(a[0])->get, a[1], prop(a[0])->del, prop(a[0])->doc);
}
Value property_deleter(Session& s, const Args& a) {
  return make_property(s, prop(a[0])->get, prop(a[0])->set, a[1], prop(a[0])->doc);
}
template <Value Property::*field>
Value property_field(Session&, const Value& v) {
  return or_none(prop(v)->*field);
}
Value descriptor_get(Session& s, const Args& a) {
  Type* owner = a.size() > 2 ? cast_exact<Type>(a[2]) : nullptr;
  if (!owner) owner = type_of(s, a[1]);
  return bind_descriptor(s, a[0], a[1].is_none() ? Value() : a[1], owner);
}
Value property_set(Session& s, const Args& a) {
  auto* p = prop(a[0]);
  if (p->set.is_none())
    return raise_error(s, ExcKind::AttributeError, "property of '%s' object has no setter", type_name(s, a[1]).c_str());
  OURO_TRY_DO(call(s, p->set, {a[1], a[2]}));
  return Value::none();
}
bool set_property_doc(Session&, const Value& v, const Value& d) {
  prop(v)->doc = d;
  return true;
}
constexpr NativeDef kPropertyMethods[] = {{"getter", "fget, /", property_getter, ""},
                                          {"setter", "fset, /", property_setter, ""},
                                          {"deleter", "fdel, /", property_deleter, ""},
                                          {"__get__", "instance, owner=None, /", descriptor_get, ""},
                                          {"__set__", "instance, value, /", property_set, ""}};
constexpr GetSetDef kPropertyGetSet[] = {{"fget", property_field<&Property::get>},
                                         {"fset", property_field<&Property::set>},
                                         {"fdel", property_field<&Property::del>},
                                         {"__doc__", property_field<&Property::doc>, set_property_doc}};
constexpr TypeSlots kPropertySlots{.construct = property_construct};
constexpr TypeDef kProperty{.name = "property",
                            .kind = ObjectKind::property,
                            .slots = &kPropertySlots,
                            .methods = kPropertyMethods,
                            .getset = kPropertyGetSet,
                            .subclassable = false};

// ---------------------------------------------------------------- staticmethod, classmethod

template <class T>
Value wrapper_construct(Session& s, Type* t, const Args& a) {
  if (a.size() != 1)
    return raise_type_error(s, "%s expected 1 argument, got %zu", std::string(t->text()).c_str(), a.size());
  auto* x = new_object<T>(T::kKind);
  x->function = a[0];
  return Value::steal(x);
}
template <class T>
Value wrapped(Session&, const Value& v) {
  return v.as<T>()->function;
}
template <class T>
Value wrapper_attr(Session& s, const Value& v, Symbol name) {
  if (!name.text().starts_with("__") || name.text() == "__name__" || name.text() == "__qualname__" ||
      name.text() == "__doc__" || name.text() == "__isabstractmethod__" || name.text() == "__module__")
    return lookup_attr(s, v.as<T>()->function, name);
  return Value();
}
template <class T>
Value wrapper_repr(Session& s, const Value& v) {
  return make_str(std::string(T::kKind == ObjectKind::static_method ? "<staticmethod(" : "<classmethod(") +
                  repr_text(s, v.as<T>()->function) + ")>");
}
Value static_call(Session& s, const Value& f, const Args& a) { return call(s, f.as<StaticMethod>()->function, a); }
constexpr NativeDef kGetMethods[] = {{"__get__", "instance, owner=None, /", descriptor_get, ""}};
constexpr GetSetDef kStaticGetSet[] = {{"__func__", wrapped<StaticMethod>}, {"__wrapped__", wrapped<StaticMethod>}};
constexpr GetSetDef kClassGetSet[] = {{"__func__", wrapped<ClassMethod>}, {"__wrapped__", wrapped<ClassMethod>}};
constexpr TypeSlots kStaticSlots{.repr = wrapper_repr<StaticMethod>,
                                 .get_attr = wrapper_attr<StaticMethod>,
                                 .call = static_call,
                                 .construct = wrapper_construct<StaticMethod>};
constexpr TypeSlots kClassSlots{.repr = wrapper_repr<ClassMethod>,
                                .get_attr = wrapper_attr<ClassMethod>,
                                .construct = wrapper_construct<ClassMethod>};
constexpr TypeDef kStatic{.name = "staticmethod",
                          .kind = ObjectKind::static_method,
                          .slots = &kStaticSlots,
                          .methods = kGetMethods,
                          .getset = kStaticGetSet,
                          .subclassable = false};
constexpr TypeDef kClass{.name = "classmethod",
                         .kind = ObjectKind::class_method,
                         .slots = &kClassSlots,
                         .methods = kGetMethods,
                         .getset = kClassGetSet,
                         .subclassable = false};

// ---------------------------------------------------------------- super

Value super_construct(Session& s, Type*, const Args& a) {
  if (a.size() == 0) {
    const Frame* top = s.interpreter->top;
    bool has_parameter = top && top->code->function->sig.positional > 0;
    return raise_error(s, ExcKind::RuntimeError,
                       has_parameter ? "super(): __class__ cell not found" : "super(): no arguments");
  }
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
constexpr GetSetDef kMemberGetSet[] = {{"__name__", member_name}};
constexpr TypeSlots kMemberSlots{.repr = member_repr};
constexpr TypeDef kMember{.name = "member_descriptor",
                          .kind = ObjectKind::member,
                          .slots = &kMemberSlots,
                          .methods = kGetMethods,
                          .getset = kMemberGetSet,
                          .subclassable = false};

Value getset_repr(Session&, const Value& v) {
  auto* g = v.as<GetSet>();
  return make_str("<attribute '" + std::string(g->def->name) + "' of '" + std::string(g->owner->text()) + "' objects>");
}
Value getset_name(Session&, const Value& v) { return make_str(v.as<GetSet>()->def->name); }
constexpr GetSetDef kGetSetGetSet[] = {{"__name__", getset_name}};
constexpr TypeSlots kGetSetSlots{.repr = getset_repr};
constexpr TypeDef kGetSet{.name = "getset_descriptor",
                          .kind = ObjectKind::get_set,
                          .slots = &kGetSetSlots,
                          .methods = kGetMethods,
                          .getset = kGetSetGetSet,
                          .subclassable = false};

}  // namespace

void register_descriptor_types(Session& s) {
  for (const TypeDef* d : {&kProperty, &kStatic, &kClass, &kSuper, &kMember, &kGetSet}) define_type(s, *d);
}

}  // namespace ouro::runtime
