#include "jit/versions/pullback.h"

#include <fmt/format.h>

#include "jit/specialise/residual/output.h"
#include "jit/versions/executor.h"
#include "runtime/autodiff/state.h"
#include "runtime/machine/threads.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"

namespace ouro::jit {

namespace ad = runtime::autodiff;
using runtime::Args;
using runtime::cast_exact;
using runtime::kind_of;
using runtime::Tuple;

namespace {

struct Waiting {
  JitExecutor* executor = nullptr;
  std::shared_ptr<Version> version;
  PlanRef plan;                     // which the run needs
  std::unique_ptr<WaitingRun> run;  // null: it has gone on
  uint8_t place = 0;
  runtime::RandomState drawn;
  // What it was called with, in the object's values: the function, the result, then these.
  size_t args = 0, nodes = 0, inputs = 0;

  static constexpr size_t kFirst = 2;
  std::span<Value> args_of(std::vector<Value>& values) const { return std::span(values).subspan(kFirst, args); }
  std::span<Value> nodes_of(std::vector<Value>& values) const {
    return std::span(values).subspan(kFirst + args, nodes);
  }
  std::span<Value> inputs_of(std::vector<Value>& values) const {
    return std::span(values).subspan(kFirst + args + nodes, inputs);
  }
};

// ---------------------------------------------------------------- the cotangent

Value at_path(Value v, const Back::Path& path) {
  for (uint32_t i : path) {
    if (ad::is_zero(v)) break;
    v = ad::item(v, i);
  }
  return v;
}

// Is d what the program takes for the cotangent of y?
bool fits(Session& s, const Value& y, const Value& d) {
  if (y.is_float()) return d.is_float();
  const auto *of = cast_exact<runtime::Tensor>(y), *t = cast_exact<runtime::Tensor>(d);
  return of && t && t->dtype == of->dtype && std::ranges::equal(t->shape(), of->shape()) && t->place == of->place &&
         ad::is_float_tensor(s, d);
}

struct Arrived {
  Value tuple{};                   // for ad.wait
  const Back::Way* way = nullptr;  // null: the program has none
  bool zero = false;
};

Arrived arrived(Session& s, const Back& back, const Value& y, const Value& dy, const Value& env) {
  std::vector<Value> items;
  uint32_t having = 0;
  for (size_t i = 0; i < back.leaves.size(); ++i) {
    Value d = at_path(dy, back.leaves[i]);
    if (!ad::is_zero(d)) {
      if (!fits(s, at_path(y, back.leaves[i]), d)) return {};
      having |= 1U << i;
    }
    items.push_back(std::move(d));
  }
  Arrived out{.zero = having == 0};
  for (const Back::Way& way : back.ways) {
    if (way.leaves == having) out.way = &way;
    if (&way != &back.ways.back()) items.push_back(Value::boolean(way.leaves == having));
  }
  if (back.calls_apart) items.push_back(env);
  out.tuple = runtime::make_tuple(std::span<const Value>(items));
  return out;
}

// ---------------------------------------------------------------- the interpreter instead

// Is all that the form has read as it was then?
bool is_unchanged(Session& s, const Waiting& w, std::vector<Value>& values) {
  const std::span<Value> args = w.args_of(values), inputs = w.inputs_of(values);
  std::vector<Value> nodes, now;
  return w.version->made->access.load(s, values[0], {args.begin(), args.end()}, nodes, now, nullptr) &&
         std::ranges::equal(now, inputs, [](const Value& a, const Value& b) { return a.same(b); });
}

// The interpreter's pullback of the same call.
Value pullback_again(Session& s, const Waiting& w, std::vector<Value>& values) {
  if (!is_unchanged(s, w, values))
    return runtime::raise_text(
        s, runtime::ExcKind::RuntimeError,
        fmt::format("the derivative of {} cannot be computed any more: what it was called with has been changed since",
                    w.version->made->typed->qualname.text()));
  auto& random = s.state<runtime::RandomState>();
  const runtime::RandomState before = random;
  if (w.version->made->draws || w.version->made->back->calls_apart) random = w.drawn;
  const ad::ReusablePullbacks interpreted(s);
  const std::vector<Value> args(w.args_of(values).begin(), w.args_of(values).end());
  const Value function = values[0];
  const Value pair = runtime::call(s, function, Args{args, {}, {}});
  random = before;
  return pair.is_error() ? pair : (*pair.as<Tuple>())[1];
}

// args: the waiting call, dy, env
Value go_on(Session& s, const Args& args) {
  auto& values = args.positional[0].as<runtime::Opaque>()->values;
  auto& w = *static_cast<Waiting*>(args.positional[0].as<runtime::Opaque>()->data.get());
  const Value &dy = args.positional[1], &env = args.positional[2];
  const Value held = args.positional[0];  // a script that runs meanwhile may drop the pullback
  const Back& back = *w.version->made->back;
  const Arrived came = arrived(s, back, values[1], dy, env);
  if (came.zero) return Value::none();
  if (w.run && came.way && kind_of(env) == runtime::ObjectKind::shadow_map) {
    const std::unique_ptr<WaitingRun> run = std::move(w.run);
    const bool may_leave = w.executor->stresses_exits() && !back.calls_apart && is_unchanged(s, w, values);
    std::vector<Value> outputs;
    const PlanExit exit = w.executor->run_on(s, *w.version, *run, came.tuple, w.place, may_leave, outputs);
    if (exit == PlanExit::returned) return carry_back(s, *came.way, w.nodes_of(values), outputs, env);
    if (exit == PlanExit::interrupted) return Value::error();
    if (exit == PlanExit::left && back.calls_apart) ouro_bug("a pullback was left that had called others");
    // What raises may do so because of a size that the compiler took for another one: the interpreter tells.
    Value raised = std::exchange(s.pending, Value());
    if (exit == PlanExit::raised && (back.calls_apart || !is_unchanged(s, w, values))) {
      s.pending = std::move(raised);
      return Value::error();
    }
  }
  OURO_TRY(pullback, pullback_again(s, w, values));
  return runtime::call(s, pullback, {dy, env});
}

constexpr runtime::NativeDef kPullback{.name = "pullback", .params = "", .fn = go_on, .doc = "", .raw = true};

}  // namespace

Value waiting_pair(Session& s, const WaitingCall& call, std::unique_ptr<WaitingRun> run) {
  OURO_TRY(y, carry_out(s, *call.version->made, call.nodes, call.outputs));
  auto w = std::make_shared<Waiting>();
  w->executor = &call.executor;
  w->version = call.version;
  w->plan = call.version->compiled;
  w->run = std::move(run);
  w->place = call.place;
  w->drawn = call.drawn;
  w->args = call.args.size(), w->nodes = call.nodes.size(), w->inputs = call.inputs.size();
  Value self = runtime::make_opaque(s.object_type(), std::move(w));
  auto& values = self.as<runtime::Opaque>()->values;
  values.push_back(call.function);
  values.push_back(y);
  for (const std::span<Value>& part : {call.args, call.nodes, call.inputs})
    values.insert(values.end(), part.begin(), part.end());
  return runtime::make_tuple({y, runtime::make_native(kPullback, std::move(self))});
}

}  // namespace ouro::jit
