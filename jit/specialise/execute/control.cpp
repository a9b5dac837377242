// Control flow of abstract execution: blocks, branches, joins and loops.
//
// A branch on a known value takes one arm. On a dynamic one both arms run, each on its own copy of the state, up to the
// nearest common post-dominator, where the copies are joined. A loop whose condition is not known becomes a loop of the
// residual program: its head is generalised until the state at the back edges fits (abstract interpretation with
// widening; Cousot, Cousot 1977). One whose condition is known is unrolled: all of its turns if it runs over structure,
// or does to structure what only turn by turn can be followed; a loop over numbers that has many turns stays one.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/attempt.h"
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"
#include "jit/specialise/states/join.h"
#include "support/give_up.h"

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;

namespace {
constexpr int kFewForks = 8;  // turns that data may end and that are written out, each in the branch of the one before
constexpr int kMaxUnroll = 64;  // turns of a loop over numbers that are written out before it is kept as a loop
constexpr size_t kMostHolesOfTurns = 512;
constexpr int kMaxDepth = 120;
constexpr int kMaxUndecided = 4;  // branches around a recursion
constexpr int kMaxRounds = 16;
constexpr int kMostPeeled = 3;  // turns that are written out before a loop of the program, since they change types
// What a program may come to while loops are written out turn by turn: a step of a model with thousands of parameters
// has some ten thousand operations.
constexpr size_t kMaxProgram = 400'000;
constexpr size_t kMaxSteps = 10'000'000;
// Values of a program: each branch hands on all that may be of several forms, so they may be many more than operations.
constexpr uint32_t kMaxNames = 1'000'000;
// After so many turns of a loop over a range it is known how long the rest would be.
constexpr int kTurnsThatTell = 1'000;

// A loop that was being unrolled is to be a loop of the program.
struct LoopRetry {
  enum class Why : uint8_t {
    undecided,  // it turns out not to end by itself
    many,       // it has many turns
    forks,      // data may end it in more than a few turns
    large,      // the program has become large
  };
  AFrame* frame;
  BlockId head;
  Why why;
};

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

// Is the first argument a different object than in the call that is running?
static bool of_other_object(const AFrame& running, const std::vector<AVal>& params) {
  if (params.empty()) return false;
  const AVal& self = running.env[index(running.code->blocks[0].params[0])];
  return self.is(AKind::ref) && params[0].is(AKind::ref) && self.heap != params[0].heap;
}

bool Specialiser::is_of_script(Span at) const {
  const SourceFile* file = at.known() ? session.sources.file(at.file) : nullptr;
  return file && !file->name().starts_with("ouro/");
}

// Is it a function of one of Python's modules?
bool Specialiser::is_of_python(const ir::Function& fn) const {
  const SourceFile* file = fn.span.known() ? session.sources.file(fn.span.file) : nullptr;
  return file && file->name().starts_with("ouro/python/");
}

// Do the interpreter's tracebacks show a frame of it?
bool Specialiser::is_shown(const ir::Function& fn) const {
  const SourceFile* file = fn.span.known() ? session.sources.file(fn.span.file) : nullptr;
  return file && (file->name() != "ouro/protocol.ouro" || is_derived(fn));
}

AVal Specialiser::exec_function(const ir::FunctionRef& fn, std::vector<AVal> params, const Value& globals,
                                Span call_site) {
  if (fn->is_generator) return make_generator(fn, std::move(params), globals, call_site);
  // Recursion ends where values that are known say so. What goes deeper behind one undecided branch after the other
  // would be executed in both arms of each. (Adapters of the rules of derivatives stand between all calls; who calls
  // itself is seen by its own form. One function of the library calls all modules, also those inside of others.)
  const bool adapter = is_rule(*fn);
  const auto outermost = std::ranges::find_if(frames_, [&](const AFrame* f) {
    return f->code == fn && (is_of_script(fn->span) || !of_other_object(*f, params));
  });
  const bool active = !adapter && outermost != frames_.end();
  result_->recursive = result_->recursive || (active && is_of_script(fn->span));
  const bool undecided = active && arms_ >= (*outermost)->arms + kMaxUndecided;
  if (depth_ >= kMaxDepth || undecided || (active && recursive_.count(fn.get()))) {
    if (active) recursive_.insert(fn.get());
    abandon(Reason::recursion, fmt::format("recursion through {}", fn->name.text()));
  }
  AFrame f;
  f.code = fn;
  f.flow = &flow_of(fn);
  // What is written on some way through it is taken for what changes at each call. (A container of Python's library
  // writes to most of its attributes on rare ways alone; where it does write, the program is made again.)
  if (!is_of_python(*fn)) written_names_.insert(f.flow->written.begin(), f.flow->written.end());
  f.env.resize(fn->names.size());
  f.globals = globals;
  f.caller = frames_.empty() ? nullptr : frames_.back();
  f.in_try = in_try_;
  f.arms = arms_;
  f.call_site = call_site;
  const auto& entry = fn->blocks[0].params;
  if (params.size() != entry.size()) ouro_bug("specialise: %zu parameters for %zu", params.size(), entry.size());
  for (size_t i = 0; i < entry.size(); ++i) f.env[index(entry[i])] = std::move(params[i]);
  frames_.push_back(&f);
  code.enter_call({.code = fn, .globals = globals, .site = call_site, .shown = is_shown(*fn)});
  ++depth_;
  Span outer = span;
  struct Leave {
    Specialiser& s;
    Span outer;
    ~Leave() {
      s.code.leave_call();
      s.frames_.pop_back();
      --s.depth_;
      s.span = outer;
    }
  } leave{*this, outer};
  Outcome o = run(f, BlockId{0}, BlockId::none);
  if (o.kind != Outcome::Kind::returned) throw DeadPath{};
  return o.value;
}

AVal Specialiser::atom_value(AFrame& f, Atom a) {
  AVal v = raw_value(f, a);
  one_side(v);
  return v;
}

AVal Specialiser::raw_value(AFrame& f, Atom a) {
  if (!a.is_name()) return constant_value(*f.code, a.constant());
  const AVal& stored = f.env[index(a.name())];
  return eithers_ == 0 ? usable(stored) : usable(settle(stored));
}

AVal Specialiser::usable(const AVal& v) {
  if (v.is(AKind::poison))
    abandon_parted(v, v.known.is_object() ? std::string(runtime::cast<runtime::Str>(v.known)->view())
                                          : "value differs between branches");
  if (v.is(AKind::ref) && as_left(v.heap).lost()) return AVal::dynamic(place_of_object(v.heap), nullptr);
  // Past the test for the end, an iterator's value is a value.
  if (v.is(AKind::maybe_end) && !testing_end_) return v.items()[0];
  return v;
}

void Specialiser::take_edge(AFrame& f, const ir::Target& t) {
  const ir::Block& b = f.code->block(t.block);
  std::vector<AVal> args;
  for (uint32_t i = 0; i < t.nargs; ++i) {
    Atom a = f.code->args(t)[i];
    args.push_back(a.is_name() ? f.env[index(a.name())] : constant_value(*f.code, a.constant()));
  }
  for (uint32_t i = 0; i < t.nargs; ++i) f.env[index(b.params[i])] = std::move(args[i]);
}

// Until the next slice. Then the guards of what was read so far are looked at.
void Specialiser::pause() {
  request_.attempt->pause();
  std::vector<Value> values, inputs;
  Miss miss;
  bool stands = access.load(session, request_.function, request_.args, values, inputs, &miss);
  for (const auto& [id, found] : external_info_) {  // one that is reached no more may have got a __dict__
    const auto* o = runtime::cast_exact<runtime::Instance>(found.first);
    if (stands && o && !o->shape) stands = false, miss.node = found.second;
  }
  if (!stands) request_.attempt->end_as_changed(access, miss.node);
}

Outcome Specialiser::run(AFrame& f, BlockId from, BlockId stop, EnterAt entry) {
  BlockId at = from;
  // Branches that are not decided stand inside each other.
  need_stack("too many branches inside each other");
  for (;;) {
    if (at == stop && entry == EnterAt::block) return {Outcome::Kind::reached, {}};
    const ir::Block& block = f.code->block(at);
    if (block.loop_head && entry == EnterAt::block) {
      Outcome out;
      BlockId next = BlockId::none;
      if (enter_loop(f, at, stop, out, next)) {
        if (out.kind != Outcome::Kind::reached || next == BlockId::none) return out;
        at = next;
        continue;
      }
    }
    // An arm that ends in a raise is left at once: the interpreter does all of it, the message included.
    // (Not what may be the end of an iterator.)
    if (arms_ > 0 && block.term.kind == ir::Terminator::Kind::raise && !effects_.done && !may_stop()) raise();
    may_give_up();
    if (request_.attempt && request_.attempt->slice_is_over()) pause();
    steps_ += 1 + block.lets.size();
    if (steps_ > 2 * kMaxSteps)
      abandon_whole(Reason::too_large, fmt::format("a program that takes more than {} steps", 2 * kMaxSteps));
    if (code.name_count() > kMaxNames)
      abandon_whole(Reason::too_large, fmt::format("a program of more than {} values", kMaxNames));
    if (entry != EnterAt::terminator) {
      struct Raising {  // what the interpreter does for an exception's sake costs nothing: it is rare
        int& count;
        bool on;
        Raising(int& count, bool on) : count(count), on(on) { count += on; }
        ~Raising() { count -= on; }
      } raising{raising_, block.term.kind == ir::Terminator::Kind::raise};
      for (const ir::Let& let : block.lets) {
        span = let.span;
        AVal v = exec_let_or_hole(f, let);
        if (let.result != ir::NameId::none) f.env[index(let.result)] = std::move(v);
      }
    }
    entry = EnterAt::block;
    const ir::Terminator& t = block.term;
    if (t.span.known()) span = t.span;
    switch (t.kind) {
      case ir::Terminator::Kind::return_:
        return {Outcome::Kind::returned, raw_value(f, t.a)};
      case ir::Terminator::Kind::jump:
        take_edge(f, t.targets[0]);
        at = t.targets[0].block;
        break;
      case ir::Terminator::Kind::switch_: {
        const AVal v = raw_value(f, t.a);
        const AVal* sides = v.is(AKind::either) ? &v : v.ways();
        if (sides) {
          BlockId next = BlockId::none;
          Outcome o = run_sides(f, sides->atom, at, stop, next);
          if (o.kind != Outcome::Kind::reached) return o;
          at = next;
          break;
        }
        if (v.is(AKind::dynamic) && v.type == ir::types::integer() && !may_pin(v)) {  // the label of a loop's record
          if (being_unrolled(f, at)) throw LoopRetry{&f, f.loops.back().head, LoopRetry::Why::undecided};
          BlockId next = BlockId::none;
          Outcome o = run_ways(f, t, v, 0, at, stop, next);
          if (o.kind != Outcome::Kind::reached) return o;
          at = next;
          break;
        }
        const auto i = static_cast<size_t>(need_int(v, "chooses a way"));
        if (i >= t.targets.size()) abandon(Reason::internal, "there is no way on");
        take_edge(f, t.targets[i]);
        at = t.targets[i].block;
        break;
      }
      case ir::Terminator::Kind::branch: {
        const AVal v = raw_value(f, t.a);
        BlockId next = BlockId::none;
        if (const AVal* sides = v.is(AKind::either) ? &v : v.ways()) {
          Outcome o = run_sides(f, sides->atom, at, stop, next);
          if (o.kind != Outcome::Kind::reached) return o;
          at = next;
          break;
        }
        AVal c = settled_condition(v);
        // A loop that is being unrolled must not be left by a dynamic condition of its own head: it would never end.
        const auto unrolled = [&](const AFrame::LoopState& l) { return l.residual == BlockId::none && !l.first; };
        if (!concrete(c) && !f.loops.empty() && f.loops.back().head == at && unrolled(f.loops.back()))
          throw LoopRetry{&f, at, LoopRetry::Why::undecided};
        if (auto known = concrete(c)) {
          const ir::Target& way = t.targets[known->as_bool() ? 0 : 1];
          take_edge(f, way);
          at = way.block;
          break;
        }
        Outcome o = run_branch(f, c.atom, at, stop, next, [&](size_t i, BlockId meet) {
          take_edge(f, t.targets[i]);
          return run(f, t.targets[i].block, meet);
        });
        if (o.kind != Outcome::Kind::reached) return o;
        at = next;
        break;
      }
      case ir::Terminator::Kind::raise:
        f.handles = t.handover != ir::Let::kNoHandover;
        if (may_stop() && is_stop_iteration(raw_value(f, t.a)) && has_no_cause(f, t)) stop_iteration();
        in_try_ = f.in_try || f.handles;
        span = t.span;
        if (raises_itself() && !t.a.is_none()) {
          std::vector<AVal> args{atom_value(f, t.a)};
          if (!t.b.is_none())
            if (AVal cause = raw_value(f, t.b); !cause.is(AKind::unbound)) args.push_back(std::move(cause));
          raise_by(protocol_native("raise_from"), args);
        }
        raise();
      case ir::Terminator::Kind::yield:
      case ir::Terminator::Kind::yield_from:
        abandon(Reason::language, "generator");
      default:
        abandon(Reason::internal, "unreachable code");
    }
  }
}

// Is the block in a loop that is being unrolled? What the program computes does not decide how such a loop goes on.
bool Specialiser::being_unrolled(const AFrame& f, BlockId at) const {
  if (f.loops.empty()) return false;
  const AFrame::LoopState& l = f.loops.back();
  return l.residual == BlockId::none && l.first == 0 && std::ranges::count(f.flow->loops[index(at)], l.head);
}

// Where the ways of a switch meet, from one on: it may be before `last`, where all of them do.
static BlockId meet_of_ways(const AFrame& f, const ir::Terminator& t, size_t first, BlockId last) {
  const auto ends = [&](BlockId b) { return b == last || b == BlockId::none; };
  const auto behind = [&](BlockId b) { return f.flow->post_dominator[index(b)]; };
  BlockId meet = t.targets[first].block;
  for (size_t i = first + 1; i < t.targets.size(); ++i) {
    const auto passes = [&](BlockId b) {
      BlockId on = t.targets[i].block;
      while (on != b && !ends(on)) on = behind(on);
      return on == b;
    };
    while (!ends(meet) && !passes(meet)) meet = behind(meet);
  }
  return meet == BlockId::none ? last : meet;
}

// A switch by a number that the program computes: one comparison after the other.
Outcome Specialiser::run_ways(AFrame& f, const ir::Terminator& t, const AVal& way, size_t first, BlockId at,
                              BlockId stop, BlockId& next) {
  const auto go = [&](size_t i, BlockId meet) {
    take_edge(f, t.targets[i]);
    return run(f, t.targets[i].block, meet);
  };
  BlockId last = f.flow->post_dominator[index(at)];
  if (last == BlockId::none) last = stop;
  next = meet_of_ways(f, t, first, last);
  const AVal is_first = compare(ir::prim::eq, way, AVal::of(Value::integer(static_cast<int64_t>(first))));
  Outcome o = run_arms(f, is_first.atom, next, [&](size_t i, BlockId meet) {
    if (i == 0 || first + 2 == t.targets.size()) return go(first + i, meet);
    BlockId reached = BlockId::none;
    return run_ways(f, t, way, first + 1, at, meet, reached);
  });
  if (o.kind != Outcome::Kind::reached || next == last) return o;
  o = run(f, next, last);
  next = last;
  return o;
}

Outcome Specialiser::run_branch(AFrame& f, Atom condition, BlockId from, BlockId stop, BlockId& next,
                                const std::function<Outcome(size_t, BlockId)>& arm) {
  next = f.flow->post_dominator[index(from)];
  // Inside a residual loop the way on may be its back edge: then arms end there, and the meeting point is the caller's.
  if (next == BlockId::none) next = stop;
  return run_arms(f, condition, next, arm);
}

Outcome Specialiser::run_arms(AFrame& f, Atom condition, BlockId meet,
                              const std::function<Outcome(size_t, BlockId)>& arm) {
  const uint32_t names = code.name_count();
  const uint64_t born = AParts::next_identity;
  BlockId blocks[2] = {code.new_block(), code.new_block()};
  code.branch(condition, blocks[0], blocks[1]);
  Fork forks[2];
  Fork start{f.env, heap_, BlockId::none, {}};
  const Span parted = span;
  const Effects effects = effects_;
  const auto loops = f.loops;
  struct Arms {
    int& n;
    explicit Arms(int& n) : n(n) { ++n; }
    ~Arms() { --n; }
  } arms(arms_);
  for (size_t i = 0; i < 2; ++i) {
    if (i == 1) {
      f.env = start.env;
      f.loops = loops;
      restore_heap(start.heap);
      effects_ = effects;
    }
    code.switch_to(blocks[i]);
    enter_side(condition, i == 0);
    // Behind the test an iterator has ended, or has given a value.
    for (AVal& v : f.env)
      if (v.is(AKind::maybe_end) && v.atom == condition) v = i == 0 ? AVal::marker(AKind::end) : AVal(v.items()[0]);
    const Checkpoint entered = checkpoint();
    try {
      forks[i].outcome = arm(i, meet);
    } catch (const DeadPath&) {  // what an arm without an end has done is not done behind the branch
      forks[i].outcome = {};
      effects_ = effects;
    } catch (const Abandon& a) {
      if (!leave_instead(a, entered)) throw;
      forks[i].outcome = {};
    }
    forks[i].env = f.env;
    forks[i].heap = heap_;
    forks[i].end = code.current();
    forks[i].effects = effects_;
  }
  f.loops = loops;
  return join(f, forks[0], forks[1], {.at = meet, .parted = parted, .tag = condition, .names = names, .born = born});
}

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

// How many turns are left of a loop over a range whose numbers are known; 0: it is no such loop, or may end otherwise.
double Specialiser::turns_left(const AFrame& f, BlockId head) const {
  const auto inside = [&](BlockId b) { return std::ranges::count(f.flow->loops[index(b)], head) > 0; };
  for (uint32_t b = 0; b < f.code->blocks.size(); ++b) {
    if (BlockId{b} == head || !inside(BlockId{b})) continue;
    for (const ir::Target& t : f.code->blocks[b].term.targets)
      if (!inside(t.block)) return 0;
  }
  for (const ir::Let& let : f.code->block(head).lets) {
    if (let.op != ir::prim::iter_next) continue;
    const Atom iterated = f.code->args(let)[0];
    const AVal* v = iterated.is_name() ? &f.env[index(iterated.name())] : nullptr;
    if (!v || !v->is(AKind::ref) || !heap_[v->heap] || heap_[v->heap]->iter != AObject::Iter::range) return 0;
    const AObject& range = *heap_[v->heap];
    for (const AVal* number : {&range.cursor, &range.stop, &range.step})
      if (!number->is(AKind::known) || !number->known.is_int()) return 0;
    const double way =
        static_cast<double>(range.stop.known.as_int()) - static_cast<double>(range.cursor.known.as_int());
    return std::max(0.0, way / static_cast<double>(range.step.known.as_int()));
  }
  return 0;
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
    if (*l.forked > kFewForks && !l.structural) throw LoopRetry{&f, l.head, Why::forks};
  }
  follow_walks(f, l);
  if (++l.trips > kMaxUnroll && !l.structural) throw LoopRetry{&f, l.head, Why::many};
  // Written out, what each turn leaves to the interpreter is longer to compile than to interpret.
  if (fallbacks_.size() > l.holes + kMostHolesOfTurns) {
    if (!l.structural) throw LoopRetry{&f, l.head, Why::many};
    abandon(Reason::call, "a loop of many turns, each of which leaves something to the interpreter");
  }
  if (l.trips == kTurnsThatTell) {
    const double each = static_cast<double>(code.size() - l.size) / kTurnsThatTell;
    if (each * turns_left(f, l.head) > kMaxProgram) throw LoopRetry{&f, l.head, Why::large};
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
  if ((way.kind == LoopWay::Kind::open || way.kind == LoopWay::Kind::unrolled) && unrolled()) return true;
  if (way.kind == LoopWay::Kind::loop || way.kind == LoopWay::Kind::forked) {
    // What it does with structure (layers, parameters, a list that grows) can only be followed turn by turn.
    bool can_be_kept = false;
    try {
      kept();
      if (way.boxes || fallbacks_.size() == before.notes) return true;
      can_be_kept = true;
    } catch (const Abandon& a) {
      if (a.whole) throw;
    }
    restart();
    way.kind = LoopWay::Kind::unrolled;
    try {
      if (unrolled()) return true;
    } catch (const Abandon& a) {
      if (a.whole || !can_be_kept) throw;
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
