// Values that differ between the ways to a point.
//
// Two branches may leave a variable, an item or an attribute with values that no parameter stands for: None and a
// tensor, two closures, a symbolic zero and a cotangent. Both are kept, as an either. Its tag is the condition of the
// branch; all values that differ there have this tag. What only one branch has computed is passed to the block where
// they meet as a parameter, which is None on the other way (`carried`). The program reads it only behind a branch on
// the tag.
//
// An operation that looks at an either is executed for each side, behind a branch on the tag, and the results meet
// again under that tag. Behind such a branch each either with the tag is its one side (`settle`): one test for None, or
// one label by which a pullback tells where it came from, decides all of them. Where neither side leaves an operation
// in the program, which is so for most of what autodiff does, there is no branch. (A tagged union that is taken apart
// where it is used: the trace partitioning of Mauborgne, Rival 2005, whose partitions are merged where nobody asks for
// them.)
#include <algorithm>

#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/specialise/execute/recording.h"
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"
#include "jit/specialise/states/join.h"

namespace ouro::jit {

namespace prim = ir::prim;
using ir::Atom;
using ir::BlockId;
using ir::index;

namespace {
constexpr int kMostLooked = 512;  // values that are searched for an either

uint64_t tags_of(const AVal& v);

// How many sides it has, with those of its sides and items; 0: there is no either in it. Looks into tuples, slices,
// ranges and what a number is on each way.
int sides_of(const AVal& v) {
  const bool looked_in =
      v.is(AKind::either) || v.is(AKind::tuple) || v.is(AKind::slice) || v.is(AKind::range) || v.ways();
  if (!looked_in) return 0;
  AParts::Answer& sides = v.parts->sides;
  if (sides.known < 0) {
    sides.known = 0;
    sides.tags = 0;
    for (const AVal& item : v.parts->items) {
      sides.known += std::max(sides_of(item), v.is(AKind::either) ? 1 : 0);
      sides.tags |= tags_of(item);
    }
  }
  return sides.known;
}

// The bits (Residual::bit_of) of the tags of the eithers in it.
uint64_t tags_of(const AVal& v) {
  if (sides_of(v) == 0) return 0;
  return v.parts->sides.tags | (v.is(AKind::either) ? Residual::bit_of(v.atom) : 0);
}
// The same of an object. What the sides of a parted object hold does not count before its tag is decided.
uint64_t tags_of(const AObject& o) {
  if (!o.tag.is_none()) return Residual::bit_of(o.tag);
  uint64_t tags = tags_of(o.source) | tags_of(o.cursor);
  for (const AObject::Slot& s : o.slots) tags |= tags_of(s.value) | tags_of(s.memory);
  for (const auto* array : {&o.items, &o.parts, &o.memory})
    tags |= array->marks([](const AVal& v) { return tags_of(v); });
  return tags;
}

// Operands that an operation passes on as they are.
bool passes(ir::Op op, uint32_t i) {
  if (op == prim::move || op == prim::tuple || op == prim::list || op == prim::cell_new || op == prim::global_set)
    return true;
  if (op == prim::cell_set || op == prim::attr_set || op == prim::list_append || op == prim::seq_push ||
      op == prim::ad_select || op == prim::ad_keep || op == prim::ad_bind)
    return i > 0;
  if (op == prim::dict) return i % 2 == 1;
  if (op == prim::dict_set) return i == 2;
  if (op == prim::function) return i > 2;
  return false;
}
}  // namespace

bool Specialiser::passes_either(const ir::Let& let, uint32_t i) { return passes(let.op, i); }

AVal Specialiser::settle(const AVal& v) const {
  if (eithers_ == 0) return v;
  if (const AVal* ways = v.ways()) {
    const auto side = code.assumed(ways->atom);
    return side ? settle(ways->items()[*side ? 0 : 1]) : v;
  }
  if (!(tags_of(v) & code.assumed_conditions())) return v;
  if (v.is(AKind::either)) {
    if (const auto side = code.assumed(v.atom)) return settle(v.items()[*side ? 0 : 1]);
    return v;
  }
  auto parts = std::make_shared<AParts>(*v.parts);
  bool changed = false;
  for (AVal& item : parts->items) {
    AVal settled = settle(item);
    changed |= !same(settled, item);
    item = std::move(settled);
  }
  if (!changed) return v;
  AVal out = v;
  out.node = kNoNode;
  out.parts = std::move(parts);
  return out;
}

// What the heap holds, in the branch that is entered.
void Specialiser::settle_heap() {
  if (eithers_ == 0) return;
  const uint64_t decided = code.assumed_conditions();
  const auto tags = [](const auto& v) { return tags_of(v); };
  const auto is_decided = [&](const AVal& v) { return tags_of(v) & decided && !same(settle(v), v); };
  const auto any_decided = [&](const PersistentArray<AVal>& items) {
    return std::ranges::any_of(items.those_marked(decided, tags), [&](size_t i) { return is_decided(items[i]); });
  };
  const auto settle_items = [&](PersistentArray<AVal>& items) {
    for (const size_t i : items.those_marked(decided, tags))
      if (is_decided(items[i])) items.edit(i) = settle(items[i]);
  };
  for (const size_t id : heap_.those_marked(decided, tags)) {
    while (!heap_[id]->tag.is_none()) {
      const auto side = code.assumed(heap_[id]->tag);
      if (!side) break;
      heap_.put(id, std::make_shared<AObject>(*heap_[id]->sides[*side ? 0 : 1]));
    }
    const AObject& o = *heap_[id];
    const auto in_slot = [&](const AObject::Slot& s) { return is_decided(s.value) || is_decided(s.memory); };
    if (!o.tag.is_none() || !(std::ranges::any_of(o.slots, in_slot) || any_decided(o.items) || any_decided(o.memory) ||
                              any_decided(o.parts) || is_decided(o.source) || is_decided(o.cursor)))
      continue;
    AObject& w = heap_.own(id);
    for (AObject::Slot& s : w.slots) s.value = settle(s.value), s.memory = settle(s.memory);
    settle_items(w.items);
    settle_items(w.memory);
    settle_items(w.parts);
    w.source = settle(w.source);
    w.cursor = settle(w.cursor);
  }
}

void Specialiser::enter_side(Atom tag, bool side) {
  code.assume(tag, side);
  if (tags_.count(tag.is_name() ? index(tag.name()) : 0)) settle_heap();
}

// ---------------------------------------------------------------- both sides

// The first either in the operands, to some depth, whose tag is not decided here.
std::optional<Atom> Specialiser::undecided(AFrame& f, const ir::Let& let) const {
  int looked = 0;
  std::set<HeapId> seen;
  std::optional<Atom> found;
  const auto look = [&](auto& self, const AVal& v) -> void {
    if (found || ++looked > kMostLooked) return;
    if (v.is(AKind::either) && !code.assumed(v.atom)) {
      found = v.atom;
      return;
    }
    if (v.is(AKind::closure)) return;
    if (v.parts)
      for (const AVal& i : v.items()) self(self, i);
    if (!v.is(AKind::ref) || v.heap >= heap_.size() || !heap_[v.heap] || !seen.insert(v.heap).second) return;
    const AObject& o = *heap_[v.heap];
    if (!o.tag.is_none() && !code.assumed(o.tag)) {
      found = o.tag;
      return;
    }
    for (const AObject::Slot& s : o.slots) self(self, s.value);
    for (const AVal& i : o.items) self(self, i);
    self(self, o.source);
    for (const AVal& i : o.parts) self(self, i);
  };
  for (uint32_t i = 0; i < let.nargs; ++i)
    if (const Atom a = f.code->args(let)[i]; a.is_name()) look(look, f.env[index(a.name())]);
  return found;
}

// A test of numbers that are known on each side. Its answer is known there, too.
std::optional<Atom> Specialiser::answered_by_sides(AFrame& f, const ir::Let& let) const {
  if (eithers_ == 0) return std::nullopt;
  const auto is_test = [](ir::Op op) {
    return (op >= prim::eq && op <= prim::ge) || op == prim::not_ || op == prim::truth;
  };
  bool test = is_test(let.op);
  if (let.op == prim::ad_value)  // the same, in differentiated code
    if (const auto op = ir::op_by_name(Symbol::from_id(let.attr).text())) test = is_test(*op);
  if (!test) return std::nullopt;
  std::optional<Atom> tag;
  for (uint32_t i = 0; i < let.nargs; ++i) {
    const Atom a = f.code->args(let)[i];
    if (!a.is_name()) continue;
    const AVal v = settle(f.env[index(a.name())]);
    if (const AVal* ways = v.ways())
      tag = ways->atom;
    else if (!v.is(AKind::known))
      return std::nullopt;
  }
  return tag;
}

AVal Specialiser::exec_let_by_sides(AFrame& f, const ir::Let& let) {
  if (const auto tag = answered_by_sides(f, let)) return on_sides(f, *tag, [&] { return exec_let_by_sides(f, let); });
  const uint32_t names = code.name_count();
  const bool may_split = eithers_ > 0;
  const Checkpoint before = checkpoint(may_split);
  Atom tag;
  try {
    return exec_let(f, let);
  } catch (const NeedSide& n) {
    tag = n.tag;
    const bool is_there = tag.is_name() && (index(tag.name()) < names || code.name(tag.name()).input);
    const bool known = code.assumed(tag).has_value();
    if (!may_split || !is_there || known || !may_split_more())
      throw Abandon{{Reason::branches, "value differs between branches"}, span};
  } catch (Abandon& a) {
    const bool mine = std::exchange(a.one_let, false);
    if (!mine || !may_split || a.whole) throw;
    const auto held = undecided(f, let);
    if (!held || !(index(held->name()) < names || code.name(held->name()).input) || !may_split_more()) throw;
    tag = *held;
  }
  undo(before);
  return on_sides(f, tag, [&] {
    span = before.span;
    return exec_let_by_sides(f, let);
  });
}

bool Specialiser::too_many_sides() const {
  const size_t now = side_depth_ > 0 ? steps_ - side_start_ : 0;
  return splits_ > kMostSplits || side_steps_ + now > kMostSideSteps;
}

bool Specialiser::may_split_more() {
  ++splits_;
  return !too_many_sides();
}

AVal Specialiser::on_sides(AFrame& f, Atom tag, const std::function<AVal()>& body) {
  struct Counted {  // steps, by the outermost
    Specialiser& s;
    explicit Counted(Specialiser& s) : s(s) {
      if (s.side_depth_++ == 0) s.side_start_ = s.steps_;
    }
    ~Counted() {
      if (--s.side_depth_ == 0) s.side_steps_ += s.steps_ - s.side_start_;
    }
  } counted(*this);
  const Residual::Mark mark = code.mark();
  const uint32_t names = code.name_count();
  const uint64_t born = AParts::next_identity;
  const BlockId blocks[2] = {code.new_block(), code.new_block()};
  code.branch(tag, blocks[0], blocks[1]);
  Fork forks[2];
  Checkpoint entered[2];
  const Fork start{f.env, heap_, BlockId::none, {}};
  const Effects effects = effects_;
  const size_t notes = fallbacks_.size();
  const size_t recorded = recording_ ? recording_->pullbacks.size() : 0;
  for (size_t i = 0; i < 2; ++i) {
    if (i == 1) {
      f.env = start.env;
      restore_heap(start.heap);
      effects_ = effects;
    }
    code.switch_to(blocks[i]);
    enter_side(tag, i == 0);
    entered[i] = checkpoint();
    try {
      forks[i].outcome = {Outcome::Kind::reached, body()};
    } catch (const DeadPath&) {
      forks[i].outcome = {};
      effects_ = effects;
    } catch (const Abandon& a) {
      if (!leave_instead(a, entered[i])) throw;
      forks[i].outcome = {};
    }
    forks[i].env = f.env;
    forks[i].heap = heap_;
    forks[i].end = code.current();
    forks[i].effects = effects_;
  }
  if (recording_ && recording_->pullbacks.size() != recorded)
    abandon(Reason::branches,
            "a built-in function that calls a function that differs between branches, in differentiated code");
  const auto idle = [&](size_t i) {
    bool changed = false;
    AHeap::each_difference(entered[i].heap, forks[i].heap, [&](size_t) { changed = true; });
    return !changed && forks[i].outcome.kind == Outcome::Kind::reached && forks[i].end == blocks[i];
  };
  const auto env_changed = [&](const Fork& x) {
    for (size_t i = 0; i < x.env.size(); ++i)
      if (!same(x.env[i], start.env[i])) return true;
    return false;
  };
  const bool nothing = code.mark().lets == mark.lets && idle(0) && idle(1) && !env_changed(forks[0]) &&
                       !env_changed(forks[1]) && fallbacks_.size() == notes && !(forks[0].effects.done != effects.done);
  if (nothing) {  // nothing of it is in the program
    code.rollback(mark);
    f.env = start.env;
    restore_heap(start.heap);
    effects_ = effects;
    return either(tag, forks[0].outcome.value, forks[1].outcome.value);
  }
  Meet meet;
  meet.parted = span;
  meet.names = names;
  meet.born = born;
  meet.tag = tag;
  const Outcome o = join(f, forks[0], forks[1], meet);
  if (o.kind == Outcome::Kind::dead) throw DeadPath{};
  return o.value;
}

// Of two values that are valid wherever the tag is.
AVal Specialiser::either(Atom tag, const AVal& yes, const AVal& no) {
  if (same(yes, no)) return yes;
  AVal both = AVal::compound(AKind::either, {yes, no});
  both.atom = tag;
  ++eithers_;
  if (tag.is_name()) tags_.insert(index(tag.name()));
  if (!yes.is(AKind::known) || !no.is(AKind::known) || !yes.known.is_bool() || !no.known.is_bool()) return both;
  AVal out = AVal::dynamic(yes.known.as_bool() ? tag : Atom(code.let(prim::not_, {tag}, 0, ir::types::boolean(), span)),
                           ir::types::boolean());
  out.parts = AVal::tuple({both}).parts;
  return out;
}

// Goes on where each side goes: which way that is, is known for each.
Outcome Specialiser::run_sides(AFrame& f, Atom tag, BlockId at, BlockId stop, BlockId& next) {
  if (!may_split_more()) abandon(Reason::branches, "value differs between branches");
  struct Decided {  // before: the branch itself counts
    int& arms;
    explicit Decided(int& arms) : arms(arms) { --arms; }
    ~Decided() { ++arms; }
  } decided(arms_);
  return run_branch(f, tag, at, stop, next,
                    [&](size_t, BlockId meet) { return run(f, at, meet, EnterAt::terminator); });
}

// Makes both values, and passes on the one of the way that was taken.
Atom Specialiser::materialise_either(const AVal& a) {
  const Atom sides[2] = {materialise(a.items()[0]), materialise(a.items()[1])};
  const Residual::Facts facts = code.facts();
  const BlockId blocks[2] = {code.new_block(), code.new_block()}, meet = code.new_block();
  const ir::NameId out = code.block_param(meet, nullptr);
  code.branch(a.atom, blocks[0], blocks[1]);
  for (size_t i = 0; i < 2; ++i) {
    code.switch_to(blocks[i]);
    code.jump(meet, {sides[i]});
  }
  code.set_facts(meet, facts);
  code.switch_to(meet);
  return out;
}

// ---------------------------------------------------------------- at a loop's head

// Are both values, and all sides of theirs, either nothing or of one type?
std::optional<OptionalForm> Specialiser::optional_form(const AVal& head, const AVal& back) const {
  OptionalForm form;
  bool fine = true, absent = false;
  const auto look = [&](auto& self, const AVal& v) -> void {
    if (v.is(AKind::either)) return self(self, v.items()[0]), self(self, v.items()[1]);
    if (v.is(AKind::zero) || v.is(AKind::unbound) || (v.is(AKind::known) && v.known.is_none())) {
      fine = fine && (!absent || same(form.nothing, v));
      absent = true;
      form.nothing = v;
      return;
    }
    const ir::Type* t = type_of(v);
    fine = fine && t && (!form.type || form.type == t);
    form.type = t;
  };
  look(look, head);
  look(look, back);
  return fine && form.type && absent ? std::optional(form) : std::nullopt;
}

// Is it nothing, and the value, which is looked at where it is not.
std::pair<Atom, Atom> Specialiser::optional_atoms(const AVal& given, const OptionalForm& form) {
  const AVal v = settle(given);
  if (!v.is(AKind::either)) {
    const bool nothing = same(v, form.nothing);
    return {code.boolean(nothing), nothing ? JoinBlock::other(code, form.type) : atom(v)};
  }
  const Residual::Facts facts = code.facts();
  const BlockId blocks[2] = {code.new_block(), code.new_block()}, meet = code.new_block();
  const ir::NameId tag = code.block_param(meet, ir::types::boolean()), value = code.block_param(meet, form.type);
  code.name(value).optional = true;
  code.branch(v.atom, blocks[0], blocks[1]);
  for (size_t i = 0; i < 2; ++i) {
    code.switch_to(blocks[i]);
    code.assume(v.atom, i == 0);
    const auto [is_nothing, there] = optional_atoms(v.items()[i], form);
    code.jump(meet, {is_nothing, there});
  }
  code.set_facts(meet, facts);
  code.switch_to(meet);
  return {tag, value};
}

// The type of all sides, of an either of tensors or floats: nothing decides structure. Null: they differ.
const ir::Type* Specialiser::type_of_sides(const AVal& v) const {
  if (v.is(AKind::either)) {
    const ir::Type* t = type_of_sides(v.items()[0]);
    return t && type_of_sides(v.items()[1]) == t ? t : nullptr;
  }
  const ir::Type* t = type_of(v);
  return t && (t->is_tensor() || t->kind == ir::TypeKind::floating) ? t : nullptr;
}

// Of sides with one type, the one of the way that was taken.
Atom Specialiser::joined_atom(const AVal& v, const ir::Type* type) {
  return v.is(AKind::either) ? optional_atoms(v, {{}, type}).second : atom(v);
}

AVal Specialiser::generalise_optional(const AVal& v, const OptionalForm& form, LoopHead& lh) {
  const auto [is_nothing, there] = optional_atoms(v, form);
  const ir::NameId tag = code.block_param(lh.block, ir::types::boolean()),
                   value = code.block_param(lh.block, form.type);
  code.name(value).optional = true;
  lh.initial.push_back(is_nothing);
  lh.initial.push_back(there);
  lh.params.insert(index(tag));
  AVal out = AVal::compound(AKind::either, {form.nothing, AVal::dynamic(value, form.type)});
  out.atom = tag;
  ++eithers_;
  tags_.insert(index(tag));
  return out;
}

// ---------------------------------------------------------------- where they meet

Atom JoinBlock::other(Residual& code, const ir::Type* type) {
  using K = ir::TypeKind;
  if (!type) return code.none();
  switch (type->kind) {
    case K::integer:
      return code.integer(0);
    case K::floating:
      return code.floating(0);
    case K::boolean:
      return code.boolean(false);
    case K::string:
      return code.string("");
    default:
      return code.none();
  }
}

Atom Specialiser::carried_atom(Atom a, const ir::Type* type, size_t side, JoinBlock& j) {
  if (!a.is_name() || index(a.name()) < j.names || code.name(a.name()).input) return a;
  auto [at, fresh] = j.carried.try_emplace({index(a.name()), side}, Atom{});
  if (!fresh) return at->second;
  const ir::NameId p = code.block_param(j.block, type);
  code.name(p).optional = true;
  at->second = p;
  (side == 0 ? j.from_a : j.from_b).push_back(a);
  (side == 0 ? j.from_b : j.from_a).push_back(JoinBlock::other(code, type));
  return p;
}

// A size that only one branch knows becomes a new symbol: the size of the parameter.
const ir::Type* Specialiser::carried_type(const ir::Type* t, size_t side, JoinBlock& j) {
  if (!t || !t->is_tensor()) return t;
  std::vector<ir::SymDim> dims(t->dims.begin(), t->dims.end());
  bool changed = false;
  for (ir::SymDim& d : dims) {
    if (d.known() || extents_.count(d.symbol)) continue;
    const auto found = found_sizes_.find(d.symbol);
    if (found != found_sizes_.end()) {
      const Atom tensor = found->second.first.atom;
      if (tensor.is_name() && (index(tensor.name()) < j.names || code.name(tensor.name()).input)) continue;
    }
    auto [at, fresh] = j.sizes.try_emplace({d.symbol, side}, 0u);
    if (fresh) at->second = ir::fresh_symbol();
    d.symbol = at->second;
    changed = true;
  }
  return changed ? ir::types::tensor(t->dtype, dims) : t;
}

// Passes on the sizes in the type of a `like`, which has no tensor. (A tensor that is carried brings its own sizes.)
void Specialiser::carry_sizes(const ir::Type* from, const ir::Type* to, size_t side, JoinBlock& j) {
  for (size_t i = 0; from != to && i < from->rank(); ++i) {
    const ir::SymDim was = from->dims[i], is = to->dims[i];
    if (was == is || found_sizes_.contains(is.symbol) || !found_sizes_.contains(was.symbol)) continue;
    const BlockId here = code.current();
    code.switch_to(j.ends[side]);
    const Atom n = size(ir::SymDim::of(was.symbol)).atom;
    code.switch_to(here);
    const ir::NameId p = code.block_param(j.block, ir::types::integer());
    code.name(p).optional = true;
    (side == 0 ? j.from_a : j.from_b).push_back(n);
    (side == 0 ? j.from_b : j.from_a).push_back(JoinBlock::other(code, ir::types::integer()));
    found_sizes_.try_emplace(is.symbol, AVal::dynamic(p, ir::types::integer()), 0u);
    dims_of_names_[index(p)] = ir::SymDim::of(is.symbol);
  }
}

// What one branch leaves, by the names that it has where the branches meet.
AVal Specialiser::carried(const AVal& v, size_t side, JoinBlock& j) {
  AVal out = v;
  if (v.is(AKind::dynamic)) {
    if (const AVal* ways = v.ways()) {
      const AVal carried_ways = carried(*ways, side, j);
      if (carried_ways.is(AKind::either)) {
        out.parts = AVal::tuple({carried_ways}).parts;
      } else if (carried_ways.is(AKind::known)) {
        return carried_ways;
      } else {
        out.parts = nullptr;
      }
    }
    out.type = carried_type(v.type, side, j);
    out.atom = carried_atom(v.atom, out.type, side, j);
    if (out.type && out.type->is_tensor() && out.atom != v.atom) note_sizes(out);
    return out;
  }
  if (v.is(AKind::like)) {
    out.type = carried_type(v.type, side, j);
    if (out.type && out.type->is_tensor()) carry_sizes(v.type, out.type, side, j);
    return out;
  }
  if (v.is(AKind::rolled)) out.atom = carried_atom(v.atom, nullptr, side, j);
  if (v.is(AKind::either) || v.is(AKind::maybe_end)) out.atom = carried_atom(v.atom, ir::types::boolean(), side, j);
  if (v.is(AKind::either) && out.atom.is_name()) tags_.insert(index(out.atom.name()));
  if (v.heap != kNoHeap && j.objects_seen.insert({v.heap, side}).second) j.objects.push_back({v.heap, side});
  if (!v.parts) return out;
  const bool who = v.is(AKind::closure) || v.is(AKind::bound) || v.extends_tuple();
  if (who) {
    if (const auto at = j.functions_met.find(JoinBlock::function(v, side)); at != j.functions_met.end())
      return at->second;
  } else if (const auto at = j.parts.find({v.parts, side}); at != j.parts.end()) {
    if (at->second != v.parts) out.node = kNoNode;
    out.parts = at->second;
    return out;
  }
  auto parts = std::make_shared<AParts>(*v.parts);
  bool changed = false;
  const auto carry = [&](AVal& item) {
    AVal c = carried(item, side, j);
    changed |= !same(c, item) || c.parts != item.parts;
    item = std::move(c);
  };
  parts->each(carry);
  if (changed) {
    parts->function = Value();
    out.node = kNoNode;
    out.parts = std::move(parts);
  }
  if (who)
    j.functions_met[JoinBlock::function(v, side)] = out;
  else
    j.parts[{v.parts, side}] = out.parts;
  return out;
}

AVal Specialiser::both(const AVal& a, const AVal& b, JoinBlock& j) {
  if (!j.tag.is_name() || too_many_sides()) return poison(j);
  // (One that a closure captures stays as it is: the closure would be another one.)
  const auto of_side = [&](const AVal& v, size_t side) {
    return v.is(AKind::either) && v.atom == j.tag ? v.items()[side] : v;
  };
  const AVal x = carried(of_side(a, 0), 0, j), y = carried(of_side(b, 1), 1, j);
  AVal out = AVal::compound(AKind::either, {x, y});
  out.atom = j.tag;
  if (sides_of(out) > kMostWays) return poison(j);
  ++eithers_;
  tags_.insert(index(j.tag.name()));
  return out;
}

// The objects that only one branch has made and an either holds, by the names that are valid from here on. (heap_ is
// the merged one.)
void Specialiser::carry_objects(const Fork& a, const Fork& b, JoinBlock& j) {
  for (size_t k = 0; k < j.objects.size(); ++k) {
    const auto [id, side] = j.objects[k];
    const Fork &own = side == 0 ? a : b, &other = side == 0 ? b : a;
    if (!own.heap[id] || other.heap[id] || own.heap[id]->external) continue;
    auto object = carried(own.heap[id], side, j);
    if (object != heap_[id]) heap_.put(id, std::make_shared<AObject>(*object));
  }
}

std::shared_ptr<const AObject> Specialiser::carried(const std::shared_ptr<const AObject>& object, size_t side,
                                                    JoinBlock& j) {
  return AObject::mapped(
      object, [&](const AVal& v) { return carried(v, side, j); },
      [&](Atom& a, const ir::Type* type) {
        a = carried_atom(a, type, side, j);
        if (type && a.is_name()) tags_.insert(index(a.name()));
      });
}

// An object that the branches leave with different items or keys.
std::shared_ptr<AObject> Specialiser::both(const AHeap::Ref& x, const AHeap::Ref& y, JoinBlock& j) {
  auto o = std::make_shared<AObject>();
  o->forms = x->forms + y->forms;
  o->kind = x->kind;
  o->cls = x->cls;
  o->concrete = x->concrete;
  o->poisoned = true;
  o->torn = j.parted;
  o->parted = parted_at(j);
  o->tag = j.tag;
  o->sides[0] = carried(x, 0, j);
  o->sides[1] = carried(y, 1, j);
  ++eithers_;
  tags_.insert(index(j.tag.name()));
  return o;
}

}  // namespace ouro::jit
