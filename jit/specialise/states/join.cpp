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
