// Where control flows together: what the two ways have made of objects, lists and dicts.
//
// An object that both ways know is merged slot by slot and item by item (join.cpp: merge). Where the ways leave it in
// two forms that no program's value stands for, it is one of two (either.cpp), or made in both ways before they meet.
#include <algorithm>

#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/join.h"

namespace ouro::jit {

// Do the branches leave it in ways that one abstract object cannot stand for?
bool Specialiser::differs(const AObject& x, const AObject& y) const {
  if (x.kind == AObject::Kind::iterator || x.kind == AObject::Kind::shadow || x.kind == AObject::Kind::seq)
    return false;
  if (x.lost() || y.lost()) return x.outside() != y.outside();
  if (x.escaped != y.escaped || x.poisoned || y.poisoned) return true;
  if (x.items.size() != y.items.size() || x.keys.size() != y.keys.size()) return true;
  if (x.kind == AObject::Kind::set && !alike(*x.concrete.as<runtime::Set>(), *y.concrete.as<runtime::Set>()))
    return true;
  for (size_t k = 0; k < x.keys.size(); ++k)
    if (!same(x.keys[k], y.keys[k])) return true;
  bool found = false;
  PersistentArray<AVal>::each_difference(x.items, y.items,
                                         [&](size_t k) { found = found || !can_merge(x.items[k], y.items[k]); });
  const auto one_sided = [](const AObject::Slot& s, const AObject& other) {
    return !other.stale && (!other.external || s.loaded.is(AKind::unbound));
  };
  const auto slot_of = [](const AObject& o, Symbol name) {
    const auto at = std::ranges::find(o.slots, name, &AObject::Slot::name);
    return at == o.slots.end() ? nullptr : &*at;
  };
  for (const AObject::Slot& s : x.slots) {
    const AObject::Slot* other = slot_of(y, s.name);
    found = found || (other ? !can_merge(s.value, other->value) : one_sided(s, y));
  }
  for (const AObject::Slot& s : y.slots) found = found || (!slot_of(x, s.name) && one_sided(s, x));
  return found;
}

// What both have written to a module's names.
void Specialiser::make_globals_real(Fork& a, Fork& b, HeapId id) {
  const std::vector<AObject::Slot> slots = a.heap[id]->slots;
  for (const AObject::Slot& s : slots) {
    const AObject::Slot* other = b.heap[id]->find(s.name);
    if (!other) continue;
    AVal va = s.value, vb = other->value;
    make_real(a, b, va, vb);
    for (auto [fork, v] : {std::pair(&a, &va), std::pair(&b, &vb)}) {
      AObject::Slot* slot = fork->heap.own(id).find(s.name);
      slot->value = slot->memory = *v;
    }
  }
}

// If one branch alone has reached and changed an object from outside, gives it to the other as the call found it.
void Specialiser::reach_on_both(Fork& a, Fork& b, size_t id) {
  const auto only = a.heap[id] ? a.heap[id] : b.heap[id];
  if ((a.heap[id] && b.heap[id]) || !only || !only->external || !changed_inside(*only)) return;
  Fork& other = a.heap[id] ? b : a;
  other.heap.put(id, untouched(*only, other.effects));
}

// Made in both branches, with what they hold; what is outside already is written to.
void Specialiser::make_objects_real(Fork& a, Fork& b, JoinBlock& j) {
  j.place.what = Parted::What::objects;
  const bool all = is_made_real(j);
  for (bool again = true; again;) {
    again = false;
    const size_t n = std::max(a.heap.size(), b.heap.size());
    a.heap.resize(n);
    b.heap.resize(n);
    std::vector<size_t> differing;
    AHeap::each_difference(a.heap, b.heap, [&](size_t id) { differing.push_back(id); });
    for (size_t i : differing) {
      if (all) reach_on_both(a, b, i);
      if (!a.heap[i] || !b.heap[i]) continue;
      const AObject &x = *a.heap[i], &y = *b.heap[i];
      if (all && x.kind == AObject::Kind::globals && a.effects.done && b.effects.done) {
        make_globals_real(a, b, static_cast<HeapId>(i));
        continue;
      }
      const bool parts = x.escaped != y.escaped || (all && differs(x, y));
      if (!parts || (x.escaped && y.escaped) || x.kind == AObject::Kind::identity) continue;
      for (const AObject* o : {&x, &y})  // where the branches met that left it in two ways
        if (!o->tag.is_none()) ask_to_part(o->parted);
      for (Fork* f : {&a, &b}) {
        const auto id = static_cast<HeapId>(i);
        if (f->heap[i]->external && !f->effects.done) {
          heap_ = f->heap;
          effects_ = f->effects;
          code.switch_to(f->end);
          write_all();
          f->heap = heap_;
          f->effects = effects_;
          f->end = code.current();
          again = true;
        } else if (!f->heap[i]->outside() && !f->heap[i]->poisoned) {
          AVal v = AVal::of_heap(id);
          heap_ = f->heap;
          if (!can_box(AVal::of(Value::none()), {v}, {})) continue;
          again = try_make_real(*f, v) || again;
        }
      }
    }
  }
}

// An external object as the call found it: as a branch leaves it that has not reached it.
std::shared_ptr<AObject> Specialiser::untouched(const AObject& x, const Effects& there) const {
  auto o = std::make_shared<AObject>(x);
  for (AObject::Slot& s : o->slots) s.value = s.memory = s.loaded, s.dirty = false;
  o->items = o->memory = o->loaded;
  o->keys = o->memory_keys = o->loaded_keys;
  o->dirty = o->stale = o->any_class = o->poisoned = false;
  if (there.unknown) forget(*o);
  return o;
}

// In what no parameter stands for?
bool Specialiser::differs_in_structure(const AObject& x, const AObject& y) const {
  using Kind = AObject::Kind;
  if (x.kind == Kind::shadow || x.kind == Kind::seq) return false;
  if (x.poisoned || y.poisoned || x.items.size() != y.items.size() || x.keys.size() != y.keys.size()) return true;
  if (x.kind == Kind::set && !alike(*x.concrete.as<runtime::Set>(), *y.concrete.as<runtime::Set>())) return true;
  for (size_t k = 0; k < x.keys.size(); ++k)
    if (!same(x.keys[k], y.keys[k])) return true;
  if (x.kind != Kind::iterator) return false;
  const auto fixed = [](const AVal& v) { return !v.is(AKind::dynamic); };
  return !same(x.source, y.source) || x.iter != y.iter ||
         (!same(x.cursor, y.cursor) && (fixed(x.cursor) || fixed(y.cursor)));
}

// A slot that one branch has loaded or made, and the other has not: as the call found it, if that is known.
AVal Specialiser::merge_one_sided(const AObject::Slot& s, const AObject& other, bool other_first, Fork& a, Fork& b,
                                  JoinBlock& j) {
  if (!other.outside() && !other.stale) return other_first ? both({}, s.value, j) : both(s.value, {}, j);
  if (!other.external || other.stale) return poison(j);
  if (s.loaded.is(AKind::unbound)) return poison(j);
  return other_first ? merge(s.loaded, s.value, a, b, j) : merge(s.value, s.loaded, a, b, j);
}

void Specialiser::merge_heaps(Fork& a, Fork& b, JoinBlock& j) {
  size_t n = std::max(a.heap.size(), b.heap.size());
  a.heap.resize(n);
  b.heap.resize(n);
  const Effects both = a.effects | b.effects;
  const auto is_poison = [](const AVal& v) { return v.is(AKind::poison); };
  const auto parts = [&](const AObject::Slot& s) { return is_poison(s.value); };
  std::vector<size_t> differing;
  std::vector<HeapId> owners;  // of dicts that are forgotten
  std::ptrdiff_t more_of_b = 0;
  AHeap::each_difference(a.heap, b.heap, [&](size_t id) {
    differing.push_back(id);
    more_of_b += (a.heap[id] ? 0 : 1) - (b.heap[id] ? 0 : 1);
  });
  // What one way alone has made stays as it is: a way that returns early meets one that goes on for long, and meets it
  // again at each such place.
  heap_ = more_of_b > 0 ? b.heap : a.heap;
  const auto keep = [&](size_t id, const AHeap::Ref& only) {
    if (heap_[id] != only) heap_.put(id, only);
  };
  for (size_t i : differing) {
    if (!a.heap[i] || !b.heap[i]) {
      const auto& only = a.heap[i] ? a.heap[i] : b.heap[i];
      if (only->kind == AObject::Kind::turn ||
          only->of_turn) {  // of names that the other way has not; it is unpacked again
        heap_.put(i, nullptr);
        continue;
      }
      Fork& other = a.heap[i] ? b : a;
      if (!only->external || (!changed_inside(*only) && !other.effects.unknown)) {
        keep(i, only);
        continue;
      }
      other.heap.put(i, untouched(*only, other.effects));
    }
    const AObject &x = *a.heap[i], &y = *b.heap[i];
    if (j.tag.is_name() && !too_many_sides() && !x.outside() && !y.outside() && x.forms + y.forms <= kMostForms &&
        differs_in_structure(x, y)) {
      heap_.put(i, this->both(a.heap[i], b.heap[i], j));
      continue;
    }
    auto o = std::make_shared<AObject>(x);
    o->dirty = x.dirty || y.dirty;
    o->escaped = x.escaped || y.escaped;
    o->stale = x.stale || y.stale;
    o->any_class = x.any_class || y.any_class;
    if (x.attributes != y.attributes) {  // its dict (vars) may be one of two, or none
      o->attributes = kNoHeap;
      o->poisoned = true;
    }
    if (y.poisoned) o->poisoned = true;
    if (x.escaped != y.escaped) {  // nothing stands for both
      o->poisoned = true;
      o->escaped = o->stale = false;
      o->boxed = {};
    }
    if (!o->tag.is_none()) {  // too many forms for an either; `o` is a copy of x, and its sides are not those of y
      o->tag = {};
      o->sides[0] = o->sides[1] = nullptr;
      o->forms = 1;
      o->torn = j.parted;
      o->parted = parted_at(j);
    }
    if (x.escaped && y.escaped)
      o->boxed = merge(AVal::dynamic(x.boxed, nullptr), AVal::dynamic(y.boxed, nullptr), a, b, j).atom;
    // What is not written yet was not written when they parted (join). What the interpreter may have changed on one
    // side is read again: nothing of it is left to write.
    o->slots.clear();
    for (const AObject::Slot& s : x.slots) {
      const AObject::Slot* in_y = b.heap[i]->find(s.name);
      if (!in_y && y.stale) continue;
      AObject::Slot merged = s;
      merged.dirty = s.dirty || (in_y && in_y->dirty);
      merged.value = in_y ? merge(s.value, in_y->value, a, b, j) : merge_one_sided(s, y, false, a, b, j);
      if (!merged.dirty) merged.memory = merged.value;
      o->slots.push_back(std::move(merged));
    }
    for (const AObject::Slot& s : y.slots) {
      if (a.heap[i]->find(s.name) || x.stale) continue;
      AObject::Slot merged = s;
      merged.value = merge_one_sided(s, x, true, a, b, j);
      if (!merged.dirty) merged.memory = merged.value;
      o->slots.push_back(std::move(merged));
    }
    if (x.kind == AObject::Kind::seq && !x.escaped && !y.escaped && !x.poisoned && !y.poisoned) {
      merge_records(*o, x, y, a, b, j);
      heap_.put(i, std::move(o));
      continue;
    }
    if (x.kind == AObject::Kind::shadow) {
      merge_shadows(*o, x, y, a, b, j);
      heap_.put(i, std::move(o));
      continue;
    }
    if (x.items.size() != y.items.size() || x.keys.size() != y.keys.size()) {
      o->poisoned = true;
      o->items.clear();  // the items of one branch have no names here
      o->keys.clear();
    } else {
      std::vector<size_t> changed;
      PersistentArray<AVal>::each_difference(x.items, y.items, [&](size_t k) {
        if (k < x.items.size()) changed.push_back(k);
      });
      for (size_t k : changed) o->items.edit(k) = merge(x.items[k], y.items[k], a, b, j);
      for (size_t k = 0; k < x.keys.size(); ++k)
        if (!same(x.keys[k], y.keys[k])) o->poisoned = true;
    }
    if (o->kind == AObject::Kind::set && !alike(*x.concrete.as<runtime::Set>(), *y.concrete.as<runtime::Set>()))
      o->poisoned = true;
    if (o->kind == AObject::Kind::iterator) {
      if (x.iter != y.iter || !same(x.source, y.source)) o->poisoned = true;
      o->cursor = merge(x.cursor, y.cursor, a, b, j);
    }
    if (!o->dirty) o->memory = o->items, o->memory_keys = o->keys;
    // What is written outside is asked there.
    const bool written =
        x.kind != AObject::Kind::globals && x.outside() && y.outside() && ((x.escaped && y.escaped) || both.done);
    if (written && (o->poisoned || std::ranges::any_of(o->slots, parts) || std::ranges::any_of(o->items, is_poison))) {
      o->dirty = false;
      forget(*o);
      if (o->kind == AObject::Kind::dict)
        if (const HeapId owner = owner_of_dict(static_cast<HeapId>(i), heap_); owner != kNoHeap)
          owners.push_back(owner);
    } else if (o->poisoned && !o->torn.known()) {
      o->torn = j.parted;
      o->parted = parted_at(j);
    }
    heap_.put(i, std::move(o));
  }
  for (const HeapId owner : owners)
    if (heap_[owner]->outside()) forget(heap_.own(owner));
}

// A slot that only one side has is zero on the other.
void Specialiser::merge_shadows(AObject& o, const AObject& x, const AObject& y, Fork& a, Fork& b, JoinBlock& j) {
  auto find = [&](const AObject& m, const AVal& key) -> AVal {
    const int i = key_position(m.keys, key.known);
    return i < 0 ? AVal::marker(AKind::zero) : m.items[static_cast<size_t>(i)];
  };
  const AObject& longer = x.keys.size() < y.keys.size() ? y : x;
  const size_t common = std::min(x.keys.size(), y.keys.size());
  bool prefix = true;  // as nearly always: each side has added keys to what there was
  PersistentArray<AVal>::each_difference(x.keys.array(), y.keys.array(), [&](size_t k) {
    prefix = prefix && (k >= common || same(x.keys[k], y.keys[k]));
  });
  if (prefix) {
    o.keys = longer.keys;
    o.items = longer.items;
    const AVal zero = AVal::marker(AKind::zero);
    PersistentArray<AVal>::each_difference(x.items, y.items, [&](size_t k) {
      if (k >= longer.items.size()) return;
      AVal merged = merge(k < x.items.size() ? x.items[k] : zero, k < y.items.size() ? y.items[k] : zero, a, b, j);
      o.items.edit(k) = std::move(merged);
    });
    return;
  }
  o.keys.clear();
  o.items.clear();
  for (const AObject* m : {&x, &y})
    for (const AVal& key : m->keys) {
      if (m == &y && key_position(x.keys, key.known) >= 0) continue;
      const AVal of_x = find(x, key), of_y = find(y, key);
      if (of_x.is(AKind::zero) && of_y.is(AKind::zero)) continue;
      o.keys.push_back(key);
      o.items.push_back(merge(of_x, of_y, a, b, j));
    }
}

}  // namespace ouro::jit
