// Module `_ad`: what the rules in Ouro (stdlib/grad_rules) are written with.
#include "runtime/autodiff/natives.h"

#include <algorithm>
#include <iterator>

#include "runtime/autodiff/apart.h"
#include "runtime/autodiff/recording.h"
#include "runtime/autodiff/state.h"
#include "runtime/autodiff/tensor_access.h"
#include "runtime/object/bind.h"
#include "runtime/protocol/lookup.h"
#include "support/small_vec.h"

namespace ouro::runtime {
using namespace autodiff;

namespace {

Value done(bool ok) { return ok ? Value::none() : Value::error(); }

Value n_forward(Session& s, const Args& a) { return forward_form(s, a[0]); }
Value n_env(Session&, const Args&) { return make_env(); }
Value n_is_zero(Session&, const Args& a) { return Value::boolean(is_zero(a[0])); }
Value n_zero(Session&, const Args&) { return Value::zero_cotangent(); }
Value n_add(Session& s, const Args& a) { return autodiff::add(s, a[0], a[1]); }
Value n_like(Session& s, const Args& a) { return like(s, a[0]); }
Value n_active(Session& s, const Args& a) { return Value::boolean(active(s, a[0])); }
Value n_only_numbers(Session&, const Args&) { return Value::boolean(false); }
// fit(dy, x): dy summed and converted to what x is. x is a value or what `like` keeps of one.
Value n_fit(Session& s, const Args& a) {
  if (is_zero(a[0])) return Value::zero_cotangent();
  OURO_TRY(kept, like(s, a[1]));
  return fit(s, a[0], kept);
}
// expand(d, x): the transpose of fit: d broadcast to what x is.
Value n_expand(Session& s, const Args& a) {
  if (is_zero(a[0])) return a[0];
  OURO_TRY(kept, like(s, a[1]));
  if (kept.is_none()) return Value::zero_cotangent();
  if (Like* l = cast_exact<Like>(kept)) return broadcast_like(s, a[0], l->dims, l->dtype);
  return fit(s, a[0], kept);
}
Value n_get(Session&, const Args& a) { return item(a[0], a[1].as_int()); }
Value n_one_hot(Session&, const Args& a) { return one_hot(a[0], a[1].as_int()); }
Value n_dense(Session& s, const Args& a) { return dense(s, a[0], a[1]); }
Value n_acc(Session& s, const Args& a) { return done(shadow_add(s, a[0], a[1], a[2], a[3])); }
Value n_take(Session& s, const Args& a) { return shadow_take(s, a[0], a[1], a[2]); }
Value n_peek(Session& s, const Args& a) { return shadow_peek(s, a[0], a[1], a[2]); }
Value n_put(Session& s, const Args& a) { return done(shadow_put(s, a[0], a[1], a[2], a[3])); }
Value n_attribute_slot(Session& s, const Args& a) { return attribute_slot(s, a[0], a[1]); }
Value n_open(Session&, const Args& a) { return shadow_open(a[0], a[1], a[2].as_int()), Value::none(); }
Value n_close(Session&, const Args& a) { return shadow_close(a[0], a[1], a[2].as_int()), Value::none(); }
Value n_slot_count(Session&, const Args& a) {
  auto& objects = a[0].as<ShadowMap>()->objects;
  if (!a[1].is_object()) return Value::integer(0);
  auto it = objects.find(slot_owner(a[1]).object());
  return Value::integer(it == objects.end() ? 0 : static_cast<int64_t>(it->second.list.size()));
}
Value n_feed(Session& s, const Args& a) { return done(feed(s, a[0], a[1], a[2])); }
Value n_transform(Session& s, const Args& a) {
  auto* f = cast_exact<Function>(a[0]);
  if (!f) return raise_type_error(s, "transform: a function is expected");
  for (const ir::Constant& c : f->code->constants)
    if (c.code) state(s).transforms.insert(c.code.get());
  return Value::none();
}
Value n_turns(Session& s, const Args& a) { return call(s, Value::share(s.type(ObjectKind::range)), {a[0]}); }
Value n_is_pullback(Session&, const Args& a) { return Value::boolean(kind_of(a[0]) == ObjectKind::pullback); }
Value n_kind(Session& s, const Args& a) {
  switch (kind_of(unwrap(a[0]))) {
    case ObjectKind::list:
      return make_str("list");
    case ObjectKind::tuple:
      return make_str("tuple");
    case ObjectKind::dict:
      return make_str("dict");
    case ObjectKind::set:
    case ObjectKind::frozenset:
      return make_str("set");
    case ObjectKind::floating:
      return make_str("float");
    case ObjectKind::tensor:
      return make_str(is_float_tensor(s, a[0]) ? "tensor" : "");
    case ObjectKind::opaque_zero:
      return make_str("tensor");
    case ObjectKind::instance:
      return make_str("object");
    case ObjectKind::record:
      return make_str("record");
    default:
      return make_str("");
  }
}

// define(callable, forward): the forward form of a native or a built-in class.
Value n_define(Session& s, const Args& a) {
  if (Native* n = cast_exact<Native>(a[0]))
    state(s).natives[n->def] = a[1];
  else if (Type* t = cast_exact<Type>(a[0]))
    state(s).classes[t] = a[1];
  else
    return raise_type_error(s, "define: a native or a class is expected");
  return Value::none();
}
// define_catching(callable, form): that of the variant which gives what it raises, of one whose forward form is no
// function's.
Value n_define_catching(Session& s, const Args& a) {
  if (Native* n = cast_exact<Native>(a[0]))
    state(s).catching[n->def] = a[1];
  else if (Type* t = cast_exact<Type>(a[0]))
    state(s).catching[t] = a[1];
  else
    return raise_type_error(s, "define_catching: a native or a class is expected");
  return Value::none();
}

// bind(form, args, keywords) and unbind, rebind: see call.cpp.
Value n_bind(Session& s, const Args& a) {
  Tuple* positional = cast<Tuple>(a[1]);
  std::vector<Value> names, keywords;
  if (Dict* d = cast<Dict>(a[2])) {
    size_t pos = 0;
    Value *k, *v;
    while (dict_next(d, pos, k, v)) names.push_back(*k), keywords.push_back(*v);
  }
  Args args{std::span<const Value>(positional->items(), positional->size), keywords, names};
  return bind_args(s, a[0], args);
}
Value n_unbind(Session& s, const Args& a) { return unbind_call(s, a[0], a[1], a[2]); }
Value n_flat(Session& s, const Args& a) { return flat_form(s, a[0]); }
Value n_bare(Session& s, const Args& a) {
  auto* t = a[0].as<ouro::runtime::Type>();
  if (t->def || t->layout != ObjectKind::instance)
    return raise_type_error(s, "bare() argument must be a class with attributes only, not %s",
                            std::string(t->text()).c_str());
  return new_instance(s, t);
}

Value n_class_attribute(Session& s, const Args& a) {
  Value v = type_lookup(s, type_of(s, a[0]), str_symbol(a[1].as<Str>()));
  return v.is_unbound() ? Value::none() : v;
}
Value n_record(Session& s, const Args& a) {
  Value v = Value::steal(new_object<Record>(ObjectKind::record));
  v.as<Record>()->cls = model_class(s, a[0]);
  return v;
}
Value n_model_class(Session& s, const Args& a) { return model_class(s, a[0]); }
// Data attributes of an object, in order of assignment: a list of names.
Value n_fields(Session& s, const Args& a) {
  Value names = make_list();
  Instance* i = cast<Instance>(a[0]);
  if (!i) {
    if (Record* r = cast_exact<Record>(a[0]))
      for (const auto& e : r->fields.entries())
        if (e.name) names.as<List>()->push(s.str(e.name));
    return names;
  }
  if (i->shape) {
    for (const auto& e : i->shape->slots.entries())
      if (e.name && !i->slots[e.value].is_unbound()) names.as<List>()->push(s.str(e.name));
    return names;
  }
  for (Dict* d : {instance_members(i), cast<Dict>(i->dict)}) {
    size_t pos = 0;
    Value *k, *v;
    while (d && dict_next(d, pos, k, v))
      if (!v->is_unbound()) names.as<List>()->push(*k);
  }
  return names;
}
Value n_fail(Session& s, const Args& a) { return raise_error(s, ExcKind::TypeError, "%s", text_of(s, a[0]).c_str()); }
// lost(env): is a cotangent left in what an exception carries? Its maker's pullback takes it; one that left a called
// function has none.
Value n_lost(Session& s, const Args& a) {
  for (const auto& [object, slots] : a[0].as<ShadowMap>()->objects) {
    if (kind_of(slots.object) == ObjectKind::exception && has_cotangents(a[0], slots.object))
      return raise_error(s, ExcKind::TypeError,
                         "cannot differentiate through what a %s carries out of the function that raised it yet: "
                         "catch it there, or return the value",
                         type_name(s, slots.object).c_str());
  }
  return Value::none();
}
Value n_stop_gradient(Session&, const Args& a) { return a[0]; }
Value n_sum_to_float(Session& s, const Args& a) { return is_tensor(a[0]) ? tensor_to_float(s, a[0]) : a[0]; }
// The iterators that zip, enumerate and reversed run over; an iterator over a container itself.
Value n_inner_iterators(Session&, const Args& a) {
  Iterator* it = cast_iterator(a[0]);
  if (!it) return make_list();
  if (!it->more.empty()) return make_list(std::span<const Value>(it->more));
  if (it->def->type_name == "enumerate") return make_list({it->source});
  return make_list({a[0]});
}
Value n_place_source(Session& s, const Args& a) { return source_of(s, a[0]); }
Value n_special(Session& s, const Args& a) {
  Str* prim = a.size() ? cast<Str>(a[0]) : nullptr;
  if (!prim) return raise_type_error(s, "special() argument 'prim' must be str");
  return forward_special(s, prim->view(), a.positional.subspan(1));
}
// plain(f, *args, **kw): f as it is, without derivative, but with that of what scripts do meanwhile.
Value n_plain(Session& s, const Args& a) {
  if (a.size() == 0) return raise_type_error(s, "plain() missing required argument 'f' (pos 1)");
  return call(s, a[0], Args{a.positional.subspan(1), a.keywords, a.names});
}
// detached(f, *args, **kw): f without any derivative; nothing of what it does is kept.
Value n_detached(Session& s, const Args& a) {
  if (a.size() == 0) return raise_type_error(s, "detached() missing required argument 'f' (pos 1)");
  const RecorderSet unrecorded(s, nullptr);
  return call(s, a[0], Args{a.positional.subspan(1), a.keywords, a.names});
}
// reusable(f, *args, **kw): f, whose pullbacks may be asked for more than once.
Value n_reusable(Session& s, const Args& a) {
  if (a.size() == 0) return raise_type_error(s, "reusable() missing required argument 'f' (pos 1)");
  const ReusablePullbacks reusable(s);
  return call(s, a[0], Args{a.positional.subspan(1), a.keywords, a.names});
}
// recorded(f, *args, **kw): (what f gives, a pullback of what scripts did meanwhile).
Value n_recorded(Session& s, const Args& a) {
  if (a.size() == 0) return raise_type_error(s, "recorded() missing required argument 'f' (pos 1)");
  return recorded_call(s, a);
}
Value n_computed_defaults(Session&, const Args& a) {
  if (Function* f = cast_exact<Function>(a[0])) mark_computed_defaults(f);
  return Value::none();
}
// default_places(f): ((parameter, index of its default)...), ((parameter, its name)...), by positional and by keyword.
Value n_default_places(Session& s, const Args& a) {
  Function* f = cast_exact<Function>(a[0]);
  if (!f)
    return raise_type_error(s, "default_places() argument must be a function, not '%s'", type_name(s, a[0]).c_str());
  const ir::Signature& sig = f->code->sig;
  std::vector<Value> positional, keyword;
  auto pair = [](int64_t p, Value v) { return make_tuple({Value::integer(p), std::move(v)}); };
  if (Tuple* t = cast_exact<Tuple>(f->defaults))
    for (size_t i = 0; i < t->size; ++i)
      positional.push_back(
          pair(static_cast<int64_t>(sig.positional - t->size + i), Value::integer(static_cast<int64_t>(i))));
  if (auto* d = cast<Dict>(f->kwdefaults))
    for (int64_t i = 0; i < sig.kwonly; ++i) {
      const int64_t p = sig.positional + (sig.varargs ? 1 : 0) + i;
      const Value& name = s.str(sig.names[static_cast<size_t>(p)]);
      if (!dict_get(s, d, name).is_unbound()) keyword.push_back(pair(p, name));
    }
  return make_tuple({make_tuple(std::span<const Value>(positional)), make_tuple(std::span<const Value>(keyword))});
}
// default_of(f, which): the default value at a position or of a keyword that f has; None: the dict of those of
// keywords.
Value n_default_of(Session& s, const Args& a) {
  Function* f = cast_exact<Function>(a[0]);
  if (f && a[1].is_none()) return f->kwdefaults;
  auto* t = f ? cast_exact<Tuple>(f->defaults) : nullptr;
  if (t && a[1].is_int() && static_cast<uint64_t>(a[1].as_int()) < t->size)
    return (*t)[static_cast<size_t>(a[1].as_int())];
  auto* d = f ? cast<Dict>(f->kwdefaults) : nullptr;
  Value v = d && cast<Str>(a[1]) ? dict_get(s, d, a[1]) : Value();
  return v.is_unbound() ? raise_type_error(s, "default_of() arguments must be a function and one of its defaults") : v;
}
// namespace_body(names, cell): a class body that has run: it puts the names into the class's own namespace.
Value ran(Session& s, const Args& a) {
  Tuple* made = a.positional[0].as<Tuple>();
  const Value& own = a.positional[1];
  if (Dict* d = cast_exact<Dict>(own)) {
    if (!dict_merge(s, d, (*made)[0])) return Value::error();
    return (*made)[1];
  }
  Value names = dict_copy((*made)[0].as<Dict>());  // a metaclass's own namespace is told of each
  size_t pos = 0;
  Value *name, *v;
  while (dict_next(names.as<Dict>(), pos, name, v))
    if (!set_item(s, own, *name, *v)) return Value::error();
  return (*made)[1];
}
constexpr NativeDef kRan{.name = "class body", .params = "", .fn = ran, .doc = "", .raw = true};
Value n_namespace_body(Session&, const Args& a) { return make_native(kRan, make_tuple({a[0], a[1]})); }
Value n_constant_keyword(Session& s, const Args& a) {
  if (!active(s, a[0])) return Value::none();
  return raise_type_error(s, "cannot differentiate through a keyword of a class statement yet");
}
Value n_mark_class(Session& s, const Args& a) {
  if (auto* t = cast_exact<Type>(a[0])) mark_class(s, t);
  return Value::none();
}
Value n_class_of_slot(Session& s, const Args& a) { return class_of_slot(s, a[0], str_symbol(a[1].as<Str>())); }
Value n_constructing(Session& s, const Args& a) { return constructing_form(s, a[0]); }
Value n_inner(Session&, const Args& a) { return unwrap(a[0]); }
Value n_guard(Session& s, const Args& a) { return state(s).guarded.push_back(a[0]), Value::none(); }
Value n_guarded(Session& s, const Args&) { return Value::integer(static_cast<int64_t>(state(s).guarded.size())); }
Value n_left_open(Session& s, const Args& a) {
  auto& all = state(s).guarded;
  const auto before = std::min(static_cast<size_t>(std::max<int64_t>(a[0].as_int(), 0)), all.size());
  const std::vector<Value> mine(all.begin() + static_cast<ptrdiff_t>(before), all.end());
  all.resize(before);
  for (const Value& g : mine) {
    OURO_TRY(at, get_attr(s, g, intern("at")));
    OURO_TRY(within, get_attr(s, g, intern("within")));
    if (at.is_int() && at.as_int() > 0 && within.same(Value::boolean(true)))
      return raise_type_error(s,
                              "cannot differentiate through a generator that is left inside of a try or with "
                              "statement yet: run it to its end");
  }
  return Value::none();
}
Value n_end(Session&, const Args&) { return Value::end(); }
Value n_catching(Session& s, const Args& a) { return catching_form(s, a[0]); }
// caught(f, *args, **kw): (what f gives, None), or (None, the exception that it raises).
Value n_caught(Session& s, const Args& a) {
  if (a.size() == 0) return raise_type_error(s, "caught() missing required argument 'f' (pos 1)");
  Value y = call(s, a[0], Args{a.positional.subspan(1), a.keywords, a.names});
  if (!y.is_error()) return make_tuple({y, Value::none()});
  if (s.ending()) return y;
  return make_tuple({Value::none(), take_pending(s)});
}
Value n_add_item(Session& s, const Args& a) { return add_item(s, a[0], a[1], a[2], a[3], a[4]); }
Value n_length_of(Session&, const Args& a) {
  Like* l = cast_exact<Like>(a[0]);
  return Value::integer(l && !l->dims.empty() ? l->dims[0] : 0);
}

// Items by keys that have been asked for their hash, and whether they are equal: what a derivative does there asks
// nobody again.
Dict* dict_and_hash(Session& s, const Value& dict, const Value& hash) {
  auto* d = cast<Dict>(dict);
  if (d && hash.is_int()) return d;
  raise_type_error(s, "a dict and a hash are expected");
  return nullptr;
}
Value n_asked_key(Session& s, const Args& a) {
  int64_t h = 0;
  if (!a[2].is_int() && !hash(s, a[1], h)) return Value::error();
  const Value known = a[2].is_int() ? a[2] : Value::integer(h);
  auto* d = dict_and_hash(s, a[0], known);
  const Dict::Entry* there = d ? dict_entry_hashed(s, d, a[1], known.as_int()) : nullptr;
  if (!there && s.has_error()) return Value::error();
  return make_tuple({there ? there->key : a[1], known, Value::boolean(there != nullptr)});
}
Value n_item_hashed(Session& s, const Args& a) {
  auto* d = dict_and_hash(s, a[0], a[2]);
  if (!d) return Value::error();
  Value v = dict_get_hashed(s, d, a[1], a[2].as_int());
  return v.is_unbound() ? raise_key_error(s, a[1]) : v;
}
Value n_set_item_hashed(Session& s, const Args& a) {
  auto* d = dict_and_hash(s, a[0], a[2]);
  return d && dict_set_hashed(s, d, a[1], a[2].as_int(), a[3]) ? Value::none() : Value::error();
}
Value n_delete_item_hashed(Session& s, const Args& a) {
  auto* d = dict_and_hash(s, a[0], a[2]);
  const int done = d ? dict_delete_hashed(s, d, a[1], a[2].as_int()) : -1;
  return done < 0 ? Value::error() : done ? Value::none() : raise_key_error(s, a[1]);
}
Value n_hashed_keys(Session& s, const Args& a) {
  auto* d = cast<Dict>(a[0]);
  if (!d) return raise_type_error(s, "a dict is expected");
  std::vector<Value> out;
  size_t at = 0;
  Value *key, *value;
  int64_t h;
  while (dict_next(d, at, key, value, &h)) out.push_back(make_tuple({*key, Value::integer(h)}));
  return make_list(std::span<const Value>(out));
}

constexpr NativeDef kFunctions[] = {
    {.name = "forward", .params = "f, /", .fn = n_forward, .doc = "The forward form of a callable."},
    {.name = "computed_defaults",
     .params = "f, /",
     .fn = n_computed_defaults,
     .doc = "Differentiated code made f, and computed its default values."},
    {.name = "namespace_body",
     .params = "names: dict, cell, /",
     .fn = n_namespace_body,
     .doc = "A class body that has run, and put names into a dict."},
    {
        .name = "constant_keyword",
        .params = "x, /",
        .fn = n_constant_keyword,
        .doc = "TypeError if a keyword of a class statement could have a cotangent.",
    },
    {.name = "mark_class",
     .params = "made, /",
     .fn = n_mark_class,
     .doc = "What stands in a class may have a derivative from now on."},
    {.name = "attribute_slot",
     .params = "object, name, /",
     .fn = n_attribute_slot,
     .doc = "(object, slot) of an attribute's cotangents."},
    {.name = "class_of_slot",
     .params = "x, name: str, /",
     .fn = n_class_of_slot,
     .doc = "Which class has the slot of an attribute of x, or None.",
     .effect = NativeEffect::pure},
    {.name = "constructing",
     .params = "made: type, /",
     .fn = n_constructing,
     .doc = "The forward form of a class, without what its metaclass says of calls."},
    {.name = "inner", .params = "x, /", .fn = n_inner, .doc = "The built-in value of an object that extends one."},
    {.name = "default_of",
     .params = "f, which, /",
     .fn = n_default_of,
     .doc = "A default value of a function, by position or name; None: those by name."},
    {.name = "default_places",
     .params = "f, /",
     .fn = n_default_places,
     .doc = "Which parameters have default values, by position and by name."},
    {.name = "guard", .params = "g, /", .fn = n_guard, .doc = "A generator with a yield inside of a try was made."},
    {.name = "guarded", .params = "", .fn = n_guarded, .doc = "How many of them were made.", .raw = true},
    {.name = "left_open",
     .params = "before: int, /",
     .fn = n_left_open,
     .doc = "TypeError if one made after the first `before` was left inside of its try."},
    {.name = "end",
     .params = "",
     .fn = n_end,
     .doc = "What an iterator at its end gives.",
     .raw = true,
     .effect = NativeEffect::pure},
    {.name = "catching",
     .params = "f, /",
     .fn = n_catching,
     .doc = "The forward form of a callable's variant that returns what it raises, or None."},
    {.name = "caught",
     .params = "f, *args, **kw",
     .fn = n_caught,
     .doc = "(what f gives, None), or (None, the exception that it raises).",
     .raw = true},
    {.name = "new_env", .params = "", .fn = n_env, .doc = "An empty shadow map.", .raw = true},
    {.name = "is_zero", .params = "d, /", .fn = n_is_zero, .doc = "Is a cotangent the symbolic zero?"},
    {.name = "zero", .params = "", .fn = n_zero, .doc = "The symbolic zero.", .raw = true},
    {.name = "add", .params = "a, b, /", .fn = n_add, .doc = "Sum of two cotangents."},
    {.name = "like", .params = "x, /", .fn = n_like, .doc = "Kind, shape and dtype of a value."},
    {.name = "active", .params = "x, /", .fn = n_active, .doc = "Could a value have a cotangent?"},
    {.name = "only_numbers",
     .params = "data, /",
     .fn = n_only_numbers,
     .doc = "Is it a list from outside of numbers whose cotangent nobody asks for? Then tensor(it) is an input. (Known "
            "where a program is made.)"},
    {.name = "fit", .params = "d, x, /", .fn = n_fit, .doc = "A cotangent reduced to the kind and shape of x."},
    {.name = "expand", .params = "d, x, /", .fn = n_expand, .doc = "The transpose of fit."},
    {.name = "get", .params = "d, i: int, /", .fn = n_get, .doc = "Item i of the cotangent of a tuple."},
    {.name = "one_hot", .params = "d, i: int, /", .fn = n_one_hot, .doc = "The transpose of get."},
    {.name = "dense",
     .params = "d, y, /",
     .fn = n_dense,
     .doc = "A cotangent with numbers: zeros like y for the symbolic zero."},
    {.name = "acc", .params = "env: shadow_map, o, slot, d, /", .fn = n_acc, .doc = "Add to the cotangent of a slot."},
    {.name = "call_apart",
     .params = "form, args, pattern, /",
     .fn = call_apart,
     .doc = "form(*args), all of it done by compiled code."},
    {.name = "pull_apart",
     .params = "pullback, dy, env, /",
     .fn = pull_apart,
     .doc = "Runs the pullback that call_apart gave."},
    {.name = "take",
     .params = "env: shadow_map, o, slot, /",
     .fn = n_take,
     .doc = "Read and clear the cotangent of a slot."},
    {.name = "peek", .params = "env: shadow_map, o, slot, /", .fn = n_peek, .doc = "The cotangent of a slot."},
    {.name = "put", .params = "env: shadow_map, o, slot, d, /", .fn = n_put, .doc = "Set the cotangent of a slot."},
    {.name = "open_slot",
     .params = "env: shadow_map, list, i: int, /",
     .fn = n_open,
     .doc = "A zero slot at i; the others move up."},
    {.name = "close_slot",
     .params = "env: shadow_map, list, i: int, /",
     .fn = n_close,
     .doc = "Slot i goes; the others move down."},
    {.name = "slot_count",
     .params = "env: shadow_map, list, /",
     .fn = n_slot_count,
     .doc = "How many slots of a list env knows."},
    {.name = "feed", .params = "env: shadow_map, place, d, /", .fn = n_feed, .doc = "Add to the cotangent of a place."},
    {.name = "transform",
     .params = "f, /",
     .fn = n_transform,
     .doc = "The closures that f makes are derivatives of what they capture: compiled as functions of scripts are."},
    {.name = "turns",
     .params = "n: int, /",
     .fn = n_turns,
     .doc = "range(n), of a loop that stays one in compiled programs, however few turns it has."},
    {.name = "is_pullback", .params = "k, /", .fn = n_is_pullback, .doc = "Was a pullback kept?"},
    {.name = "kind", .params = "x, /", .fn = n_kind, .doc = "list, tuple, dict, float, tensor, object or nothing."},
    {.name = "define", .params = "f, form, /", .fn = n_define, .doc = "Set the forward form of a native or class."},
    {.name = "define_catching",
     .params = "f, form, /",
     .fn = n_define_catching,
     .doc = "Set the form of a native or class that returns what it raises."},
    {.name = "bind",
     .params = "form, args: tuple, keywords: dict, /",
     .fn = n_bind,
     .doc = "Bind arguments to a forward form."},
    {.name = "unbind",
     .params = "plan: tuple, d, env: shadow_map, /",
     .fn = n_unbind,
     .doc = "Cotangents of arguments from those of parameters."},
    {.name = "flat", .params = "form, /", .fn = n_flat, .doc = "A forward form that takes entry parameters."},
    {.name = "bare", .params = "made: type, /", .fn = n_bare, .doc = "An instance without __init__."},
    {.name = "class_attribute",
     .params = "x, name: str, /",
     .fn = n_class_attribute,
     .doc = "What the class of x has under a name."},
    {.name = "record", .params = "x, /", .fn = n_record, .doc = "An empty gradient of an object."},
    {.name = "model_class",
     .params = "x, /",
     .fn = n_model_class,
     .doc = "The class of what x is the gradient of, or of x itself.",
     .effect = NativeEffect::pure},
    {.name = "fields", .params = "x, /", .fn = n_fields, .doc = "Names of an object's own attributes."},
    {.name = "fail", .params = "text, /", .fn = n_fail, .doc = "Raise TypeError."},
    {.name = "lost",
     .params = "env: shadow_map, /",
     .fn = n_lost,
     .doc = "TypeError if a cotangent is left in what an exception carries."},
    {.name = "stop_gradient", .params = "x, /", .fn = n_stop_gradient, .doc = "x, as a constant to differentiation."},
    {.name = "total", .params = "x, /", .fn = n_sum_to_float, .doc = "The sum of a tensor's elements as a float."},
    {.name = "inner_iterators",
     .params = "it, /",
     .fn = n_inner_iterators,
     .doc = "The iterators that an iterator runs over."},
    {.name = "place_source",
     .params = "it, /",
     .fn = n_place_source,
     .doc = "Where an iterator's last value came from."},
    {.name = "special",
     .params = "prim, *args",
     .fn = n_special,
     .doc = "The form of what a primitive calls, or None.",
     .raw = true},
    {.name = "plain", .params = "f, *args, **kw", .fn = n_plain, .doc = "A call without derivative.", .raw = true},
    {.name = "detached",
     .params = "f, *args, **kw",
     .fn = n_detached,
     .doc = "A call without derivative, of which nothing is kept.",
     .raw = true},
    {.name = "reusable",
     .params = "f, *args, **kw",
     .fn = n_reusable,
     .doc = "A call of a form whose pullback may be asked for more than once.",
     .raw = true},
    {.name = "recorded",
     .params = "f, *args, **kw",
     .fn = n_recorded,
     .doc = "(what f gives, a pullback of what script functions did that f called).",
     .raw = true},
    {.name = "add_item",
     .params = "sum, d, index, kept, env: shadow_map, /",
     .fn = n_add_item,
     .doc = "sum plus the cotangent of x in x[index]."},
    {.name = "asked_key",
     .params = "d, key, hash=None, /",
     .fn = n_asked_key,
     .doc = "Looks a key up, once: (the key that stands in the dict, or this one; its hash; is it there?)."},
    {.name = "item_hashed", .params = "d, key, hash, /", .fn = n_item_hashed, .doc = "d[key], of a key that is there."},
    {.name = "set_item_hashed", .params = "d, key, hash, v, /", .fn = n_set_item_hashed, .doc = "d[key] = v."},
    {.name = "delete_item_hashed", .params = "d, key, hash, /", .fn = n_delete_item_hashed, .doc = "del d[key]."},
    {.name = "hashed_keys", .params = "d, /", .fn = n_hashed_keys, .doc = "The keys of a dict, with their hashes."},
    {.name = "rows_of",
     .params = "kept, /",
     .fn = n_length_of,
     .doc = "How many rows a tensor has, by what was kept of it."},
};
constexpr NativeModule kModule{"_ad", kFunctions};

// The transforms are Ouro (stdlib/autodiff), built-in names of .ouro files and of module `ouro`.
constexpr std::string_view kTransforms[] = {"grad",       "value_and_grad", "vjp",        "jvp",
                                            "jacfwd",     "jacrev",         "hessian",    "vmap",
                                            "custom_vjp", "custom_jvp",     "checkpoint", "stop_gradient"};
Value transform(Session& s, std::string_view name) {
  for (std::string_view t : kTransforms)
    if (t == name) {
      OURO_TRY(module, import_module(s, intern("ouro.autodiff")));
      return get_attr(s, module, intern(name));
    }
  return Value();
}
constexpr NativeModule kTransformNames{.name = kOuro, .functions = {}, .constant = transform, .constants = kTransforms};

}  // namespace

bool is_of_reverse_mode(const NativeDef* def) { return def >= std::begin(kFunctions) && def < std::end(kFunctions); }

void register_autodiff_natives(Session& s) {
  s.register_natives(&kModule);
  s.register_natives(&kTransformNames);
}

}  // namespace ouro::runtime
