// A compiled plan: a program, the code of its kernels, and what is counted of its runs. Internal to jit/plan.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/plan/activation.h"
#include "jit/plan/plan_program.h"

namespace ouro::jit {

/// The program's kernels, then the contractions that are kernels on its device, in the order of their numbers in the
/// program.
std::vector<const ir::loops::Kernel*> kernels_of(const Program& p);
/// In a report.
std::string what_it_is(const Instr& i);

class CompiledPlan final : public Plan {
 public:
  CompiledPlan(Program p, std::shared_ptr<runtime::Backend> backend, runtime::KernelModuleRef module, bool loaded)
      : p_(std::move(p)),
        backend_(std::move(backend)),
        module_(std::move(module)),
        loaded_(loaded),
        token_(std::make_shared<char>()) {
    static std::atomic<uint64_t> serial{0};
    id_ = ++serial;
    kernels_ = kernels_of(p_);
  }

  PlanExit run(std::span<runtime::Value> inputs, std::vector<runtime::Value>& outputs, RunContext& context) override;
  std::unique_ptr<Activation> take_activation(runtime::Session& s);
  void put_back(runtime::Session& s, std::unique_ptr<Activation> a);
  std::string_view leave_reason() const override;
  size_t inputs() const override { return p_.params.size(); }
  size_t kernels() const override { return kernels_.size(); }
  std::vector<const ir::loops::Kernel*> kernel_list() const override { return kernels_; }
  size_t loose() const override;
  size_t code_bytes() const override { return module_ ? module_->bytes() : 0; }
  bool loaded() const override { return loaded_; }
  std::vector<std::string> not_compiled() const override {
    return module_ ? module_->not_compiled() : std::vector<std::string>{};
  }
  PlanCounters counters() const override { return counters_; }
  int64_t peak_bytes() const override { return peak_; }
  int64_t held_bytes(runtime::Session& s) const override;
  void drop_held(runtime::Session& s) override;
  SymbolSizes sizes() const override { return last_sizes_; }
  Recomputing recomputing() const override { return p_.recomputing; }
  const MicroBatching& micro_batching() override;
  std::string text() const override { return print(p_); }
  const ir::FunctionRef& base() const { return p_.base; }
  std::vector<InstructionTime> times() const override;

 private:
  friend struct Runner;  // one run (plan_run.cpp)
  Program p_;
  std::vector<const ir::loops::Kernel*> kernels_;  // of the module, in its order
  std::shared_ptr<runtime::Backend> backend_;
  runtime::KernelModuleRef module_;
  bool loaded_;
  std::shared_ptr<void> token_;
  uint64_t id_ = 0;
  PlanCounters counters_;
  int64_t peak_ = 0;
  SymbolSizes last_sizes_;
  std::atomic<int> checks_{0};
  std::mutex told_;
  struct Time {
    uint64_t runs = 0, ns = 0;
    Symbol name{};  // in the timeline
  };
  std::vector<Time> times_;  // by instruction
};

}  // namespace ouro::jit
