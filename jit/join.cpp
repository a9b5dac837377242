#include "jit/join.h"

#include <fmt/format.h>

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;

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
      if (a.parts->code != b.parts->code) return false;
      [[fallthrough]];
    default:
      if (a.is(AKind::maybe_end) && a.atom != b.atom) return false;
      if (a.is(AKind::view) && !a.known.same(b.known)) return false;
      if (a.parts == b.parts) return true;
      if (a.items().size() != b.items().size()) return false;
      for (size_t i = 0; i < a.items().size(); ++i)
        if (!same(a.items()[i], b.items()[i])) return false;
      return true;
  }
}

void Specialiser::restore_heap(const AHeap& saved) {
  const size_t n = heap_.size();
  heap_ = saved;
  heap_.resize(n);
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

AVal Specialiser::merge(const AVal& a, const AVal& b, Fork& fa, Fork& fb, JoinBlock& j) {
  if (same(a, b)) return a;
  const ir::Type *ta = type_of(a), *tb = type_of(b);
  // A symbolic zero that meets a number stays symbolic: as zeros it would be added (to -0.0, which becomes 0.0) and
  // multiplied (by infinity) where the interpreter does neither.
  bool boxed_a = a.is(AKind::dynamic) && !ta, boxed_b = b.is(AKind::dynamic) && !tb;
  if ((ta && ta == tb) || (boxed_a && boxed_b)) {
    Symbol hint{};
    ir::NameId p = code.block_param(j.block, ta, hint);
    j.from_a.push_back(atom(a));
    j.from_b.push_back(atom(b));
    return AVal::dynamic(p, ta);
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
  if (a.kind == b.kind && compound && a.items().size() == b.items().size() && a.parts->code == b.parts->code) {
    auto parts = std::make_shared<AParts>(*a.parts);
    for (size_t i = 0; i < parts->items.size(); ++i) parts->items[i] = merge(a.items()[i], b.items()[i], fa, fb, j);
    AVal out = a;
    out.node = kNoNode;
    out.parts = std::move(parts);
    return out;
  }
  AVal p = AVal::marker(AKind::poison);
  if (ta && tb)
    p.known = runtime::make_str(fmt::format("{} on one branch, {} on the other", ir::to_string(ta), ir::to_string(tb)));
  return p;
}

// An external object as the call found it: as a branch leaves it that has not reached it.
static std::shared_ptr<AObject> untouched(const AObject& x, const Effects& there) {
  auto o = std::make_shared<AObject>(x);
  for (AObject::Slot& s : o->slots) s.value = s.memory = s.loaded, s.dirty = false;
  o->items = o->memory = o->loaded;
  o->keys = o->memory_keys = o->loaded_keys;
  o->dirty = o->stale = o->poisoned = false;
  if (there.unknown) forget(*o);
  return o;
}

// A slot that one branch has loaded or made, and the other has not: as the call found it, if that is known.
AVal Specialiser::merge_one_sided(const AObject::Slot& s, const AObject& other, bool other_first, Fork& a, Fork& b,
                                  JoinBlock& j) {
  if (!other.external || other.stale || s.loaded.is(AKind::unbound)) return AVal::marker(AKind::poison);
  return other_first ? merge(s.loaded, s.value, a, b, j) : merge(s.value, s.loaded, a, b, j);
}

void Specialiser::merge_heaps(Fork& a, Fork& b, JoinBlock& j) {
  size_t n = std::max(a.heap.size(), b.heap.size());
  a.heap.resize(n);
  b.heap.resize(n);
  heap_ = a.heap;
  std::vector<size_t> differing;
  AHeap::each_difference(a.heap, b.heap, [&](size_t id) { differing.push_back(id); });
  for (size_t i : differing) {
    if (!a.heap[i] || !b.heap[i]) {
      const auto only = a.heap[i] ? a.heap[i] : b.heap[i];
      Fork& other = a.heap[i] ? b : a;
      if (!only->external || (!changed_inside(*only) && !other.effects.unknown)) {
        heap_.put(i, only);
        continue;
      }
      other.heap.put(i, untouched(*only, other.effects));
    }
    const AObject &x = *a.heap[i], &y = *b.heap[i];
    auto o = std::make_shared<AObject>(x);
    o->dirty = x.dirty || y.dirty;
    o->escaped = x.escaped || y.escaped;
    o->stale = x.stale || y.stale;
    if (x.escaped != y.escaped || y.poisoned) o->poisoned = true;
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
    if (x.kind == AObject::Kind::shadow) {
      merge_shadows(*o, x, y, a, b, j);
      heap_.put(i, std::move(o));
      continue;
    }
    if (x.items.size() != y.items.size() || x.keys.size() != y.keys.size()) {
      o->poisoned = true;
    } else {
      std::vector<size_t> changed;
      PersistentArray<AVal>::each_difference(x.items, y.items, [&](size_t k) {
        if (k < x.items.size()) changed.push_back(k);
      });
      for (size_t k : changed) o->items.edit(k) = merge(x.items[k], y.items[k], a, b, j);
      for (size_t k = 0; k < x.keys.size(); ++k)
        if (!same(x.keys[k], y.keys[k])) o->poisoned = true;
    }
    if (o->kind == AObject::Kind::iterator) o->cursor = merge(x.cursor, y.cursor, a, b, j);
    if (!o->dirty) o->memory = o->items, o->memory_keys = o->keys;
    if (o->poisoned && !o->torn.known()) o->torn = j.parted;
    heap_.put(i, std::move(o));
  }
}

// A slot that only one side has is zero on the other.
void Specialiser::merge_shadows(AObject& o, const AObject& x, const AObject& y, Fork& a, Fork& b, JoinBlock& j) {
  auto find = [&](const AObject& m, const AVal& key) -> AVal {
    const int i = key_position(m.keys, key.known);
    return i < 0 ? AVal::marker(AKind::zero) : m.items[static_cast<size_t>(i)];
  };
  o.keys.clear();
  o.items.clear();
  for (const AObject* m : {&x, &y})
    for (const AVal& key : m->keys) {
      if (!find(o, key).is(AKind::zero)) continue;
      o.keys.push_back(key);
      o.items.push_back(merge(find(x, key), find(y, key), a, b, j));
    }
}

void Specialiser::abandon_torn(const AObject& o, std::string_view what) {
  const SourceFile* file = o.torn.known() ? session.sources.file(o.torn.file) : nullptr;
  if (!file) abandon(fmt::format("{} that differs between branches", what));
  abandon(fmt::format("{} that differs between the branches of {}:{}", what, file->name(),
                      file->line_col(o.torn.begin).line));
}

Outcome Specialiser::join(AFrame& f, Fork& a, Fork& b, BlockId at, Span parted) {
  using K = Outcome::Kind;
  auto adopt = [&](Fork& x) {
    f.env = std::move(x.env);
    heap_ = std::move(x.heap);
    code.switch_to(x.end);
    return x.outcome;
  };
  const Effects both = a.effects | b.effects;
  effects_ = both;
  if (a.outcome.kind == K::dead && b.outcome.kind == K::dead) return {};
  // Where one side has written outside, so does the other: from here on nothing is left to write.
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
  if (a.outcome.kind == K::dead) return adopt(b);
  if (b.outcome.kind == K::dead) return adopt(a);
  if (a.outcome.kind != b.outcome.kind) abandon("branches that end differently");
  JoinBlock j;
  j.block = code.new_block();
  j.parted = parted;
  Outcome out;
  out.kind = a.outcome.kind;
  if (out.kind == K::returned) {
    out.value = merge(a.outcome.value, b.outcome.value, a, b, j);
  } else {
    const std::vector<bool>& live = f.flow->live_in[index(at)];
    std::vector<AVal> env(a.env.size());
    for (size_t i = 0; i < env.size(); ++i)
      if (live[i]) env[i] = merge(a.env[i], b.env[i], a, b, j);
    f.env = std::move(env);
  }
  merge_heaps(a, b, j);
  code.switch_to(a.end);
  code.jump(j.block, j.from_a);
  code.switch_to(b.end);
  code.jump(j.block, j.from_b);
  code.switch_to(j.block);
  return out;
}

// ---------------------------------------------------------------- loop heads

AVal Specialiser::generalise(const AVal& v, LoopHead& lh) {
  const ir::Type* t = type_of(v);
  if (t || (v.is(AKind::dynamic) && !t)) {
    if (t && (t->kind == ir::TypeKind::none || t->kind == ir::TypeKind::string)) return v;
    ir::NameId p = code.block_param(lh.block, t);
    lh.initial.push_back(atom(v));
    lh.params.insert(index(p));
    return AVal::dynamic(p, t);
  }
  if (v.is(AKind::tuple) || v.is(AKind::closure) || v.is(AKind::bound)) {
    auto parts = std::make_shared<AParts>(*v.parts);
    for (AVal& item : parts->items) item = generalise(item, lh);
    AVal out = v;
    out.node = kNoNode;
    out.parts = std::move(parts);
    return out;
  }
  return v;
}

static AVal* part_of(AObject& o, const HeapLocation& l) {
  switch (l.part) {
    case HeapLocation::Part::slot: {
      AObject::Slot* s = o.find(Symbol::from_id(l.index));
      return s ? &s->value : nullptr;
    }
    case HeapLocation::Part::item:
      return l.index < o.items.size() ? &o.items.edit(l.index) : nullptr;
    case HeapLocation::Part::cursor:
      return &o.cursor;
  }
  return nullptr;
}

void Specialiser::generalise_state(AFrame& f, const LoopPlan& plan, LoopHead& lh) {
  for (uint32_t n : plan.names) f.env[n] = generalise(f.env[n], lh);
  for (const HeapLocation& l : plan.heap) {
    AObject& o = write(l.object);
    AVal* v = part_of(o, l);
    if (!v) abandon("an attribute that a loop makes");
    *v = generalise(*v, lh);
    // As at the end of every iteration: everything is written, or nothing is.
    const bool slot = l.part == HeapLocation::Part::slot, item = l.part == HeapLocation::Part::item;
    AObject::Slot* s = slot ? o.find(Symbol::from_id(l.index)) : nullptr;
    if (effects_.done || o.escaped) {
      if (slot) s->memory = *v;
      if (item && o.outside()) o.memory.edit(l.index) = *v;
    } else {
      if (slot) s->dirty = true;
      if (item) o.dirty = true;
    }
  }
}

// The value of a back edge fits the generalised one at the head, or the loop is not compiled.
void Specialiser::require_match(const std::string& what, const AVal& head, const AVal& back) {
  // As zeros it would be added and multiplied, where the interpreter does neither.
  if (head.is(AKind::zero) != back.is(AKind::zero)) abandon("a cotangent that only some iterations have");
  if (head.is(AKind::dynamic)) {
    if (head.type != type_of(back))
      abandon(fmt::format("a loop's {} that is {} and then {}", what, head.type ? ir::to_string(head.type) : "any",
                          type_of(back) ? ir::to_string(type_of(back)) : "structure"));
    return;
  }
  const bool compound = head.is(AKind::tuple) || head.is(AKind::closure) || head.is(AKind::bound);
  const bool alike = head.kind == back.kind &&
                     (compound ? head.items().size() == back.items().size() && head.parts->code == back.parts->code
                               : same(head, back));
  if (!alike) abandon(fmt::format("a loop's {} that changes its structure", what));
  if (!compound) return;
  for (size_t i = 0; i < head.items().size(); ++i) require_match(what, head.items()[i], back.items()[i]);
}

// As messages say it.
std::string AFrame::variable(uint32_t name) const {
  const std::string_view hint = code->names[name].hint.text();
  return hint.empty() ? "variable" : fmt::format("variable {}", hint);
}

bool Specialiser::fits(AFrame& f, BlockId head, LoopPlan& plan, const Fork& at_head, Fork& edge) {
  bool ok = true;
  const std::vector<bool>& live = f.flow->live_in[index(head)];
  auto look = [&](const AVal& h, const AVal& b, bool in_plan, auto what, auto add) {
    if (same(h, b)) return;
    if (in_plan) return require_match(what(), h, b);
    add();
    ok = false;
  };
  for (uint32_t n = 0; n < live.size(); ++n)
    if (live[n])
      look(
          at_head.env[n], edge.env[n], plan.names.count(n), [&] { return f.variable(n); },
          [&] { plan.names.insert(n); });
  std::vector<size_t> differing;
  AHeap::each_difference(at_head.heap, edge.heap, [&](size_t id) { differing.push_back(id); });
  for (size_t at : differing) {
    const auto id = static_cast<HeapId>(at);
    const auto &x = at_head.heap[id], &y = edge.heap[id];
    if (!x && y && y->external && changed_inside(*y)) {
      preload_.objects.insert(id);  // first reached inside: the head is to have it
      ok = false;
    }
    if (!x || !y) continue;
    if (x->kind == AObject::Kind::shadow && x->items.size() != y->items.size())
      abandon("a cotangent that only some iterations have");
    if (y->poisoned && !x->poisoned) abandon_torn(*y, "a list, dict or object");
    if (y->stale && !x->stale) abandon("an object that the interpreter may change in a loop");
    if (x->items.size() != y->items.size()) abandon("a list or dict that grows in a loop");
    auto heap_look = [&](const AVal& h, const AVal& b, HeapLocation l) {
      auto what = [&]() -> std::string {
        if (l.part == HeapLocation::Part::cursor) return "iterator";
        if (l.part == HeapLocation::Part::item) {
          for (uint32_t n = 0; n < live.size(); ++n)
            if (live[n] && at_head.env[n].is(AKind::ref) && at_head.env[n].heap == id)
              return fmt::format("item of {}", f.variable(n));
          return "item of a list or dict";
        }
        if (x->kind == AObject::Kind::cell) return "captured variable";
        const bool global = x->kind == AObject::Kind::globals;
        return fmt::format("{} {}", global ? "global" : "attribute", Symbol::from_id(l.index).text());
      };
      look(h, b, plan.heap.count(l), what, [&] { plan.heap.insert(l); });
    };
    PersistentArray<AVal>::each_difference(x->items, y->items, [&](size_t k) {
      if (k < x->items.size())
        heap_look(x->items[k], y->items[k], {id, HeapLocation::Part::item, static_cast<uint32_t>(k)});
    });
    for (const AObject::Slot& s : y->slots) {
      AObject::Slot* before = x->find(s.name);
      if (before)
        heap_look(before->value, s.value, {id, HeapLocation::Part::slot, s.name.id()});
      else if (!x->stale && (!x->external || !same(s.value, s.loaded))) {
        // First assigned inside: load it before the loop, so that the head has it.
        const bool there = !s.loaded.is(AKind::unbound) || x->kind == AObject::Kind::globals;
        if (x->external && there && !preload_.slots.count({id, s.name.id()})) {
          preload_.slots.insert({id, s.name.id()});
          ok = false;
        } else {
          abandon(fmt::format("attribute {} is made in a loop", s.name.text()));
        }
      }
    }
    if (x->kind == AObject::Kind::iterator) heap_look(x->cursor, y->cursor, {id, HeapLocation::Part::cursor, 0});
  }
  return ok;
}

static void collect(Specialiser& s, const AVal& head, const AVal& back, const LoopHead& lh, std::vector<Atom>& out) {
  if (head.is(AKind::dynamic)) {
    if (head.atom.is_name() && lh.params.count(index(head.atom.name()))) out.push_back(s.atom(back));
    return;
  }
  if (head.is(AKind::tuple) || head.is(AKind::closure) || head.is(AKind::bound))
    for (size_t i = 0; i < head.items().size(); ++i) collect(s, head.items()[i], back.items()[i], lh, out);
}

std::vector<Atom> Specialiser::back_edge_arguments(const LoopPlan& plan, const Fork& at_head, const Fork& edge,
                                                   const LoopHead& lh) {
  std::vector<Atom> out;
  for (uint32_t n : plan.names) collect(*this, at_head.env[n], edge.env[n], lh, out);
  for (const HeapLocation& l : plan.heap)
    collect(*this, *part_of(*at_head.heap[l.object], l), *part_of(*edge.heap[l.object], l), lh, out);
  return out;
}

}  // namespace ouro::jit
