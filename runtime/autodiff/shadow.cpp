// Shadow maps (RULES B8). Slots with small int keys stand in an array, so that a list's cotangents cost what the list
// does.
#include "ir/grad/reverse.h"
#include "runtime/autodiff/autodiff.h"

namespace ouro::runtime::autodiff {
namespace {

constexpr int64_t kListLimit = int64_t{1} << 32;

bool same_slot(Session& s, const Value& a, const Value& b) {
  if (a.same(b)) return true;
  Tuple *p = cast_exact<Tuple>(a), *q = cast_exact<Tuple>(b);
  if (p && q) {
    if (p->size != q->size) return false;
    for (size_t i = 0; i < p->size; ++i)
      if (!same_slot(s, (*p)[i], (*q)[i])) return false;
    return true;
  }
  Str *x = cast_exact<Str>(a), *y = cast_exact<Str>(b);
  if (x && y) return x->view() == y->view();
  if (a.is_object() && b.is_object() && kind_of(a) != kind_of(b)) return false;
  // Keys of dicts that are numbers or instances.
  if (kind_of(a) == ObjectKind::instance || a.is_float() || b.is_float() || a.is_bool() || b.is_bool()) {
    int r = equals(s, a, b);
    if (r < 0) clear_pending(s);
    return r == 1;
  }
  return false;
}

// The slots of an object whose keys are pairs (index, item): records of a seq, flattened into the array.
bool array_index(const Value& object, const Value& slot, size_t& i) {
  if (slot.is_int() && slot.as_int() >= 0 && slot.as_int() < kListLimit) {
    ObjectKind k = kind_of(object);
    if (k == ObjectKind::dict) return false;  // any int may be a key: no array
    i = static_cast<size_t>(slot.as_int());
    return true;
  }
  if (Seq* q = cast_exact<Seq>(object))
    if (Tuple* t = cast_exact<Tuple>(slot); t && t->size == 2 && (*t)[0].is_int() && (*t)[1].is_int()) {
      i = static_cast<size_t>((*t)[0].as_int()) * q->width + static_cast<size_t>((*t)[1].as_int());
      return i < q->items.size();
    }
  return false;
}

// A hashable text for a slot (the object of an inner map's slot is its owner there too), when it has one that equality
// follows; empty otherwise.
std::string text_key(const Value& slot) {
  if (Str* t = cast_exact<Str>(slot)) return "s" + std::string(t->view());
  if (slot.is_int()) return "i" + std::to_string(slot.as_int());
  if (Tuple* t = cast_exact<Tuple>(slot)) {
    std::string key = "t";
    for (const Value& v : *t) {
      std::string part = v.is_object() && !cast_exact<Str>(v) && !cast_exact<Tuple>(v)
                             ? "o" + std::to_string(reinterpret_cast<uintptr_t>(slot_owner(v).object()))
                             : text_key(v);
      if (part.empty()) return {};
      key += std::to_string(part.size()) + ":" + part;
    }
    return key;
  }
  return {};
}

// Inner maps have slots per (object, slot) pair: always by text.
Value* find(Session& s, ShadowMap* env, const Value& object, const Value& slot, bool make) {
  if (!object.is_object()) return nullptr;
  auto it = env->objects.find(object.object());
  if (it == env->objects.end()) {
    if (!make) return nullptr;
    it = env->objects.emplace(object.object(), ShadowMap::Slots{object, {}, {}, {}}).first;
  }
  ShadowMap::Slots& slots = it->second;
  size_t i;
  if (array_index(object, slot, i)) {
    if (i >= slots.list.size()) {
      if (!make) return nullptr;
      require_memory((i + 1) * sizeof(Value));
      slots.list.resize(i + 1, Value::zero_cotangent());
    }
    return &slots.list[i];
  }
  std::string key = text_key(slot);
  if (!key.empty()) {
    auto found = slots.index.find(key);
    if (found != slots.index.end()) return &slots.others[found->second].second;
    if (!make) return nullptr;
    slots.index.emplace(std::move(key), slots.others.size());
    slots.others.emplace_back(slot, Value::zero_cotangent());
    return &slots.others.back().second;
  }
  for (size_t k = 0; k < slots.others.size(); ++k) {  // a key's __eq__ may add some
    const Value key = slots.others[k].first;
    if (same_slot(s, key, slot)) return &slots.others[k].second;
  }
  if (!make) return nullptr;
  slots.others.emplace_back(slot, Value::zero_cotangent());
  return &slots.others.back().second;
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
  if (const Value& native = unwrap(*v); !native.same(*v)) {
    const ObjectKind k = kind_of(native);
    if (k == ObjectKind::list || k == ObjectKind::dict || k == ObjectKind::set || k == ObjectKind::frozenset)
      return native;
  }
  if (is_dict_proxy(*v)) return unwrap(v->as<DictView>()->dict);
  // globals() and __dict__ of a module: its names.
  if (auto* o = cast_exact<Opaque>(*v); o && o->values.size() == 1 && kind_of(o->values[0]) == ObjectKind::module)
    return o->values[0];
  // Attributes that have been asked for as a dict are its items.
  if (Instance* i = cast_exact<Instance>(*v); i && !i->shape && cast_exact<Dict>(i->dict)) return i->dict;
  return *v;
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

}  // namespace

bool shadow_add(Session& s, const Value& env, const Value& object, const Value& slot, const Value& d) {
  if (is_zero(d)) return true;
  if (Module* m = cast_exact<Module>(object))  // a global that is the symbolic zero is nobody's variable
    if (Str* name = cast_exact<Str>(slot)) {
      const Value* global = m->names.find(str_symbol(name));
      if (global && is_zero(*global)) return true;
    }
  Value* v = find(s, map_of(env), owner_of(object, slot), slot, true);
  if (!v) return true;
  Value sum = add(s, std::move(*v), d);
  if (sum.is_error()) return false;
  v = find(s, map_of(env), owner_of(object, slot), slot, true);  // a script's __add__ may have changed the map
  if (v) *v = std::move(sum);
  return true;
}

Value shadow_take(Session& s, const Value& env, const Value& object, const Value& slot) {
  Value* v = find(s, map_of(env), owner_of(object, slot), slot, false);
  if (!v || v->is_unbound()) return Value::zero_cotangent();
  return std::exchange(*v, Value::zero_cotangent());
}

Value shadow_peek(Session& s, const Value& env, const Value& object, const Value& slot) {
  Value* v = find(s, map_of(env), owner_of(object, slot), slot, false);
  return v && !v->is_unbound() ? *v : Value::zero_cotangent();
}

bool shadow_put(Session& s, const Value& env, const Value& object, const Value& slot, Value d) {
  bool zero = is_zero(d);
  Value* v = find(s, map_of(env), owner_of(object, slot), slot, !zero);
  if (v) *v = zero ? Value::zero_cotangent() : std::move(d);
  return true;
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
