// Statements to control flow: prologue, scalar loops, the vector loop with its rest. See kernel_emitter.h.
#include <llvm/IR/MDBuilder.h>

#include "backends/host/kernel_emitter.h"
#include "runtime/machine/backend.h"
#include "support/diag.h"

namespace ouro::backends {
namespace loops = ir::loops;
using llvm::Value;

namespace {
// Iterations of an innermost loop between two looks at the poll word; a multiple of every width. With 100 ns for each,
// gathered from all over memory, 7 ms.
constexpr int64_t kStrip = 1 << 16;
}  // namespace

KernelEmitter::KernelEmitter(llvm::Module& module, const Kernel& kernel, const HostTarget& target)
    : module_(module),
      k_(kernel),
      target_(target),
      b_(module.getContext()),
      leaf_(b_, target.features.find("+f16c") != std::string::npos && target.vector_bits > 128),
      placement_(kernel) {
  bool narrow = false, wide = false;
  for (const loops::Buffer& b : kernel.buffers) {
    narrow |= size_of(b.type) <= 4 && is_float(b.type);
    wide |= size_of(b.type) == 8;
  }
  width_ = static_cast<unsigned>(target.vector_bits) / (wide && !narrow ? 64 : 32);
  // Long chains of dependent instructions (exp, tanh, ...) wait for each other, and every vector of an iteration shares
  // the loads of their constants: four vectors at a time where there are only 16 registers (measured on AVX2: 1.25x
  // over one, 1.1x over two), two beside reductions, whose loops may be short.
  bool functions = false;
  for (const Node& n : kernel.nodes) functions |= n.kind == Node::Kind::leaf && ir::is_function(n.leaf);
  if (functions && target.vector_bits < 512) width_ *= kernel.results == 0 ? 4 : 2;
  values_.resize(kernel.nodes.size());
  vars_.resize(kernel.vars);
  results_.resize(kernel.results);
  find_reach();
}

// A reduction inside of a vector loop has a result for each lane if what it combines differs by lane.
void KernelEmitter::find_reach() {
  reach_.resize(k_.nodes.size());
  std::vector<uint64_t> of_result(k_.results, 0);
  const std::function<bool(const std::vector<Stmt>&)> results = [&](const std::vector<Stmt>& body) {
    bool changed = false;
    for (const Stmt& s : body) {
      uint64_t own = 0;
      for (uint32_t v : s.vars) own |= uint64_t{1} << v;
      for (size_t k = 0; k < s.results.size(); ++k) {
        const uint64_t before = std::exchange(of_result[s.results[k]], reach_[index(s.values[k])] & ~own);
        changed |= before != of_result[s.results[k]];
      }
      changed |= results(s.body);
    }
    return changed;
  };
  do {
    for (size_t i = 0; i < k_.nodes.size(); ++i) {
      const Node& n = k_.nodes[i];
      reach_[i] = placement_.dependence().nodes[i].vars | (n.kind == Node::Kind::result ? of_result[n.id] : 0);
      for (int a = 0; a < n.nargs; ++a) reach_[i] |= reach_[index(n.args[a])];
    }
  } while (results(k_.body));
}

llvm::Function* KernelEmitter::run(const std::string& name) {
  prologue(name);
  body(k_.body, Scope{});
  b_.CreateRet(b_.getInt32(0));
  return fn_;
}

void KernelEmitter::prologue(const std::string& name) {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* word = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {ptr, ptr, ptr, word, word, ptr}, false);
  fn_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  fn_->addFnAttr("target-cpu", target_.cpu);
  fn_->addFnAttr("target-features", target_.features);
  fn_->addFnAttr("prefer-vector-width", std::to_string(target_.vector_bits));
  fn_->addFnAttr("no-trapping-math", "true");
  fn_->addFnAttr(llvm::Attribute::NoUnwind);
  entry_ = llvm::BasicBlock::Create(b_.getContext(), "entry", fn_);
  auto* start = llvm::BasicBlock::Create(b_.getContext(), "start", fn_);
  b_.SetInsertPoint(entry_);
  b_.CreateBr(start);  // allocas go before this
  b_.SetInsertPoint(start);
  llvm::Argument* a = fn_->arg_begin();
  for (size_t i = 0; i < k_.buffers.size(); ++i)
    buffers_.push_back(b_.CreateLoad(ptr, b_.CreateConstInBoundsGEP1_64(ptr, a, i), "b" + std::to_string(i)));
  for (uint32_t i = 0; i < k_.sizes; ++i)
    sizes_.push_back(b_.CreateLoad(word, b_.CreateConstInBoundsGEP1_64(word, a + 1, i), "n" + std::to_string(i)));
  for (size_t i = 0; i < k_.scalars.size(); ++i) {
    llvm::Type* t = register_type(k_.scalars[i]);
    scalars_.push_back(b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(word, a + 2, i), "s" + std::to_string(i)));
  }
  begin_ = a + 3;
  end_ = a + 4;
  poll_ = a + 5;
  stopped_ = llvm::BasicBlock::Create(b_.getContext(), "stopped", fn_);
  llvm::ReturnInst::Create(b_.getContext(), b_.getInt32(1), stopped_);
}

Value* KernelEmitter::alloca_in_entry(llvm::Type* t, unsigned count) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_->getTerminator());
  llvm::AllocaInst* a = b_.CreateAlloca(t, b_.getInt32(count));
  a->setAlignment(llvm::Align(64));
  return a;
}

namespace {
// Only stores and in-order reductions: the loop's iterations may be lanes.
bool body_takes_lanes(const loops::Stmt& loop) {
  for (const loops::Stmt& s : loop.body) {
    if (s.kind == loops::Stmt::Kind::store) continue;
    if (s.kind == loops::Stmt::Kind::reduce && s.order != loops::ReduceOrder::fold) continue;
    return false;
  }
  return true;
}
}  // namespace

void KernelEmitter::place(const std::vector<NodeId>& nodes) {
  for (NodeId n : nodes)
    if (k_.node(n).kind != Node::Kind::index || !lane_dependent(n)) value(n);  // indices by lane are made where wanted
}

void KernelEmitter::body(const std::vector<Stmt>& stmts, Scope scope) {
  for (const Stmt& s : stmts) {
    place(placement_.before(s, scope));
    size_t placed = placement_.mark(), mark = undo_.size();
    Scope inner = scope;
    for (uint32_t v : s.vars) inner.vars |= uint64_t{1} << v;
    switch (s.kind) {
      case Stmt::Kind::store:
        store(s);
        break;
      case Stmt::Kind::parallel:
      case Stmt::Kind::loop: {
        bool root = std::exchange(at_parallel_root_, false) && s.kind == Stmt::Kind::parallel;
        loop(s, inner, root ? begin_ : i64(0), root ? end_ : scalar(s.extents[0]));
        break;
      }
      case Stmt::Kind::reduce:
        if (s.order == loops::ReduceOrder::fold)
          reduce_fold(s, inner);
        else if (s.order == loops::ReduceOrder::blocks)
          reduce_blocks(s, inner);
        else
          reduce_serial(s, inner);
        break;
    }
    if (s.kind != Stmt::Kind::store) {
      placement_.forget(placed);
      undo_to(mark);
    }
    for (uint32_t r : s.results) scope.results |= uint64_t{1} << r;
  }
}

void KernelEmitter::loop(const Stmt& s, const Scope& inner, Value* begin, Value* end) {
  if (body_takes_lanes(s) && !vec_.active) {
    std::vector<const Stmt*> uses;
    for (const Stmt& b : s.body) uses.push_back(&b);
    vector_loop(s.vars[0], inner, uses, begin, end, Length::any, [&] { body(s.body, inner); });
    return;
  }
  scalar_loop(begin, end, i64(1), [&](Value* i) {
    vars_[s.vars[0]] = i;
    body(s.body, inner);
  });
}

Value* KernelEmitter::stop_asked() {
  llvm::LoadInst* word = b_.CreateAlignedLoad(b_.getInt32Ty(), poll_, llvm::Align(4));
  word->setAtomic(llvm::AtomicOrdering::Monotonic);
  return b_.CreateICmpNE(b_.CreateAnd(word, b_.getInt32(runtime::kStopBits)), b_.getInt32(0));
}

llvm::BasicBlock* KernelEmitter::back_edge(Value* again, llvm::BasicBlock* head, llvm::BasicBlock* exit, Look look) {
  llvm::BasicBlock* from = b_.GetInsertBlock();
  if (look == Look::yes) {
    from = llvm::BasicBlock::Create(b_.getContext(), "look", fn_);
    b_.CreateCondBr(again, from, exit);
    b_.SetInsertPoint(from);
    b_.CreateCondBr(stop_asked(), stopped_, head, llvm::MDBuilder(b_.getContext()).createUnlikelyBranchWeights());
  } else {
    b_.CreateCondBr(again, head, exit);
  }
  b_.SetInsertPoint(exit);
  return from;
}

void KernelEmitter::scalar_loop(Value* begin, Value* end, Value* step, const std::function<void(Value*)>& fn) {
  auto& context = b_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context, "loop", fn_);
  auto* exit = llvm::BasicBlock::Create(context, "done", fn_);
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), head, exit);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  fn(i);
  Value* next = b_.CreateAdd(i, step);
  i->addIncoming(next, back_edge(b_.CreateICmpSLT(next, end), head, exit, Look::yes));
}

// An access that also moves with a loop inside of the vector loop has no fixed start: it is no stream.
bool KernelEmitter::starts_outside(NodeId at) const {
  const auto& d = placement_.dependence().of(at);
  return !(d.vars & ~(vec_.scope.vars | uint64_t{1} << vec_.var)) && !(d.results & ~vec_.scope.results);
}

void KernelEmitter::collect_streams(NodeId n, std::vector<bool>& seen) {
  if (n == NodeId::none || seen[index(n)] || !lane_dependent(n)) return;
  seen[index(n)] = true;
  const Node& node = k_.node(n);
  for (int a = 0; a < node.nargs; ++a) collect_streams(node.args[a], seen);
  if (node.kind != Node::Kind::load || node.nargs != 1) return;
  if (!contiguous(node.args[0]) || !starts_outside(node.args[0])) return;
  if (Stream* s = find_stream(node.id, node.args[0]))
    s->read = true;
  else
    vec_.streams.push_back({node.id, node.args[0], true, false});
}

void KernelEmitter::collect_streams(const Stmt& s) {
  std::vector<bool> seen(k_.nodes.size());
  for (NodeId v : s.values) collect_streams(v, seen);
  if (s.kind != Stmt::Kind::store) return;
  collect_streams(s.value, seen);
  if (!lane_dependent(s.at) || !contiguous(s.at) || !starts_outside(s.at)) return;
  if (Stream* stream = find_stream(s.buffer, s.at))
    stream->write = true;
  else
    vec_.streams.push_back({s.buffer, s.at, false, true});
}

Value* KernelEmitter::tail_mask(Value* count) {
  std::vector<uint32_t> steps(width_);
  for (unsigned i = 0; i < width_; ++i) steps[i] = i;
  Value* iota = llvm::ConstantDataVector::get(b_.getContext(), llvm::ArrayRef<uint32_t>(steps));
  Value* limited = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, i64(width_));
  return b_.CreateICmpSLT(iota, b_.CreateVectorSplat(width_, b_.CreateTrunc(limited, b_.getInt32Ty())));
}

// Moves `count` < width elements into or out of scratch memory; scratch lanes without an element become zero (they may
// be indices). Masked moves of small elements would be taken apart into branches: those are copied.
void KernelEmitter::move_tail(const Stream& s, Value* real, bool fill, Value* count) {
  DType t = k_.buffers[s.buffer].type;
  llvm::Align align(size_of(t));
  auto* vt = llvm::cast<llvm::VectorType>(LeafEmitter::with_lanes(memory_type(t), width_));
  llvm::Constant* zero = llvm::Constant::getNullValue(vt);
  if (size_of(t) < 4) {
    Value* bytes = b_.CreateMul(count, i64(static_cast<int64_t>(size_of(t))));
    if (fill) b_.CreateAlignedStore(zero, s.scratch, align);
    b_.CreateMemCpy(fill ? s.scratch : real, align, fill ? real : s.scratch, align, bytes);
    return;
  }
  Value* live = tail_mask(count);
  if (fill)
    b_.CreateAlignedStore(b_.CreateMaskedLoad(vt, real, align, live, zero), s.scratch, align);
  else
    b_.CreateMaskedStore(b_.CreateAlignedLoad(vt, s.scratch, align), real, align, live);
}

// chunk: the full vectors at their place, strip by strip, then (once more) the rest in scratch memory.
void KernelEmitter::vector_loop(uint32_t var, const Scope& inner, const std::vector<const Stmt*>& uses, Value* begin,
                                Value* end, Length length, const std::function<void()>& fn) {
  auto& context = b_.getContext();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(context, name, fn_); };
  vec_ = VectorLoop{};
  vec_.active = true;
  vec_.var = var;
  vec_.end = end;
  vec_.scope = inner;
  for (const Stmt* s : uses) collect_streams(*s);
  for (Stream& s : vec_.streams) {
    s.scratch = alloca_in_entry(memory_type(k_.buffers[s.buffer].type), width_);
    s.base = element(s.buffer, at_zero(s.at));
  }
  Value* count = b_.CreateSub(end, begin);
  Value* rest = b_.CreateAnd(count, i64(width_ - 1));
  Value* full_end = b_.CreateSub(end, rest);
  vec_.last = b_.CreateSub(end, i64(1));
  auto strip_end = [&](Value* from) {
    if (length == Length::one_block) return full_end;
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, full_end, b_.CreateAdd(from, i64(kStrip)));
  };
  Value* first_end = strip_end(begin);

  llvm::BasicBlock *before = b_.GetInsertBlock(), *chunk = block("chunk"), *ready = block("ready"),
                   *head = block("vector");
  llvm::BasicBlock *after = block("after"), *flush = block("flush"), *check = block("check"),
                   *rest_block = block("rest");
  llvm::BasicBlock* exit = block("exit");
  Value* any = b_.CreateICmpSLT(begin, end);
  b_.CreateCondBr(any, chunk, exit);

  b_.SetInsertPoint(chunk);
  llvm::PHINode* from = b_.CreatePHI(b_.getInt64Ty(), 2);
  llvm::PHINode* to = b_.CreatePHI(b_.getInt64Ty(), 2);
  llvm::PHINode* in_rest = b_.CreatePHI(b_.getInt1Ty(), 2);
  from->addIncoming(begin, before);
  to->addIncoming(first_end, before);
  in_rest->addIncoming(b_.getFalse(), before);
  std::vector<llvm::PHINode*> bases;
  std::vector<Value*> real;
  for (Stream& s : vec_.streams) {
    real.push_back(s.base);
    bases.push_back(b_.CreatePHI(b_.getPtrTy(), 2));
    bases.back()->addIncoming(s.base, before);
    s.base = bases.back();
  }
  b_.CreateCondBr(b_.CreateICmpSLT(from, to), ready, after);
  b_.SetInsertPoint(ready);
  b_.CreateBr(head);
  vec_.preheader = ready;

  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(from, ready);
  vec_.i = i;
  vec_.head = head;
  fn();
  Value* next = b_.CreateAdd(i, i64(width_));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, to), head, after);

  b_.SetInsertPoint(after);
  b_.CreateCondBr(in_rest, flush, check);
  b_.SetInsertPoint(flush);
  for (size_t n = 0; n < real.size(); ++n) {
    const Stream& s = vec_.streams[n];
    if (s.write) move_tail(s, b_.CreateGEP(memory_type(k_.buffers[s.buffer].type), real[n], full_end), false, rest);
  }
  b_.CreateBr(exit);
  b_.SetInsertPoint(check);
  if (length == Length::any) {
    auto *strip = block("strip"), *strips_done = block("strips_done");
    b_.CreateCondBr(b_.CreateICmpSLT(to, full_end), strip, strips_done);
    b_.SetInsertPoint(strip);
    Value* next_end = strip_end(to);
    from->addIncoming(to, strip);
    to->addIncoming(next_end, strip);
    in_rest->addIncoming(b_.getFalse(), strip);
    for (size_t n = 0; n < real.size(); ++n) bases[n]->addIncoming(real[n], strip);
    b_.CreateCondBr(stop_asked(), stopped_, chunk, llvm::MDBuilder(context).createUnlikelyBranchWeights());
    b_.SetInsertPoint(strips_done);
  }
  b_.CreateCondBr(b_.CreateICmpNE(rest, i64(0)), rest_block, exit);
  b_.SetInsertPoint(rest_block);
  for (size_t n = 0; n < real.size(); ++n) {
    const Stream& s = vec_.streams[n];
    llvm::Type* mem = memory_type(k_.buffers[s.buffer].type);
    if (s.read) move_tail(s, b_.CreateGEP(mem, real[n], full_end), true, rest);
    bases[n]->addIncoming(b_.CreateGEP(mem, s.scratch, b_.CreateNeg(full_end)), b_.GetInsertBlock());
  }
  from->addIncoming(full_end, b_.GetInsertBlock());
  to->addIncoming(b_.CreateAdd(full_end, i64(width_)), b_.GetInsertBlock());
  in_rest->addIncoming(b_.getTrue(), b_.GetInsertBlock());
  b_.CreateBr(chunk);
  b_.SetInsertPoint(exit);
  vec_ = VectorLoop{};
}

}  // namespace ouro::backends
