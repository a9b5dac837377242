// The words of device/kernel_writer.h as LLVM IR for NVPTX. A variable is stack memory that a pass turns into
// registers.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "backends/device/kernel_walk.h"
#include "backends/host/leaf_emitter.h"

namespace ouro::backends::ptx {

class PtxWriter final : public device::KernelWriter {
 public:
  PtxWriter(llvm::Module& module, const ir::loops::Kernel& kernel, const device::Grid& grid, const std::string& name);
  llvm::Function* finish();

  Value size(uint32_t id) override { return add(sizes_[id]); }
  Value scalar(uint32_t id) override { return add(scalars_[id]); }
  Value constant(DType type, uint64_t bits) override;
  Value leaf(Leaf leaf, DType type, DType operand, const Value* args) override;
  Value index(Leaf op, Value a, Value b) override;
  Value less(Value a, Value b) override { return add(b_.CreateICmpSLT(of(a), of(b))); }
  Value load(uint32_t buffer, Value at) override { return add(load_at(buffer, of(at))); }
  Value load_if(uint32_t buffer, Value at, Value condition, Value otherwise) override;
  void store(uint32_t buffer, Value at, Value v) override;
  Variable variable(DType type, Value initial) override;
  Value get(Variable v) override;
  void set(Variable v, Value x) override;
  void loop(Value begin, Value end, int64_t step, const std::function<void(Value)>& body) override;
  void when(Value condition, const std::function<void()>& body) override;
  Value item() override;
  Value group() override;
  Value lane() override;
  void shared_put(uint32_t array, DType type, Value at, Value v) override;
  Value shared_get(uint32_t array, DType type, Value at) override;
  void shared_get_run(uint32_t array, DType type, Value at, int count, Value* out) override;
  void barrier(bool global) override;

 private:
  using L = llvm::Value;
  Value add(L* v);
  L* of(Value v) const { return values_[static_cast<uint32_t>(v)]; }
  llvm::Type* register_type(DType t) { return leaf_.type(t, 1); }
  llvm::Type* memory_type(DType t) { return is_bool(t) ? b_.getInt8Ty() : register_type(t); }
  L* element(uint32_t buffer, L* at);
  L* load_at(uint32_t buffer, L* at);
  L* shared(uint32_t array, DType type, Value at);
  L* special(llvm::Intrinsic::ID id);
  llvm::BasicBlock* block(const char* name);

  llvm::Module& module_;
  const ir::loops::Kernel& k_;
  llvm::IRBuilder<> b_;
  LeafEmitter leaf_;
  llvm::Function* fn_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<L*> buffers_, sizes_, scalars_, values_, shared_;
  struct Slot {
    L* memory;
    DType type;
  };
  std::vector<Slot> variables_;
};

}  // namespace ouro::backends::ptx
