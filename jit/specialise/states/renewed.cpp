// Variables of a loop that hold a list or dict which each turn makes anew:
//
//     for i in range(n):
//         weights = [w - rate * d for w, d in zip(weights, gradients(weights))]
//
// The list of a turn is another object than that of the turn before. At the head of the loop one abstract object stands
// for all of them, whose items are parameters of the head.
//
// That is right as long as nothing else reaches the object: nobody sees then that it is another one. So what is renewed
// is a tree below the variable, of lists, dicts and tuples that exist in the program only. Neither another variable nor
// another object leads into it, before the turn or behind it. The turn may write to the head's: what it leaves there
// goes nowhere but into the next one. So it is with an attribute (`self.rates = [...]`). In the first turn it may be a
// list of the caller's, which others reach: that turn is written out (Unlike), and leaves a list that nothing else
// reaches. Where derivatives are recorded the identity of a list is a key, and nothing is renewed.
#include <algorithm>
#include <set>

#include "jit/specialise/states/join.h"

namespace ouro::jit {

using ir::Atom;

namespace {

bool is_container(const AObject& o) { return o.kind == AObject::Kind::list || o.kind == AObject::Kind::dict; }

bool is_tuple(const AVal& v) { return v.is(AKind::tuple) && !v.extends_tuple(); }

bool is_local(const AObject* o) {
  return o && is_container(*o) && !o->outside() && !o->poisoned && !o->stale && o->attributes == kNoHeap &&
         o->tag.is_none() && !o->any_class && !o->escaped;
}

const AObject* object_of(const AVal& v, const AHeap& heap) { return v.is(AKind::ref) ? heap[v.heap].get() : nullptr; }

// The containers below a value. False: one is reached twice.
bool collect_tree(const AVal& v, const AHeap& heap, std::set<HeapId>& tree) {
  if (is_tuple(v)) {
    for (const AVal& item : v.items())
      if (!collect_tree(item, heap, tree)) return false;
    return true;
  }
  const AObject* o = object_of(v, heap);
  if (!is_local(o)) return true;
  if (!tree.insert(v.heap).second) return false;
  for (const AVal& item : o->items)
    if (!collect_tree(item, heap, tree)) return false;
  return true;
}

// What else leads into the tree?
class Reached {
 public:
  // `but`: the attribute that may.
  Reached(const AHeap& heap, const std::set<HeapId>& tree, const HeapLocation* but)
      : heap_(heap), tree_(tree), but_(but) {}

  bool from(const AVal& v) {
    if (v.heap != kNoHeap && from_object(v.heap)) return true;
    if (!v.parts || !parts_.insert(v.parts.get()).second) return false;
    for (const AVal& x : v.parts->items)
      if (from(x)) return true;
    for (const AVal& x : v.parts->defaults)
      if (from(x)) return true;
    for (const auto& [name, x] : v.parts->kwdefaults)
      if (from(x)) return true;
    return std::ranges::any_of(v.parts->annotations, [&](const AVal& x) { return from(x); });
  }
  // Derivatives keep records of what they see.
  bool met_records() const { return records_; }
  bool below(const AObject& o, HeapId id) {
    records_ = records_ || o.kind == AObject::Kind::seq || o.kind == AObject::Kind::shadow ||
               o.kind == AObject::Kind::record || o.kind == AObject::Kind::turn;
    for (const AObject::Slot& s : o.slots) {
      if (but_ && but_->object == id && but_->index == s.name.id()) continue;
      for (const AVal* v : {&s.value, &s.memory, &s.loaded})
        if (from(*v)) return true;
    }
    for (const auto member : {&AObject::items, &AObject::memory, &AObject::loaded, &AObject::parts})
      for (const AVal& v : o.*member)
        if (from(v)) return true;
    for (const AVal* v : {&o.native, &o.source, &o.cursor, &o.stop, &o.step})
      if (from(*v)) return true;
    return std::ranges::any_of(o.sides, [&](const auto& side) { return side && below(*side, id); });
  }

 private:
  bool from_object(HeapId id) {
    if (tree_.contains(id)) return true;
    if (!objects_.insert(id).second) return false;
    const auto& o = heap_[id];
    return o && below(*o, id);
  }

  const AHeap& heap_;
  const std::set<HeapId>& tree_;
  const HeapLocation* but_;
  std::set<HeapId> objects_;
  std::set<const AParts*> parts_;
  bool records_ = false;
};

bool alike_keys(const AObject& x, const AObject& y) {
  if (x.keys.size() != y.keys.size()) return false;
  for (size_t i = 0; i < x.keys.size(); ++i)
    if (!x.keys[i].is_the_same_as(y.keys[i]) && !x.keys[i].known.same(y.keys[i].known)) return false;
  return true;
}

}  // namespace

// Do the two hold containers that may be other ones in each turn, with the same structure?
bool Specialiser::are_renewed(const AVal& head, const AVal& back, const AHeap& at_head, const AHeap& at_edge) const {
  if (is_tuple(head) && is_tuple(back)) {
    bool any = false;
    for (size_t i = 0; i < head.items().size() && i < back.items().size(); ++i)
      any = any || are_renewed(head.items()[i], back.items()[i], at_head, at_edge);
    return any && head.items().size() == back.items().size();
  }
  const AObject *x = object_of(head, at_head), *y = object_of(back, at_edge);
  return is_local(x) && is_local(y) && head.heap != back.heap && x->kind == y->kind &&
         x->items.size() == y->items.size() && alike_keys(*x, *y);
}

// Does only this place, a variable (`name`) or an attribute (`slot`), lead to the containers of its value v?
bool Specialiser::reached_by_it_alone(const AFrame& f, const AVal& v, std::optional<uint32_t> name,
                                      const HeapLocation* slot, const Fork& at, const std::vector<bool>& live) const {
  std::set<HeapId> tree;
  if (recording_ || !collect_tree(v, at.heap, tree)) return false;
  Reached reached(at.heap, tree, slot);
  for (uint32_t n = 0; n < live.size(); ++n)
    if (live[n] && n != name && reached.from(at.env[n])) return false;
  for (const AFrame* frame : frames_) {
    if (frame == &f) continue;
    for (const AVal& v : frame->env)
      if (reached.from(v)) return false;
  }
  // Objects that exist outside are reached by paths, and values of the head's own tree lead only down.
  for (HeapId id = 0; id < at.heap.size(); ++id)
    if (const auto& o = at.heap[id]; o && o->outside() && reached.below(*o, id)) return false;
  for (HeapId id : tree)
    for (const AVal& item : at.heap[id]->items)
      if (!item.is(AKind::ref) && !is_tuple(item) && reached.from(item)) return false;
  return !reached.met_records();
}

AVal Specialiser::renew(const AVal& v, LoopHead& lh) {
  if (is_tuple(v)) {
    std::vector<AVal> items;
    for (const AVal& item : v.items()) items.push_back(renew(item, lh));
    return AVal::tuple(std::move(items));
  }
  if (!is_local(object_of(v, heap_))) return generalise(v, lh);
  AObject o = *heap_[v.heap];
  for (size_t i = 0; i < o.items.size(); ++i) o.items.edit(i) = renew(o.items[i], lh);
  const HeapId id = allocate(std::move(o));
  lh.renewed.insert(id);
  return AVal::of_heap(id);
}

void Specialiser::require_renewed(const std::string& what, const AVal& head, const AVal& back, const Fork& at_head,
                                  const Fork& edge) {
  const AObject *x = object_of(head, at_head.heap), *y = object_of(back, edge.heap);
  const bool tuples = is_tuple(head) && is_tuple(back) && head.items().size() == back.items().size();
  const bool containers =
      is_local(x) && is_local(y) && x->kind == y->kind && x->items.size() == y->items.size() && alike_keys(*x, *y);
  if (tuples)
    for (size_t i = 0; i < head.items().size(); ++i)
      require_renewed(what, head.items()[i], back.items()[i], at_head, edge);
  else if (containers)
    for (size_t i = 0; i < x->items.size(); ++i) require_renewed(what, x->items[i], y->items[i], at_head, edge);
  else
    require_match(what, head, back, edge);
}

// The arguments of a back edge, in the order of the parameters that renew() made.
void Specialiser::renewed_arguments(const AVal& head, const AVal& back, const Fork& at_head, const Fork& edge,
                                    const std::function<void(const AVal&, const AVal&)>& pass) const {
  if (is_tuple(head) && is_tuple(back)) {
    for (size_t i = 0; i < head.items().size(); ++i)
      renewed_arguments(head.items()[i], back.items()[i], at_head, edge, pass);
    return;
  }
  const AObject *x = object_of(head, at_head.heap), *y = object_of(back, edge.heap);
  if (!is_local(x) || !is_local(y)) return pass(head, back);
  for (size_t i = 0; i < x->items.size(); ++i) renewed_arguments(x->items[i], y->items[i], at_head, edge, pass);
}

}  // namespace ouro::jit
