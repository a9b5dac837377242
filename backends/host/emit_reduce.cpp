// Reductions in the orders of ir/ops/reduce_order.h. See kernel_emitter.h.
#include "backends/host/kernel_emitter.h"
#include "backends/reference/fold_levels.h"
#include "support/diag.h"

namespace ouro::backends {
namespace loops = ir::loops;
using ir::kReduceBlock;
using ir::kReduceLanes;
using ir::kReduceRows;
using ir::Leaf;
using llvm::Value;

namespace {
// Iterations of an in-order reduction between two looks at the poll word; each may gather a whole vector.
constexpr int64_t kSerialStrip = 1 << 12;
}  // namespace

Value* KernelEmitter::combine(Leaf op, DType t, Value* a, Value* b) {
  Value* args[3] = {a, b, nullptr};
  return leaf_.apply(op, t, t, args);
}

KernelEmitter::Values KernelEmitter::identities(const Stmt& s, const Scope&) {
  Values out;
  for (size_t k = 0; k < s.values.size(); ++k) {
    DType t = value_type(s, k);
    uint64_t bits = identity_bits(s.combine[k], t);
    llvm::Type* r = register_type(t);
    llvm::Constant* c;
    if (t == DType::f32)
      c = llvm::ConstantFP::get(b_.getContext(),
                                llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu)));
    else if (t == DType::f64)
      c = llvm::ConstantFP::get(b_.getContext(), llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
    else
      c = llvm::ConstantInt::get(r, llvm::APInt(r->getIntegerBitWidth(), bits));
    bool by_lane = lane_dependent(s.values[k]);
    out.push_back(by_lane ? llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(width_), c)
                          : static_cast<Value*>(c));
  }
  return out;
}

KernelEmitter::Values KernelEmitter::carry_loop(Value* begin, Value* end, Value* step, Look look, Values init,
                                                const std::function<Values(Value*, const Values&)>& fn) {
  auto& context = b_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context, "carry", fn_);
  auto* exit = llvm::BasicBlock::Create(context, "carried", fn_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), head, exit);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  Values carried;
  for (Value* v : init) {
    auto* p = b_.CreatePHI(v->getType(), 2);
    p->addIncoming(v, before);
    carried.push_back(p);
  }
  Values next = fn(i, carried);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  Value* i_next = b_.CreateAdd(i, step);
  llvm::BasicBlock* from = back_edge(b_.CreateICmpSLT(i_next, end), head, exit, look);
  i->addIncoming(i_next, from);
  for (size_t k = 0; k < next.size(); ++k) llvm::cast<llvm::PHINode>(carried[k])->addIncoming(next[k], from);
  Values out;
  for (size_t k = 0; k < next.size(); ++k) {
    auto* p = b_.CreatePHI(next[k]->getType(), 2);
    p->addIncoming(init[k], before);
    p->addIncoming(next[k], latch);
    out.push_back(p);
  }
  return out;
}

// acc[k] = op[k](acc[k], value[k]) at the current point; nodes made here are forgotten again.
KernelEmitter::Values KernelEmitter::reduce_step(const Stmt& s, const Scope& inner, Values acc) {
  size_t placed = placement_.mark(), mark = undo_.size();
  place(placement_.inside_reduce(s, inner));
  for (size_t k = 0; k < s.values.size(); ++k) {
    Value* v = value(s.values[k]);
    if (acc[k]->getType()->isVectorTy()) v = as_vector(v);
    acc[k] = combine(s.combine[k], value_type(s, k), acc[k], v);
  }
  placement_.forget(placed);
  undo_to(mark);
  return acc;
}

void KernelEmitter::reduce_blocks(const Stmt& s, const Scope& inner) {
  Value* extent = scalar(s.extents[0]);
  Values zero = identities(s, inner);
  Values acc = carry_loop(i64(0), extent, i64(kReduceRows), Look::yes, zero, [&](Value* start, const Values& outer) {
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, b_.CreateAdd(start, i64(kReduceRows)));
    Values block = carry_loop(start, end, i64(1), Look::no, zero, [&](Value* i, const Values& t) {
      vars_[s.vars[0]] = i;
      return reduce_step(s, inner, t);
    });
    Values next;
    for (size_t k = 0; k < block.size(); ++k)
      next.push_back(combine(s.combine[k], value_type(s, k), outer[k], block[k]));
    return next;
  });
  for (size_t k = 0; k < acc.size(); ++k) results_[s.results[k]] = acc[k];
}

KernelEmitter::Values KernelEmitter::serial_level(const Stmt& s, const Scope& inner, size_t level, Values acc) {
  if (level == s.vars.size()) return reduce_step(s, inner, std::move(acc));
  const Node& extent = k_.node(s.extents[level]);
  constexpr int64_t kUnroll = 4;
  if (extent.kind == Node::Kind::constant && extent.bits <= kUnroll) {
    for (int64_t i = 0; i < extent.bits; ++i) {
      vars_[s.vars[level]] = i64(i);
      acc = serial_level(s, inner, level + 1, std::move(acc));
    }
    return acc;
  }
  Value* end = scalar(s.extents[level]);
  auto iterations = [&](Value* from, Value* to, Look look, Values t) {
    return carry_loop(from, to, i64(1), look, std::move(t), [&](Value* i, const Values& now) {
      vars_[s.vars[level]] = i;
      return serial_level(s, inner, level + 1, now);
    });
  };
  const bool innermost = level + 1 == s.vars.size();
  if (!innermost) return iterations(i64(0), end, Look::yes, std::move(acc));
  if (extent.kind == Node::Kind::constant && extent.bits <= kSerialStrip)
    return iterations(i64(0), end, Look::no, std::move(acc));
  return carry_loop(i64(0), end, i64(kSerialStrip), Look::yes, std::move(acc), [&](Value* from, const Values& t) {
    Value* to = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, b_.CreateAdd(from, i64(kSerialStrip)));
    return iterations(from, to, Look::no, t);
  });
}

void KernelEmitter::reduce_serial(const Stmt& s, const Scope& inner) {
  Values acc = serial_level(s, inner, 0, identities(s, inner));
  for (size_t k = 0; k < acc.size(); ++k) results_[s.results[k]] = acc[k];
}

// lanes[(i - begin) % 64] = op(lanes[...], value) for one block; lanes are in memory and begin is a multiple of 64.
void KernelEmitter::fold_block(const Stmt& s, const Scope& inner, const Values& memory, Value* begin, Value* end) {
  Values zero = identities(s, inner);
  for (size_t k = 0; k < memory.size(); ++k) {
    llvm::Type* mem = memory_type(value_type(s, k));
    auto* vt = LeafEmitter::with_lanes(mem, width_);
    Value* z = to_memory(as_vector(zero[k]), value_type(s, k));
    for (int64_t j = 0; j < kReduceLanes; j += width_)
      b_.CreateAlignedStore(z, b_.CreateConstGEP1_64(mem, memory[k], static_cast<uint64_t>(j)),
                            llvm::Align(size_of(value_type(s, k))));
    (void)vt;
  }
  vector_loop(s.vars[0], inner, {&s}, begin, end, Length::one_block, [&] {
    size_t placed = placement_.mark(), mark = undo_.size();
    place(placement_.inside_reduce(s, inner));
    Value* lane = b_.CreateAnd(vec_.i, i64(kReduceLanes - 1));
    for (size_t k = 0; k < memory.size(); ++k) {
      DType t = value_type(s, k);
      llvm::Type* mem = memory_type(t);
      llvm::Align align(size_of(t));
      Value* at = b_.CreateGEP(mem, memory[k], lane);
      Value* old = from_memory(b_.CreateAlignedLoad(LeafEmitter::with_lanes(mem, width_), at, align), t);
      Value* v = b_.CreateSelect(this->mask(), vector(s.values[k]), as_vector(zero[k]));
      b_.CreateAlignedStore(to_memory(combine(s.combine[k], t, old, v), t), at, align);
    }
    placement_.forget(placed);
    undo_to(mark);
  });
}

// 64 lanes in memory, by halves, to one number.
Value* KernelEmitter::fold_lanes(Value* memory, Leaf op, DType t) {
  llvm::Type* mem = memory_type(t);
  llvm::Align align(size_of(t));
  llvm::SmallVector<Value*, 32> parts;
  for (int64_t j = 0; j < kReduceLanes; j += width_) {
    Value* at = b_.CreateConstGEP1_64(mem, memory, static_cast<uint64_t>(j));
    parts.push_back(from_memory(b_.CreateAlignedLoad(LeafEmitter::with_lanes(mem, width_), at, align), t));
  }
  while (parts.size() > 1) {
    size_t half = parts.size() / 2;
    for (size_t j = 0; j < half; ++j) parts[j] = combine(op, t, parts[j], parts[j + half]);
    parts.resize(half);
  }
  Value* v = parts[0];
  for (unsigned h = width_ / 2; h > 0; h /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (unsigned j = 0; j < h; ++j) low.push_back(static_cast<int>(j)), high.push_back(static_cast<int>(j + h));
    v = combine(op, t, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
  }
  return b_.CreateExtractElement(v, uint64_t{0});
}

void KernelEmitter::reduce_fold(const Stmt& s, const Scope& inner) {
  if (vec_.active) ouro_bug("a fold reduction inside of a vector loop");
  auto& context = b_.getContext();
  Value* extent = scalar(s.extents[0]);
  Values zero = identities(s, inner), memory, levels;
  for (size_t k = 0; k < s.values.size(); ++k)
    memory.push_back(alloca_in_entry(memory_type(value_type(s, k)), kReduceLanes));
  auto fold_all = [&] {
    Values out;
    for (size_t k = 0; k < memory.size(); ++k) out.push_back(fold_lanes(memory[k], s.combine[k], value_type(s, k)));
    return out;
  };
  // One block is the usual case and has no loop around it; more go through the upper levels.
  const Node& extent_node = k_.node(s.extents[0]);
  bool surely_short = extent_node.kind == Node::Kind::constant && extent_node.bits <= kReduceBlock;
  if (surely_short) {
    fold_block(s, inner, memory, i64(0), extent);
    Values out = fold_all();
    for (size_t k = 0; k < out.size(); ++k) results_[s.results[k]] = out[k];
    return;
  }
  llvm::Type* word = b_.getInt64Ty();
  llvm::Type* code_type = b_.getInt32Ty();
  auto callee = [&](const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> args) {
    return module_.getOrInsertFunction(name, llvm::FunctionType::get(result, args, false));
  };
  auto begin_fn = callee("ouro_fold_begin", b_.getVoidTy(), {b_.getPtrTy(), code_type});
  auto push_fn = callee("ouro_fold_push", b_.getVoidTy(), {b_.getPtrTy(), code_type, word});
  auto finish_fn = callee("ouro_fold_finish", word, {b_.getPtrTy(), code_type});
  auto code = [&](size_t k) {
    return b_.getInt32(static_cast<uint32_t>(s.combine[k]) << 8 | static_cast<uint32_t>(value_type(s, k)));
  };
  auto to_word = [&](Value* v, DType t) {
    if (is_float(t)) v = b_.CreateBitCast(v, b_.getIntNTy(static_cast<unsigned>(size_of(t) * 8)));
    return b_.CreateZExt(v, word);
  };
  auto from_word = [&](Value* v, DType t) -> Value* {
    if (!is_float(t)) return b_.CreateTrunc(v, register_type(t));
    return b_.CreateBitCast(b_.CreateTrunc(v, b_.getIntNTy(static_cast<unsigned>(size_of(t) * 8))), register_type(t));
  };
  Value* is_long = b_.CreateICmpSGT(extent, i64(kReduceBlock));
  auto* begin_levels = llvm::BasicBlock::Create(context, "levels", fn_);
  auto* blocks = llvm::BasicBlock::Create(context, "blocks", fn_);
  b_.CreateCondBr(is_long, begin_levels, blocks);
  b_.SetInsertPoint(begin_levels);
  for (size_t k = 0; k < memory.size(); ++k) {
    levels.push_back(alloca_in_entry(b_.getInt8Ty(), sizeof(FoldLevels)));
    b_.CreateCall(begin_fn, {levels[k], code(k)});
  }
  b_.CreateBr(blocks);
  b_.SetInsertPoint(blocks);
  Values last = carry_loop(i64(0), extent, i64(kReduceBlock), Look::yes, zero, [&](Value* start, const Values&) {
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, extent, b_.CreateAdd(start, i64(kReduceBlock)));
    fold_block(s, inner, memory, start, end);
    Values out = fold_all();
    auto* push = llvm::BasicBlock::Create(context, "push", fn_);
    auto* next = llvm::BasicBlock::Create(context, "next", fn_);
    b_.CreateCondBr(is_long, push, next);
    b_.SetInsertPoint(push);
    for (size_t k = 0; k < out.size(); ++k)
      b_.CreateCall(push_fn, {levels[k], code(k), to_word(out[k], value_type(s, k))});
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    return out;
  });
  auto* finish = llvm::BasicBlock::Create(context, "finish", fn_);
  auto* done = llvm::BasicBlock::Create(context, "folded", fn_);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateCondBr(is_long, finish, done);
  b_.SetInsertPoint(finish);
  Values joined;
  for (size_t k = 0; k < last.size(); ++k)
    joined.push_back(from_word(b_.CreateCall(finish_fn, {levels[k], code(k)}), value_type(s, k)));
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  for (size_t k = 0; k < last.size(); ++k) {
    auto* p = b_.CreatePHI(last[k]->getType(), 2);
    p->addIncoming(last[k], before);
    p->addIncoming(joined[k], finish);
    results_[s.results[k]] = p;
  }
}

}  // namespace ouro::backends
