#include "runtime/protocol/layout.h"

#include <algorithm>
#include <cctype>

#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/metaclass.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

Symbol sym(const char* text) { return intern(text); }

// The names of a class's own __slots__, in order.
std::vector<Symbol> own_slots(const Type* t) {
  std::vector<Symbol> out;
  if (!t->builtin)
    for (const auto& e : t->names.entries())
      if (const Member* m = cast_exact<Member>(e.value); m && m->owner == t) out.push_back(m->name);
  return out;
}
const Type* solid_base(const Type* t) { return t->base ? t->base->solid : nullptr; }

// Has `a` all places that `b` has? (Null: those of `object`.)
bool holds(const Type* a, const Type* b) { return !b || (a && is_subtype(a, b)); }

// Objects whose size varies have no places behind their end.
bool is_sized(const Type* t) {
  static constexpr ObjectKind kSized[] = {ObjectKind::integer, ObjectKind::tuple, ObjectKind::bytes, ObjectKind::type};
  return std::find(std::begin(kSized), std::end(kSized), t->layout) != std::end(kSized);
}

bool is_identifier(std::string_view t) {
  auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; };
  return !t.empty() && letter(static_cast<unsigned char>(t[0])) && std::all_of(t.begin(), t.end(), [&](char c) {
    auto u = static_cast<unsigned char>(c);
    return letter(u) || std::isdigit(u);
  });
}

// `__x` in a class `_C` is the attribute `_C__x`, as wherever the class's text names it.
Symbol slot_name(Type* t, Str* name) {
  std::string_view n = name->view(), cls = t->text();
  while (cls.starts_with('_')) cls.remove_prefix(1);
  if (!n.starts_with("__") || n.ends_with("__") || cls.empty()) return str_symbol(name);
  return intern("_" + std::string(cls) + std::string(n));
}

// What __slots__ says, item by item.
bool slot_names(Session& s, Type* t, const Value& slots, std::vector<Symbol>& names) {
  SmallVec<Value, 8> items;
  if (cast<Str>(slots))
    items.push_back(slots);
  else if (!for_each(s, slots, [&](Value& v) {
             items.push_back(v);
             return true;
           }))
    return false;
  if (items.size() && is_sized(t->base)) {
    raise_type_error(s, "nonempty __slots__ not supported for subtype of '%s'", std::string(t->base->text()).c_str());
    return false;
  }
  for (const Value& v : items) {
    Str* n = cast<Str>(v);
    if (!n) {
      raise_type_error(s, "__slots__ items must be strings, not '%s'", type_name(s, v).c_str());
      return false;
    }
    if (!is_identifier(n->view())) {
      raise_type_error(s, "__slots__ must be identifiers");
      return false;
    }
    names.push_back(slot_name(t, n));
  }
  return true;
}

// What objects of the base have besides their places.
bool base_has_dict(const Type* t) {
  static constexpr ObjectKind kWith[] = {ObjectKind::static_method, ObjectKind::class_method, ObjectKind::type};
  return t->base->is_exception || (!t->base->builtin && t->base->has_dict) ||
         std::find(std::begin(kWith), std::end(kWith), t->base->layout) != std::end(kWith);
}
bool base_has_weakref(const Type* t) {
  static const Symbol weakref = sym("__weakref__");
  static constexpr ObjectKind kWithout[] = {ObjectKind::set, ObjectKind::frozenset, ObjectKind::type};
  if (std::find(std::begin(kWithout), std::end(kWithout), t->base->layout) != std::end(kWithout)) return true;
  for (const Type* b = t->base; b && !b->builtin; b = b->base)
    if (b->names.find(weakref)) return true;
  return false;
}

constexpr GetSetDef kWeakref{"__weakref__", [](Session&, const Value&) { return Value::none(); }, nullptr,
                             "list of weak references to the object (if defined)"};
void add_descriptor(Type* t, const GetSetDef* def) {
  auto* g = new_object<GetSet>(ObjectKind::get_set);
  g->def = def;
  g->owner = t;
  g->keeps_owner = Value::share(t);
  t->names.add(intern(def->name), Value::steal(g));
}

}  // namespace

bool same_places(const Type* a, const Type* b) {
  const Type *x = a->solid, *y = b->solid;
  if (a->has_dict != b->has_dict || a->layout != b->layout || a->is_exception != b->is_exception) return false;
  if (x == y) return true;
  if (!x || !y || x->builtin || y->builtin || solid_base(x) != solid_base(y)) return false;
  std::vector<Symbol> of_x = own_slots(x), of_y = own_slots(y);
  return std::is_permutation(of_x.begin(), of_x.end(), of_y.begin(), of_y.end());
}

Type* best_base(Session& s, std::span<const Value> bases) {
  Type* best = nullptr;
  for (const Value& v : bases) {
    Type* base = v.as<Type>();
    if (base->builtin && base->def && !base->def->subclassable) {
      raise_type_error(s, "type '%s' is not an acceptable base type", std::string(base->text()).c_str());
      return nullptr;
    }
    if (best && holds(best->solid, base->solid)) continue;
    if (best && !holds(base->solid, best->solid)) {
      raise_type_error(s, "multiple bases have instance lay-out conflict");
      return nullptr;
    }
    best = base;
  }
  return best;
}

bool choose_layout(Session& s, Type* t) {
  t->base = best_base(s, t->bases);
  if (!t->base) return false;
  t->layout = t->base->layout;
  t->has_dict = true;
  t->is_exception = t->base->is_exception;
  return true;
}

void settle_solid(Type* t) {
  const bool own_dict = is_sized(t) && t->has_dict && !base_has_dict(t);  // behind an end that varies
  t->solid = own_dict || !own_slots(t).empty() ? t : t->base->solid;
}

bool apply_slots(Session& s, Type* t) {
  static const Symbol slots_name = sym("__slots__"), dict_name = sym("__dict__"), weakref_name = sym("__weakref__");
  const Value* slots = t->names.find(slots_name);
  if (!slots) return true;
  std::vector<Symbol> names;
  if (!slot_names(s, t, Value(*slots), names)) return false;
  bool dict = false, weakref = false;
  for (Symbol n : names) {
    if (n == dict_name) {
      if (dict || base_has_dict(t))
        return !raise_type_error(s, "__dict__ slot disallowed: we already got one").is_error();
      dict = true;
      continue;
    }
    if (n == weakref_name) {
      if (weakref || base_has_weakref(t))
        return !raise_type_error(s, "__weakref__ slot disallowed: either we already got one, or __itemsize__ != 0")
                    .is_error();
      weakref = true;
      add_descriptor(t, &kWeakref);
      continue;
    }
    const Value* there = t->names.find(n);
    if (there && cast_exact<Member>(*there) && there->as<Member>()->owner == t) continue;  // named twice
    if (there) {
      raise_value_error(s, "'%s' in __slots__ conflicts with class variable", n.c_str());
      return false;
    }
    auto* m = new_object<Member>(ObjectKind::member);
    m->name = n;
    m->owner = t;
    m->keeps_owner = Value::share(t);
    t->names.add(n, Value::steal(m));
  }
  for (const Value& b : t->bases) dict |= !b.as<Type>()->builtin && b.as<Type>()->has_dict;
  t->has_dict = dict || t->is_exception;
  return true;
}

void add_instance_descriptors(Session& s, Type* t) {
  static const Symbol slots = sym("__slots__"), dict = sym("__dict__"), weakref = sym("__weakref__");
  if (t->has_dict && !base_has_dict(t) && !t->names.find(dict))
    if (auto* of_object = cast_exact<GetSet>(*own_type_name(s, s.object_type(), dict)))
      add_descriptor(t, of_object->def);
  if (!t->names.find(slots) && !is_sized(t) && !base_has_weakref(t) && !t->names.find(weakref))
    add_descriptor(t, &kWeakref);
}

}  // namespace ouro::runtime
