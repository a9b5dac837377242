// Records: what differentiated code keeps of each passage through a block of a loop (ir/grad/reverse.cpp). It is pushed
// to the seq of that block, and taken from its end.
//
// A block behind a branch that is not decided has pushed on one way only: the seq has a record all the same, whose last
// item says whether it is there. So the place of a record does not depend on the ways that were taken: a position
// passes those by that are not there (previous_record), and so no number of the program has to count.
//
// A loop of the program pushes as often as it has turns. What a turn pushes has the same structure each time, with
// other numbers in it, its *leaves*. So the program keeps the leaves alone, in a chain that is a parameter of the
// loop's head, and the structure is known here:
//
//     chain = None                       each turn: chain = (chain, leaf, leaf, ...)
//
// In each seq that the loop pushes to, one record stands for those of all turns (AKind::rolled: the chain behind the
// loop, and which loop). The reverse of the loop is a loop of the program, too. A leaf decides how it goes on: the
// label that says from where the turn was entered. A position there is one of
//
//     a number n             behind n records of the seq
//     chain                  behind the last turn of the chain, in the record that stands for all turns
//     chain, j               behind j of the records of the last turn of the chain
//
// and at each back edge it is one of the first two. Reading takes the last turn of the chain apart, once for all seqs
// of the loop: a branch of the turn is one bool in all of its records, and an object or function that a turn makes is
// one, which a shadow map knows by its identity.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/execute/prims.h"
#include "jit/specialise/states/join.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;
using ir::index;

namespace {

AVal number(int64_t i) { return AVal::of(Value::integer(i)); }

AVal position_at(HeapId seq, int64_t i) {
  AVal at = AVal::marker(AKind::position);
  at.heap = seq;
  at.known = Value::integer(i);
  return at;
}

// Behind the last turn of the chain, or behind j of its records.
AVal position_in(HeapId seq, int64_t i, const AVal& chain, int64_t j = -1) {
  AVal at = position_at(seq, i);
  at.parts = (j < 0 ? AVal::tuple({chain}) : AVal::tuple({chain, number(j)})).parts;
  return at;
}

bool is_rolled(const AVal& flag) { return flag.is(AKind::rolled); }
const AVal& chain_of(const AVal& position) { return position.items()[0]; }
// How many records of the last turn stand before it; -1: all.
int64_t within_turn(const AVal& position) {
  return position.items().size() > 1 ? position.items()[1].known.as_int() : -1;
}

size_t width_of(const AObject& q) {
  return q.cursor.is(AKind::known) && q.cursor.known.is_int() ? static_cast<size_t>(q.cursor.known.as_int()) : 0;
}

}  // namespace

namespace handlers {

AVal seq_new(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>&) {
  AObject o;
  o.kind = AObject::Kind::seq;
  return AVal::of_heap(s.allocate(std::move(o)));
}

// Gives the record's place, which a derivative of second order has as a slot.
AVal seq_push(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  s.records_of(a[0]);
  AObject& q = s.write(a[0].heap);
  const size_t width = a.size();
  q.cursor = number(static_cast<int64_t>(width));
  const size_t at = q.items.size() / width;
  q.items.append(a.begin() + 1, a.end());
  q.items.push_back(AVal::of(Value::boolean(true)));
  if (!q.rolled) return number(static_cast<int64_t>(at));
  AVal nobody_knows = AVal::marker(AKind::poison);
  nobody_knows.known = runtime::make_str("the second derivative of a loop whose number of turns depends on data");
  return nobody_knows;
}

AVal seq_get(Specialiser& s, AFrame&, const ir::Let& l, std::vector<AVal>& a) {
  s.records_of(a[0]);
  return s.record_item(a[0].heap, a[1], l.attr);
}

AVal seq_len(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) {
  const AObject& q = s.records_of(a[0]);
  const size_t width = width_of(q);
  return position_at(a[0].heap, width ? static_cast<int64_t>(q.items.size() / width) : 0);
}

AVal seq_prev(Specialiser& s, AFrame&, const ir::Let&, std::vector<AVal>& a) { return s.previous_record(a[0]); }

}  // namespace handlers

// ---------------------------------------------------------------- reading

const AObject& Specialiser::records_of(const AVal& seq) {
  if (!seq.is(AKind::ref)) abandon(Reason::derivative, "residuals that cross the interpreter");
  const AObject& q = read(seq.heap);
  if (q.poisoned) abandon_torn(q, "residuals");
  return q;
}

AVal Specialiser::record_item(HeapId seq, const AVal& position, size_t item) {
  const size_t width = width_of(read(seq));
  if (position.is(AKind::position) && position.parts) {
    const auto flag = read(seq).items[static_cast<size_t>(position.known.as_int() + 1) * width - 1];
    return turn_item(seq, one_side(settle(flag)), chain_of(position),
                     static_cast<size_t>(within_turn(position)) * width + item);
  }
  const auto i = concrete(position);
  if (!i) abandon(Reason::loop_on_data, "the reverse of a loop of computed length");
  const size_t at = static_cast<size_t>(i->as_int()) * width + item;
  if (at >= read(seq).items.size()) ouro_bug("specialise: record %zu of %zu items", at, read(seq).items.size());
  return read(seq).items[at];
}

AVal Specialiser::previous_record(const AVal& position) {
  if (!position.is(AKind::position)) return binary(prim::sub, position, number(1));
  const AObject& q = records_of(AVal::of_heap(position.heap));
  const size_t width = width_of(q);
  const auto is_there = [&](const AVal& flag) {
    const AVal there = settle(flag);
    if (const AVal* ways = there.ways()) throw NeedSide{ways->atom};
    return one_side(there).known.as_bool();
  };
  for (AVal at = position;;) {
    const int64_t n = at.known.as_int();
    if (!at.parts) {
      if (n == 0) break;
      const AVal flag = one_side(settle(q.items[static_cast<size_t>(n) * width - 1]));
      at = position_at(position.heap, n - 1);
      if (is_rolled(flag))
        at = position_in(position.heap, n - 1, AVal::dynamic(flag.atom, nullptr));
      else if (is_there(flag))
        return at;
      continue;
    }
    const AVal rolled = one_side(settle(q.items[static_cast<size_t>(n + 1) * width - 1]));
    int64_t j = within_turn(at);
    if (j < 0) j = turn_records(position.heap, rolled);
    if (j == 0) {  // what was pushed before the loop
      at = position_at(position.heap, n);
      continue;
    }
    const AVal flag = turn_item(position.heap, rolled, chain_of(at), static_cast<size_t>(j) * width - 1);
    need_there(flag);
    at = position_in(position.heap, n, chain_of(at), j - 1);
    if (is_there(flag)) return at;
  }
  // The reverse of a loop with a break begins within a turn: that turn is written out.
  throw Unlike({{Reason::derivative, "the gradient of a loop that data ends within a turn"}, span});
}

// The reverse of a block asks for the block's record, so the turn has passed through the block. Sometimes only the
// label in the next turn's record says so, and the flag of this record is open: then the program tests it, and is left
// if it is false.
void Specialiser::need_there(const AVal& flag) {
  for (AVal there = settle(flag);; there = settle(flag)) {
    const AVal* sides = there.is(AKind::either) ? &there : there.ways();
    if (!sides) return;
    const bool absent = sides->items()[0].is(AKind::known) && !sides->items()[0].known.as_bool();
    const AVal tag = AVal::dynamic(sides->atom, ir::types::boolean());
    leave_if(absent ? tag : unary(prim::not_, tag), "a record that is not there");
    enter_side(sides->atom, !absent);
  }
}

const Rolled& Specialiser::rolled_of(const AVal& flag) {
  const Rolled& r = *rolled_[static_cast<size_t>(flag.known.as_int())];
  if (!r.known) abandon(Reason::loop_on_data, "a derivative inside of the loop that it is of");
  return r;
}

// How many each turn has pushed to the seq.
int64_t Specialiser::turn_records(HeapId seq, const AVal& flag) {
  return static_cast<int64_t>(rolled_of(flag).items.at(seq).size() / width_of(read(seq)));
}

// The last turn of a chain, taken apart where that was not done yet.
const AObject& Specialiser::unpacked_turn(const Rolled& r, const AVal& chain) {
  auto [at, fresh] = turns_.try_emplace(index(chain.atom.name()));
  Turn& t = at->second;
  if (fresh) {
    t.unpacked = next_heap_++;
    for (const auto& [id, o] : r.objects) t.objects[id] = next_heap_++;
  }
  const bool again = !heap_[t.unpacked];  // the objects that a branch has taken out have its names
  if (again) {
    AObject o;
    o.kind = AObject::Kind::turn;
    const auto take = [&](const ir::Type* type, bool optional) {
      const ir::NameId n = code.let(prim::tuple_get, {chain.atom}, static_cast<uint32_t>(o.items.size()), type, span);
      code.name(n).optional = optional;
      o.items.push_back(AVal::dynamic(n, type));
    };
    take(nullptr, true);
    for (const Rolled::Leaf& l : r.leaves) take(l.type, l.optional);
    heap_.put(t.unpacked, std::make_shared<AObject>(std::move(o)));
  }
  for (const auto& [id, o] : r.objects) {
    if (!again && heap_[t.objects[id]]) continue;
    auto made = std::make_shared<AObject>(*AObject::mapped(
        o, [&](const AVal& v) { return of_turn(v, r, t); },
        [&](Atom& a, const ir::Type* type) {
          a = atom_of_turn(a, r, t);
          if (type && a.is_name()) tags_.insert(index(a.name()));
        }));
    made->of_turn = true;
    heap_.put(t.objects[id], std::move(made));
  }
  return *heap_[t.unpacked];
}

AVal Specialiser::turn_item(HeapId seq, const AVal& flag, const AVal& chain, size_t item) {
  const Rolled& r = rolled_of(flag);
  unpacked_turn(r, chain);
  return of_turn(r.items.at(seq)[item], r, turns_.at(index(chain.atom.name())));
}

Atom Specialiser::atom_of_turn(Atom a, const Rolled& r, const Turn& t) const {
  const auto leaf = a.is_name() ? r.leaf_of.find(index(a.name())) : r.leaf_of.end();
  if (leaf == r.leaf_of.end()) return a;
  return heap_[t.unpacked]->items[leaf->second + 1].atom;
}

// What a turn has where the template has `v`.
AVal Specialiser::of_turn(const AVal& v, const Rolled& r, Turn& t) {
  AVal out = v;
  if (v.is(AKind::dynamic) || v.is(AKind::either) || v.is(AKind::maybe_end)) out.atom = atom_of_turn(v.atom, r, t);
  if (v.is(AKind::either) && out.atom.is_name()) tags_.insert(index(out.atom.name()));
  if (const auto made = t.objects.find(v.heap); v.heap != kNoHeap && made != t.objects.end()) out.heap = made->second;
  if (!v.parts) return out;
  auto parts = std::make_shared<AParts>(*v.parts);
  bool changed = out.heap != v.heap;
  if (parts->identity >= r.born) {
    const auto [at, fresh] = t.identities.try_emplace(parts->identity, 0);
    if (fresh) at->second = AParts::next_identity.fetch_add(1, std::memory_order_relaxed);
    parts->identity = at->second;
    changed = true;
  }
  const auto follow = [&](AVal& item) {
    AVal c = of_turn(item, r, t);
    changed = changed || !same(c, item) || c.parts != item.parts;
    item = std::move(c);
  };
  parts->each(follow);
  if (!changed) return out;
  parts->function = Value();
  out.node = kNoNode;
  out.parts = std::move(parts);
  return out;
}

// ---------------------------------------------------------------- a loop of the program that pushes records

// At the loop's head, one record for all turns.
void Specialiser::roll_records(const LoopPlan& plan, LoopHead& lh) {
  if (plan.rolled.empty()) return;
  const ir::NameId chain = code.block_param(lh.block, nullptr, intern("records"));
  code.name(chain).optional = true;
  lh.initial.push_back(code.none());
  lh.chain = chain;
  lh.rolled = rolled_.size();
  rolled_.push_back(std::make_shared<Rolled>());
  for (const auto& [seq, width] : plan.rolled) {
    AObject& q = write(seq);
    q.cursor = number(width);
    q.rolled = true;
    q.items.resize(q.items.size() + static_cast<size_t>(width) - 1);
    AVal flag = AVal::marker(AKind::rolled);
    flag.atom = chain;
    flag.known = Value::integer(static_cast<int64_t>(lh.rolled));
    q.items.push_back(std::move(flag));
  }
}

// Has the turn done nothing to the seq but push to it?
bool Specialiser::only_pushed(const AObject& head, const AObject& back) const {
  bool prefix = head.items.size() < back.items.size() && (head.items.empty() || same(head.cursor, back.cursor)) &&
                !head.escaped && !back.escaped;
  PersistentArray<AVal>::each_difference(head.items, back.items, [&](size_t i) {
    prefix = prefix && (i >= head.items.size() || same(head.items[i], back.items[i]));
  });
  return prefix;
}

// What the turn that ends at this back edge has pushed, as the template of all turns. False: the head is to know of
// more.
bool Specialiser::describe_turn(const LoopPlan& plan, const Fork& at_head, const Fork& edge, Rolled& r) {
  bool complete = true;
  std::set<HeapId> seen;
  const auto sizes = [&](const ir::Type* t) {
    if (!t || !t->is_tensor()) return;
    for (const ir::SymDim& d : t->dims)
      if (!d.known() && !extents_.count(d.symbol))
        abandon(Reason::loop_on_data, "tensors whose sizes depend on data, kept in a loop on data");
  };
  const auto leaf = [&](Atom a, const ir::Type* type) {
    if (!a.is_name() || code.name(a.name()).input) return;
    sizes(type);
    if (r.leaf_of.try_emplace(index(a.name()), r.leaves.size()).second)
      r.leaves.push_back({a, type, code.name(a.name()).optional});
  };
  const auto object = [&](auto& value, HeapId id) -> void {
    if (at_head.heap[id] || !edge.heap[id] || !seen.insert(id).second) return;
    if (edge.heap[id]->external) {
      complete = !preload_.objects.insert(id).second && complete;
      return;
    }
    r.objects[id] = edge.heap[id];
    const auto as_it_is = [&](const AVal& v) { return value(value, v), v; };
    AObject::mapped(r.objects[id], as_it_is, [&](Atom& a, const ir::Type* type) { leaf(a, type); });
  };
  const auto value = [&](auto& self, const AVal& v) -> void {
    if (v.is(AKind::position) || v.is(AKind::rolled))
      abandon(Reason::loop_on_data, "a loop on data inside of another one");
    if (v.is(AKind::like)) sizes(v.type);
    if (v.is(AKind::dynamic)) leaf(v.atom, v.type);
    if (v.is(AKind::either) || v.is(AKind::maybe_end)) leaf(v.atom, ir::types::boolean());
    if (v.heap != kNoHeap) object(self, v.heap);
    if (v.parts) AParts(*v.parts).each([&](const AVal& item) { self(self, item); });
  };
  for (const auto& [seq, width] : plan.rolled) {
    const auto &head = at_head.heap[seq]->items, &back = edge.heap[seq]->items;
    std::vector<AVal>& items = r.items[seq];
    for (size_t i = head.size(); i < back.size(); ++i) {
      items.push_back(back[i]);
      value(value, items.back());
    }
  }
  return complete;
}

// The loop is done: what its turns leave is known. False: the head is to know of more.
bool Specialiser::roll_turns(const LoopPlan& plan, const Fork& at_head, const std::vector<Fork>& edges,
                             const LoopHead& lh) {
  // A shadow map knows a function by its identity, and this one has another in the next turn.
  if (lh.functions) abandon(Reason::loop_on_data, "a function that each turn of a loop on data makes for the next one");
  Rolled& r = *rolled_[lh.rolled];
  for (const auto& [seq, width] : plan.rolled) r.items[seq];
  r.known = edges.empty() || describe_turn(plan, at_head, edges.front(), r);  // join_edges has left one
  return r.known;
}

// The chain with the turn that ends here.
Atom Specialiser::chain_with_turn(const LoopHead& lh) {
  std::vector<AVal> items{AVal::dynamic(lh.chain, nullptr)};
  for (const Rolled::Leaf& l : rolled_[lh.rolled]->leaves) items.push_back(AVal::dynamic(l.atom, l.type));
  return materialise(AVal::tuple(std::move(items)));
}

// ---------------------------------------------------------------- positions where ways meet

// Without the records at its end that are not there where a fork stands.
AVal Specialiser::settled_position(const AVal& position, const Fork& at) {
  if (!at.heap[position.heap]) return position;
  const AHeap here = heap_;
  const ir::BlockId block = code.current();
  heap_ = at.heap;
  code.switch_to(at.end);
  const AVal out = without_absent(position);
  heap_ = here;
  code.switch_to(block);
  return out;
}

AVal Specialiser::without_absent(const AVal& position) {
  const AObject& q = *heap_[position.heap];
  const size_t width = width_of(q);
  if (!width || !q.tag.is_none()) return position;
  const auto is_absent = [&](const AVal& flag) {
    const AVal there = settle(flag);
    return there.is(AKind::known) && !there.known.as_bool();
  };
  int64_t n = position.known.as_int();
  if (position.parts) {
    const AVal flag = settle(q.items[static_cast<size_t>(n + 1) * width - 1]);
    const AVal& chain = chain_of(position);
    if (!is_rolled(flag)) return position;
    const auto turn = turns_.find(index(chain.atom.name()));
    if (turn == turns_.end() || !heap_[turn->second.unpacked]) return position;  // nobody has looked at it
    const int64_t all = turn_records(position.heap, flag);
    int64_t j = within_turn(position) < 0 ? all : within_turn(position);
    while (j > 0 && is_absent(turn_item(position.heap, flag, chain, static_cast<size_t>(j) * width - 1))) --j;
    return j == all ? position : position_in(position.heap, n, chain, j);
  }
  while (n > 0 && is_absent(q.items[static_cast<size_t>(n) * width - 1])) --n;
  return position_at(position.heap, n);
}

// Two ways that meet in the reverse stand at one place of the forward code, so they have the same number of records
// before them. Where their positions differ, one has gone through the turns of a loop, and on the other there were
// none: the lower position is right. Unbound: they differ in something else.
AVal Specialiser::merged_position(const AVal& a, const AVal& b, const Fork& fa, const Fork& fb) {
  // One that has read none of a loop's turns stands behind them all.
  const auto beside = [&](const AVal& v, const AVal& other, const Fork& at) {
    if (v.parts || !other.parts || v.known.as_int() != other.known.as_int() + 1) return v;
    const AObject& q = *at.heap[v.heap];
    const AVal& flag = q.items[static_cast<size_t>(v.known.as_int()) * width_of(q) - 1];
    return is_rolled(flag) ? position_in(v.heap, v.known.as_int() - 1, AVal::dynamic(flag.atom, nullptr)) : v;
  };
  const AVal x = settled_position(beside(a, b, fa), fa), y = settled_position(beside(b, a, fb), fb);
  if (same(x, y)) return x;
  if (x.parts && y.parts) {
    if (!x.known.same(y.known) || !same(chain_of(x), chain_of(y))) return {};
    return within_turn(y) < 0 || (within_turn(x) >= 0 && within_turn(x) < within_turn(y)) ? x : y;
  }
  if ((x.parts && within_turn(x) > 0) || (y.parts && within_turn(y) > 0)) return {};
  const int64_t nx = x.known.as_int(), ny = y.known.as_int();
  const Fork& further = nx < ny ? fb : fa;
  const AObject& q = *further.heap[a.heap];
  const size_t width = width_of(q);
  for (int64_t i = std::max(nx, ny); i > std::min(nx, ny); --i)
    if (!is_rolled(q.items[static_cast<size_t>(i) * width - 1])) return {};
  return position_at(a.heap, std::min(nx, ny));
}

AVal Specialiser::turn_before(const AVal& position) {
  const AObject& q = read(position.heap);
  const auto n = static_cast<size_t>(position.known.as_int());
  const AVal flag = one_side(settle(q.items[(n + 1) * width_of(q) - 1]));
  return position_in(position.heap, position.known.as_int(),
                     unpacked_turn(rolled_of(flag), chain_of(position)).items[0]);
}

// At a back edge a position that has gone through a whole turn stands behind the turn before.
void Specialiser::to_turn_ends(std::vector<AVal>& env) {
  const auto passed = [](const AVal& v) { return v.is(AKind::position) && v.parts && within_turn(v) == 0; };
  std::set<uint32_t> chains;  // whose last turn has been gone through
  for (const AVal& v : env)
    if (passed(v)) chains.insert(index(chain_of(v).atom.name()));
  if (chains.empty()) return;
  for (AVal& v : env) {
    if (!v.is(AKind::position) || !v.parts || !chains.count(index(chain_of(v).atom.name()))) continue;
    if (!passed(v)) {
      const AVal there = without_absent(v);
      if (!passed(there)) continue;  // the next turn of the reverse reads it
      v = there;
    }
    v = turn_before(v);
  }
}

// At a loop's head a position stands behind the last turn of a chain, and the chain is a parameter. Positions in the
// same turn share it.
AVal Specialiser::generalise_position(const AVal& position, LoopHead& lh) {
  AVal at = position;
  if (!at.parts) {
    const AObject& q = read(at.heap);
    const size_t width = width_of(q), n = static_cast<size_t>(at.known.as_int());
    const AVal flag = n > 0 && width > 0 ? settle(q.items[n * width - 1]) : AVal();
    if (!is_rolled(flag)) return position;
    at = position_in(at.heap, static_cast<int64_t>(n) - 1, AVal::dynamic(flag.atom, nullptr));
  }
  if (within_turn(at) == 0) at = turn_before(at);
  if (within_turn(at) > 0) return position;
  const Atom chain = chain_of(at).atom;
  const auto known = std::ranges::find(lh.chains, chain, &std::pair<Atom, ir::NameId>::first);
  if (known != lh.chains.end()) return position_in(at.heap, at.known.as_int(), AVal::dynamic(known->second, nullptr));
  const ir::NameId p = code.block_param(lh.block, nullptr, intern("records"));
  code.name(p).optional = true;
  lh.initial.push_back(chain);
  lh.params.insert(index(p));
  lh.chains.push_back({chain, p});
  return position_in(at.heap, at.known.as_int(), AVal::dynamic(p, nullptr));
}

// Positions that share a parameter must share it in all turns.
void Specialiser::check_shared_chains(const LoopPlan& plan, const Fork& at_head, const Fork& edge) {
  std::map<uint32_t, Atom> passed;
  for (const uint32_t n : plan.names) {
    const AVal &head = at_head.env[n], &back = edge.env[n];
    if (!head.is(AKind::position) || !back.is(AKind::position) || !head.parts || !back.parts) continue;
    const Atom chain = chain_of(back).atom;
    if (passed.try_emplace(index(chain_of(head).atom.name()), chain).first->second != chain)
      throw Unlike({{Reason::loop_on_data, "a loop on data whose first turns do something else"}, span});
  }
}

// Behind the reverse of a loop a position stands in front of the record of all turns.
void Specialiser::pass_turns(const std::vector<AVal>& at_head, std::vector<AVal>& env) {
  std::set<std::pair<HeapId, int64_t>> loops;
  for (const AVal& v : at_head)
    if (v.is(AKind::position) && v.parts) loops.insert({v.heap, v.known.as_int()});
  for (AVal& v : env)
    if (v.is(AKind::position) && v.parts && within_turn(v) <= 0 && loops.count({v.heap, v.known.as_int()}))
      v = position_at(v.heap, v.known.as_int());
}

// Record by record; of one that only one side has, the other has none.
void Specialiser::merge_records(AObject& o, const AObject& x, const AObject& y, Fork& a, Fork& b, JoinBlock& j) {
  o.cursor = (x.items.empty() ? y : x).cursor;
  o.rolled = x.rolled || y.rolled;
  const size_t width = width_of(o);
  const size_t common = std::min(x.items.size(), y.items.size()), all = std::max(x.items.size(), y.items.size());
  if ((common > 0 && !same(x.cursor, y.cursor)) || (common != all && !j.tag.is_name()))
    abandon(Reason::branches, "residuals that differ between branches");
  o.items = x.items;
  o.items.resize(all);
  PersistentArray<AVal>::each_difference(x.items, y.items, [&](size_t i) {
    if (i >= all) return;
    AVal& item = o.items.edit(i);
    if (i < common) {
      item = merge(x.items[i], y.items[i], a, b, j);
      return;
    }
    const size_t side = i < x.items.size() ? 0 : 1;
    const AVal& only = (side == 0 ? x : y).items[i];
    const bool flag = i % width == width - 1;
    const AVal no = AVal::of(Value::boolean(false));
    item = !flag ? carried(only, side, j) : side == 0 ? both(only, no, j) : both(no, only, j);
  });
}

}  // namespace ouro::jit
