#include "backends/ptx/ptx_writer.h"

#include <algorithm>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "support/diag.h"

namespace ouro::backends::ptx {
namespace {
// NVPTX's address spaces.
constexpr unsigned kGlobal = 1, kShared = 3;
// Bytes of the widest access.
constexpr uint64_t kWidest = 16;
}  // namespace

using Value = device::KernelWriter::Value;
using ir::loops::loaded_type;

PtxWriter::PtxWriter(llvm::Module& module, const ir::loops::Kernel& kernel, const device::Grid& grid,
                     const std::string& name)
    : module_(module), k_(kernel), b_(module.getContext()), leaf_(b_, false) {
  std::vector<llvm::Type*> parameters(k_.buffers.size(), b_.getPtrTy(kGlobal));
  parameters.insert(parameters.end(), k_.sizes, b_.getInt64Ty());
  for (DType t : k_.scalars) parameters.push_back(register_type(t));
  fn_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), parameters, false),
                               llvm::Function::ExternalLinkage, name, module_);
  fn_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  fn_->addFnAttr(llvm::Attribute::NoUnwind);
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto& part = i < k_.buffers.size() ? buffers_ : i < k_.buffers.size() + k_.sizes ? sizes_ : scalars_;
    part.push_back(fn_->getArg(static_cast<unsigned>(i)));
  }
  for (size_t i = 0; i < grid.shared.size(); ++i) {
    auto* array = llvm::ArrayType::get(b_.getInt8Ty(), grid.shared[i]);
    auto* memory = new llvm::GlobalVariable(module_, array, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::UndefValue::get(array), name + "_shared" + std::to_string(i), nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kShared);
    memory->setAlignment(llvm::Align(kWidest));
    shared_.push_back(memory);
  }
  entry_ = block("entry");
  llvm::BasicBlock* start = block("start");
  b_.SetInsertPoint(entry_);
  b_.CreateBr(start);  // variables go before this
  b_.SetInsertPoint(start);
}

llvm::Function* PtxWriter::finish() {
  b_.CreateRetVoid();
  return fn_;
}

llvm::BasicBlock* PtxWriter::block(const char* name) {
  return llvm::BasicBlock::Create(module_.getContext(), name, fn_);
}

Value PtxWriter::add(L* v) {
  values_.push_back(v);
  return static_cast<Value>(values_.size() - 1);
}

Value PtxWriter::constant(DType type, uint64_t bits) {
  llvm::Type* t = register_type(type);
  if (type == DType::f32)
    return add(llvm::ConstantFP::get(module_.getContext(),
                                     llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu))));
  if (type == DType::f64)
    return add(
        llvm::ConstantFP::get(module_.getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits))));
  return add(llvm::ConstantInt::get(t, bits));
}

Value PtxWriter::leaf(Leaf leaf, DType type, DType operand, const Value* args) {
  L* a[3] = {};
  for (int i = 0; i < ir::info(leaf).operands; ++i) a[i] = of(args[i]);
  return add(leaf_.apply(leaf, type, operand, a));
}

Value PtxWriter::index(Leaf op, Value x, Value y) {
  L *a = of(x), *b = of(y);
  switch (op) {
    case Leaf::add:
      return add(b_.CreateAdd(a, b));
    case Leaf::sub:
      return add(b_.CreateSub(a, b));
    case Leaf::mul:
      return add(b_.CreateMul(a, b));
    case Leaf::idiv:
      return add(b_.CreateUDiv(a, b));
    case Leaf::irem:
      return add(b_.CreateURem(a, b));
    case Leaf::min:
      return add(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b));
    case Leaf::max:
      return add(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b));
    default:
      ouro_bug("no such index operation");
  }
}

llvm::Value* PtxWriter::element(uint32_t buffer, L* at) {
  return b_.CreateGEP(memory_type(k_.buffers[buffer].type), buffers_[buffer], at);
}

llvm::Value* PtxWriter::load_at(uint32_t buffer, L* at) {
  DType t = k_.buffers[buffer].type;
  L* v = b_.CreateAlignedLoad(memory_type(t), element(buffer, at), llvm::Align(size_of(t)));
  if (is_bool(t)) return b_.CreateICmpNE(v, b_.getInt8(0));
  return leaf_.cast(v, t, loaded_type(t));
}

Value PtxWriter::load_if(uint32_t buffer, Value at, Value condition, Value otherwise) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *load = block("load"), *after = block("loaded");
  b_.CreateCondBr(of(condition), load, after);
  b_.SetInsertPoint(load);
  L* v = load_at(buffer, of(at));
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* phi = b_.CreatePHI(v->getType(), 2);
  phi->addIncoming(v, from);
  phi->addIncoming(of(otherwise), before);
  return add(phi);
}

void PtxWriter::store(uint32_t buffer, Value at, Value v) {
  DType t = k_.buffers[buffer].type;
  L* bits = is_bool(t) ? b_.CreateZExt(of(v), b_.getInt8Ty()) : leaf_.cast(of(v), loaded_type(t), t);
  b_.CreateAlignedStore(bits, element(buffer, of(at)), llvm::Align(size_of(t)));
}

device::KernelWriter::Variable PtxWriter::variable(DType type, Value initial) {
  L* memory;
  {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(entry_->getTerminator());
    memory = b_.CreateAlloca(register_type(type));
  }
  variables_.push_back({memory, type});
  auto v = static_cast<Variable>(variables_.size() - 1);
  set(v, initial);
  return v;
}
Value PtxWriter::get(Variable v) {
  const Slot& s = variables_[static_cast<uint32_t>(v)];
  return add(b_.CreateLoad(register_type(s.type), s.memory));
}
void PtxWriter::set(Variable v, Value x) { b_.CreateStore(of(x), variables_[static_cast<uint32_t>(v)].memory); }

void PtxWriter::loop(Value begin, Value end, int64_t step, const std::function<void(Value)>& body) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *head = block("loop"), *inside = block("body"), *exit = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(of(begin), before);
  b_.CreateCondBr(b_.CreateICmpSLT(i, of(end)), inside, exit);
  b_.SetInsertPoint(inside);
  body(add(i));
  i->addIncoming(b_.CreateAdd(i, b_.getInt64(static_cast<uint64_t>(step))), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
}

void PtxWriter::when(Value condition, const std::function<void()>& body) {
  llvm::BasicBlock *inside = block("then"), *after = block("endif");
  b_.CreateCondBr(of(condition), inside, after);
  b_.SetInsertPoint(inside);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

llvm::Value* PtxWriter::special(llvm::Intrinsic::ID id) {
  return b_.CreateZExt(b_.CreateIntrinsic(id, {}, {}), b_.getInt64Ty());
}
Value PtxWriter::lane() { return add(special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x)); }
Value PtxWriter::group() { return add(special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x)); }
Value PtxWriter::item() {
  L* base = b_.CreateMul(of(group()), b_.getInt64(device::kGroup));
  return add(b_.CreateAdd(base, of(lane())));
}

llvm::Value* PtxWriter::shared(uint32_t array, DType type, Value at) {
  return b_.CreateGEP(memory_type(type), shared_[array], of(at));
}
void PtxWriter::shared_put(uint32_t array, DType type, Value at, Value v) {
  L* bits = is_bool(type) ? b_.CreateZExt(of(v), b_.getInt8Ty()) : of(v);
  b_.CreateStore(bits, shared(array, type, at));
}
Value PtxWriter::shared_get(uint32_t array, DType type, Value at) {
  L* v = b_.CreateLoad(memory_type(type), shared(array, type, at));
  return add(is_bool(type) ? b_.CreateICmpNE(v, b_.getInt8(0)) : v);
}

void PtxWriter::shared_get_run(uint32_t array, DType type, Value at, int count, Value* out) {
  auto n = static_cast<unsigned>(count);
  llvm::Align align(std::min<uint64_t>(kWidest, n * size_of(type)));
  L* v = b_.CreateAlignedLoad(llvm::FixedVectorType::get(memory_type(type), n), shared(array, type, at), align);
  for (unsigned i = 0; i < n; ++i) out[i] = add(b_.CreateExtractElement(v, i));
}

// bar.sync orders the block's accesses to shared and to global memory alike.
void PtxWriter::barrier(bool) { b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }

}  // namespace ouro::backends::ptx
