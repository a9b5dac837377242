// Control flow of abstract execution: blocks, branches, joins and loops.
//
// A branch on a known value takes one arm. On a dynamic one both arms run, each on its own copy of the state, up to the
// nearest common post-dominator, where the copies are joined. A loop is unrolled while its condition is known, and made
// a residual loop otherwise: its head is generalised until the state at the back edges fits (abstract interpretation
// with widening; Cousot, Cousot 1977).
#include <algorithm>

#include <fmt/format.h>

#include "jit/join.h"
#include "jit/specialiser.h"

namespace ouro::jit {

using ir::Atom;
using ir::BlockId;
using ir::index;

namespace {
constexpr int kMaxUnroll = 64;
constexpr int kMaxDepth = 120;
constexpr int kMaxUndecided = 4;  // branches around a recursion
constexpr int kMaxRounds = 16;
constexpr size_t kMaxSteps = 4'000'000;

// A loop that was being unrolled turns out not to end by itself.
struct LoopRetry {
  AFrame* frame;
  BlockId head;
};
}  // namespace

AVal Specialiser::exec_function(const ir::FunctionRef& fn, std::vector<AVal> params, const Value& globals,
                                Span call_site) {
  if (fn->is_generator) abandon(fmt::format("generator {}", fn->name.text()));
  // Recursion ends where values that are known say so. What goes deeper behind one undecided branch after the other
  // would be executed in both arms of each. (Adapters of the rules of derivatives stand between all calls; who calls
  // itself is seen by its own form.)
  const SourceFile* file = session.sources.file(fn->span.file);
  const bool adapter = file && file->name() == "ouro/grad_rules.ouro";
  const auto outermost = std::ranges::find_if(frames_, [&](const AFrame* f) { return f->code == fn; });
  const bool active = !adapter && outermost != frames_.end();
  const bool undecided = active && arms_ >= (*outermost)->arms + kMaxUndecided;
  if (depth_ >= kMaxDepth || undecided || (active && recursive_.count(fn.get()))) {
    if (active) recursive_.insert(fn.get());
    abandon(fmt::format("recursion through {}", fn->name.text()));
  }
  AFrame f;
  f.code = fn;
  f.flow = &flow_of(fn);
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
  ++depth_;
  Span outer = span;
  struct Leave {
    Specialiser& s;
    Span outer;
    ~Leave() {
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
  if (a.is_name()) {
    const AVal& v = f.env[index(a.name())];
    if (v.is(AKind::poison))
      abandon(v.known.is_object() ? std::string(runtime::cast<runtime::Str>(v.known)->view())
                                  : "value differs between branches");
    // Past the test for the end, an iterator's value is a value.
    if (v.is(AKind::maybe_end) && !testing_end_) return v.items()[0];
    return v;
  }
  return constant_value(*f.code, a.constant());
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

// `entered`: `from` is a loop head that enter_loop has dealt with.
Outcome Specialiser::run(AFrame& f, BlockId from, BlockId stop, bool entered) {
  BlockId at = from;
  for (;;) {
    if (at == stop && !entered) return {Outcome::Kind::reached, {}};
    const ir::Block& block = f.code->block(at);
    if (block.loop_head && !entered) {
      Outcome out;
      BlockId next = BlockId::none;
      if (enter_loop(f, at, stop, out, next)) {
        if (out.kind != Outcome::Kind::reached || next == BlockId::none) return out;
        at = next;
        continue;
      }
    }
    entered = false;
    for (const ir::Let& let : block.lets) {
      if (++steps_ > kMaxSteps) abandon("too large");
      span = let.span;
      AVal v = exec_let(f, let);
      if (let.result != ir::NameId::none) f.env[index(let.result)] = std::move(v);
    }
    const ir::Terminator& t = block.term;
    if (t.span.known()) span = t.span;
    switch (t.kind) {
      case ir::Terminator::Kind::return_:
        return {Outcome::Kind::returned, atom_value(f, t.a)};
      case ir::Terminator::Kind::jump:
        take_edge(f, t.targets[0]);
        at = t.targets[0].block;
        break;
      case ir::Terminator::Kind::switch_: {
        int64_t i = need_int(atom_value(f, t.a), "chooses a way");
        take_edge(f, t.targets[static_cast<size_t>(i)]);
        at = t.targets[static_cast<size_t>(i)].block;
        break;
      }
      case ir::Terminator::Kind::branch: {
        AVal c = atom_value(f, t.a);
        if (auto known = concrete(c)) {
          const ir::Target& way = t.targets[known->as_bool() ? 0 : 1];
          take_edge(f, way);
          at = way.block;
          break;
        }
        BlockId next = BlockId::none;
        Outcome o = run_branch(f, t, c, at, stop, next);
        if (o.kind != Outcome::Kind::reached) return o;
        at = next;
        break;
      }
      case ir::Terminator::Kind::raise:
        // Rare or wrong: leave, and let the interpreter raise it.
        if (effects_done_) abandon("raise after an effect");
        ++redone_;
        code.leave("raise");
        return {Outcome::Kind::dead, {}};
      case ir::Terminator::Kind::yield:
      case ir::Terminator::Kind::yield_from:
        abandon("generator");
      default:
        abandon("unreachable code");
    }
  }
}

Outcome Specialiser::run_branch(AFrame& f, const ir::Terminator& t, const AVal& condition, BlockId from, BlockId stop,
                                BlockId& next) {
  // A loop that is being unrolled must not be left by a dynamic condition of its own head: it would never end.
  if (!f.loops.empty() && f.loops.back().residual == BlockId::none && f.loops.back().head == from)
    throw LoopRetry{&f, from};
  BlockId meet = f.flow->post_dominator[index(from)];
  // Inside a residual loop the way on may be its back edge: then arms end there, and the meeting point is the caller's.
  if (meet == BlockId::none) meet = stop;
  BlockId blocks[2] = {code.new_block(), code.new_block()};
  code.branch(condition.atom, blocks[0], blocks[1]);
  Fork forks[2];
  Fork start{f.env, heap_, BlockId::none, {}};
  const Span parted = span;
  bool effects = effects_done_;
  const auto loops = f.loops;
  struct Arms {
    int& n;
    explicit Arms(int& n) : n(n) { ++n; }
    ~Arms() { --n; }
  } arms(arms_);
  for (int i = 0; i < 2; ++i) {
    if (i == 1) {
      f.env = start.env;
      f.loops = loops;
      restore_heap(start.heap);
    }
    code.switch_to(blocks[i]);
    try {
      // An arm that ends in a raise is left at once: the interpreter does all of it, the message included.
      if (f.code->block(t.targets[i].block).term.kind == ir::Terminator::Kind::raise && !effects_done_) {
        ++redone_;
        code.leave("raise");
        throw DeadPath{};
      }
      take_edge(f, t.targets[i]);
      forks[i].outcome = run(f, t.targets[i].block, meet);
    } catch (const DeadPath&) {
      forks[i].outcome = {};
    }
    forks[i].env = f.env;
    forks[i].heap = heap_;
    forks[i].end = code.current();
    std::swap(effects, effects_done_);
    if (i == 1) effects_done_ = effects_done_ || effects;
  }
  f.loops = loops;
  next = meet;
  return join(f, forks[0], forks[1], meet, parted);
}

bool Specialiser::enter_loop(AFrame& f, BlockId head, BlockId stop, Outcome& out, BlockId& next) {
  for (size_t i = f.loops.size(); i-- > 0;) {
    AFrame::LoopState& l = f.loops[i];
    if (l.head != head) continue;
    // A back edge. Inner loops that were being unrolled have been left by it.
    f.loops.resize(i + 1);
    if (l.residual == BlockId::none) {
      if (++l.trips > kMaxUnroll && !l.structural) throw LoopRetry{&f, head};
      // Each turn that hangs on undecided branches is nested in the one before.
      if (l.trips > kMaxUnroll * 64 || arms_ > l.arms + kMaxUnroll) throw LoopRetry{&f, head};
      return false;
    }
    l.back_edges->push_back({f.env, heap_, code.current(), {}});
    out = {Outcome::Kind::dead, {}};
    return true;
  }
  BlockId exit = f.flow->post_dominator[index(head)];
  if (exit == BlockId::none) exit = stop;
  Fork start{f.env, heap_, code.current(), {}};
  size_t loops = f.loops.size();
  auto key = std::make_pair(static_cast<const void*>(f.code.get()), index(head));
  if (!forced_.count(key)) {
    Residual::Mark mark = code.mark();
    bool effects = effects_done_;
    size_t notes = fallbacks_.size();
    try {
      f.loops.push_back({head, BlockId::none, 0, false, {}, arms_});
      out = run(f, head, exit, true);
      f.loops.resize(loops);
      next = exit;
      return true;
    } catch (const LoopRetry& r) {
      if (r.frame != &f || r.head != head) throw;
      forced_.insert(key);
      f.loops.resize(loops);
      f.env = start.env;
      restore_heap(start.heap);
      code.rollback(mark);
      effects_done_ = effects;
      fallbacks_.resize(notes);
    }
  }
  out = residual_loop(f, head, exit, start);
  next = exit;
  return true;
}

Outcome Specialiser::residual_loop(AFrame& f, BlockId head, BlockId exit, const Fork& start) {
  Residual::Mark mark = code.mark();
  LoopPlan plan;  // which locations are parameters of the residual head, and how general
  size_t loops = f.loops.size(), notes = fallbacks_.size();
  bool effects = effects_done_;
  const size_t redone = redone_;
  // What the back edge always changes: the head's parameters.
  for (ir::NameId p : f.code->block(head).params) plan.names.insert(index(p));
  for (int round = 0; round < kMaxRounds; ++round) {
    f.env = start.env;
    restore_heap(start.heap);
    code.rollback(mark);
    fallbacks_.resize(notes);
    effects_done_ = effects;
    BlockId rh = code.new_block();
    LoopHead lh{rh, {}, {}};
    for (auto [object, name] : preload_)
      if (object < heap_.size() && heap_[object] && heap_[object]->external) load_slot(object, Symbol::from_id(name));
    generalise_state(f, plan, lh);
    code.jump(rh, lh.initial);
    code.switch_to(rh);
    code.mark_loop_head(rh);
    Fork at_head{f.env, heap_, rh, {}};
    f.loops.push_back({head, rh, 0, false, std::make_shared<std::vector<Fork>>()});
    Outcome o = run(f, head, exit, true);
    f.loops.resize(loops + 1);
    auto edges = std::move(*f.loops[loops].back_edges);
    f.loops.resize(loops);
    Fork after{f.env, heap_, code.current(), o};
    bool stable = true;
    for (Fork& e : edges) stable &= fits(f, head, plan, at_head, e);
    if (!stable) continue;
    if (effects_done_ && redone_ != redone) abandon("a raise, or an operation inside try, in a loop with effects");
    for (Fork& e : edges) {
      code.switch_to(e.end);
      code.jump(rh, back_edge_arguments(plan, at_head, e, lh));
    }
    f.env = std::move(after.env);
    heap_ = std::move(after.heap);
    code.switch_to(after.end);
    return o;
  }
  abandon("a loop whose state does not settle");
}

}  // namespace ouro::jit
