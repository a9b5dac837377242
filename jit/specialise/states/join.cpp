#include "jit/specialise/states/join.h"
#include "jit/specialise/execute/recording.h"
#include "jit/specialise/states/checkpoint.h"

#include <algorithm>

#include <fmt/format.h>

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;

static bool same_function(const AVal& a, const AVal& b) {
  const AParts &x = *source_of_form(a).parts, &y = *source_of_form(b).parts;
  if (x.function.is_unbound() || y.function.is_unbound()) return x.identity == y.identity;
  return runtime::is_same(x.function, y.function);
}

bool Specialiser::same(const AVal& a, const AVal& b) const {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case AKind::unbound:
    case AKind::end:
    case AKind::zero:
      return true;
    case AKind::like:
      return a.type == b.type;
    case AKind::poison:
      return true;
    case AKind::position:
      if (a.heap != b.heap || !a.known.same(b.known) || !a.parts != !b.parts) return false;
      if (!a.parts) return true;
      break;
    case AKind::rolled:
      return a.atom == b.atom && a.known.same(b.known);
    case AKind::either:
      if (a.atom != b.atom) return false;
      break;
    case AKind::known: {
      if (a.known.same(b.known)) return true;
      auto* x = runtime::cast_exact<runtime::Str>(a.known);
      auto* y = runtime::cast_exact<runtime::Str>(b.known);
      return x && y && x->view() == y->view();
    }
    case AKind::dynamic:
      return a.atom == b.atom;
    case AKind::ref:
      return a.heap == b.heap;
    case AKind::closure:
      if (a.parts->code != b.parts->code || a.heap != b.heap || !same_function(a, b)) return false;
      break;
    default:
      if (a.is(AKind::maybe_end) && a.atom != b.atom) return false;
      if ((a.is(AKind::view) || a.is(AKind::tuple)) && !a.known.same(b.known)) return false;
      if (a.extends_tuple() && a.parts->identity != b.parts->identity) return false;  // each is an object of its own
  }
  if (a.parts == b.parts) return true;
  if (a.items().size() != b.items().size()) return false;
  for (size_t i = 0; i < a.items().size(); ++i)
    if (!same(a.items()[i], b.items()[i])) return false;
  return true;
}

bool alike_extensions(const AVal& a, const AVal& b) {
  if (!a.is(AKind::tuple)) return true;
  const bool outside = a.node != kNoNode || b.node != kNoNode;
  return a.known.same(b.known) && !(a.extends_tuple() && outside && a.known.as<runtime::Type>()->has_dict);
}

void Specialiser::restore_heap(const AHeap& saved) {
  const size_t n = heap_.size();
  heap_ = saved;
  heap_.resize(n);
}

Specialiser::Checkpoint Specialiser::checkpoint(bool with_heap) const {
  return {.mark = code.mark(),
          .heap = with_heap ? heap_ : AHeap(),
          .effects = effects_,
          .notes = fallbacks_.size(),
          .redone = redone_,
          .pullbacks = recording_ ? recording_->pullbacks.size() : 0,
          .symbol = abandon_symbol_,
          .in_try = in_try_,
          .recording = recording_,
          .span = span};
}

void Specialiser::undo(const Checkpoint& to) {
  code.rollback(to.mark);
  restore_heap(to.heap);
  effects_ = to.effects;
  fallbacks_.resize(to.notes);
  redone_ = to.redone;
  abandon_symbol_ = to.symbol;
  in_try_ = to.in_try;
  recording_ = to.recording;
  if (recording_) recording_->pullbacks.resize(to.pullbacks);
  span = to.span;
}

// ---------------------------------------------------------------- joins

// Of tensors that differ in sizes: a symbol for each of these.
static const ir::Type* common_tensor(const ir::Type* a, const ir::Type* b) {
  if (!a || !b || !a->is_tensor() || !b->is_tensor() || a->dtype != b->dtype || a->rank() != b->rank()) return nullptr;
  std::vector<ir::SymDim> dims(a->dims.begin(), a->dims.end());
  for (size_t i = 0; i < dims.size(); ++i)
    if (!(dims[i] == b->dims[i])) dims[i] = ir::SymDim::of(ir::fresh_symbol());
  return ir::types::tensor(a->dtype, dims);
}

bool alike(const runtime::Set& a, const runtime::Set& b) {
  if (&a == &b) return true;
  if (a.mask != b.mask || a.fill != b.fill || !a.table != !b.table) return false;
  for (size_t i = 0; a.table && i <= a.mask; ++i)
    if (!a.table[i].key.same(b.table[i].key)) return false;
  return true;
}

AVal Specialiser::merge(const AVal& a, const AVal& b, Fork& fa, Fork& fb, JoinBlock& j) {
  if (same(a, b)) return a;
  if (a.is(AKind::either) && b.is(AKind::either) && a.atom == b.atom) {
    AVal out = AVal::compound(
        AKind::either, {merge(a.items()[0], b.items()[0], fa, fb, j), merge(a.items()[1], b.items()[1], fa, fb, j)});
    out.atom = a.atom;
    return same(out.items()[0], out.items()[1]) ? out.items()[0] : out;
  }
  if (a.is(AKind::either) || b.is(AKind::either)) return both(a, b, j);
  if (a.is(AKind::position) && b.is(AKind::position) && a.heap == b.heap && fa.heap[a.heap] && fb.heap[b.heap])
    if (const AVal merged = merged_position(a, b, fa, fb); !merged.is(AKind::unbound)) return merged;
  const ir::Type *ta = type_of(a), *tb = type_of(b);
  // A symbolic zero that meets a number stays symbolic: as zeros it would be added (to -0.0, which becomes 0.0) and
  // multiplied (by infinity) where the interpreter does neither.
  bool boxed_a = a.is(AKind::dynamic) && !ta, boxed_b = b.is(AKind::dynamic) && !tb;
  if ((ta && ta == tb) || (boxed_a && boxed_b)) {
    Symbol hint{};
    ir::NameId p = code.block_param(j.block, ta, hint);
    j.from_a.push_back(atom(a));
    j.from_b.push_back(atom(b));
    AVal out = AVal::dynamic(p, ta);
    const auto known = [](const AVal& v) { return v.is(AKind::known) || v.ways(); };
    if (ta && (ta->kind == ir::TypeKind::integer || ta->kind == ir::TypeKind::boolean) && known(a) && known(b)) {
      const AVal ways = both(a, b, j);
      if (ways.is(AKind::either)) out.parts = AVal::tuple({ways}).parts;
    }
    return out;
  }
  if (const ir::Type* t = common_tensor(ta, tb)) {
    const ir::NameId p = code.block_param(j.block, t);
    j.from_a.push_back(atom(a));
    j.from_b.push_back(atom(b));
    const AVal merged = AVal::dynamic(p, t);
    note_sizes(merged);
    return merged;
  }
  bool compound = a.is(AKind::tuple) || a.is(AKind::closure) || a.is(AKind::bound);
  const auto told_apart = [](const AVal& v, const Fork& x) {  // one stands for nobody else
    return v.extends_tuple() && v.heap != kNoHeap && x.heap[v.heap]->escaped && v.known.as<runtime::Type>()->has_dict;
  };
  if (a.kind == b.kind && compound && alike_extensions(a, b) && !told_apart(a, fa) && !told_apart(b, fb) &&
      a.items().size() == b.items().size() && a.parts->code == b.parts->code) {
    AVal out = a;
    out.node = kNoNode;
    const bool who = !a.is(AKind::tuple) || a.extends_tuple();
    const JoinBlock::Function of_a = JoinBlock::function(a, 0), of_b = JoinBlock::function(b, 1);
    if (who) {
      // What they are in one place they are in another: a function has one identity.
      const auto at_a = j.functions_met.find(of_a), at_b = j.functions_met.find(of_b), none = j.functions_met.end();
      if (at_a != none && at_b != none && at_a->second.parts == at_b->second.parts) return at_a->second;
      // One that was there before they parted stays who it is.
      const uint64_t x = source_of_form(a).parts->identity, y = source_of_form(b).parts->identity;
      const bool apart = x < j.born || y < j.born || at_a != none || at_b != none;
      if (j.tag.is_name() && x != y && apart) return both(a, b, j);
    }
    if (a.is(AKind::closure) || a.extends_tuple()) out.heap = merged_identity(a, b, fa, fb, j);
    auto parts = std::make_shared<AParts>(*a.parts);
    if (a.parts->identity != b.parts->identity) parts->identity = AParts::next_identity++;
    for (size_t i = 0; i < parts->items.size(); ++i) parts->items[i] = merge(a.items()[i], b.items()[i], fa, fb, j);
    if (a.is(AKind::closure)) parts->function = Value();
    out.parts = std::move(parts);
    if (who) j.functions_met[of_a] = j.functions_met[of_b] = out;
    return out;
  }
  AVal p = both(a, b, j);
  if (p.is(AKind::poison) && ta && tb)
    p.known = runtime::make_str(fmt::format("{} on one branch, {} on the other", ir::to_string(ta), ir::to_string(tb)));
  return p;
}

// ---- what differs: a marker that remembers where, and once it is used both branches make it real

AVal Specialiser::poison(JoinBlock& j) {
  AVal p = AVal::marker(AKind::poison);
  p.node = parted_at(j);
  return p;
}

uint32_t Specialiser::parted_at(JoinBlock& j) {
  if (parted_.empty() || parted_.back() != j.place) parted_.push_back(j.place);
  return static_cast<uint32_t>(parted_.size() - 1);
}

bool Specialiser::is_made_real(const JoinBlock& j) const { return request_.made_real.count(j.place) != 0; }

// A boxed value has no derivative yet.
void Specialiser::ask_to_part(uint32_t parted) {
  if (!request_.may_part || parted == kNoNode || request_.made_real.count(parted_[parted])) return;
  if (std::ranges::any_of(frames_, [&](const AFrame* f) { return is_derived(*f->code); })) return;
  throw PartedRetry{parted_[parted]};
}

// Does merge() have a value for both?
bool Specialiser::can_merge(const AVal& a, const AVal& b) const {
  if (same(a, b)) return true;
  if (a.is(AKind::either) || b.is(AKind::either)) return false;
  const ir::Type *ta = type_of(a), *tb = type_of(b);
  if (ta || tb) return ta == tb;
  if (a.kind != b.kind) return false;
  if (a.is(AKind::dynamic)) return true;
  const bool compound = a.is(AKind::tuple) || a.is(AKind::closure) || a.is(AKind::bound);
  if (!compound || !alike_extensions(a, b) || a.items().size() != b.items().size() || a.parts->code != b.parts->code)
    return false;
  for (size_t i = 0; i < a.items().size(); ++i)
    if (!can_merge(a.items()[i], b.items()[i])) return false;
  return true;
}

void Specialiser::make_real(Fork& x, AVal& v) {
  if (v.is(AKind::dynamic) && !v.type) return;
  heap_ = x.heap;
  effects_ = x.effects;
  code.switch_to(x.end);
  v = AVal::dynamic(materialise(v), nullptr);
  x.heap = heap_;
  x.end = code.current();
}

// Returns false where the object cannot be made for the interpreter: it stays different. Often nobody uses it again, as
// a generator that was left before its end.
bool Specialiser::try_make_real(Fork& x, AVal& v) {
  const Checkpoint before = checkpoint(/*with_heap=*/false);
  try {
    make_real(x, v);
    return true;
  } catch (const Abandon& a) {
    if (a.whole) throw;
  } catch (const NeedSide&) {  // it has two forms
  }
  undo(before);
  heap_ = x.heap;
  return false;
}

void Specialiser::make_real(Fork& a, Fork& b, AVal& va, AVal& vb) {
  const auto can_be = [&](const Fork& x, const AVal& v) {
    heap_ = x.heap;
    return can_box(AVal::of(Value::none()), {v}, {});
  };
  if (can_merge(va, vb) || !can_be(a, va) || !can_be(b, vb)) return;
  make_real(a, va);
  make_real(b, vb);
}

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

// Who a function or an object that extends tuple is that each branch has made: a new one, but the same wherever these
// two meet. kNoHeap: of what is known outside.
HeapId Specialiser::merged_identity(const AVal& a, const AVal& b, Fork& fa, Fork& fb, JoinBlock& j) {
  const auto inside = [](const AVal& f, const Fork& x) { return f.heap != kNoHeap && !x.heap[f.heap]->escaped; };
  if (!inside(a, fa) || !inside(b, fb)) return kNoHeap;
  auto [at, fresh] = j.identities.try_emplace({a.heap, b.heap}, kNoHeap);
  if (!fresh) return at->second;
  const auto made = std::make_shared<AObject>();
  made->kind = AObject::Kind::identity;
  at->second = next_heap_++;
  fa.heap.put(at->second, made);
  fb.heap.put(at->second, made);
  heap_.put(at->second, made);  // merge_heaps fills it already
  return at->second;
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

void Specialiser::abandon_parted(const AVal& poison, std::string reason) {
  ask_to_part(poison.node);
  abandon(Reason::branches, std::move(reason));
}

void Specialiser::abandon_at_exit(const AObject& o) {
  ask_to_part(o.parted);
  abandon(Reason::branches, "a list, dict or object that differs between branches leaves");
}

void Specialiser::abandon_torn(const AObject& o, std::string_view what) {
  if (!o.tag.is_none()) throw NeedSide{o.tag};
  ask_to_part(o.parted);
  const SourceFile* file = o.torn.known() ? session.sources.file(o.torn.file) : nullptr;
  if (!file) abandon(Reason::branches, fmt::format("{} that differs between branches", what));
  abandon(Reason::branches, fmt::format("{} that differs between the branches of {}:{}", what, file->name(),
                                        file->line_col(o.torn.begin).line));
}

// What both know: they are from where they parted on lists of their own.
static Residual::Facts common_facts(Residual::Facts a, Residual::Facts b) {
  const auto length = [](const Residual::Facts& f) {
    size_t n = 0;
    for (const Residual::Fact* at = f.get(); at; at = at->before.get()) ++n;
    return n;
  };
  size_t x = length(a), y = length(b);
  for (; x > y; --x) a = a->before;
  for (; y > x; --y) b = b->before;
  for (; a != b; a = a->before) b = b->before;
  return a;
}

Outcome Specialiser::join(AFrame& f, Fork& a, Fork& b, const Meet& meet) {
  using K = Outcome::Kind;
  auto adopt = [&](Fork& x) {
    f.env = std::move(x.env);
    heap_ = std::move(x.heap);
    code.switch_to(x.end);
    return x.outcome;
  };
  Effects both = a.effects | b.effects;
  effects_ = both;
  if (a.outcome.kind == K::dead && b.outcome.kind == K::dead) return {};
  // Where one side has written outside, so does the other: from here on nothing is left to write.
  const auto write_both = [&] {
    for (Fork* x : {&a, &b}) {
      if (x->outcome.kind == K::dead || x->effects.done || !both.done) continue;
      heap_ = x->heap;
      effects_ = x->effects;
      code.switch_to(x->end);
      write_all();
      x->heap = heap_;
      x->end = code.current();
    }
    effects_ = both;
  };
  write_both();
  if (a.outcome.kind == K::dead) return adopt(b);
  if (b.outcome.kind == K::dead) return adopt(a);
  if (a.outcome.kind != b.outcome.kind) abandon(Reason::branches, "branches that end differently");
  JoinBlock j;
  j.block = code.new_block();
  j.parted = meet.parted;
  j.tag = meet.tag;
  if (meet.label) {
    const ir::NameId tag = code.block_param(j.block, ir::types::boolean());
    j.tag = tag;
    j.from_a.push_back(code.boolean(true));
    j.from_b.push_back(code.boolean(false));
  }
  j.names = meet.names;
  j.born = meet.born;
  j.place = {.code = f.code.get(), .meet = meet.at, .begin = meet.parted.begin};
  const bool of_let = meet.at == BlockId::none && a.outcome.kind == K::reached;
  const std::vector<bool> every(of_let ? a.env.size() : 0, true);
  const auto live_here = [&]() -> const std::vector<bool>& { return of_let ? every : f.flow->live_in[index(meet.at)]; };
  const auto place = [&](Parted::What what, size_t variable = 0) {
    j.place.what = what;
    j.place.variable = static_cast<uint32_t>(variable);
  };
  Outcome out;
  out.kind = a.outcome.kind;
  if (!request_.made_real.empty()) {
    if (out.kind == K::returned) {
      place(Parted::What::result);
      if (is_made_real(j)) make_real(a, b, a.outcome.value, b.outcome.value);
    } else {
      const std::vector<bool>& live = live_here();
      for (size_t i = 0; i < live.size(); ++i) {
        place(Parted::What::variable, i);
        if (live[i] && is_made_real(j)) make_real(a, b, a.env[i], b.env[i]);
      }
    }
    place(Parted::What::objects);
    make_objects_real(a, b, j);
    both = a.effects | b.effects;
    write_both();
  }
  j.ends[0] = a.end, j.ends[1] = b.end;
  if (out.kind == K::returned || of_let) {
    place(Parted::What::result);
    out.value = merge(a.outcome.value, b.outcome.value, a, b, j);
  }
  if (out.kind != K::returned) {
    const std::vector<bool>& live = live_here();
    std::vector<AVal> env(a.env.size());
    for (size_t i = 0; i < env.size(); ++i)
      if (live[i]) {
        place(Parted::What::variable, i);
        env[i] = merge(a.env[i], b.env[i], a, b, j);
      }
    f.env = std::move(env);
  }
  place(Parted::What::objects);
  merge_heaps(a, b, j);
  carry_objects(a, b, j);
  code.set_facts(j.block, common_facts(code.facts(a.end), code.facts(b.end)));
  code.switch_to(a.end);
  code.jump(j.block, j.from_a);
  code.switch_to(b.end);
  code.jump(j.block, j.from_b);
  code.switch_to(j.block);
  return out;
}

}  // namespace ouro::jit
