// What a compiled plan tells of itself and keeps between its runs (plan_run.cpp has the runs), and how it is made.
#include "jit/plan/compiled_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/cache/code_cache.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"

namespace ouro::jit {

using runtime::Session;
using runtime::Tensor;
using runtime::Value;

std::vector<const ir::loops::Kernel*> kernels_of(const Program& p) {
  std::vector<const ir::loops::Kernel*> out;
  for (const auto& k : p.kernels) out.push_back(&k.kernel);
  for (const auto& k : p.contractions) out.push_back(&k);
  return out;
}

std::string what_it_is(const Instr& i) {
  if (const auto* kernel = i.get<work::Kernel>()) return fmt::format("kernel {}", kernel->kernel);
  if (i.is<work::Matmul>()) return "matmul";
  if (i.is<work::Convolve>()) return "convolution";
  if (const auto* o = i.operation()) return std::string(ir::op_name(o->op));
  return "copy";
}

std::unique_ptr<Activation> CompiledPlan::take_activation(Session& s) {
  auto& entry = s.state<SessionActivations>().of(id_, token_);
  if (entry.idle.empty()) return std::make_unique<Activation>();
  std::unique_ptr<Activation> a = std::move(entry.idle.back());
  entry.idle.pop_back();
  return a;
}

void CompiledPlan::put_back(Session& s, std::unique_ptr<Activation> a) {
  for (Value& v : a->regs) v = Value();
  s.state<SessionActivations>().of(id_, token_).idle.push_back(std::move(a));
}

int64_t CompiledPlan::held_bytes(Session& s) const {
  int64_t bytes = 0;
  const auto& plans = s.state<SessionActivations>().plans;
  if (auto at = plans.find(id_); at != plans.end())
    for (const auto& a : at->second.idle) bytes += a->held_bytes();
  return bytes;
}

void CompiledPlan::drop_held(Session& s) {
  auto& plans = s.state<SessionActivations>().plans;
  if (auto at = plans.find(id_); at != plans.end()) at->second.idle.clear();
}

size_t CompiledPlan::loose() const {
  return static_cast<size_t>(std::ranges::count_if(p_.code, [](const Instr& i) { return i.operation() != nullptr; }));
}

const Plan::MicroBatching& CompiledPlan::micro_batching() {
  std::lock_guard guard(told_);  // sessions may share the plan
  if (!p_.micro_batching) p_.micro_batching = would_be_micro_batching(p_.function, p_.plan, last_sizes_);
  return *p_.micro_batching;
}

std::vector<InstructionTime> CompiledPlan::times() const {
  std::vector<InstructionTime> out;
  for (size_t k = 0; k < times_.size(); ++k) {
    const Instr& i = p_.code[k];
    if (times_[k].runs) out.push_back({what_it_is(i), i.span, i.is<work::Prim>(), times_[k].runs, times_[k].ns});
  }
  return out;
}

int64_t Activation::held_bytes() const {
  int64_t bytes = arena_bytes;
  for (const Value& v : caches)
    if (const Tensor* t = runtime::cast<Tensor>(v); t && t->refs == 1 && t->buffer->refs == 1)
      bytes += static_cast<int64_t>(t->nbytes());
  return bytes;
}

void drop_idle_memory(runtime::Session& s) {
  for (auto& [id, entry] : s.state<SessionActivations>().plans)
    for (auto& activation : entry.idle) activation->make_room();
}

PlanRef build_plan(ir::FunctionRef typed, const PlanOptions& options, std::string& error) {
  const auto* like = static_cast<const CompiledPlan*>(options.like.get());
  Program p = build_program(std::move(typed), options.plan, options.sizes, like ? like->base() : nullptr);
  std::vector<const ir::loops::Kernel*> kernels = kernels_of(p);
  for (const ir::loops::Kernel* k : kernels)
    if (std::string wrong = verify(*k); !wrong.empty()) ouro_bug("a kernel that is none: %s", wrong.c_str());
  runtime::KernelModuleRef module;
  bool loaded = false;
  if (!kernels.empty()) {
    module = options.cache ? options.cache->compile(*options.backend, kernels, error, loaded, options.threads)
                           : options.backend->compile(kernels, error, nullptr, options.threads);
    if (!module) return nullptr;
    if (options.beside) options.backend->settle(*module);
  }
  return std::make_shared<CompiledPlan>(std::move(p), options.backend, std::move(module), loaded);
}

}  // namespace ouro::jit
