#include "jit/versions/executor.h"

#include "backends/host/host_backend.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "ir/grad/reverse.h"
#include "jit/cache/remembered_store.h"
#include "jit/plan/inlined_calls.h"
#include "jit/specialise/residual/output.h"
#include "jit/specialise/spans.h"
#include "jit/versions/loop_watch.h"
#include "jit/versions/place.h"
#include "runtime/autodiff/apart.h"
#include "runtime/autodiff/state.h"
#include "runtime/demand/loop.h"
#include "runtime/interpreter/code.h"
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/machine/give_back.h"
#include "runtime/machine/threads.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/philox.h"
#include "runtime/tensor/route.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"
#include "support/timeline.h"
#include "support/trace.h"

namespace ouro::jit {

using runtime::Code;
using runtime::Frame;
using RunOutcome = runtime::Outcome;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostLookedAt = 256;

// Do the arguments hold a tensor? This looks into tuples and first items of lists, two levels deep. With `objects` it
// also looks into attributes and all items of lists and dicts, at any depth, breadth first.
bool hold_tensor(const std::vector<Value>& args, bool objects) {
  using runtime::ObjectKind;
  struct Looked {
    const Value* value;
    int depth;
  };
  std::vector<Looked> queue;
  for (const Value& a : args) queue.push_back({&a, 0});
  for (size_t at = 0; at < queue.size(); ++at) {
    const auto [v, depth] = queue[at];
    const auto add = [&, depth = depth](const Value& i) {
      if ((objects || depth < 2) && queue.size() < kMostLookedAt) queue.push_back({&i, depth + 1});
    };
    switch (runtime::kind_of(*v)) {
      case ObjectKind::tensor:
        return true;
      case ObjectKind::tuple:
        std::ranges::for_each(*v->as<runtime::Tuple>(), add);
        break;
      case ObjectKind::list: {
        auto* l = v->as<runtime::List>();
        std::ranges::for_each(std::span(l->items, objects ? l->size : std::min<size_t>(l->size, 1)), add);
        break;
      }
      case ObjectKind::dict: {
        auto* d = v->as<runtime::Dict>();
        for (uint32_t i = 0; objects && i < d->filled; ++i)
          if (!d->entries[i].key.is_unbound()) add(d->entries[i].value);
        break;
      }
      case ObjectKind::instance: {
        auto* o = v->as<runtime::Instance>();
        auto* named = runtime::cast_exact<runtime::Tuple>(o->native);  // a batch with names
        const auto is_tensor = [](const Value& i) { return runtime::kind_of(i) == ObjectKind::tensor; };
        if (named && std::all_of(named->begin(), named->end(), is_tensor)) add(o->native);
        if (runtime::cast_exact<runtime::Dict>(o->native)) add(o->native);
        if (objects && o->shape) std::ranges::for_each(std::span(o->slots, o->shape->count), add);
        if (objects && o->dict.is_object()) add(o->dict);  // somebody has asked for __dict__
        break;
      }
      default:
        break;
    }
  }
  return false;
}

// What a captured function is known by; null: it is none.
const void* captured_identity(const Value& capture, ir::FunctionRef& code) {
  const Value* v = &capture;
  if (auto* cell = runtime::cast_exact<runtime::Cell>(*v)) v = &cell->value;
  if (auto* bound = runtime::cast_exact<runtime::BoundMethod>(*v)) v = &bound->function;
  if (auto* f = runtime::cast_exact<runtime::Function>(*v)) return code = f->code, f->code.get();
  if (auto* n = runtime::cast_exact<runtime::Native>(*v)) return n->def;
  if (auto* o = runtime::cast_exact<runtime::Instance>(*v)) return o->type;  // a model
  return nullptr;
}

}  // namespace

namespace {
bool asked_for_everything() {
  const char* what = std::getenv("OURO_COMPILE");
  return what && std::string_view(what) == "everything";
}
}  // namespace

JitExecutor::JitExecutor(Session& s)
    : session_(s),
      stress_exits_(std::getenv("OURO_STRESS_EXITS") != nullptr),
      stress_slices_(std::getenv("OURO_STRESS_SLICES") != nullptr),
      everything_(asked_for_everything()),
      plain_(s) {
  if (const char* ms = std::getenv("OURO_COMPILE_AFTER")) compile_after = std::chrono::milliseconds(std::atoi(ms));
  if (compile_after.count() == 0) {  // tests
    plain_.calls_before = 3;
    plain_.looks_before = 1;
    plain_.waits = true;
    s.interpreter->turns_between = s.interpreter->turns_left = 3;
  }
}
JitExecutor::~JitExecutor() {
  queue_.reset();
  program_ended();
}

CodeVersions& JitExecutor::versions_of(const ir::FunctionRef& code) {
  auto [at, fresh] = index_.try_emplace(code.get(), nullptr);
  if (fresh) {
    at->second = std::make_unique<CodeVersions>();
    at->second->code = code;
    at->second->transform = runtime::autodiff::state(session_).transforms.contains(code.get());
  }
  return *at->second;
}

FunctionVersions& JitExecutor::function_of(CodeVersions& c, const runtime::Function* closure) {
  const std::span<const Value> captures =
      closure ? std::span<const Value>(closure->captures) : std::span<const Value>{};
  ir::FunctionRef code;
  const auto is = [&](const FunctionVersions* f) {
    size_t at = 0;
    for (const Value& v : captures)
      if (const void* of = captured_identity(v, code); of && (at == f->captured.size() || f->captured[at++] != of))
        return false;
    return at == f->captured.size();
  };
  const auto known = std::ranges::find_if(c.functions, is);
  if (known != c.functions.end()) {
    std::iter_swap(c.functions.begin(), known);
    return *c.functions.front();
  }
  if (c.functions.size() == kMaxFunctions) return *c.functions.front();
  FunctionVersions& f = *order_.emplace_back(std::make_unique<FunctionVersions>());
  f.code = c.code;
  f.marked = c.marked;
  f.fixed = c.fixed;
  for (const Value& v : captures) {
    ir::FunctionRef kept;
    if (const void* of = captured_identity(v, kept)) f.captured.push_back(of);
    if (kept) f.captured_codes.push_back(std::move(kept));
  }
  if (session_.options.mode == runtime::Mode::auto_)
    if (const Experience::Function* known = experience_.of(Experience::key_of(session_, f)); known && known->is_worth())
      f.worth = known->at_once(), f.allowance_ms = known->allowance_ms();
  c.functions.insert(c.functions.begin(), &f);
  return f;
}

void JitExecutor::mark(const ir::FunctionRef& code, std::vector<bool> fixed) {
  CodeVersions& c = versions_of(code);
  c.marked = true;
  c.fixed.resize(std::max(c.fixed.size(), fixed.size()));
  for (size_t i = 0; i < fixed.size(); ++i)
    if (fixed[i]) c.fixed[i] = true;
  for (FunctionVersions* f : c.functions) f->marked = true, f->fixed = c.fixed;
  Code* compiled = runtime::code_of(session_, code);
  compiled->call_trigger = compiled->calls + 1;
}

bool JitExecutor::wants(Frame& frame, bool objects) const {
  std::vector<Value> args;
  for (ir::NameId p : runtime::frame_code(frame)->function->blocks[0].params)
    args.push_back(runtime::frame_value(frame, p));
  return hold_tensor(args, objects);
}

RunOutcome JitExecutor::hot_function(Session& s, Frame& frame, Value&) {
  runtime::MemoryUnlimited unlimited(s.memory);
  Code* code = runtime::frame_code(frame);
  const ir::FunctionRef& f = code->function;
  const auto never = [&] {
    code->call_trigger = UINT32_MAX;
    return RunOutcome::not_taken;
  };
  if (s.options.mode == runtime::Mode::eager) {  // for now
    code->call_trigger = code->calls + 16;
    return RunOutcome::not_taken;
  }
  // The interpreter may have to do a form again, from its arguments.
  const bool form = ir::grad::is_forward_form(*f);
  if (form && (f->sig.kwonly || f->sig.varargs || f->sig.varkw)) return never();
  if (form && runtime::called_by_itself(frame)) {  // over data: the outermost call is compiled
    code->call_trigger = code->calls + 1;
    return RunOutcome::not_taken;
  }
  if (f->is_generator || f->kind == ir::Function::Kind::module || f->kind == ir::Function::Kind::class_body)
    return never();
  const auto known = index_.find(f.get());
  const bool marked = known != index_.end() && known->second->marked;
  if (!everything_ && !marked) {
    if (f->derived && !form) return never();
    // While what calls it is compiled, or may be, it is a part of that.
    if (form && !parts_wanted_) {
      code->call_trigger = code->calls + 16;
      return RunOutcome::not_taken;
    }
    // A comprehension goes through its caller's iterator, of which nothing is known: it is a part of its caller or
    // nothing.
    if (f->kind == ir::Function::Kind::comprehension) return never();
    // The library's own helpers are compiled as parts of what calls them.
    const bool transform = code->of_library && runtime::autodiff::state(s).transforms.contains(f.get());
    if (code->of_library && !transform) return never();
    CodeVersions& c = versions_of(f);
    if (compile_after.count() > 0 && s.options.mode == runtime::Mode::auto_) {
      const Clock::time_point now = Clock::now();
      if (c.seen == Clock::time_point{}) c.seen = now;
      // (Who works on no tensors does not touch the disk.)
      const auto at_once = [&] { return wants(frame, transform) && experience_.has_worth(Experience::key_of(s, *f)); };
      if (now - c.seen < compile_after && !at_once()) {
        code->call_trigger = code->calls + 1 + code->calls / 8;
        return RunOutcome::not_taken;
      }
    }
    if (!transform && !c.no_tree && runtime::called_by_itself(frame) && (c.walks || wants(frame, false))) {
      c.walks = true;
      code->call_trigger = code->calls + 1;  // the next outermost call
      return RunOutcome::not_taken;
    }
    if (!wants(frame, transform || form || (c.walks && !c.no_tree))) {
      c.no_tree = c.walks;
      if (plain_.hot_function(s, frame)) return never();
      // Look again later, ever more rarely.
      code->call_trigger = code->calls < 1000000 ? code->calls * 4 + 8 : UINT32_MAX;
      return RunOutcome::not_taken;
    }
  }
  code->entry = &JitExecutor::enter;
  code->entry_data = &versions_of(f);
  code->call_trigger = UINT32_MAX;
  return RunOutcome::not_taken;  // the interpreter asks the entry at once
}

RunOutcome JitExecutor::enter(Session& s, Frame& frame, void* data, Value& result) {
  runtime::MemoryUnlimited unlimited(s.memory);
  auto* jit = static_cast<JitExecutor*>(s.executor);
  const bool apart = std::exchange(jit->must_serve, false);
  const RunOutcome o = jit->entered(s, frame, *static_cast<CodeVersions*>(data), result, apart);
  if (!apart || o != RunOutcome::not_taken) return o;
  (void)runtime::autodiff::raise_not_compiled(s);
  return RunOutcome::raised;
}

RunOutcome JitExecutor::entered(Session& s, Frame& frame, CodeVersions& code, Value& result, bool apart) {
  if (code.code->derived && !serves_forms()) return RunOutcome::not_taken;
  if (s.options.mode == runtime::Mode::eager && !apart) return RunOutcome::not_taken;
  FunctionVersions& f = function_of(code, runtime::frame_closure(frame));
  if (!f.refused.empty()) {
    if (times_all && !apart) {
      Call c{.frame = frame, .function = f, .start = Clock::now(), .compiler_ns = compiler_ns_};
      interpret(c);
    }
    return RunOutcome::not_taken;
  }
  // Mostly it is a part of a step that is being compiled, too.
  const bool part = code.transform && !f.marked && !everything_ && f.versions.empty();
  const bool known = f.worth || f.allowance_ms > 0;
  const uint32_t waits = s.options.mode == runtime::Mode::auto_ && !known ? kTransformWaits : 0;
  if (part && (f.asked < waits || (queue_ && queue_->busy()))) {
    ++f.asked;
    return RunOutcome::not_taken;
  }
  if (part && !wants(frame, true)) return RunOutcome::not_taken;
  return call(s, frame, f, result, apart);
}

RunOutcome JitExecutor::hot_loop(Session& s, Frame& frame, Value& result) { return plain_.hot_loop(s, frame, result); }

// The pullback of a compiled form can be asked for once, and it knows of no slots of classes.
bool JitExecutor::serves_forms() const {
  const runtime::autodiff::State& state = runtime::autodiff::state(session_);
  return !state.reusable_pullbacks && !state.classes_hold;
}

RunOutcome JitExecutor::call(Session& s, Frame& frame, FunctionVersions& f, Value& result, bool apart) {
  Call c{.frame = frame, .function = f, .start = Clock::now(), .compiler_ns = compiler_ns_, .apart = apart};
  if (scratch_.size() <= depth_) scratch_.emplace_back();
  Scratch& x = scratch_[depth_];
  const auto& params = f.code->blocks[0].params;
  size_t n = f.code->sig.count();
  x.args.resize(n);
  for (size_t i = 0; i < n; ++i) x.args[i] = runtime::frame_value(frame, params[i]);
  struct Clear {
    Scratch& x;
    ~Clear() {
      for (auto* v : {&x.args, &x.nodes, &x.inputs, &x.outputs})
        for (Value& value : *v) value = Value();
    }
  } clear{x};
  if (s.demands.waiting() && !s.demands.latched()) runtime::adopt_demands(s);
  const uint64_t steps = s.demands.loop().steps();
  const RunOutcome o = serve(s, c, result);
  if (o == RunOutcome::not_taken && !apart) interpret(c);
  // It was a step, and its plan is latched no more.
  if (depth_ == 0 && s.demands.loop().steps() != steps) {
    (void)s.demands.loop().library_follows(s);
    s.demands.loop().look(s);
  }
  return o;
}

RunOutcome JitExecutor::serve(Session& s, Call& c, Value& result) {
  FunctionVersions& f = c.function;
  Scratch& x = scratch_[depth_];
  runtime::Function* closure = runtime::frame_closure(c.frame);
  Value function = closure ? Value::share(closure) : Value();
  runtime::ExecutionPlan plan = s.demands.plan();
  uint8_t place = 0;
  const Version* missed = nullptr;  // the newest one whose guards failed, and where
  Miss miss, first_miss;
  auto fits = [&](const std::shared_ptr<Version>& v) {
    return v->made->access.load(s, function, x.args, x.nodes, x.inputs, &miss);
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (s.devices.used()) {
      auto fitting = std::ranges::find_if(f.versions, [&](const auto& v) { return fits(v); });
      if (fitting != f.versions.end() && !settle_place(s, **fitting, plan, place)) break;
    }
    bool compiling = false, other_plans = false;
    for (auto& v : f.versions) {
      Version::State state = v->state.load(std::memory_order_acquire);
      if (!(v->demands == plan)) {
        other_plans = other_plans || state != Version::State::failed;
        continue;
      }
      if (!fits(v)) {
        if (!missed && state != Version::State::failed) missed = v.get(), first_miss = miss;
        continue;
      }
      if (state == Version::State::failed) {  // it would fail again
        step_aside(s, c);
        return RunOutcome::not_taken;
      }
      c.fitting = v;
      v->last_call = ++f.fitting_calls;
      ++v->fitted;
      if (state == Version::State::ready && f.apart_skips > 0) {
        --f.apart_skips;
        return RunOutcome::not_taken;
      }
      if (state == Version::State::ready)
        return !c.apart && on_trial(s, c) ? RunOutcome::not_taken : run_version(s, c, v, place, result);
      compiling = true;
      break;
    }
    // The version of another plan serves until that of this one is begun; not on a device where nothing was placed.
    // While it is being compiled, only one that gives the same bits serves: else the interpreter does, as the plan
    // says. Where chunks of a batch are asked for, the last bits of sums are given up; the interpreter makes none.
    for (auto& v : f.versions) {
      runtime::ExecutionPlan as_good = plan;
      if (plan.micro_batch) as_good.micro_batch = v->demands.micro_batch;
      const bool same_bits = v->demands.same_bits(as_good);
      const bool may_serve = compiling ? same_bits : other_plans;
      if (!may_serve || v->demands == plan || v->state.load(std::memory_order_acquire) != Version::State::ready ||
          !fits(v))
        continue;
      std::shared_ptr<Version> serves = v;  // derive() moves the list
      const bool other_place = serves->demands.device != plan.device && (place || serves->placed);
      const bool waits = other_place && s.options.mode == runtime::Mode::graph;
      if (!compiling && derive(s, f, *serves, plan, place != 0, waits) && waits) return serve(s, c, result);
      if (!other_place && same_bits) return run_version(s, c, serves, place, result);
      compiling = true;
      break;
    }
    // What is being compiled for another plan is the same program.
    const auto begun = std::ranges::find_if(f.versions, [&](const auto& v) {
      return other_plans && !compiling && !(v->demands == plan) &&
             v->state.load(std::memory_order_acquire) == Version::State::compiling && fits(v);
    });
    if (begun != f.versions.end()) {
      const std::shared_ptr<Version> of = *begun;
      (void)derive(s, f, *of, plan, place != 0);
      compiling = true;
    }
    if (compiling || attempt == 1) break;
    if (missed) {
      ++f.misses;
      f.missed = missed->made;
      f.missed_node = first_miss.node;
    }
    if (f.attempt) {
      constexpr double kShortCall = 0.1;  // ms: looking at it costs something
      if (is_limited(s, f) && pauses_.slice_ms(run_ms()) == 0) {
        if (f.cost.call_ms < kShortCall) step_aside(s, c);
        return RunOutcome::not_taken;
      }
      c.fitting = next_slice(s, c.frame, f, x.args);
      if (!c.fitting) return RunOutcome::not_taken;
      continue;
    }
    if (!has_room(s, f) || backs_off(s, f)) {
      parts_wanted_ = parts_wanted_ || versions_of(f.code).transform;
      break;
    }
    // Versions for parts of trees would take the place of those for whole ones. Where those are in vain, so is the
    // derivative's: its own parts are worth it.
    const CodeVersions& code = versions_of(f.code);
    if (f.versions.empty() && code.walks && !code.no_tree && runtime::called_by_itself(c.frame)) break;
    if (f.versions.empty() && code.transform && is_part_of_walk(c.frame)) {
      parts_wanted_ = true;
      break;
    }
    if (must_wait(s, f, runtime::frame_code(c.frame)->calls)) {
      step_aside(s, c);
      break;
    }
    std::string why = missed ? fmt::format("{} changed", f.missed->access.path(f.missed_node)) : "first call";
    auto made = make_version(s, c.frame, f, x.args, why);
    if (!made) return RunOutcome::not_taken;
    c.fitting = std::move(made);
  }
  return RunOutcome::not_taken;
}

bool JitExecutor::settle_place(Session& s, const Version& fitting, runtime::ExecutionPlan& plan, uint8_t& place) {
  if (fitting.made->places) return false;  // other devices are used by now
  std::vector<Value>& inputs = scratch_[depth_].inputs;
  runtime::Route route;
  if (!runtime::find_route(s, nullptr, inputs, route)) {
    s.pending = Value();  // the interpreter finds the operation
    return false;
  }
  for (const Value& v : inputs)
    if (runtime::kind_of(v) == runtime::ObjectKind::tensor && v.as<runtime::Tensor>()->place != route.place)
      return false;
  place = route.place;
  plan = s.demands.plan();
  plan.device = route.device;
  return !place || !fitting.made->makes_tensors || plan == s.demands.plan();
}

namespace {
// A result that is one number of a floating type, and in the host's memory; else NaN.
double one_number(const Value& v) {
  if (v.is_float()) return v.as_float();
  const auto* t = runtime::cast_exact<runtime::Tensor>(v);
  if (!t || t->size != 1 || t->place || !t->buffer->data) return std::nan("");
  return t->dtype == DType::f32 ? *t->data<float>() : t->dtype == DType::f64 ? *t->data<double>() : std::nan("");
}
}  // namespace

void JitExecutor::note_left_apart(const Call& c, const Version& v) {
  constexpr uint32_t kMostDoubled = 10;
  FunctionVersions& f = c.function;
  if (!v.made->back || !v.made->back->calls_apart) return;
  f.apart_failed = std::min(f.apart_failed + 1, kMostDoubled);
  f.apart_skips = 1U << f.apart_failed;
}

// (By value: inner calls of the same function may drop the version.)
RunOutcome JitExecutor::run_version(Session& s, Call& c, std::shared_ptr<Version> version, uint8_t place,
                                    Value& result) {
  Version& v = *version;
  runtime::Demands::Latch latch(s.demands, v.demands);
  if (!v.placed) s.demands.running(v.demands);
  v.last_step = s.demands.loop().steps();
  const bool other = v.demands.temporaries != temporaries_ || v.demands.micro_batch != micro_batch_ ||
                     v.demands.precision != precision_;
  if (other && v.demands == s.demands.wanted()) {
    temporaries_ = v.demands.temporaries;
    precision_ = v.demands.precision;
    if (std::exchange(micro_batch_, v.demands.micro_batch) != v.demands.micro_batch && micro_batch_)
      s.demands.log(
          fmt::format("{}: {}", v.made->typed->qualname.text(), micro_batch_text(s, v.plan()->micro_batching())));
    drop_idle(s);  // what the versions before it hold
    runtime::give_back_memory();
  }
  Scratch& x = scratch_[depth_];
  ++depth_;
  std::vector<Value> inputs;  // which the run takes
  if (v.made->back) inputs = x.inputs;
  RunContext context{.session = s, .threads = runtime::session_threads(s), .place = place, .times = times_all};
  // Stress mode: leave at the first instruction, the next time at the second, and so on, until a run gets through.
  if (stress_exits_ && !v.made->has_effects) context.leave_after = v.stress_exit++;
  const bool draws = v.made->draws || (v.made->back && v.made->back->calls_apart);
  auto* random = draws ? &s.state<runtime::RandomState>() : nullptr;
  const runtime::RandomState drawn = random ? *random : runtime::RandomState{};
  const bool shadowed = depth_ == 1 && !place && s.demands.loop().wants_shadow();
  const Shadow shadow = shadowed ? run_shadow(s, c, v, context.threads) : Shadow{};
  LoopWatch watch(*this, s, c.function, v, c.frame, c.start);
  if (!place && !v.placed && v.demands.device == runtime::DeviceId::cpu && !v.made->back) context.next = &watch;
  v.calls.fetch_add(1, std::memory_order_relaxed);
  PlanExit status = v.plan()->run(x.inputs, x.outputs, context);
  // The interpreter, which does the call instead, draws the same numbers.
  const bool ended = status == PlanExit::returned || status == PlanExit::waits;
  if (random && (status == PlanExit::left || (!ended && !context.effects))) *random = drawn;
  --depth_;
  if (status == PlanExit::left) {
    // Nothing outside has been changed: the interpreter does the call.
    v.exits.fetch_add(1, std::memory_order_relaxed);
    if (times_all) v.left_because = v.plan()->leave_reason();
    note_left_apart(c, v);
    c.left = true;
    return RunOutcome::not_taken;
  }
  if (!ended) {
    if (status == PlanExit::raised && !context.effects) {
      v.exits.fetch_add(1, std::memory_order_relaxed);
      if (times_all) v.left_because = "an exception: " + runtime::text_of(s, s.pending);
      s.pending = Value();
      note_left_apart(c, v);
      c.left = true;
      return RunOutcome::not_taken;
    }
    const RunContext::RaisedAt& raised = context.raised;
    const Span at = add_inlined_frames(s, raised.calls.get(), raised.call, raised.span);
    if (at.file == c.function.code->span.file) s.interpreter->error_span = at;
    return status == PlanExit::interrupted ? RunOutcome::interrupted : RunOutcome::raised;
  }
  v.stress_exit = 0;
  if (status == PlanExit::waits) {
    c.function.apart_failed = 0;
    const WaitingCall call{.executor = *this,
                           .version = version,
                           .place = place,
                           .drawn = drawn,
                           .function = Value::share(runtime::frame_closure(c.frame)),
                           .args = x.args,
                           .nodes = x.nodes,
                           .inputs = inputs,
                           .outputs = x.outputs};
    result = waiting_pair(s, call, std::move(context.waiting));
    (void)call_took(c, v);
    return result.is_error() ? RunOutcome::raised : RunOutcome::returned;
  }
  s.interpreter->frames += c.function.cost.frames;  // a caller's specialisation executes them
  if (shadow.ran) s.demands.loop().shadow_ran(difference(*v.made, x.outputs, shadow.outputs, v.demands.precision));
  for (Value& i : x.inputs) i = Value();
  result = carry_out(s, *v.made, x.nodes, x.outputs);
  const uint64_t ns = call_took(c, v, /*whole=*/!watch.has_moved());
  if (depth_ == 0 && (v.made->has_effects || !v.made->writes.empty())) {
    if (const double loss = one_number(result); !std::isnan(loss)) s.demands.loop().call_gave(loss);
    s.demands.loop().call_ended(s, ns, [this] { return is_compiling(); });
  }
  return result.is_error() ? RunOutcome::raised : RunOutcome::returned;
}

PlanExit JitExecutor::run_on(Session& s, const Version& v, WaitingRun& run, Value cotangents, uint8_t place,
                             bool may_leave, std::vector<Value>& outputs) {
  const runtime::Demands::Latch latch(s.demands, v.demands);
  const Clock::time_point start = Clock::now();
  RunContext context{.session = s, .threads = runtime::session_threads(s), .place = place, .times = times_all};
  if (stress_exits_ && may_leave) context.leave_after = stress_exit_of_pullbacks_++ % kMostStressed;
  ++depth_;
  const PlanExit exit = run.go_on(std::move(cotangents), outputs, context);
  --depth_;
  if (times_all) note_time(v.made->typed->qualname, "compiled", start);
  return exit;
}

void JitExecutor::refuse(Session&, Frame& frame, FunctionVersions& f, const std::string& why) {
  f.refused = why;
  parts_wanted_ = parts_wanted_ || versions_of(f.code).transform;
  if (!f.captured.empty() || times_all) return;  // there may be others of its code
  Code* code = runtime::frame_code(frame);
  code->entry = nullptr;
  code->call_trigger = UINT32_MAX;
}

namespace {
struct Installed {
  std::unique_ptr<JitExecutor> executor;
};
}  // namespace

void install(Session& s) {
  auto& slot = s.state<Installed>();
  if (slot.executor) return;
  slot.executor = std::make_unique<JitExecutor>(s);
  s.executor = slot.executor.get();
}

void set_mode(Session& s, runtime::Mode mode) {
  install(s);
  s.options.mode = mode;
  for (const auto& [function, code] : s.interpreter->codes)
    if (code && code->call_trigger != UINT32_MAX) code->call_trigger = code->calls + 1;
}

void keep_code(Session& s, uint64_t bytes) {
  JitExecutor* jit = executor_of(s);
  if (!jit) return;
  auto cache = std::make_shared<CodeCache>(bytes);
  if (bytes) {
    s.demands.loop().remember_in(remembered_on_disk(s, cache, "measures of responses"));
    if (s.options.mode == runtime::Mode::auto_) jit->learn_in(remembered_on_disk(s, cache, "functions"));
  }
  jit->use(std::move(cache));
}

JitExecutor* executor_of(Session& s) { return s.state<Installed>().executor.get(); }

}  // namespace ouro::jit
