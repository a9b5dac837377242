#include "stdlib/native/namespaces.h"

#include <unordered_map>

#include "runtime/interpreter/frame.h"
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "stdlib/native/tables.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

// ---- a module's names as a mapping: an object of its own class (called dict), because the names live in slots that
// code has cached

struct NamespaceClass {
  Value type;
  std::unordered_map<Module*, Value> made;  // one for each module, which it keeps
};

Module* module_of(const Value& v) { return v.as<Opaque>()->values[0].as<Module>(); }

bool visible(const NameTable<Value>::Entry& e) { return e.name && !e.value.is_unbound(); }

Value snapshot(Session& s, const Value& v) {
  Value d = make_dict();
  for (auto& e : module_of(v)->names.entries())
    if (visible(e)) dict_set_symbol(s, d.as<Dict>(), e.name, e.value);
  return d;
}

Value find(Session&, const Value& v, const Value& key) {
  Str* name = cast<Str>(key);
  Value* found = name ? module_of(v)->names.find(str_symbol(name)) : nullptr;
  return found ? *found : Value();
}

Value ns_get(Session& s, const Value& v, const Value& key) {
  Value found = find(s, v, key);
  return found.is_unbound() ? raise_key_error(s, key) : found;
}
bool ns_set(Session& s, const Value& v, const Value& key, const Value& value) {
  Str* name = cast<Str>(key);
  if (!name) {
    raise_type_error(s, "globals() keys must be strings, not %s", type_name(s, key).c_str());
    return false;
  }
  return set_attr(s, v.as<Opaque>()->values[0], str_symbol(name), value);
}
bool ns_del(Session& s, const Value& v, const Value& key) {
  if (find(s, v, key).is_unbound()) {
    raise_key_error(s, key);
    return false;
  }
  return del_attr(s, v.as<Opaque>()->values[0], str_symbol(cast<Str>(key)));
}
int ns_contains(Session& s, const Value& v, const Value& key) { return !find(s, v, key).is_unbound(); }
int64_t ns_length(Session&, const Value& v) {
  int64_t n = 0;
  for (auto& e : module_of(v)->names.entries()) n += visible(e);
  return n;
}
Value ns_iter(Session& s, const Value& v) {
  OURO_TRY(d, snapshot(s, v));
  return iter(s, d);
}
Value ns_repr(Session& s, const Value& v) {
  OURO_TRY(d, snapshot(s, v));
  return repr(s, d);
}
Value ns_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (kind_of(b) == ObjectKind::opaque && b.as<Opaque>()->type == a.as<Opaque>()->type)
    return compare(s, op, Value::boolean(module_of(a) == module_of(b)), Value::boolean(true));
  OURO_TRY(d, snapshot(s, a));
  return compare(s, op, d, b);
}

template <int which>
Value m_of_dict(Session& s, const Args& a) {
  static constexpr const char* kNames[] = {"keys", "values", "items", "copy"};
  OURO_TRY(d, snapshot(s, a[0]));
  return call_method(s, d, intern(kNames[which]));
}
Value m_get(Session& s, const Args& a) {
  if (!takes(s, a, "get", 1, 2)) return Value::error();
  Value v = find(s, a[0], a[1]);
  return !v.is_unbound() ? v : a.size() == 3 ? a[2] : Value::none();
}
Value m_setdefault(Session& s, const Args& a) {
  if (!takes(s, a, "setdefault", 1, 2)) return Value::error();
  Value v = find(s, a[0], a[1]);
  if (!v.is_unbound()) return v;
  v = a.size() == 3 ? a[2] : Value::none();
  return ns_set(s, a[0], a[1], v) ? v : Value::error();
}
Value m_pop(Session& s, const Args& a) {
  if (!takes(s, a, "pop", 1, 2)) return Value::error();
  Value v = find(s, a[0], a[1]);
  if (v.is_unbound()) return a.size() == 3 ? a[2] : raise_key_error(s, a[1]);
  return ns_del(s, a[0], a[1]) ? v : Value::error();
}
Value m_update(Session& s, const Args& a) {
  Value d = make_dict();
  for (size_t i = 1; i < a.size(); ++i) {
    OURO_TRY(part, call(s, Value::share(s.type(ObjectKind::dict)), {a[i]}));
    if (!dict_merge(s, d.as<Dict>(), part)) return Value::error();
  }
  for (size_t k = 0; k < a.keywords.size(); ++k)
    if (!dict_set(s, d.as<Dict>(), a.names[k], a.keywords[k])) return Value::error();
  size_t pos = 0;
  for (Value *k, *v; dict_next(d.as<Dict>(), pos, k, v);)
    if (!ns_set(s, a[0], *k, *v)) return Value::error();
  return Value::none();
}

constexpr NativeDef kMethods[] = {
    {.name = "get", .fn = m_get},           {.name = "keys", .fn = m_of_dict<0>},
    {.name = "values", .fn = m_of_dict<1>}, {.name = "items", .fn = m_of_dict<2>},
    {.name = "copy", .fn = m_of_dict<3>},   {.name = "setdefault", .fn = m_setdefault},
    {.name = "pop", .fn = m_pop},           {.name = "update", .fn = m_update},
};
constexpr TypeSlots kSlots{.compare = ns_compare,
                           .unhashable = true,
                           .repr = ns_repr,
                           .iter = ns_iter,
                           .length = ns_length,
                           .get_item = ns_get,
                           .set_item = ns_set,
                           .del_item = ns_del,
                           .contains = ns_contains};
const TypeDef kDef{.name = "dict",
                   .kind = ObjectKind::opaque,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .subclassable = false,
                   .module = "ouro.native"};

}  // namespace

Value module_namespace(Session& s, const Value& module) {
  auto& cls = s.state<NamespaceClass>();
  if (cls.type.is_unbound()) cls.type = make_late_type(s, kDef);
  Value& v = cls.made[module.as<Module>()];
  if (v.is_unbound()) {
    v = make_opaque(cls.type.as<Type>(), nullptr);
    v.as<Opaque>()->values.push_back(module);
  }
  return v;
}

Value global_namespace(Session& s) {
  Frame* f = s.interpreter ? s.interpreter->top : nullptr;
  if (!f || !f->globals) return make_dict();
  return module_namespace(s, Value::share(f->globals));
}

Value local_namespace(Session& s) {
  Frame* f = s.interpreter ? s.interpreter->top : nullptr;
  if (!f || !f->code || f->code->function->kind == ir::Function::Kind::module) return global_namespace(s);
  return raise_error(s, ExcKind::NotImplementedError,
                     "locals() of a function or class body: Ouro keeps no dict of its variables");
}

}  // namespace ouro::stdlib
