// Kinds of objects of reverse mode.
#include "runtime/autodiff/autodiff.h"
#include "runtime/autodiff/natives.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {
using namespace autodiff;

namespace {

void visit_seq(Object* o, Visitor& v) {
  for (const Value& x : static_cast<Seq*>(o)->items) v.visit(x);
}
void clear_seq(Object* o) { auto gone = std::move(static_cast<Seq*>(o)->items); }

void visit_shadow(Object* o, Visitor& v) {
  for (const auto& [key, slots] : static_cast<ShadowMap*>(o)->objects) {
    v.visit(slots.object);
    for (const Value& x : slots.list) v.visit(x);
    v.visit(slots.others);
    v.visit(slots.inner);
  }
}
void clear_shadow(Object* o) { auto gone = std::move(static_cast<ShadowMap*>(o)->objects); }

void visit_pullback(Object* o, Visitor& v) { v.visit(static_cast<Pullback*>(o)->function); }

void visit_record(Object* o, Visitor& v) {
  v.visit(static_cast<Record*>(o)->cls);
  for (const auto& e : static_cast<Record*>(o)->fields.entries()) v.visit(e.value);
}
void clear_record(Object* o) {
  auto& fields = static_cast<Record*>(o)->fields;
  NameTable<Value> gone = std::move(fields);
  fields.clear();
}

Value call_pullback(Session& s, const Value& self, const Args& args) {
  return call(s, self.as<Pullback>()->function, args);
}

// The list or dict that stands for a record. Unbound: its class has none.
Value parts_of(Session& s, const Value& record) {
  const Value f = type_lookup(s, record.as<Record>()->cls.as<Type>(), intern(kParts));
  return f.is_unbound() ? f : call(s, f, Args{{&record, 1}, {}, {}});
}

}  // namespace

Value autodiff::function_of_gradients(Session& s, std::string_view name) {
  if (name != "parameters" && name != "named_parameters") return {};
  OURO_TRY(module, import_module(s, intern("ouro.nn.tree")));
  return get_attr(s, module, intern("gradient_" + std::string(name)));
}

namespace {

// A record reads like the object it is the gradient of.
Value record_get(Session& s, const Value& self, Symbol name) {
  if (const Value* v = self.as<Record>()->fields.find(name)) return *v;
  OURO_TRY(method, function_of_gradients(s, name.text()));
  if (!method.is_unbound()) return make_bound_method(method, self);
  if (!is_method_of_parts(name.text())) return {};
  OURO_TRY(parts, parts_of(s, self));
  return cast<Dict>(parts) ? get_attr(s, parts, name) : Value();
}
Value record_item(Session& s, const Value& self, const Value& key) {
  OURO_TRY(parts, parts_of(s, self));
  return parts.is_unbound() ? raise_type_error(s, "'gradient' object is not subscriptable") : get_item(s, parts, key);
}
Value record_iter(Session& s, const Value& self) {
  OURO_TRY(parts, parts_of(s, self));
  return parts.is_unbound() ? raise_type_error(s, "'gradient' object is not iterable") : iter(s, parts);
}
int64_t record_length(Session& s, const Value& self) {
  const Value parts = parts_of(s, self);
  if (parts.is_error()) return -1;
  if (!parts.is_unbound()) return length(s, parts);
  raise_type_error(s, "object of type 'gradient' has no len()");
  return -1;
}
bool record_set(Session& s, const Value& self, Symbol name, const Value& v) {
  if (v.is_unbound()) {
    if (self.as<Record>()->fields.erase(name)) return true;
    raise_error(s, ExcKind::AttributeError, "'gradient' object has no attribute '%s'", name.c_str());
    return false;
  }
  self.as<Record>()->fields.set(name, v);
  return true;
}
Value record_repr(Session& s, const Value& self) {
  ReprGuard guard(s, self);
  Record* r = self.as<Record>();
  std::string text = "gradient of " + std::string(r->cls.as<Type>()->text()) + "(";
  if (!guard.entered()) return make_str(text + "...)");
  bool first = true;
  for (const auto& e : r->fields.entries()) {
    if (!e.name) continue;
    std::string field = repr_text(s, e.value);
    if (s.has_error()) return Value::error();
    text += (first ? "" : ", ") + e.name.str() + "=" + field;
    first = false;
  }
  return make_str(text + ")");
}
Value record_dir(Session& s, const Value& self) {
  Value names = make_list();
  for (const auto& e : self.as<Record>()->fields.entries())
    if (e.name) names.as<List>()->push(s.str(e.name));
  return names;
}

// vars(gradient): a dict of its own, in order of the attributes.
Value record_dict(Session& s, const Value& self) {
  Value out = make_dict();
  for (const auto& e : self.as<Record>()->fields.entries())
    if (e.name) dict_set_symbol(s, out.as<Dict>(), e.name, e.value);
  return out;
}
constexpr GetSetDef kRecordAttributes[] = {{"__dict__", record_dict}};

constexpr TypeSlots kNone{};
constexpr TypeSlots kPullbackSlots{.call = call_pullback};
constexpr TypeSlots kRecordSlots{.truth = [](Session&, const Value&) { return 1; },
                                 .repr = record_repr,
                                 .iter = record_iter,
                                 .length = record_length,
                                 .get_item = record_item,
                                 .get_attr = record_get,
                                 .set_attr = record_set,
                                 .dir = record_dir};

constexpr TypeDef kTypes[] = {
    {.name = "seq", .kind = ObjectKind::seq, .slots = &kNone, .subclassable = false},
    {.name = "shadow_map", .kind = ObjectKind::shadow_map, .slots = &kNone, .subclassable = false},
    {.name = "pullback", .kind = ObjectKind::pullback, .slots = &kPullbackSlots, .subclassable = false},
    {.name = "gradient",
     .kind = ObjectKind::record,
     .slots = &kRecordSlots,
     .getset = kRecordAttributes,
     .subclassable = false},
    {.name = "like", .kind = ObjectKind::opaque_zero, .slots = &kNone, .subclassable = false},
};

void register_kinds() {
  register_kind(ObjectKind::seq, {destroy_object<Seq>, visit_seq, clear_seq});
  register_kind(ObjectKind::shadow_map, {destroy_object<ShadowMap>, visit_shadow, clear_shadow});
  register_kind(ObjectKind::pullback, {destroy_object<Pullback>, visit_pullback, nullptr});
  register_kind(ObjectKind::record, {destroy_object<Record>, visit_record, clear_record});
  register_kind(ObjectKind::opaque_zero, {destroy_object<Like>, nullptr, nullptr});
}

}  // namespace

Value autodiff::model_class(Session& s, const Value& v) {
  Record* r = cast_exact<Record>(v);
  return r ? r->cls : Value::share(type_of(s, v));
}

void register_autodiff_types(Session& s) {
  static const bool registered = (register_kinds(), true);
  (void)registered;
  for (const TypeDef& t : kTypes) define_type(s, t);
  register_autodiff_natives(s);
  register_row_natives(s);
  s.gradient_primitive = autodiff::run_primitive;
}

}  // namespace ouro::runtime
