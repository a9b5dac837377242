// The table of built-in functions: how each is executed on abstract values (methods: execute/methods.cpp). One that is
// not here is executed by its text where it has one, computed now when its arguments are known, and boxed otherwise.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/ops/registry.h"
#include "jit/specialise/execute/native_table.h"
#include "runtime/protocol/metaclass.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;
using Arguments = std::vector<AVal>;
using Handler = AVal (*)(Specialiser&, const Arguments&, const Keywords&);

namespace {

bool is_bool(const AVal& v, bool b) { return v.is(AKind::known) && v.known.is_bool() && v.known.as_bool() == b; }

AVal n_len(Specialiser& s, const Arguments& a, const Keywords&) { return s.length(a.at(0)); }

// Is `cls` one of `of`, by its line of bases? Whatever answers for itself (a class with __instancecheck__, an alias) is
// the interpreter's to ask.
bool subclass_of(Specialiser& s, const Value& cls, const Value& of) {
  if (auto* t = cast_exact<runtime::Tuple>(of)) {
    for (size_t i = 0; i < t->size; ++i)
      if (subclass_of(s, cls, (*t)[i])) return true;
    return false;
  }
  auto* t = cast_exact<runtime::Type>(of);
  if (!t) s.abandon(Reason::unknown_object, "isinstance of something else than classes");
  if (runtime::asks_metaclass(s.session, t, runtime::Dunder::instancecheck_) ||
      runtime::asks_metaclass(s.session, t, runtime::Dunder::subclasscheck_))
    s.abandon(Reason::class_hook, "isinstance of a class whose metaclass answers");
  if (!t->builtin)
    for (std::string_view hook : {"__instancecheck__", "__subclasscheck__", "__subclasshook__"}) {
      const Value m = runtime::type_lookup(s.session, t, intern(hook));
      auto* method = cast_exact<runtime::ClassMethod>(m);
      if (method && !cast_exact<runtime::Native>(method->function))
        s.abandon(Reason::class_hook, fmt::format("isinstance of a class with {}", hook));
    }
  return runtime::is_subtype(cls.as<runtime::Type>(), t);
}
AVal n_isinstance(Specialiser& s, const Arguments& a, const Keywords&) {
  auto of = s.concrete(a.at(1));
  if (!of) s.abandon(Reason::language, "isinstance of computed classes");
  return AVal::of(Value::boolean(subclass_of(s, s.class_of(a[0]), *of)));
}
// A missing attribute is an exception of a hook: not one that is caught here.
void no_hook(Specialiser& s, const AVal& a, Symbol name) {
  if (!s.is_instance(a)) return;
  const auto* t = s.class_of(a).as<runtime::Type>();
  const bool there = !s.class_lookup(a, name).is(AKind::unbound) || !s.own_attribute(a, name).is(AKind::unbound);
  if (t->has_getattribute || (t->has_getattr && !there))
    s.abandon(Reason::class_hook, "an attribute that __getattr__ is asked for");
}
// An attribute that the interpreter would load when the call runs may be missing then.
void known_here(Specialiser& s, const AVal& v) {
  if (v.is(AKind::dynamic) && !v.type)
    s.abandon(Reason::language, "whether an attribute is there is known when the call runs");
}
AVal n_getattr(Specialiser& s, const Arguments& a, const Keywords&) {
  Value name = s.need_constant(s.as_value(a.at(1)), "is an attribute's name");
  auto* str = cast_exact<runtime::Str>(name);
  if (!str) s.abandon(Reason::raises, "getattr without a name");
  if (a.size() > 2) no_hook(s, a[0], runtime::str_symbol(str));
  AVal v = s.lookup_attr(a[0], runtime::str_symbol(str));
  if (a.size() > 2) known_here(s, v);
  if (!v.is(AKind::unbound)) return v;
  if (a.size() < 3) s.abandon(Reason::raises, fmt::format("attribute {} is not there", str->view()));
  return a[2];
}
AVal n_hasattr(Specialiser& s, const Arguments& a, const Keywords&) {
  Value name = s.need_constant(s.as_value(a.at(1)), "is an attribute's name");
  auto* str = cast_exact<runtime::Str>(name);
  if (!str) s.abandon(Reason::raises, "hasattr without a name");
  no_hook(s, a[0], runtime::str_symbol(str));
  if (str->view() == "__dict__" && s.is_instance(a[0]))
    return AVal::of(Value::boolean(s.class_of(a[0]).as<runtime::Type>()->has_dict));
  const AVal v = s.lookup_attr(a[0], runtime::str_symbol(str));
  known_here(s, v);
  return AVal::of(Value::boolean(!v.is(AKind::unbound)));
}
AVal n_vars(Specialiser& s, const Arguments& a, const Keywords&) {
  if (a.empty()) s.abandon_whole(Reason::frames, "vars() looks at the calls that run");
  const bool changed = a[0].is(AKind::ref) && s.read(a[0].heap).stale;
  if (a[0].is(AKind::dynamic) || changed)  // its own words where there is none
    return s.boxed_call(AVal::of(runtime::builtin(s.session, intern("vars"), true)), a, {});
  const AVal v = s.lookup_attr(a[0], intern("__dict__"));
  if (v.is(AKind::unbound)) s.abandon(Reason::raises, "vars() of what has no __dict__");
  return v;
}
AVal n_setattr(Specialiser& s, const Arguments& a, const Keywords&) {
  Value name = s.need_constant(s.as_value(a.at(1)), "is an attribute's name");
  auto* str = cast_exact<runtime::Str>(name);
  if (!str) s.abandon(Reason::raises, "setattr without a name");
  s.set_attr(a[0], runtime::str_symbol(str), a.at(2));
  return AVal::of(Value::none());
}
AVal n_callable(Specialiser& s, const Arguments& a, const Keywords&) {
  if (auto v = s.concrete(a.at(0))) return AVal::of(Value::boolean(runtime::is_callable(s.session, *v)));
  if (a[0].is(AKind::closure) || a[0].is(AKind::bound)) return AVal::of(Value::boolean(true));
  if (s.is_instance(a[0]))
    return AVal::of(Value::boolean(!s.class_lookup(a[0], intern("__call__")).is(AKind::unbound)));
  if (a[0].is(AKind::dynamic) && !a[0].type)
    s.abandon(Reason::unknown_value, "callable of a value whose type is not known");
  return AVal::of(Value::boolean(false));
}
AVal n_is_tensor(Specialiser& s, const Arguments& a, const Keywords&) {
  if (auto v = s.concrete(a.at(0))) return AVal::of(Value::boolean(kind_of(*v) == ObjectKind::tensor));
  if (a[0].is(AKind::dynamic) && !a[0].type)
    s.abandon(Reason::unknown_value, "is_tensor of a value whose type is not known");
  return AVal::of(Value::boolean(s.is_tensor(a[0])));
}
AVal n_abs(Specialiser& s, const Arguments& a, const Keywords&) {
  if (s.is_tensor(a.at(0))) return s.tensor_op("abs", {a[0]});
  if (!s.is_number(a[0])) s.abandon(Reason::unknown_value, "abs of something else than a number");
  const ir::Type* t = s.type_of(a[0]);
  return s.of_builtin("abs", a, t->kind == ir::TypeKind::boolean ? ir::types::integer() : t);
}
AVal n_round(Specialiser& s, const Arguments& a, const Keywords& k) {
  const ir::Type* t = s.type_of(a.at(0));
  const AVal digits = a.size() > 1 ? a[1] : !k.empty() ? k[0].second : AVal::of(Value::none());
  const bool whole = digits.is(AKind::known) && digits.known.is_none();
  if (!s.is_number(a[0]) || (!whole && !s.is_number(digits)))
    s.abandon(Reason::unknown_value, "round of something else than a number");
  return s.of_builtin("round", {a[0], digits}, whole || t->kind != ir::TypeKind::floating ? ir::types::integer() : t);
}
AVal n_sum(Specialiser& s, const Arguments& a, const Keywords& k) {
  AVal total = a.size() > 1 ? a[1] : !k.empty() ? k[0].second : AVal::of(Value::integer(0));
  if (total.is(AKind::known) && total.known.is_object() && !cast_exact<runtime::Tuple>(total.known))
    s.abandon(Reason::unknown_value, "sum of something else than numbers");
  s.each_item(a.at(0), "is summed", [&](const AVal& v) {
    total = s.binary(prim::add, total, v);
    return true;
  });
  return total;
}
AVal all_any(Specialiser& s, const Arguments& a, bool all) {
  const AVal it = s.make_iterator(a.at(0));
  for (;;) {  // no further than the first that decides
    const AVal v = s.next(it);
    if (v.is(AKind::end)) break;
    if (v.is(AKind::maybe_end) || (v.is(AKind::dynamic) && !v.type))
      s.abandon(Reason::computed_length, "all or any of computed length");
    AVal t = s.truth(v);
    if (!s.concrete(t)) {
      const AVal rest = s.is_instance(it) ? s.call(s.protocol_function("going_on"), {it}) : it;
      return s.call(s.protocol_function(all ? "all_of" : "any_of"), {t, rest});
    }
    if (is_bool(t, !all)) return AVal::of(Value::boolean(!all));
  }
  return AVal::of(Value::boolean(all));
}
AVal n_all(Specialiser& s, const Arguments& a, const Keywords&) { return all_any(s, a, true); }
AVal n_any(Specialiser& s, const Arguments& a, const Keywords&) { return all_any(s, a, false); }
AVal n_iter(Specialiser& s, const Arguments& a, const Keywords&) { return s.make_iterator(a.at(0)); }
AVal n_next(Specialiser& s, const Arguments& a, const Keywords&) {
  if (a.at(0).is(AKind::dynamic)) s.abandon(Reason::unknown_value, "next of an iterator that is not followed");
  AVal v = s.next(a.at(0));
  if (v.is(AKind::maybe_end)) s.abandon(Reason::computed_length, "next of an iterator of computed length");
  if (!v.is(AKind::end)) return v;
  if (a.size() < 2) s.stop_iteration();
  return a[1];
}
// Only as good as an identity: the number itself differs from run to run anyway.
// The library's walks over trees keep what they have seen by its id. Theirs is the number of the object in this
// program, which must not leave it (Specialiser::stays_inside); a script has the real one.
AVal n_id(Specialiser& s, const Arguments& a, const Keywords&) {
  if (s.is_of_script(s.span)) s.abandon(Reason::identity, "the id of an object");
  if (a.at(0).is(AKind::ref)) return AVal::of(Value::integer(Specialiser::kIds + a[0].heap));
  if (a[0].is(AKind::known) && a[0].known.is_object())
    return AVal::of(Value::integer(static_cast<int64_t>(reinterpret_cast<uintptr_t>(a[0].known.object()))));
  if (a[0].is(AKind::tuple) || a[0].is(AKind::closure)) return AVal::of(Value::integer(s.id_of_parts(a[0].parts)));
  s.abandon(Reason::identity, "id of a value");
}

// int() or float() of a value whose type is not known.
bool is_boxed(const Arguments& a) { return a.size() == 1 && a[0].is(AKind::dynamic) && !a[0].type; }
AVal converted(Specialiser& s, const char* name, const Arguments& a, const ir::Type* type) {
  return s.boxed_call(AVal::of(runtime::builtin(s.session, intern(name), false)), a, {}, type);
}

AVal t_int(Specialiser& s, const Arguments& a, const Keywords&) {
  if (a.empty()) return AVal::of(Value::integer(0));
  const ir::Type* t = a.empty() ? nullptr : s.type_of(a[0]);
  if (t && t->kind == ir::TypeKind::integer) return a[0];
  if (t && t->kind == ir::TypeKind::boolean) return s.binary(prim::add, a[0], AVal::of(Value::integer(0)));
  if (t && t->kind == ir::TypeKind::floating) return s.of_builtin("int", a, ir::types::integer());
  if (!a.empty() && s.is_tensor(a[0])) return t_int(s, {s.tensor_item(a[0])}, {});
  if (is_boxed(a)) return converted(s, "int", a, nullptr);  // it may have more than 64 bits
  s.abandon(Reason::computed_number, "int of a computed value");
}
AVal t_float(Specialiser& s, const Arguments& a, const Keywords&) {
  if (a.empty()) return AVal::of(Value::floating(0));
  const ir::Type* t = s.type_of(a[0]);
  if (t && t->kind == ir::TypeKind::floating) return a[0];
  if (t && (t->kind == ir::TypeKind::integer || t->kind == ir::TypeKind::boolean))
    return s.binary(prim::truediv, a[0], AVal::of(Value::integer(1)));
  if (s.is_tensor(a[0])) return t_float(s, {s.tensor_item(a[0])}, {});
  if (is_boxed(a)) return converted(s, "float", a, ir::types::floating());
  s.abandon(Reason::computed_number, "float of a computed value");
}
AVal t_bool(Specialiser& s, const Arguments& a, const Keywords&) {
  return a.empty() ? AVal::of(Value::boolean(false)) : s.truth(a[0]);
}
// str(x), repr(x) of what shows itself without a script.
AVal shown(Specialiser& s, const AVal& a, char how) {
  return s.may_run_scripts(a) ? AVal() : s.formatted(a, AVal::of(runtime::make_str("")), how);
}
AVal t_str(Specialiser& s, const Arguments& a, const Keywords&) {
  return a.empty() ? AVal::of(runtime::make_str("")) : shown(s, a[0], 's');
}
AVal n_repr(Specialiser& s, const Arguments& a, const Keywords&) {
  const AVal text = shown(s, a[0], 'r');
  return text.is(AKind::unbound) ? s.boxed_call(AVal::of(runtime::builtin(s.session, intern("repr"), true)), a, {})
                                 : text;
}
AVal t_list(Specialiser& s, const Arguments& a, const Keywords&) {
  return s.new_list(a.empty() ? std::vector<AVal>{} : s.sized_items_of(a[0], "becomes a list"));
}
AVal t_tuple(Specialiser& s, const Arguments& a, const Keywords&) {
  return AVal::tuple(a.empty() ? std::vector<AVal>{} : s.sized_items_of(a[0], "becomes a tuple"));
}
AVal t_dict(Specialiser& s, const Arguments& a, const Keywords& k) {
  AVal d = s.new_dict({}, {});
  put_all(s, d, a, k);
  return d;
}
AVal t_set(Specialiser& s, const Arguments& a, const Keywords&) {
  const AVal set = s.new_set({});
  if (!a.empty()) s.set_update(set, a[0]);
  return set;
}
AVal t_type(Specialiser& s, const Arguments& a, const Keywords&) {
  if (a.size() != 1) s.abandon(Reason::language, "a class made inside");
  return AVal::of(s.class_of(a[0]));
}
// An int where the interpreter asks for `__index__`; a bool becomes one.
AVal whole(Specialiser& s, const AVal& v, std::string_view what) {
  const ir::Type* t = s.type_of(v);
  if (t && t->kind == ir::TypeKind::boolean) return s.binary(prim::add, v, AVal::of(Value::integer(0)));
  if (!t || t->kind != ir::TypeKind::integer) s.abandon(Reason::raises, fmt::format("{} is no int", what));
  return v;
}
AVal t_range(Specialiser& s, const Arguments& a, const Keywords&) {
  std::vector<AVal> ends;
  for (const AVal& v : a) ends.push_back(whole(s, v, "what a range is of"));
  if (ends.size() == 1) ends.insert(ends.begin(), AVal::of(Value::integer(0)));
  if (ends.size() == 2) ends.push_back(AVal::of(Value::integer(1)));
  return AVal::compound(AKind::range, std::move(ends));
}
AVal t_slice(Specialiser&, const Arguments& a, const Keywords&) {
  const AVal none = AVal::of(Value::none());
  if (a.size() == 1) return AVal::compound(AKind::slice, {none, a[0], none});
  return AVal::compound(AKind::slice, {a[0], a[1], a.size() > 2 ? a[2] : none});
}
// Of what is gone through together with others, or counted: how far it goes is to be known.
AVal followed_iterator(Specialiser& s, const AVal& a) {
  AVal it = s.make_iterator(a);
  if (it.is(AKind::dynamic)) s.abandon(Reason::computed_length, "a loop over something whose length is not followed");
  return it;
}
AVal t_zip(Specialiser& s, const Arguments& a, const Keywords&) {
  AVal z = s.new_iterator(AObject::Iter::zip, {});
  for (const AVal& v : a) {
    AVal it = followed_iterator(s, v);
    s.write(z.heap).parts.push_back(it);
  }
  return z;
}
AVal t_enumerate(Specialiser& s, const Arguments& a, const Keywords& k) {
  AVal start = AVal::of(Value::integer(0));
  if (a.size() > 1 || !k.empty()) start = whole(s, a.size() > 1 ? a[1] : k[0].second, "what enumerate starts with");
  AVal it = followed_iterator(s, a.at(0));
  AVal e = s.new_iterator(AObject::Iter::enumerate, it);
  s.write(e.heap).cursor = std::move(start);
  return e;
}
AVal t_map(Specialiser& s, const Arguments& a, const Keywords&) {
  AVal m = s.new_iterator(AObject::Iter::map, {});
  s.write(m.heap).parts.push_back(a.at(0));
  for (size_t i = 1; i < a.size(); ++i) {
    AVal it = followed_iterator(s, a[i]);
    s.write(m.heap).parts.push_back(it);
  }
  return m;
}
AVal t_reversed(Specialiser& s, const Arguments& a, const Keywords&) { return s.make_reversed(a.at(0)); }
AVal t_super(Specialiser& s, const Arguments& a, const Keywords&) {
  if (a.size() != 2) s.abandon(Reason::language, "super");
  return AVal::compound(AKind::super, {a[0], a[1]});
}

struct FunctionRow {
  std::string_view name;
  Handler handler;
  Shape shape;
};
const FunctionRow kFunctions[] = {
    {"len", n_len, {1, 1}},
    {"isinstance", n_isinstance, {2, 2}},
    {"getattr", n_getattr, {2, 3}},
    {"hasattr", n_hasattr, {2, 2}},
    {"setattr", n_setattr, {3, 3}},
    {"vars", n_vars, {0, 1}},
    {"repr", n_repr, {1, 1}},
    {"callable", n_callable, {1, 1}},
    {"abs", n_abs, {1, 1}},
    {"round", n_round, {1, 2, "ndigits"}},
    {"sum", n_sum, {1, 2, "start"}},
    {"all", n_all, {1, 1}},
    {"any", n_any, {1, 1}},
    {"iter", n_iter, {1, 1}},
    {"next", n_next, {1, 2}},
    {"id", n_id, {1, 1}},
    {"is_tensor", n_is_tensor, {1, 1}},
    {"max", most_of, {1, kAny, "*"}},
    {"min", least_of, {1, kAny, "*"}},
    {"sorted", sorted_of, {1, 1, "*"}},
};
const FunctionRow kTypes[] = {
    {"int", t_int, {0, 1}},           {"float", t_float, {0, 1}}, {"bool", t_bool, {0, 1}},
    {"list", t_list, {0, 1}},         {"tuple", t_tuple, {0, 1}}, {"dict", t_dict, {0, 1, "*"}},
    {"set", t_set, {0, 1}},           {"type", t_type, {1, 1}},   {"range", t_range, {1, 3}},
    {"zip", t_zip, {0, kAny}},        {"map", t_map, {2, kAny}},  {"enumerate", t_enumerate, {1, 2, "start"}},
    {"reversed", t_reversed, {1, 1}}, {"super", t_super, {2, 2}}, {"tensor", make_tensor_of, {0, 1, "*"}},
    {"slice", t_slice, {1, 3}},       {"str", t_str, {0, 1}},
};
// Of module ouro.native.demand. A compiled call has one plan from its beginning to its end: what asks for another one
// stays interpreted, where it counts at once.
AVal n_demand(Specialiser& s, const Arguments&, const Keywords&) {
  s.abandon_whole(Reason::placement, "a demand made inside");
}
// nn.buffer: the tensor's program goes on with it, and an attribute that is set with it gets the tensor (set_attr).
AVal n_mark_buffer(Specialiser& s, const Arguments& a, const Keywords&) {
  const AVal x = s.as_value(a.at(0));
  const Value f =
      runtime::get_attr(s.session, runtime::import_module(s.session, intern("ouro.native.tensors")), "mark_buffer");
  if (!s.is_tensor(x) || !s.type_of(x)) return s.boxed_call(AVal::of(f), a, {});
  const AVal bare = AVal::dynamic(s.materialise(x), s.type_of(x));
  AVal out = s.pure_call(AVal::of(f), {bare}, {}, bare.type);
  s.code.name(out.atom.name()).unmarked = bare.atom;
  return out;
}
const NativeRow kTensors[] = {{"mark_buffer", n_mark_buffer}};
const NativeRow kDemands[] = {{"set", n_demand}, {"push", n_demand}, {"pop", n_demand}};

}  // namespace

// Handlers by the identity of a native's row, or of a class; once a session.
struct NativeTable {
  struct Entry {
    Handler handler;
    Shape shape{0, kAny, "*"};
  };
  std::unordered_map<const void*, Entry> handlers;
  bool filled = false;
  // (Not whole where memory is refused on the way: then the next one fills it.)
  void fill(Session& session) {
    bool whole = true;
    // A name in these tables that there is not is our bug: its handler would never be asked.
    auto native = [](std::string_view name, const Value& v) {
      auto* n = cast_exact<runtime::Native>(v);
      if (!n) ouro_bug("specialise: there is no native %s", std::string(name).c_str());
      return reinterpret_cast<const void*>(n->def->fn);
    };
    for (const FunctionRow& r : kFunctions)
      handlers[native(r.name, runtime::builtin(session, intern(r.name), true))] = {r.handler, r.shape};
    for (const FunctionRow& r : kTypes) {
      Value v = runtime::builtin(session, intern(r.name), r.name == "tensor");
      if (!cast<runtime::Type>(v)) ouro_bug("specialise: there is no class %s", std::string(r.name).c_str());
      handlers[v.object()] = {r.handler, r.shape};
    }
    for (const MethodRow& r : method_rows())
      handlers[native(r.name, runtime::type_lookup(session, session.type(r.kind), intern(r.name)))] = {r.handler,
                                                                                                       r.shape};
    auto module_rows = [&](std::string_view name, std::span<const NativeRow> rows) {
      Value module = runtime::import_module(session, intern(name));
      for (const NativeRow& r : rows) {
        Value v = module.is_error() ? Value::error() : runtime::get_attr(session, module, r.name);
        if (v.is_error())
          whole = false;
        else
          handlers[native(r.name, v)] = {r.handler};
      }
    };
    module_rows("_ad", autodiff_natives());
    module_rows("_ad_rows", row_natives());
    module_rows("_protocol", protocol_natives());
    module_rows("ouro.native.demand", kDemands);
    module_rows("ouro.native.tensors", kTensors);
    session.pending = Value();
    filled = whole;
  }
};

NativeTable& Specialiser::natives() {
  auto& table = session.state<NativeTable>();
  if (!table.filled) table.fill(session);
  return table;
}

constexpr int64_t kLarge = 1 << 16;

template <class Entry>
AVal Specialiser::handled(const Entry& entry, std::string_view name, const Arguments& args, const Keywords& keywords) {
  if (!entry.shape.fits(args, keywords))
    abandon(Reason::raises, fmt::format("{}() is called with other arguments than it takes", name));
  try {
    return entry.handler(*this, args, keywords);
  } catch (const std::out_of_range&) {  // of a library's own native, called by a script
    abandon(Reason::raises, fmt::format("{}() is called with too few arguments", name));
  }
}

std::optional<Value> Specialiser::known_list(const AVal& a) const {
  const AObject& o = read(a.heap);
  if (o.kind != AObject::Kind::list || o.poisoned || o.escaped || o.stale) return std::nullopt;
  Value out = runtime::make_list();
  for (const AVal& item : o.items) {
    auto v = concrete(item);
    if (!v) return std::nullopt;
    out.as<runtime::List>()->push(std::move(*v));
  }
  return out;
}

// Methods of texts that always give one.
static bool gives_text(const runtime::Native& n) {
  static constexpr std::string_view kNames[] = {
      "capitalize", "casefold",     "center",       "expandtabs", "format", "ljust",    "lower", "lstrip", "replace",
      "rjust",      "removeprefix", "removesuffix", "rstrip",     "strip",  "swapcase", "title", "upper",  "zfill"};
  return n.owner && n.owner->builtin && n.owner->layout == ObjectKind::str &&
         std::ranges::find(kNames, n.def->name) != std::end(kNames);
}

AVal Specialiser::call_native(const AVal& f, const Arguments& given, const Keywords& given_keywords) {
  auto* n = f.known.as<runtime::Native>();
  Arguments args = given;
  Keywords keywords = given_keywords;
  // Known arguments of a pure native: now. (Everything known is immutable.)
  if (const ir::OpInfo* op = row_of(*n)) return call_row(*op, args, keywords);
  if (makes(ObjectKind::tuple, *n, args) && keywords.empty())
    return new_extension(args[0].known, {args.begin() + 1, args.end()});
  if (makes(ObjectKind::dict, *n, args)) return new_extended_dict(args[0].known);
  if (n->owner == session.type(ObjectKind::dict) && n->def->name == "__getitem__" && args.size() == 2)
    if (!dict_within(args[0]).is(AKind::unbound)) return item_within(args[0], args[1]);
  value_method(*n, args);
  if (!n->owner && (n->def->gives != runtime::NativeGives::any || n->def->name == "abs" || n->def->name == "round"))
    for (AVal& a : args) a = as_value(a);
  if (keywords.empty())
    if (AVal y = tuple_method(f, args); !y.is(AKind::unbound)) return y;
  auto h = natives().handlers.find(reinterpret_cast<const void*>(n->def->fn));
  if (h == natives().handlers.end() && n->def->effect != runtime::NativeEffect::output) {
    for (AVal& a : args) a = settled(a);
    for (auto& [name, v] : keywords) v = settled(v);
  }
  // Where only the runtime knows what it does, lists of what is known are known, too: made for this call.
  const auto value_of = [&](const AVal& a) -> std::optional<Value> {
    if (h != natives().handlers.end() || !a.is(AKind::ref)) return concrete(a);
    return known_list(a);
  };
  bool all_known = true;
  for (const AVal& a : args) all_known = all_known && value_of(a).has_value();
  for (const auto& k : keywords) all_known = all_known && value_of(k.second).has_value();
  // A bound method has its receiver already.
  const Arguments rest = n->self.is_unbound() ? args : Arguments(args.begin() + 1, args.end());
  const auto large = [&](const AVal& a) {
    const auto v = concrete(a);
    return v &&
           ((v->is_int() && (v->as_int() > kLarge || v->as_int() < -kLarge)) || kind_of(*v) == ObjectKind::big_int);
  };
  // `"x".center(10**9)`: made when the call runs, under the session's limit of memory.
  const auto may_be_large = [&] { return (n->owner || n->def->name == "pow") && std::ranges::any_of(args, large); };
  if (all_known && pure_native(*n) && !may_be_large()) {
    std::vector<Value> values, kw, names;
    for (const AVal& a : rest) values.push_back(*value_of(a));
    for (const auto& [name, v] : keywords) {
      kw.push_back(*value_of(v));
      names.push_back(session.str(name));
    }
    Value out = runtime::call(session, Value::share(n), Args{values, kw, names});
    if (out.is_error()) {
      session.pending = Value();
      abandon(Reason::raises, fmt::format("{} raises", n->def->name));
    }
    if (plain_result(out)) return AVal::of(out);
    if (auto* list = cast_exact<runtime::List>(out);
        list && std::all_of(list->items, list->items + list->size, [&](const Value& v) { return plain_result(v); })) {
      std::vector<AVal> items;
      for (size_t i = 0; i < list->size; ++i) items.push_back(AVal::of(list->items[i]));
      return new_list(std::move(items));
    }
  }
  // `dict.__getitem__(d, k)` is the built-in method, not what the class of `d` makes of it.
  const auto scripts = [&](const AVal& a) { return is_instance(a) || (a.is(AKind::dynamic) && !a.type); };
  const bool of_base = n->owner && n->owner->layout != ObjectKind::instance && !args.empty() && scripts(args[0]);
  if (h != natives().handlers.end() && !of_base) return handled(h->second, n->def->name, args, keywords);
  if (const ir::Type* type = number_given(*n, args, keywords))
    return n->def->effect == runtime::NativeEffect::pure ? pure_call(f, rest, keywords, type)
                                                         : output_call(f, rest, keywords, type);
  if (n->owner || keywords.empty())
    if (AVal text = text_of_native(*n, args); !text.is(AKind::unbound)) return call(text, args, keywords);
  if (n->def->effect == runtime::NativeEffect::frames)
    abandon_whole(Reason::frames, fmt::format("{}() looks at the calls that run", n->def->name));
  if (n->def->effect == runtime::NativeEffect::output) return boxed_output(f, rest, keywords);
  // What only numbers, texts and tensors go into runs no script.
  if (pure_native(*n) && std::ranges::none_of(args, [&](const AVal& a) { return may_run_scripts(a); }) &&
      std::ranges::none_of(keywords, [&](const auto& k) { return may_run_scripts(k.second); })) {
    const ir::Type* text = gives_text(*n) ? ir::types::string() : nullptr;
    AVal out = pure_call(f, rest, keywords, text);
    if (text) return out;
    note_hole({Reason::call, fmt::format("call of {}", n->def->name)}, out, {});
    return out;
  }
  return boxed_call(f, rest, keywords);
}

// What a native always gives for numbers, if numbers is what it is called with.
const ir::Type* Specialiser::number_given(const runtime::Native& n, const Arguments& args, const Keywords& keywords) {
  const size_t receiver = n.owner ? 1 : 0;
  if (n.def->gives == runtime::NativeGives::any || args.size() < receiver) return nullptr;
  if (!std::all_of(args.begin() + static_cast<long>(receiver), args.end(),
                   [&](const AVal& a) { return is_number(a); }) ||
      !std::ranges::all_of(keywords, [&](const auto& k) { return is_number(k.second); }))
    return nullptr;
  return n.def->gives == runtime::NativeGives::floating  ? ir::types::floating()
         : n.def->gives == runtime::NativeGives::integer ? ir::types::integer()
                                                         : ir::types::boolean();
}

// A tuple that is no object of a class that extends tuple.
static bool is_plain_tuple(const AVal& a) {
  return (a.is(AKind::tuple) && !a.extends_tuple()) ||
         (a.is(AKind::known) && runtime::cast_exact<runtime::Tuple>(a.known));
}

AVal Specialiser::call_builtin_type(const AVal& f, const Arguments& given, const Keywords& keywords) {
  Arguments args = given;
  for (AVal& a : args) a = settled(a);
  const ObjectKind made = f.known.as<runtime::Type>()->layout;
  if (made == ObjectKind::integer || made == ObjectKind::floating || made == ObjectKind::boolean ||
      made == ObjectKind::range)
    for (AVal& a : args) a = as_value(a);
  bool all_known = keywords.empty();
  for (const AVal& a : args) all_known = all_known && concrete(a).has_value();
  ObjectKind layout = f.known.as<runtime::Type>()->layout;
  bool immutable = layout == ObjectKind::integer || layout == ObjectKind::floating || layout == ObjectKind::boolean ||
                   layout == ObjectKind::str || layout == ObjectKind::range || layout == ObjectKind::tuple;
  const auto v = args.empty() ? std::nullopt : concrete(args[0]);
  if (v && (layout == ObjectKind::tuple || layout == ObjectKind::bytes) &&
      ((v->is_int() && v->as_int() > kLarge) || kind_of(*v) == ObjectKind::big_int ||
       (kind_of(*v) == ObjectKind::range && runtime::length(session, *v) > kLarge)))
    abandon(Reason::too_large, "a large constant");
  if (all_known && immutable && !args.empty()) {
    if (layout == ObjectKind::tuple && args.size() == 1 && is_plain_tuple(args[0])) return args[0];
    std::vector<Value> values;
    for (const AVal& a : args) values.push_back(*concrete(a));
    Value out = runtime::call(session, f.known, Args{values, {}, {}});
    if (out.is_error()) {
      session.pending = Value();
      abandon(Reason::raises, "a conversion that raises");
    }
    return AVal::of(out);
  }
  auto h = natives().handlers.find(f.known.object());
  if (h != natives().handlers.end())
    if (AVal out = handled(h->second, f.known.as<runtime::Type>()->text(), args, keywords); !out.is(AKind::unbound))
      return out;
  if (layout == ObjectKind::exception && raising_ > 0 && can_box(f, args, keywords)) {
    if (request_.holes) need_plain(args);
    return emit_call(f, args, keywords, nullptr);  // nothing else is changed by that
  }
  return boxed_call(f, args, keywords);
}

// A result that may be kept as a constant.
bool Specialiser::plain_result(const Value& v) {
  switch (kind_of(v)) {
    case ObjectKind::none:
    case ObjectKind::boolean:
    case ObjectKind::integer:
    case ObjectKind::floating:
    case ObjectKind::str:
    case ObjectKind::bytes:
    case ObjectKind::type:
    case ObjectKind::native:
    case ObjectKind::dtype:
    case ObjectKind::device:
    case ObjectKind::range:
      return true;
    case ObjectKind::tuple:
      for (Value& i : *v.as<runtime::Tuple>())
        if (!plain_result(i)) return false;
      return true;
    default:
      return false;
  }
}

// Natives whose result depends on their (immutable) arguments alone: what their rows say, and all methods of built-in
// values that nobody can change.
bool Specialiser::pure_native(const runtime::Native& n) {
  if (n.def->effect == runtime::NativeEffect::pure) return true;
  if (!n.owner || !n.owner->builtin) return false;
  switch (n.owner->layout) {
    case ObjectKind::none:
    case ObjectKind::boolean:
    case ObjectKind::integer:
    case ObjectKind::big_int:
    case ObjectKind::floating:
    case ObjectKind::str:
    case ObjectKind::bytes:
    case ObjectKind::tuple:
    case ObjectKind::range:
    case ObjectKind::slice:
    case ObjectKind::frozenset:
    case ObjectKind::dtype:
      return true;
    default:
      return false;
  }
}

}  // namespace ouro::jit
