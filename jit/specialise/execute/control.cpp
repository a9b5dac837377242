// Control flow of abstract execution: blocks and branches.
//
// A branch on a known value takes one arm. On a dynamic one both arms run, each on its own copy of the state, up to the
// nearest common post-dominator, where the copies are joined. (Loops: loops.cpp.)
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/attempt.h"
#include "jit/specialise/execute/loops.h"
#include "jit/specialise/specialiser.h"
#include "jit/specialise/states/checkpoint.h"
#include "jit/specialise/states/join.h"
#include "support/give_up.h"

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;
namespace {
constexpr int kMaxDepth = 120;
constexpr int kMaxUndecided = 4;  // branches around a recursion
// Values of a program: each branch hands on all that may be of several forms, so they may be many more than operations.
constexpr uint32_t kMaxNames = 1'000'000;
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

}  // namespace ouro::jit
