// Modules, and the aliases that annotations are made of (list[int], int | None).
#include "runtime/model/model.h"
#include "runtime/object/ops.h"

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
    if (auto make = s.state<NamespaceMaker>().make; make && !m->rows) return make(s, v);
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
    raise_error(s, ExcKind::AttributeError, "'module' object has no attribute '%s'", name.c_str());
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
  mod(m)->names.set(intern("__doc__"), a.size() > 1 ? a[1] : Value::none());
  return m;
}
constexpr TypeSlots kModuleSlots{.repr = module_repr,
                                 .get_attr = module_get_attr,
                                 .set_attr = module_set_attr,
                                 .construct = module_construct,
                                 .dir = module_dir};
constexpr TypeDef kModule{.name = "module", .kind = ObjectKind::module, .slots = &kModuleSlots, .subclassable = false};

// ---------------------------------------------------------------- aliases

// list[int], and unions made with `|`, which have no origin.

bool is_union(const GenericAlias& g) { return g.origin.is_none(); }

bool add_part(Session& s, std::string& out, const Value& v) {
  if (Type* t = cast_exact<Type>(v)) {
    Value m = type_lookup(s, t, intern("__module__"));
    const bool none = t == s.type(ObjectKind::none);
    if (!none && cast<Str>(m) && cast<Str>(m)->view() != "builtins") out.append(cast<Str>(m)->view()) += '.';
    out += none ? "None" : t->qualname.as<Str>()->view();
  } else if (v.is(Tag::ellipsis)) {
    out += "...";
  } else {
    const Value shown = repr(s, v);
    if (shown.is_error()) return false;
    append_text(out, cast<Str>(shown)->view());
  }
  return true;
}
Value alias_repr(Session& s, const Value& v) {
  auto* g = v.as<GenericAlias>();
  Tuple* args = g->args.as<Tuple>();
  std::string out;
  if (!is_union(*g)) {
    if (!add_part(s, out, g->origin)) return Value::error();
    out += '[';
  }
  for (size_t i = 0; i < args->size; ++i) {
    if (i) out += is_union(*g) ? " | " : ", ";
    if (!add_part(s, out, (*args)[i])) return Value::error();
  }
  if (!is_union(*g)) out += args->size ? "]" : "()]";
  return make_str(out);
}
Value alias_call(Session& s, const Value& v, const Args& a) {
  auto* g = v.as<GenericAlias>();
  if (is_union(*g)) return raise_type_error(s, "'types.UnionType' object is not callable");
  return call(s, g->origin, a);
}

// A type variable can be replaced; anything else has the type variables of its own arguments.
bool is_variable(Session& s, const Value& v) {
  static const Symbol subst = intern("__typing_subst__");
  return cast_exact<Instance>(v) && !lookup_attr(s, v, subst).is_unbound();
}
Value parameters_of(Session& s, const Value& v) {
  static const Symbol parameters = intern("__parameters__");
  if (cast_exact<Type>(v)) return Value();
  Value own = lookup_attr(s, v, parameters);
  return cast_exact<Tuple>(own) || own.is_error() ? own : Value();
}
bool add_once(Session& s, std::vector<Value>& to, const Value& v) {
  for (const Value& have : to)
    if (int same = equals(s, have, v)) return same > 0;
  to.push_back(v);
  return true;
}
Value alias_parameters(Session& s, GenericAlias& g) {
  if (!g.parameters.is_unbound()) return g.parameters;
  std::vector<Value> found;
  for (const Value& arg : *g.args.as<Tuple>()) {
    if (is_variable(s, arg)) {
      if (!add_once(s, found, arg)) return Value::error();
      continue;
    }
    OURO_TRY(inner, parameters_of(s, arg));
    if (inner.is_unbound()) continue;
    for (const Value& p : *inner.as<Tuple>())
      if (!add_once(s, found, p)) return Value::error();
  }
  return g.parameters = make_tuple_moved(found);
}

Value alias_attr(Session& s, const Value& v, Symbol name) {
  auto* g = v.as<GenericAlias>();
  std::string_view n = name.text();
  if (n == "__args__") return g->args;
  if (n == "__parameters__") return alias_parameters(s, *g);
  if (is_union(*g)) return Value();
  if (n == "__origin__") return g->origin;
  static constexpr std::string_view kOwn[] = {"__class__",  "__bases__", "__mro_entries__", "__reduce_ex__",
                                              "__reduce__", "__copy__",  "__deepcopy__",    "__typing_subst__"};
  if (std::find(std::begin(kOwn), std::end(kOwn), n) != std::end(kOwn)) return Value();
  return lookup_attr(s, g->origin, name);
}
// Every part of one union in the other.
int all_in(Session& s, Tuple* parts, Tuple* of) {
  for (const Value& p : *parts) {
    int found = 0;
    for (const Value& o : *of)
      if ((found = equals(s, p, o)) != 0) break;
    if (found <= 0) return found;
  }
  return 1;
}
Value alias_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  auto* y = cast_exact<GenericAlias>(b);
  if (!y || (op != CmpOp::eq && op != CmpOp::ne)) return Value::not_implemented();
  auto* x = a.as<GenericAlias>();
  Tuple *xs = x->args.as<Tuple>(), *ys = y->args.as<Tuple>();
  int same = 0;
  if (x->origin.same(y->origin))
    same = !is_union(*x) ? equals(s, x->args, y->args) : xs->size == ys->size ? all_in(s, xs, ys) : 0;
  return same < 0 ? Value::error() : Value::boolean((same != 0) == (op == CmpOp::eq));
}
bool alias_hash(Session& s, const Value& v, int64_t& out) {
  auto* g = v.as<GenericAlias>();
  out = 0;
  for (const Value& arg : *g->args.as<Tuple>()) {
    int64_t h;
    if (!hash(s, arg, h)) return false;
    out = is_union(*g) ? out ^ h : out * 1000003 + h;  // a union has no order
  }
  int64_t origin = 0;
  if (!is_union(*g) && !hash(s, g->origin, origin)) return false;
  out ^= origin;
  return true;
}
Value alias_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  return slots_of(s, Value::share(s.object_type())).binary(s, op, a, b);
}

Value substitute(Session& s, const Value& arg, Tuple* parameters, Tuple* by) {
  static const Symbol subst = intern("__typing_subst__");
  auto replacement = [&](const Value& p) {
    for (size_t i = 0; i < parameters->size; ++i)
      if (equals(s, (*parameters)[i], p) > 0) return (*by)[i];
    return p;
  };
  if (is_variable(s, arg)) {
    OURO_TRY(check, get_attr(s, arg, subst));
    return call(s, check, {replacement(arg)});
  }
  OURO_TRY(inner, parameters_of(s, arg));
  if (inner.is_unbound() || inner.as<Tuple>()->size == 0) return arg;
  std::vector<Value> given;
  for (const Value& p : *inner.as<Tuple>()) given.push_back(replacement(p));
  return get_item(s, arg, make_tuple_moved(given));
}
// list[T][int]
Value alias_item(Session& s, const Value& v, const Value& key) {
  auto* g = v.as<GenericAlias>();
  OURO_TRY(parameters, alias_parameters(s, *g));
  Value given = cast_exact<Tuple>(key) ? key : make_tuple({key});
  size_t want = parameters.as<Tuple>()->size, have = given.as<Tuple>()->size;
  if (want == 0) return raise_type_error(s, "%s is not a generic class", repr_text(s, v).c_str());
  if (want != have)
    return raise_type_error(s, "Too %s arguments for %s; actual %zu, expected %zu", have > want ? "many" : "few",
                            repr_text(s, v).c_str(), have, want);
  std::vector<Value> args;
  for (const Value& arg : *g->args.as<Tuple>()) {
    OURO_TRY(made, substitute(s, arg, parameters.as<Tuple>(), given.as<Tuple>()));
    args.push_back(made);
  }
  if (is_union(*g)) {
    Value made = args[0];
    for (size_t i = 1; i < args.size(); ++i) {
      OURO_TRY(next, binary(s, BinOp::or_, made, args[i]));
      made = next;
    }
    return made;
  }
  auto* made = new_object<GenericAlias>(ObjectKind::generic_alias);
  made->origin = g->origin;
  made->args = make_tuple_moved(args);
  return Value::steal(made);
}
Value alias_construct(Session& s, Type*, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "GenericAlias() takes no keyword arguments");
  if (a.size() != 2) return raise_type_error(s, "GenericAlias expected 2 arguments, got %zu", a.size());
  auto* made = new_object<GenericAlias>(ObjectKind::generic_alias);
  made->origin = a[0];
  made->args = cast_exact<Tuple>(a[1]) ? a[1] : make_tuple({a[1]});
  return Value::steal(made);
}
constexpr TypeSlots kAliasSlots{.binary = alias_binary,
                                .compare = alias_compare,
                                .hash = alias_hash,
                                .repr = alias_repr,
                                .get_item = alias_item,
                                .get_attr = alias_attr,
                                .call = alias_call,
                                .construct = alias_construct};
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
