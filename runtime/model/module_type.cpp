// Modules, and the aliases that annotations are made of (list[int], int | None).
#include "runtime/model/model.h"
#include "runtime/ops.h"

namespace ouro::runtime {

namespace {

Module* mod(const Value& v) { return v.as<Module>(); }

Value module_get_attr(Session& s, const Value& v, Symbol name) {
  Module* m = mod(v);
  if (Value* x = m->names.find(name); x && !x->is_unbound()) return *x;
  if (m->load) {
    Value x = m->load(s, *m, name);
    if (!x.is_unbound() && !x.is_error()) m->names.set(name, x);
    if (!x.is_unbound()) return x;
  }
  static const Symbol getattr = intern("__getattr__"), dict = intern("__dict__");
  if (name == dict) {
    Value d = make_dict();
    for (auto& e : m->names.entries())
      if (e.name && !e.value.is_unbound()) dict_set_symbol(s, d.as<Dict>(), e.name, e.value);
    return d;
  }
  if (Value* f = m->names.find(getattr); f && !f->is_unbound() && !name.text().starts_with("__")) {
    Value keep = *f;
    return call(s, keep, {s.str(name)});
  }
  return Value();
}
bool module_set_attr(Session& s, const Value& v, Symbol name, const Value& x) {
  Module* m = mod(v);
  if (x.is_unbound() && (!m->names.find(name) || m->names.find(name)->is_unbound())) {
    raise_error(s, ExcKind::AttributeError, "%s", name.c_str());
    return false;
  }
  Value old = x;
  uint32_t at = m->names.add(name, Value());
  m->names.at(at).swap(old);
  m->version = s.next_version++;
  return true;
}
Value module_repr(Session& s, const Value& v) {
  Module* m = mod(v);
  std::string name = text_of(s, m->name);
  if (!m->file.is_none() && !m->file.is_unbound())
    return make_str("<module '" + name + "' from '" + text_of(s, m->file) + "'>");
  return make_str("<module '" + name + "' (built-in)>");
}
Value module_dir(Session& s, const Value& v) {
  Module* m = mod(v);
  Value out = make_list();
  for (auto& e : m->names.entries())
    if (e.name && !e.value.is_unbound()) out.as<List>()->push(s.str(e.name));
  if (m->rows)
    for (const NativeModule* rows : s.native_modules) {
      if (rows->name != static_cast<const NativeModule*>(m->rows)->name) continue;
      for (const NativeDef& d : rows->functions) out.as<List>()->push(make_str(d.name));
      for (std::string_view c : rows->constants) out.as<List>()->push(make_str(c));
    }
  return out;
}
Value module_construct(Session& s, Type*, const Args& a) {
  if (a.size() < 1 || !cast<Str>(a[0])) return raise_type_error(s, "module() missing required argument 'name' (pos 1)");
  Value m = make_module(s, cast<Str>(a[0])->view());
  mod(m)->names.set(intern("__name__"), a[0]);
  return m;
}
constexpr TypeSlots kModuleSlots{.repr = module_repr,
                                 .get_attr = module_get_attr,
                                 .set_attr = module_set_attr,
                                 .construct = module_construct,
                                 .dir = module_dir};
constexpr TypeDef kModule{.name = "module", .kind = ObjectKind::module, .slots = &kModuleSlots, .subclassable = false};

// ---------------------------------------------------------------- aliases

std::string alias_part(Session& s, const Value& v) {
  if (Type* t = cast_exact<Type>(v)) {
    if (t == s.type(ObjectKind::none)) return "None";
    Value m = type_lookup(s, t, intern("__module__"));
    std::string q(t->qualname.as<Str>()->view());
    return cast<Str>(m) && cast<Str>(m)->view() != "builtins" ? std::string(cast<Str>(m)->view()) + "." + q : q;
  }
  if (v.is(Tag::ellipsis)) return "...";
  return repr_text(s, v);
}
Value alias_repr(Session& s, const Value& v) {
  auto* g = v.as<GenericAlias>();
  Tuple* args = g->args.as<Tuple>();
  bool is_union = g->origin.is_none();
  std::string out = is_union ? "" : alias_part(s, g->origin) + "[";
  for (size_t i = 0; i < args->size; ++i) out += (i ? is_union ? " | " : ", " : "") + alias_part(s, (*args)[i]);
  if (!is_union) out += "]";
  return make_str(out);
}
Value alias_call(Session& s, const Value& v, const Args& a) {
  auto* g = v.as<GenericAlias>();
  if (g->origin.is_none()) return raise_type_error(s, "'types.UnionType' object is not callable");
  return call(s, g->origin, a);
}
Value alias_attr(Session& s, const Value& v, Symbol name) {
  auto* g = v.as<GenericAlias>();
  if (name.text() == "__origin__") return g->origin;
  if (name.text() == "__args__") return g->args;
  if (name.text().starts_with("__") || g->origin.is_none()) return Value();
  return lookup_attr(s, g->origin, name);
}
Value alias_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  auto* y = cast_exact<GenericAlias>(b);
  if (!y || (op != CmpOp::eq && op != CmpOp::ne)) return Value::not_implemented();
  auto* x = a.as<GenericAlias>();
  int same = x->origin.same(y->origin) ? equals(s, x->args, y->args) : 0;
  return same < 0 ? Value::error() : Value::boolean((same != 0) == (op == CmpOp::eq));
}
Value alias_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  return slots_of(s, Value::share(s.object_type())).binary(s, op, a, b);
}
Value alias_item(Session&, const Value& v, const Value&) { return v; }
constexpr TypeSlots kAliasSlots{.binary = alias_binary,
                                .compare = alias_compare,
                                .repr = alias_repr,
                                .get_item = alias_item,
                                .get_attr = alias_attr,
                                .call = alias_call};
constexpr TypeDef kAlias{.name = "GenericAlias",
                         .kind = ObjectKind::generic_alias,
                         .slots = &kAliasSlots,
                         .subclassable = false,
                         .module = "types"};

}  // namespace

void register_module_type(Session& s) {
  define_type(s, kModule);
  define_type(s, kAlias);
}

}  // namespace ouro::runtime
