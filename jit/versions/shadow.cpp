// Shadow runs: a step is run a second time in the other precision, from the same state, and what both return is
// compared (runtime/demand/responses/precision.cpp tells what for).
//
// A version writes nothing outside before carry_out(), and takes its inputs' memory only where nobody else holds it. So
// its sibling, made from the same typed program for the other precision, runs on the same inputs before it, and its
// outputs are dropped after the comparison. Random numbers are drawn twice alike. Versions that call the interpreter
// for effects have no shadow.
#include <algorithm>
#include <cmath>

#include "jit/versions/executor.h"
#include "runtime/tensor/philox.h"
#include "runtime/tensor/tensor.h"

namespace ouro::jit {

using runtime::Precision;
using runtime::Session;
using runtime::Tensor;

namespace {

// The numbers of an output; false: it has none of a floating type.
bool floats_of(const Value& v, std::vector<double>& out) {
  out.clear();
  if (v.is_float()) return out.push_back(v.as_float()), true;
  const auto* t = runtime::cast_exact<Tensor>(v);
  if (!t || !is_float(t->dtype)) return false;
  out.resize(static_cast<size_t>(t->size));
  if (t->dtype == DType::f32)
    std::copy_n(t->data<float>(), t->size, out.begin());
  else if (t->dtype == DType::f64)
    std::copy_n(t->data<double>(), t->size, out.begin());
  else
    return false;
  return true;
}

void outputs_in(const OutputTree& t, std::vector<size_t>& out) {
  if (t.kind == OutputTree::Kind::output) out.push_back(static_cast<size_t>(t.index));
  for (const OutputTree& part : t.parts) outputs_in(part, out);
}

}  // namespace

JitExecutor::Shadow JitExecutor::run_shadow(Session& s, Call& c, const Version& v, int threads) {
  Shadow out;
  if (v.made->has_effects || v.made->writes.empty() || stress_exits_) return out;
  runtime::ExecutionPlan other = v.demands;
  other.precision = v.demands.precision == Precision::f32 ? Precision::bf16 : Precision::f32;
  std::shared_ptr<Version> sibling;
  for (const auto& w : c.function.versions)
    if (w->made == v.made && w->demands == other) sibling = w;
  if (!sibling) {
    std::shared_ptr<Version> self;  // derive() moves the list
    for (const auto& w : c.function.versions)
      if (w.get() == &v) self = w;
    if (self) derive(s, c.function, *self, other);
    return out;
  }
  if (sibling->state.load(std::memory_order_acquire) != Version::State::ready) return out;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Value> inputs = scratch_[depth_ - 1].inputs;
  const runtime::RandomState drawn = s.state<runtime::RandomState>();
  RunContext context{.session = s, .threads = threads};
  PlanExit status;
  {
    runtime::Demands::Latch latch(s.demands, other);
    status = sibling->plan()->run(inputs, out.outputs, context);
  }
  s.state<runtime::RandomState>() = drawn;
  sibling->plan()->drop_held(s);
  c.start += std::chrono::steady_clock::now() - begin;
  out.ran = status == PlanExit::returned;
  if (out.ran) return out;
  // The step itself, which follows, sees the same interrupt or raises the same exception.
  s.pending = Value();
  if (status == PlanExit::interrupted) s.poll.fetch_or(Session::kInterrupt);
  out.outputs.clear();
  return out;
}

// The largest of ||a - b|| / ||b|| over the tensors and floats that the step returns, b being those of f32. Where it
// returns none, NaN.
double JitExecutor::difference(const SpecialiseResult& made, std::span<const Value> outputs,
                               std::span<const Value> shadow, Precision precision) {
  constexpr double kMost = 1e30;
  std::vector<size_t> returned;
  outputs_in(made.result, returned);
  double worst = std::nan("");
  std::vector<double> a, b;
  for (const size_t i : returned) {
    if (!floats_of(outputs[i], a) || !floats_of(shadow[i], b) || a.size() != b.size()) continue;
    if (precision == Precision::f32) std::swap(a, b);
    double off = 0, size = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      if (std::isnan(a[k]) && std::isnan(b[k])) continue;
      off += (a[k] - b[k]) * (a[k] - b[k]);
      size += b[k] * b[k];
    }
    double relative = off == 0 ? 0 : std::sqrt(off / size);
    if (!(relative < kMost)) relative = kMost;
    worst = std::isnan(worst) ? relative : std::max(worst, relative);
  }
  return worst;
}

}  // namespace ouro::jit
