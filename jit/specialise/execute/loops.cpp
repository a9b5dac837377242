// Loops of abstract execution.
//
// A loop whose condition is not known becomes a loop of the residual program: its head is generalised until the
// state at the back edges fits (abstract interpretation with widening; Cousot, Cousot 1977). One whose condition is
// known is unrolled: all of its turns if it runs over structure, or does to structure what only turn by turn can be
// followed; a loop over numbers that has many turns stays one.
#include "jit/specialise/execute/loops.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"
#include "jit/specialise/states/join.h"

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;

namespace {
constexpr int kFewForks = 8;  // turns that data may end and that are written out, each in the branch of the one before
constexpr size_t kMaxForked = 4'000;  // operations of those turns together
constexpr int kMaxUnroll = 64;        // turns of a loop over numbers that are written out before it is kept as a loop
constexpr size_t kMostHolesOfTurns = 512;
constexpr int kMaxRounds = 16;
constexpr int kMostPeeled = 3;  // turns that are written out before a loop of the program, since they change types
// What a program may come to while loops are written out turn by turn: a step of a model with thousands of parameters
// has some ten thousand operations.
constexpr size_t kMaxProgram = 400'000;
// Turns of which each is a training step, say, take seconds to compile where they are written out. As a loop they
// take a quarter more time, and are compiled at once. The first few tell.
constexpr int kFirstTurns = 3;
constexpr double kLongTurn = 60, kMaxWrittenOut = 5'000;
// After so many turns of a loop over a range it is known how long the rest would be.
constexpr int kTurnsThatTell = 1'000;

// The loops around one that is entered. What is executed of it may go on behind its ways out, to a back edge of a loop
// around (`continue`; or there is no block where its ways out meet, since one of them raises), and has left those
// inside of that by then. A loop that is made once more meets such a back edge once more.
class LoopsAround {
 public:
  explicit LoopsAround(const AFrame& f) : loops_(f.loops) {
    for (const AFrame::LoopState& l : f.loops) met_.push_back(l.back_edges ? l.back_edges->size() : 0);
  }
  void restore(AFrame& f) const { f.loops = loops_; }
  void begin_again(AFrame& f) const {
    restore(f);
    for (size_t i = 0; i < met_.size(); ++i)
      if (const auto& edges = f.loops[i].back_edges)
        edges->erase(edges->begin() + static_cast<ptrdiff_t>(met_[i]), edges->end());
  }

 private:
  std::vector<AFrame::LoopState> loops_;
  std::vector<size_t> met_;
};
}  // namespace

// A loop along a chain of objects, or of tuples in tuples: written out it would be a program for chains of this length
// alone, and each of its places a path of that length.
void Specialiser::follow_walks(AFrame& f, AFrame::LoopState& l) {
  std::vector<AFrame::LoopState::Walk> now;
  const AFrame::LoopState::Walk* longest = nullptr;
  const std::vector<bool>& live = f.flow->live_in[index(l.head)];
  for (uint32_t n = 0; n < live.size(); ++n) {
    if (!live[n] || (!f.env[n].is(AKind::ref) && !f.env[n].parts)) continue;
    const uint32_t steps = steps_to(f.env[n].node);
    if (steps == 0) continue;
    const auto before = std::ranges::find(l.walks, n, &AFrame::LoopState::Walk::name);
    const bool further = before != l.walks.end() && steps > before->steps;
    now.push_back({n, steps, further ? before->turns + 1 : 0});
  }
  l.walks = std::move(now);
  for (const auto& w : l.walks)
    if (w.turns >= kMaxUnroll && (!longest || w.steps > longest->steps)) longest = &w;
  if (longest)
    abandon(Reason::too_large, fmt::format("a loop whose {} walks along a chain of more than {} objects",
                                           f.variable(longest->name), kMaxUnroll));
}

// How many numbers are left of the range that a loop runs over; none: it runs over something else, or they are not
// known.
static std::optional<double> numbers_left(const AFrame& f, BlockId head, const AHeap& heap) {
  for (const ir::Let& let : f.code->block(head).lets) {
    if (let.op != ir::prim::iter_next) continue;
    const Atom iterated = f.code->args(let)[0];
    const AVal* v = iterated.is_name() ? &f.env[index(iterated.name())] : nullptr;
    if (!v || !v->is(AKind::ref) || !heap[v->heap] || heap[v->heap]->iter != AObject::Iter::range) return std::nullopt;
    const AObject& range = *heap[v->heap];
    for (const AVal* number : {&range.cursor, &range.stop, &range.step})
      if (!number->is(AKind::known) || !number->known.is_int()) return std::nullopt;
    const double way =
        static_cast<double>(range.stop.known.as_int()) - static_cast<double>(range.cursor.known.as_int());
    return std::max(0.0, std::ceil(way / static_cast<double>(range.step.known.as_int())));
  }
  return std::nullopt;
}

// How many turns are left of a loop over a range whose numbers are known; 0: it is no such loop, or may end otherwise.
static double turns_left(const AFrame& f, BlockId head, const AHeap& heap) {
  const auto inside = [&](BlockId b) { return std::ranges::count(f.flow->loops[index(b)], head) > 0; };
  for (uint32_t b = 0; b < f.code->blocks.size(); ++b) {
    if (BlockId{b} == head || !inside(BlockId{b})) continue;
    for (const ir::Target& t : f.code->blocks[b].term.targets)
      if (!inside(t.block)) return 0;
  }
  return numbers_left(f, head, heap).value_or(0);
}

// Does it run over what says that it is to stay a loop?
static bool stays_loop(const AFrame& f, BlockId head, const AHeap& heap) {
  for (const ir::Let& let : f.code->block(head).lets) {
    if (let.op != ir::prim::iter_next) continue;
    const Atom iterated = f.code->args(let)[0];
    const AVal* v = iterated.is_name() ? &f.env[index(iterated.name())] : nullptr;
    return v && v->is(AKind::ref) && heap[v->heap] && heap[v->heap]->stays_loop;
  }
  return false;
}

// At a back edge of a loop that is being unrolled: may another turn be written out?
void Specialiser::next_turn(AFrame& f, AFrame::LoopState& l) {
  using Why = LoopRetry::Why;
  // Each turn that hangs on undecided branches is nested in the one before. Where several branches of a turn lead to a
  // next one of their own there are soon very many.
  if (arms_ > l.arms) {
    if (++*l.forked > kMaxUnroll || arms_ > l.arms + kMaxUnroll) throw LoopRetry{&f, l.head, Why::undecided};
    // The turns of a range are known in advance: where they are too many, the first one that data may end tells enough.
    const double turns = *l.forked + numbers_left(f, l.head, heap_).value_or(0);
    if (!l.structural && (turns > kFewForks || code.size() - l.size > kMaxForked))
      throw LoopRetry{&f, l.head, Why::forks};
  }
  follow_walks(f, l);
  if (++l.trips > kMaxUnroll && !l.structural) {
    const double each = static_cast<double>(code.size() - l.size) / l.trips;
    loop_ways_[{f.code.get(), index(l.head)}].size = each * (l.trips + turns_left(f, l.head, heap_));
    throw LoopRetry{&f, l.head, Why::many};
  }
  // Written out, what each turn leaves to the interpreter is longer to compile than to interpret.
  if (fallbacks_.size() > l.holes + kMostHolesOfTurns) {
    if (!l.structural) throw LoopRetry{&f, l.head, Why::many};
    abandon(Reason::call, "a loop of many turns, each of which leaves something to the interpreter");
  }
  if (l.trips == kFirstTurns && (l.keeps || (!l.structural && !recording_))) {
    const double each = static_cast<double>(code.size() - l.size) / kFirstTurns;
    const double all = each * turns_left(f, l.head, heap_);
    if (l.keeps ? all > kMaxForNoHole : each > kLongTurn && all > kMaxWrittenOut) {
      loop_ways_[{f.code.get(), index(l.head)}].size = all;
      throw LoopRetry{&f, l.head, Why::many};
    }
  }
  if (l.trips == kTurnsThatTell) {
    const double each = static_cast<double>(code.size() - l.size) / kTurnsThatTell;
    if (each * turns_left(f, l.head, heap_) > kMaxProgram) throw LoopRetry{&f, l.head, Why::large};
  }
  if (code.size() <= kMaxProgram && steps_ <= kMaxSteps) return;
  for (AFrame* outer : frames_)
    for (const AFrame::LoopState& o : outer->loops)
      if (o.residual == BlockId::none && o.first == 0) throw LoopRetry{outer, o.head, Why::large};
}

// Where the ways out of a loop meet. Where it is entered in two places, as the reverse of one with a break is, the ways
// in may meet inside.
static BlockId loop_end(const AFrame& f, BlockId head, BlockId stop) {
  if (stop != BlockId::none && std::ranges::count(f.flow->loops[index(stop)], head)) return stop;
  const BlockId exit = f.flow->loop_exit[index(head)];
  return exit == BlockId::none ? stop : exit;
}

bool Specialiser::enter_loop(AFrame& f, BlockId head, BlockId stop, Outcome& out, BlockId& next) {
  for (size_t i = f.loops.size(); i-- > 0;) {
    AFrame::LoopState& l = f.loops[i];
    if (l.head != head) continue;
    // A back edge. Inner loops that were being unrolled have been left by it.
    f.loops.resize(i + 1);
    if (l.residual == BlockId::none && l.first > 0) to_turn_ends(f.env);
    if (l.residual == BlockId::none && l.first == 1) {
      f.loops.resize(i);
      next = loop_end(f, head, stop);
      out = residual_loop(f, head, next, {f.env, heap_, code.current(), {}}, /*may_roll=*/false);
      return true;
    }
    if (l.residual == BlockId::none) {
      if (l.first > 0)
        --l.first;
      else
        next_turn(f, f.loops[i]);
      return false;
    }
    l.back_edges->push_back({f.env, heap_, code.current(), {Outcome::Kind::reached, {}}, effects_});
    out = {Outcome::Kind::dead, {}};
    return true;
  }
  next = loop_end(f, head, stop);
  const Fork start{f.env, heap_, code.current(), {}};
  const Checkpoint before = checkpoint();
  const LoopsAround around(f);
  auto restart = [&] {
    around.begin_again(f);
    f.env = start.env;
    undo(before);
  };
  LoopWay& way = loop_ways_[{f.code.get(), index(head)}];
  const auto counted = [&] { return way.kind == LoopWay::Kind::loop; };
  auto turns = [&](int first) {
    f.loops.push_back({.head = head,
                       .structural = way.kind == LoopWay::Kind::unrolled,
                       .keeps = way.keeps,
                       .first = first,
                       .size = before.mark.lets,
                       .holes = before.notes,
                       .arms = arms_,
                       .forked = std::make_shared<int>(0)});
    out = run(f, head, next, EnterAt::head);
    around.restore(f);
  };
  // As a loop of the program, which may follow the first turns.
  auto kept = [&] {
    for (;;) try {
        if (way.first == 0) {
          out = residual_loop(f, head, next, start, /*may_roll=*/!counted());
        } else {
          make_escaping();
          if (request_.holes) forget_made();
          to_turn_ends(f.env);  // the reverse of a loop with a break begins in the middle of a turn
          turns(way.first);
        }
        return;
      } catch (const Unlike& u) {
        if (way.first == kMostPeeled) throw Abandon(u);
        ++way.first;
        restart();
      }
  };
  auto unrolled = [&] {
    try {
      turns(0);
      return true;
    } catch (const LoopRetry& r) {
      if (r.frame != &f || r.head != head) throw;
      way.boxes |= fallbacks_.size() > before.notes;
      way.kind = r.why == LoopRetry::Why::undecided ? LoopWay::Kind::undecided
                 : r.why == LoopRetry::Why::large   ? LoopWay::Kind::large
                 : r.why == LoopRetry::Why::forks   ? LoopWay::Kind::forked
                                                    : LoopWay::Kind::loop;
      restart();
      return false;
    }
  };
  if (way.kind == LoopWay::Kind::open && stays_loop(f, head, heap_)) way.kind = LoopWay::Kind::forked;
  // Where another way into the loop joins within it, this one mostly comes there without a turn. If it does not, the
  // loop is what it was known to be.
  const bool joined = next != BlockId::none && std::ranges::count(f.flow->loops[index(next)], head) > 0;
  const bool open = way.kind == LoopWay::Kind::open || way.kind == LoopWay::Kind::unrolled;
  const LoopWay known = way;
  if ((open || joined) && unrolled()) return true;
  if (!open) way = known;
  if (way.kind == LoopWay::Kind::loop || way.kind == LoopWay::Kind::forked) {
    // What it does with structure (layers, parameters, a list that grows) can only be followed turn by turn.
    try {
      kept();
      if (way.boxes || fallbacks_.size() == before.notes) return true;
      way.keeps = true;
    } catch (const Abandon& a) {
      if (a.whole) throw;
    }
    restart();
    way.kind = LoopWay::Kind::unrolled;
    try {
      if (unrolled()) return true;
      way.boxes = way.boxes || way.keeps;
    } catch (const Abandon& a) {
      if (a.whole || !way.keeps) throw;
      restart();
      way.kind = LoopWay::Kind::undecided;
    }
  }
  try {
    kept();
  } catch (Abandon& a) {
    if (way.kind == LoopWay::Kind::large)
      a.why.text += fmt::format(", whose turns, written out, are a program of more than {} operations", kMaxProgram);
    throw;
  }
  return true;
}

void Specialiser::join_edges(AFrame& f, BlockId head, std::vector<Fork>& edges, uint32_t names, uint64_t born) {
  const Effects effects = effects_;
  for (; edges.size() > 1; edges.pop_back()) {
    const Meet meet{.at = head, .parted = span, .names = names, .born = born, .label = true};
    Fork& into = edges[edges.size() - 2];
    const Outcome o = join(f, into, edges.back(), meet);
    into = {f.env, heap_, code.current(), o, effects_};
  }
  effects_ = effects;
}

// What the interpreter changes in a loop is made before it, and before the turns that are written out.
void Specialiser::make_escaping() {
  for (HeapId object : preload_.escaped)
    if (object < heap_.size() && heap_[object] && !heap_[object]->outside()) materialise(AVal::of_heap(object));
  for (HeapId object : preload_.boxed)
    if (object < heap_.size() && heap_[object] && !heap_[object]->lost()) box_list(object);
}

Outcome Specialiser::residual_loop(AFrame& f, BlockId head, BlockId exit, const Fork& start, bool may_roll) {
  LoopPlan plan;  // which locations are parameters of the residual head, and how general
  plan.may_roll = may_roll;
  Checkpoint entry = checkpoint();
  entry.heap = start.heap;
  Effects before = effects_;  // as the head has them
  const LoopsAround around(f);
  // What the back edge always changes: the head's parameters.
  for (ir::NameId p : f.code->block(head).params) plan.names.insert(index(p));
  for (int round = 0; round < kMaxRounds; ++round) {
    f.env = start.env;
    undo(entry);
    around.begin_again(f);
    BlockId rh = code.new_block();
    LoopHead lh{.block = rh};
    for (HeapId object : preload_.objects) reach(object);
    for (auto [object, name] : preload_.slots)
      if (object < heap_.size() && heap_[object] && heap_[object]->external) load_slot(object, Symbol::from_id(name));
    plan.preloaded = preload_.slots;
    make_escaping();
    if (before.done) write_all();  // of what was to be written before the loop
    if (request_.holes) forget_made();
    generalise_state(f, plan, lh);
    code.jump(rh, lh.initial);
    code.switch_to(rh);
    if (!plan.rolled.empty()) rolled_[lh.rolled]->born = AParts::next_identity;
    Fork at_head{f.env, heap_, rh, {}};
    const uint32_t names = code.name_count();
    const uint64_t born = AParts::next_identity;
    const auto back = std::make_shared<std::vector<Fork>>();
    f.loops.push_back({.head = head, .residual = rh, .back_edges = back});
    Outcome o = run(f, head, exit, EnterAt::head);
    around.restore(f);
    auto edges = std::move(*back);
    Fork after{f.env, heap_, code.current(), o};
    // What a chain keeps of a turn has one structure: all turns end in one place.
    if (!plan.rolled.empty()) join_edges(f, head, edges, names, born);
    bool stable = true;
    // Each edge is compared with the head as it is. What the edges add to the plan is for the next round's head.
    const LoopPlan of_head = plan;
    for (Fork& e : edges) stable &= fits(f, head, of_head, plan, at_head, e, lh.renewed);
    // An iteration begins as the one before it has left the world.
    if (effects_.unknown && !before.unknown)
      abandon(Reason::interpreter_changed, "what the interpreter may change in a loop");
    if (effects_.done && !before.done) {
      before.done = true;
      continue;
    }
    if (!stable) continue;
    if (!plan.rolled.empty() && !roll_turns(plan, at_head, edges, lh)) continue;
    if (effects_.done && redone_ != entry.redone)
      abandon(Reason::effects, "a raise, or an operation inside try, in a loop with effects");
    if (!edges.empty()) code.mark_loop_head(rh);  // none: every turn raises, returns or goes on behind the loop
    for (Fork& e : edges) {
      code.switch_to(e.end);
      heap_ = e.heap;
      code.jump(rh, back_edge_arguments(plan, at_head, e, lh));
    }
    f.env = std::move(after.env);
    heap_ = std::move(after.heap);
    pass_turns(at_head.env, f.env);
    code.switch_to(after.end);
    return o;
  }
  abandon(Reason::loop_state, "a loop whose state does not settle");
}

}  // namespace ouro::jit
