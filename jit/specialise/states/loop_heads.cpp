// The head of a loop of the program: which parts of the state are its parameters, and whether a back edge fits them.
//
// A loop is executed abstractly until nothing changes any more. What a back edge has otherwise than the head becomes a
// parameter of the head, and the body is executed again (execute/control.cpp: residual_loop; abstract interpretation
// with widening; Cousot, Cousot 1977). What a parameter cannot stand for ends it: a value that has another structure in
// the first turn only (Unlike), for which that turn is written out, or one that always has.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/execute/loops.h"
#include "jit/specialise/states/join.h"

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;

AVal Specialiser::generalise(const AVal& v, LoopHead& lh, const OptionalForm* optional) {
  if (optional) return generalise_optional(v, *optional, lh);
  if (v.is(AKind::either)) {
    const ir::Type* t = type_of_sides(v);
    if (!t) return v;
    const ir::NameId p = code.block_param(lh.block, t);
    lh.initial.push_back(joined_atom(v, t));
    lh.params.insert(index(p));
    return AVal::dynamic(p, t);
  }
  if (v.is(AKind::position)) return generalise_position(v, lh);
  const ir::Type* t = type_of(v);
  if (t || (v.is(AKind::dynamic) && !t)) {
    if (t && t->kind == ir::TypeKind::none) return v;
    ir::NameId p = code.block_param(lh.block, t);
    code.name(p).turns = true;
    lh.initial.push_back(atom(v));
    lh.params.insert(index(p));
    return AVal::dynamic(p, t);
  }
  if (v.is(AKind::tuple) || v.is(AKind::closure) || v.is(AKind::bound)) {
    auto parts = std::make_shared<AParts>(*v.parts);
    parts->identity = AParts::next_identity++;
    for (AVal& item : parts->items) item = generalise(item, lh);
    AVal out = v;
    out.node = kNoNode;
    lh.functions = lh.functions || !v.is(AKind::tuple) || v.extends_tuple();
    if (v.extends_tuple() && v.known.as<runtime::Type>()->has_dict && is_known_outside(v))
      abandon(Reason::class_hook, "an object that extends tuple, known outside and changed by a loop");
    if (v.is(AKind::closure)) parts->function = Value();
    if (v.heap != kNoHeap && !v.is(AKind::ref)) out.heap = read(v.heap).escaped ? kNoHeap : allocate(read(v.heap));
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
  for (const HeapLocation& l : plan.forgotten)
    std::erase_if(write(l.object).slots, [&](const AObject::Slot& s) { return s.name.id() == l.index; });
  const auto form = [](const auto& forms, const auto& key) {
    const auto at = forms.find(key);
    return at == forms.end() ? nullptr : &at->second;
  };
  for (uint32_t n : plan.names)
    f.env[n] = plan.renewed.count(n) ? renew(f.env[n], lh) : generalise(f.env[n], lh, form(plan.optional_names, n));
  for (const HeapLocation& l : plan.heap) {
    const AVal* before = part_of(write(l.object), l);
    if (!before) abandon(Reason::loop_growth, "an attribute that a loop makes");
    const AVal was = *before;
    AVal general = plan.renewed_heap.contains(l) ? renew(was, lh) : generalise(was, lh, form(plan.optional_heap, l));
    AObject& o = write(l.object);
    AVal* v = part_of(o, l);
    *v = std::move(general);
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
  roll_records(plan, lh);
}

// The value of a back edge fits the generalised one at the head, or the loop is not compiled.
void Specialiser::require_match(const std::string& what, const AVal& head, const AVal& back, const Fork& edge) {
  const auto unlike = [&](std::string reason) { throw Unlike({{Reason::loop_state, std::move(reason)}, span}); };
  if (head.is(AKind::either) && optional_form(head, back)) return;
  // As zeros it would be added and multiplied, where the interpreter does neither.
  if (head.is(AKind::zero) != back.is(AKind::zero)) unlike("a cotangent that only some iterations have");
  if (head.is(AKind::dynamic)) {
    if (back.is(AKind::either) && head.type && type_of_sides(back) == head.type) return;
    if (back.is(AKind::either)) unlike(fmt::format("a loop's {} that differs between branches", what));
    if (head.type != type_of(back))
      unlike(fmt::format("a loop's {} that is {} and then {}", what, head.type ? ir::to_string(head.type) : "any",
                         type_of(back) ? ir::to_string(type_of(back)) : "structure"));
    return;
  }
  if (head.is(AKind::position) && back.is(AKind::position)) {
    const auto behind_turns = [](const AVal& v) { return v.parts && v.items().size() == 1; };
    if (head.heap == back.heap && head.known.same(back.known) && behind_turns(head) && behind_turns(back)) return;
    unlike("a loop on data whose first turns do something else");
  }
  const bool compound = head.is(AKind::tuple) || head.is(AKind::closure) || head.is(AKind::bound);
  const bool alike = head.kind == back.kind &&
                     (compound ? alike_extensions(head, back) && head.items().size() == back.items().size() &&
                                     head.parts->code == back.parts->code
                               : same(head, back));
  if (!alike) unlike(fmt::format("a loop's {} that changes its structure", what));
  const auto known_outside = [&] {
    return back.heap == kNoHeap || !edge.heap[back.heap] || edge.heap[back.heap]->escaped;
  };
  if ((head.is(AKind::closure) || head.extends_tuple()) && head.heap != kNoHeap && known_outside())
    abandon(Reason::interpreter_changed, fmt::format("a loop's {} that the interpreter knows", what));
  if (!compound) return;
  for (size_t i = 0; i < head.items().size(); ++i) require_match(what, head.items()[i], back.items()[i], edge);
}

// As messages say it.
std::string AFrame::variable(uint32_t name) const {
  const std::string_view hint = code->names[name].hint.text();
  return hint.empty() ? "variable" : fmt::format("variable {}", hint);
}

// A turn leaves zeros in a shadow map for the objects that it has made. Nobody asks for them again.
static void drop_zeros_of_turn(const AObject& head, AObject& back) {
  const AObject all = back;
  back.keys.clear();
  back.items.clear();
  for (size_t k = 0; k < all.items.size(); ++k) {
    if (k >= head.items.size() && all.items[k].is(AKind::zero)) continue;
    back.keys.push_back(all.keys[k]);
    back.items.push_back(all.items[k]);
  }
}

// A list, dict or iterator that cannot be followed in a loop is made before it, and the interpreter changes it.
bool Specialiser::escapes_before(HeapId id, const Fork& at_head) {
  using Kind = AObject::Kind;
  const auto& o = at_head.heap[id];
  const bool iterator = o && o->kind == Kind::iterator && is_at_start(*o) && can_be_made(o->source);
  const bool may = request_.holes && !recording_ && o && !o->outside() &&
                   (iterator || o->kind == Kind::list || o->kind == Kind::dict);
  if (!may) return false;
  const HeapId owner = o->kind == Kind::dict ? owner_of_dict(id, at_head.heap) : kNoHeap;
  return preload_.escaped.insert(owner == kNoHeap ? id : owner).second;
}

// A log: a list that gets a number in each turn, or a tuple, list or dict of some, and is not looked at. It is the
// runtime's from before the loop on. (What grows by tensors, say, is followed turn by turn: what is computed of them is
// to be known.)
bool Specialiser::boxed_before(HeapId id, const LoopWay& way, const AObject& head, const AObject& back) {
  if (way.kind == LoopWay::Kind::loop && way.size <= kMaxForNoHole) return false;  // it is written out in no time
  const auto is_number = [](const AVal& v) {
    return v.is(AKind::known) || (v.is(AKind::dynamic) && v.type && !v.type->is_tensor());
  };
  const auto is_entry = [&](const AVal& v) {
    if (v.is(AKind::tuple) && !v.extends_tuple()) return std::ranges::all_of(v.items(), is_number);
    if (!v.is(AKind::ref)) return is_number(v);
    const AObject& o = *heap_[v.heap];
    const bool container = o.kind == AObject::Kind::list || o.kind == AObject::Kind::dict;
    return container && !o.outside() && !o.poisoned && std::ranges::all_of(o.items, is_number);
  };
  if (recording_ || request_.holes || head.kind != AObject::Kind::list || head.poisoned || !head.tag.is_none() ||
      head.escaped || head.dirty || head.items.size() >= back.items.size())
    return false;
  bool log = true;
  PersistentArray<AVal>::each_difference(head.items, back.items,
                                         [&](size_t i) { log = log && i >= head.items.size(); });
  for (size_t i = head.items.size(); i < back.items.size(); ++i) log = log && is_entry(back.items[i]);
  return log && preload_.boxed.insert(id).second;
}

bool Specialiser::fits(AFrame& f, BlockId head, const LoopPlan& of_head, LoopPlan& plan, const Fork& at_head,
                       Fork& edge, const std::set<HeapId>& renewed) {
  bool ok = true;
  const std::vector<bool>& live = f.flow->live_in[index(head)];
  heap_ = edge.heap;
  code.switch_to(edge.end);
  to_turn_ends(edge.env);
  edge.heap = heap_;
  auto look = [&](const AVal& h, const AVal& b, auto known, auto optional, const auto& place, auto what) {
    if (same(h, b)) return;
    if ((of_head.*known).count(place)) {
      // What only the first turn has otherwise is written out where turns have no records, and a zero always.
      const bool either = h.is(AKind::either) || b.is(AKind::either), zero = h.is(AKind::zero) || b.is(AKind::zero);
      const bool may = !(of_head.*optional).count(place) && (either || (plan.may_roll && !zero));
      const auto form = may ? optional_form(h, b) : std::nullopt;
      if (!form) return require_match(what(), h, b, edge);
      (plan.*optional).emplace(place, *form);
    }
    (plan.*known).insert(place);
    ok = false;
  };
  const auto of_each_turn = [&](uint32_t n) {
    const AVal &h = at_head.env[n], &b = edge.env[n];
    if (same(h, b)) return of_head.renewed.contains(n);
    if (of_head.renewed.contains(n)) return require_renewed(f.variable(n), h, b, at_head, edge), true;
    if (!are_renewed(h, b, at_head.heap, edge.heap) || !reached_by_it_alone(f, h, n, nullptr, at_head, live))
      return false;
    plan.renewed.insert(n);
    plan.names.insert(n);
    return ok = false, true;
  };
  const auto held_elsewhere = [&](std::string_view what) {
    abandon(Reason::loop_state, fmt::format("a loop's {} that something else holds, too", what));
  };
  for (uint32_t n = 0; n < live.size(); ++n) {
    if (!live[n]) continue;
    if (!of_each_turn(n))
      look(at_head.env[n], edge.env[n], &LoopPlan::names, &LoopPlan::optional_names, n, [&] { return f.variable(n); });
    else if (!reached_by_it_alone(f, edge.env[n], n, nullptr, edge, live))
      held_elsewhere(f.variable(n));
  }
  const auto slot_at = [](const AHeap& heap, const HeapLocation& l) -> const AVal* {
    AObject::Slot* s = heap[l.object] ? heap[l.object]->find(Symbol::from_id(l.index)) : nullptr;
    return s ? &s->value : nullptr;
  };
  for (const HeapLocation& l : of_head.renewed_heap) {
    const std::string what = fmt::format("attribute {}", Symbol::from_id(l.index).text());
    const AVal *h = slot_at(at_head.heap, l), *b = slot_at(edge.heap, l);
    if (!h || !b) abandon(Reason::loop_growth, fmt::format("{} is made in a loop", what));
    if (!same(*h, *b)) require_renewed(what, *h, *b, at_head, edge);
    if (!reached_by_it_alone(f, *b, std::nullopt, &l, edge, live)) held_elsewhere(what);
  }
  check_shared_chains(plan, at_head, edge);
  std::vector<size_t> differing;
  AHeap::each_difference(at_head.heap, edge.heap, [&](size_t id) { differing.push_back(id); });
  for (size_t at : differing) {
    const auto id = static_cast<HeapId>(at);
    if (renewed.contains(id)) continue;  // another one stands in its place at the next head
    const auto& x = at_head.heap[id];
    if (x && x->kind == AObject::Kind::shadow && edge.heap[id]->items.size() > x->items.size())
      drop_zeros_of_turn(*x, edge.heap.own(id));
    const auto& y = edge.heap[id];
    if (!x && y && y->external && changed_inside(*y)) {
      preload_.objects.insert(id);  // first reached inside: the head is to have it
      ok = false;
    }
    if (!x || !y) continue;
    if (x->kind == AObject::Kind::turn) continue;
    if (x->kind == AObject::Kind::shadow && x->items.size() != y->items.size())
      throw Unlike({{Reason::loop_state, "a cotangent that only some iterations have"}, span});
    if (y->escaped && !x->escaped) {  // it is the same one in all iterations
      if (x->kind == AObject::Kind::identity)
        abandon(Reason::interpreter_changed, "a function or tuple that the interpreter gets to know in a loop");
      preload_.escaped.insert(id);
      ok = false;
      continue;
    }
    if (!x->tag.is_none() || !y->tag.is_none()) {
      if (escapes_before(id, at_head)) {
        ok = false;
        continue;
      }
      abandon(Reason::branches, "a list, dict or object that differs between branches in a loop");
    }
    if (y->poisoned && !x->poisoned) abandon_torn(*y, "a list, dict or object");
    if (y->stale && !x->stale)
      abandon(Reason::interpreter_changed, "an object that the interpreter may change in a loop");
    if (x->items.size() != y->items.size()) {
      if (boxed_before(id, loop_ways_[{f.code.get(), index(head)}], *x, *y) || escapes_before(id, at_head)) {
        ok = false;
        continue;
      }
      if (x->kind != AObject::Kind::seq || !plan.may_roll || !only_pushed(*x, *y))
        abandon(Reason::loop_growth, x->kind == AObject::Kind::seq
                                         ? "a derivative of a loop whose first turns have other types than the rest"
                                         : "a list or dict that grows in a loop");
      ok = !plan.rolled.try_emplace(id, y->cursor.known.as_int()).second && ok;
      continue;
    }
    if (x->kind == AObject::Kind::set && !alike(*x->concrete.as<runtime::Set>(), *y->concrete.as<runtime::Set>()))
      abandon(Reason::loop_growth, "a set that changes in a loop");
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
      if (of_head.renewed_heap.contains(l)) return;
      // Each turn writes another object there, for all to see: the next one looks at what is there.
      const bool slot = l.part == HeapLocation::Part::slot && x->external && h.is(AKind::ref) && b.is(AKind::ref);
      if (slot && !same(h, b) && effects_.done && !y->find(Symbol::from_id(l.index))->dirty) {
        plan.forgotten.insert(l);
        plan.heap.erase(l);
        ok = false;
        return;
      }
      if (l.part == HeapLocation::Part::slot && !same(h, b) && are_renewed(h, b, at_head.heap, edge.heap) &&
          reached_by_it_alone(f, h, std::nullopt, &l, at_head, live)) {
        plan.renewed_heap.insert(l);
        plan.heap.insert(l);
        ok = false;
        return;
      }
      look(h, b, &LoopPlan::heap, &LoopPlan::optional_heap, l, what);
    };
    PersistentArray<AVal>::each_difference(x->items, y->items, [&](size_t k) {
      if (k < x->items.size())
        heap_look(x->items[k], y->items[k], {id, HeapLocation::Part::item, static_cast<uint32_t>(k)});
    });
    for (const AObject::Slot& s : x->slots) {
      if (y->find(s.name)) continue;
      const HeapLocation slot{id, HeapLocation::Part::slot, s.name.id()};
      plan.forgotten.insert(slot);
      plan.heap.erase(slot);
      ok = false;
    }
    for (const AObject::Slot& s : y->slots) {
      AObject::Slot* before = x->find(s.name);
      if (!before && !s.dirty && of_head.forgotten.contains({id, HeapLocation::Part::slot, s.name.id()})) continue;
      if (before)
        heap_look(before->value, s.value, {id, HeapLocation::Part::slot, s.name.id()});
      else if (!x->stale && (!x->external || !same(s.value, s.loaded))) {
        // First assigned inside: load it before the loop, so that the head has it.
        const bool there = !s.loaded.is(AKind::unbound) || x->kind == AObject::Kind::globals;
        if (x->external && there && !of_head.preloaded.count({id, s.name.id()})) {
          preload_.slots.insert({id, s.name.id()});
          ok = false;
        } else {
          throw Unlike({{Reason::loop_growth, fmt::format("attribute {} is made in a loop", s.name.text())}, span});
        }
      }
    }
    if (x->kind == AObject::Kind::iterator && !same(x->cursor, y->cursor) && escapes_before(id, at_head)) {
      ok = false;
      continue;
    }
    if (x->kind == AObject::Kind::iterator) heap_look(x->cursor, y->cursor, {id, HeapLocation::Part::cursor, 0});
  }
  return ok;
}

static void collect(Specialiser& s, const AVal& head, const AVal& back, const LoopHead& lh,
                    std::map<uint32_t, Atom>& chains, std::vector<Atom>& out) {
  if (head.is(AKind::dynamic)) {
    if (head.atom.is_name() && lh.params.count(index(head.atom.name()))) out.push_back(s.joined_atom(back, head.type));
    return;
  }
  if (head.is(AKind::either)) {
    if (!lh.params.count(index(head.atom.name()))) return;
    const auto [is_nothing, there] = s.optional_atoms(back, {head.items()[0], head.items()[1].type});
    out.push_back(is_nothing);
    out.push_back(there);
    return;
  }
  if (head.is(AKind::position) && head.parts) {
    const Atom param = head.items()[0].atom, passed = back.items()[0].atom;
    if (!lh.params.count(index(param.name()))) return;
    const auto [at, fresh] = chains.try_emplace(index(param.name()), passed);
    if (fresh) out.push_back(passed);
    if (at->second != passed) ouro_bug("specialise: positions that share a chain part at a back edge");
    return;
  }
  if (head.is(AKind::tuple) || head.is(AKind::closure) || head.is(AKind::bound))
    for (size_t i = 0; i < head.items().size(); ++i) collect(s, head.items()[i], back.items()[i], lh, chains, out);
}

std::vector<Atom> Specialiser::back_edge_arguments(const LoopPlan& plan, const Fork& at_head, const Fork& edge,
                                                   const LoopHead& lh) {
  std::vector<Atom> out;
  std::map<uint32_t, Atom> chains;
  const auto pass = [&](const AVal& head, const AVal& back) { collect(*this, head, back, lh, chains, out); };
  for (uint32_t n : plan.names)
    if (plan.renewed.contains(n))
      renewed_arguments(at_head.env[n], edge.env[n], at_head, edge, pass);
    else
      pass(at_head.env[n], edge.env[n]);
  for (const HeapLocation& l : plan.heap) {
    const AVal &head = *part_of(*at_head.heap[l.object], l), &back = *part_of(*edge.heap[l.object], l);
    if (plan.renewed_heap.contains(l))
      renewed_arguments(head, back, at_head, edge, pass);
    else
      pass(head, back);
  }
  if (!plan.rolled.empty()) out.push_back(chain_with_turn(lh));
  return out;
}

}  // namespace ouro::jit
