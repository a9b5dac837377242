// Shadow maps (docs/design/rules.md B8). Slots by index stand in an array, so that a list's cotangents cost what the
// list does; all others in a dict, so that a key is the same slot as every key that is equal to it.
#include <algorithm>

#include <fmt/format.h>

#include "ir/grad/reverse.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/object/dict.h"

namespace ouro::runtime::autodiff {
namespace {

constexpr int64_t kListLimit = int64_t{1} << 32;

// The slots of an object whose keys are pairs (index, item): records of a seq, flattened into the array.
bool array_index(const Value& object, const Value& slot, size_t& i) {
  const ObjectKind k = kind_of(object);
  if (k == ObjectKind::dict || k == ObjectKind::set || k == ObjectKind::frozenset)
    return false;                     // any int may be a key: no array
  const Value& plain = unwrap(slot);  // an int of a class that extends int is that int
  if (plain.is_int() || plain.is_bool()) {
    if (plain.bits() < 0 || plain.bits() >= kListLimit) return false;
    i = static_cast<size_t>(plain.bits());
    return true;
  }
  if (Seq* q = cast_exact<Seq>(object))
    if (Tuple* t = cast_exact<Tuple>(slot); t && t->size == 2 && (*t)[0].is_int() && (*t)[1].is_int()) {
      i = static_cast<size_t>((*t)[0].as_int()) * q->width + static_cast<size_t>((*t)[1].as_int());
      return i < q->items.size();
    }
  return false;
}

// The slot of a key, in the dict of those that have no index.
Value* find_key(Session& s, Value& others, const Value& slot, bool make) {
  if (others.is_unbound()) {
    if (!make) return nullptr;
    others = make_dict();
  }
  const Value dict = others;  // a key's __hash__ or __eq__ may run anything
  Value* v = dict_find(s, dict.as<Dict>(), slot);
  if (v || !make || s.has_error()) return v;
  if (!dict_set(s, dict.as<Dict>(), slot, Value::zero_cotangent())) return nullptr;
  return dict_find(s, dict.as<Dict>(), slot);
}

ShadowMap* map_of(const Value& env) { return env.as<ShadowMap>(); }

}  // namespace

Value make_env() { return Value::steal(new_object<ShadowMap>(ObjectKind::shadow_map)); }

const Value& slot_owner(const Value& object) {
  const Value* v = &object;
  while (Function* f = cast_exact<Function>(*v)) {
    if (!ir::grad::is_forward_form(*f->code) || f->captures.empty() || !cast_exact<Function>(f->captures.back())) break;
    v = &f->captures.back();
  }
  // An object of a class that extends a container has the slots of what it extends.
  if (slots_by_item(*v)) return unwrap(*v);
  if (is_dict_proxy(*v)) return unwrap(v->as<DictView>()->dict);
  // globals() and __dict__ of a module: its names.
  if (auto* o = cast_exact<Opaque>(*v); o && o->values.size() == 1 && kind_of(o->values[0]) == ObjectKind::module)
    return o->values[0];
  // Attributes that have been asked for as a dict are its items.
  if (Instance* i = cast_exact<Instance>(*v); i && !i->shape && cast_exact<Dict>(i->dict)) return i->dict;
  return *v;
}

bool slots_by_item(const Value& object) {
  if (!cast_exact<Instance>(object)) return false;
  const ObjectKind k = kind_of(unwrap(object));
  return k == ObjectKind::list || k == ObjectKind::dict || k == ObjectKind::set || k == ObjectKind::frozenset;
}

Value attribute_slot(Session&, const Value& object, const Value& name) {
  if (!slots_by_item(object)) return make_tuple({object, name});
  if (const Instance* i = object.as<Instance>(); !i->shape && cast_exact<Dict>(i->dict))
    return make_tuple({i->dict, name});
  return make_tuple({object, make_str(fmt::format("{}{}", kAttribute, name.as<Str>()->view()))});
}

namespace {

// Attributes of a function are items of its dict; what it captures and its default values are its own.
const Value& owner_of(const Value& object, const Value& slot) {
  const Value& owner = slot_owner(object);
  if (Function* f = cast_exact<Function>(owner))
    if (Str* name = cast_exact<Str>(slot); name && name->view() != "defaults" && cast_exact<Dict>(f->dict))
      return f->dict;
  return owner;
}

// Null: there is none, or the key's __hash__ or __eq__ raised.
Value* find(Session& s, ShadowMap* env, const Value& object, const Value& slot, bool make) {
  const Value& owner = owner_of(object, slot);
  if (!owner.is_object()) return nullptr;
  auto it = env->objects.find(owner.object());
  if (it == env->objects.end()) {
    if (!make) return nullptr;
    it = env->objects.emplace(owner.object(), ShadowMap::Slots{owner, {}, {}, {}}).first;
  }
  ShadowMap::Slots& slots = it->second;
  if (Tuple* t = cast_exact<Tuple>(slot); t && t->size == 2 && kind_of(owner) == ObjectKind::shadow_map) {
    if (slots.inner.is_unbound()) {
      if (!make) return nullptr;
      slots.inner = make_env();
    }
    return find(s, map_of(slots.inner), (*t)[0], (*t)[1], make);
  }
  size_t i;
  if (!array_index(owner, slot, i)) return find_key(s, slots.others, slot, make);
  if (i >= slots.list.size()) {
    if (!make) return nullptr;
    require_memory((i + 1) * sizeof(Value));
    slots.list.resize(i + 1, Value::zero_cotangent());
  }
  return &slots.list[i];
}

bool any_cotangent(const ShadowMap::Slots& slots) {
  if (std::ranges::any_of(slots.list, [](const Value& d) { return !is_zero(d); })) return true;
  size_t pos = 0;
  Value *key, *d;
  if (Dict* others = cast_exact<Dict>(slots.others))
    while (dict_next(others, pos, key, d))
      if (!is_zero(*d)) return true;
  if (auto* inner = cast_exact<ShadowMap>(slots.inner))
    return std::ranges::any_of(inner->objects, [](const auto& of) { return any_cotangent(of.second); });
  return false;
}

}  // namespace

bool has_cotangents(const Value& env, const Value& object) {
  const auto& objects = map_of(env)->objects;
  const auto it = objects.find(slot_owner(object).object());
  return it != objects.end() && any_cotangent(it->second);
}

bool is_zero_global(const Value& object, const Value& slot) {
  Module* module = cast_exact<Module>(object);
  Str* name = cast_exact<Str>(slot);
  const Value* global = module && name ? module->names.find(str_symbol(name)) : nullptr;
  return global && global->is(Tag::zero_cotangent);
}

bool shadow_add(Session& s, const Value& env, const Value& object, const Value& slot, const Value& d) {
  if (is_zero(d) || is_zero_global(object, slot)) return true;
  Value* v = find(s, map_of(env), object, slot, true);
  if (!v) return !s.has_error();
  Value sum = add(s, std::move(*v), d);
  if (sum.is_error()) return false;
  v = find(s, map_of(env), object, slot, true);  // a script's __add__ may have changed the map
  if (v) *v = std::move(sum);
  return !s.has_error();
}

Value shadow_take(Session& s, const Value& env, const Value& object, const Value& slot) {
  Value* v = find(s, map_of(env), object, slot, false);
  if (!v || v->is_unbound()) return s.has_error() ? Value::error() : Value::zero_cotangent();
  return std::exchange(*v, Value::zero_cotangent());
}

Value shadow_peek(Session& s, const Value& env, const Value& object, const Value& slot) {
  Value* v = find(s, map_of(env), object, slot, false);
  if (!v || v->is_unbound()) return s.has_error() ? Value::error() : Value::zero_cotangent();
  return *v;
}

bool shadow_put(Session& s, const Value& env, const Value& object, const Value& slot, Value d) {
  bool zero = is_zero(d);
  Value* v = find(s, map_of(env), object, slot, !zero);
  if (v) *v = zero ? Value::zero_cotangent() : std::move(d);
  return !s.has_error();
}

void shadow_close(const Value& env, const Value& list, int64_t i) {
  if (!list.is_object()) return;
  auto it = map_of(env)->objects.find(slot_owner(list).object());
  if (it == map_of(env)->objects.end()) return;
  auto& slots = it->second.list;
  if (static_cast<size_t>(i) < slots.size()) slots.erase(slots.begin() + i);
}

void shadow_open(const Value& env, const Value& list, int64_t i) {
  if (!list.is_object()) return;
  auto it = map_of(env)->objects.find(slot_owner(list).object());
  if (it == map_of(env)->objects.end()) return;
  auto& slots = it->second.list;
  if (static_cast<size_t>(i) < slots.size()) slots.insert(slots.begin() + i, Value::zero_cotangent());
}

}  // namespace ouro::runtime::autodiff
