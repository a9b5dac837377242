// Nodes to LLVM values: parameters, index arithmetic, loads and stores by stride. See kernel_emitter.h.
#include "backends/host/kernel_emitter.h"
#include "support/diag.h"

namespace ouro::backends {
namespace loops = ir::loops;
using ir::Leaf;
using llvm::Value;

llvm::Type* KernelEmitter::memory_type(DType t) { return is_bool(t) ? b_.getInt8Ty() : leaf_.type(t, 1); }

llvm::Type* KernelEmitter::register_type(DType t) { return leaf_.type(t, 1); }

Value* KernelEmitter::from_memory(Value* v, DType t) {
  if (t == DType::boolean) return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
  return leaf_.cast(v, t, loops::loaded_type(t));
}

Value* KernelEmitter::to_memory(Value* v, DType t) {
  if (t == DType::boolean) return b_.CreateZExt(v, leaf_.type(DType::u8, LeafEmitter::lanes_of(v)));
  return leaf_.cast(v, loops::loaded_type(t), t);
}

void KernelEmitter::set(NodeId n, Value* v) {
  values_[index(n)] = v;
  undo_.push_back(n);
}

void KernelEmitter::undo_to(size_t mark) {
  while (undo_.size() > mark) {
    values_[index(undo_.back())] = nullptr;
    undo_.pop_back();
  }
}

bool KernelEmitter::lane_dependent(NodeId n) const { return vec_.active && (reach_[index(n)] >> vec_.var & 1); }

bool KernelEmitter::contiguous(NodeId at) const {
  loops::Stride s = loops::stride_along(k_, placement_.dependence(), at, vec_.var);
  return s.kind == loops::Stride::Kind::constant && s.value == 1;
}

KernelEmitter::Stream* KernelEmitter::find_stream(uint32_t buffer, NodeId at) {
  for (Stream& s : vec_.streams)
    if (s.buffer == buffer && s.at == at) return &s;
  return nullptr;
}

Value* KernelEmitter::as_vector(Value* v) {
  if (v->getType()->isVectorTy()) return v;
  if (llvm::isa<llvm::Constant>(v))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(width_), llvm::cast<llvm::Constant>(v));
  // What does not change in the loop is splat before it.
  if (vec_.preheader && made_before_loop(v)) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(vec_.preheader->getTerminator());
    return b_.CreateVectorSplat(width_, v);
  }
  return b_.CreateVectorSplat(width_, v);
}

bool KernelEmitter::made_before_loop(Value* v) const {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(v);
  if (!instruction) return true;
  for (auto block = vec_.preheader->getIterator(); block != fn_->end();
       ++block)  // blocks stand in the order they were made
    if (&*block == instruction->getParent()) return false;
  return true;
}

Value* KernelEmitter::vector(NodeId n) { return as_vector(value(n)); }

Value* KernelEmitter::scalar(NodeId n) {
  Value* v = value(n);
  if (v->getType()->isVectorTy()) ouro_bug("a scalar was expected in a kernel");
  return v;
}

Value* KernelEmitter::lanes() {
  if (!vec_.lanes) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(vec_.head, vec_.head->getFirstInsertionPt());
    std::vector<uint64_t> steps(width_);
    for (unsigned i = 0; i < width_; ++i) steps[i] = i;
    Value* iota = llvm::ConstantDataVector::get(b_.getContext(), llvm::ArrayRef<uint64_t>(steps));
    Value* each = b_.CreateAdd(b_.CreateVectorSplat(width_, vec_.i), iota);
    vec_.lanes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, each, as_vector(vec_.last));
  }
  return vec_.lanes;
}

Value* KernelEmitter::mask() {
  if (!vec_.mask) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(vec_.head, vec_.head->getFirstInsertionPt());
    vec_.mask = tail_mask(b_.CreateSub(vec_.end, vec_.i));
  }
  return vec_.mask;
}

Value* KernelEmitter::value(NodeId n) {
  if (Value* v = values_[index(n)]) return v;
  const Node& node = k_.node(n);
  switch (node.kind) {
    case Node::Kind::constant: {
      llvm::Type* t = register_type(node.type);
      if (!is_float(node.type)) return llvm::ConstantInt::get(t, static_cast<uint64_t>(node.bits), true);
      double d;
      std::memcpy(&d, &node.bits, 8);
      return llvm::ConstantFP::get(t, d);
    }
    case Node::Kind::size:
      return sizes_[node.id];
    case Node::Kind::scalar:
      return scalars_[node.id];
    case Node::Kind::result:
      return results_[node.id];
    case Node::Kind::var:
      return lane_dependent(n) ? lanes() : vars_[node.id];
    default:
      break;
  }
  Value* v = compute(n, node);
  set(n, v);
  return v;
}

Value* KernelEmitter::compute(NodeId id, const Node& n) {
  if (n.kind == Node::Kind::load) return load(id, n);
  Value* args[3] = {};
  bool any_vector = false;
  for (int a = 0; a < n.nargs; ++a) {
    args[a] = value(n.args[a]);
    any_vector |= args[a]->getType()->isVectorTy();
  }
  if (any_vector)
    for (int a = 0; a < n.nargs; ++a) args[a] = as_vector(args[a]);
  if (n.kind == Node::Kind::index) return index_op(n.leaf, args[0], args[1]);
  DType operand = k_.node(n.args[n.leaf == Leaf::select ? 1 : 0]).type;
  return leaf_.apply(n.leaf, n.type, operand, args);
}

Value* KernelEmitter::index_op(Leaf op, Value* a, Value* b) {
  switch (op) {
    case Leaf::add:
      return b_.CreateAdd(a, b);
    case Leaf::sub:
      return b_.CreateSub(a, b);
    case Leaf::mul:
      return b_.CreateMul(a, b);
    case Leaf::idiv:
      return b_.CreateUDiv(a, b);
    case Leaf::irem:
      return b_.CreateURem(a, b);
    case Leaf::min:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
    case Leaf::max:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
    default:
      ouro_bug("no such index operation");
  }
}

Value* KernelEmitter::at_zero(NodeId n) {
  if (!lane_dependent(n)) return scalar(n);
  const Node& node = k_.node(n);
  if (node.kind == Node::Kind::var) return i64(0);
  if (node.kind != Node::Kind::index) ouro_bug("an index with a stride is not affine");
  return index_op(node.leaf, at_zero(node.args[0]), at_zero(node.args[1]));
}

Value* KernelEmitter::element(uint32_t buffer, Value* at) {
  return b_.CreateGEP(memory_type(k_.buffers[buffer].type), buffers_[buffer], at);
}

Value* KernelEmitter::load(NodeId id, const Node& n) {
  DType t = k_.buffers[n.id].type;
  llvm::Type* mem = memory_type(t);
  llvm::Align align(size_of(t));
  bool by_lane = lane_dependent(id);
  if (n.nargs == 1) {
    if (!by_lane) return from_memory(b_.CreateAlignedLoad(mem, element(n.id, scalar(n.args[0])), align), t);
    if (Stream* s = find_stream(n.id, n.args[0])) return from_memory(load_stream(*s), t);
    return gather(n, nullptr, nullptr);
  }
  Value* condition = value(n.args[1]);
  Value* otherwise = value(n.args[2]);
  if (!by_lane) {
    Value* at = b_.CreateSelect(condition, scalar(n.args[0]), i64(0));
    Value* v = from_memory(b_.CreateAlignedLoad(mem, element(n.id, at), align), t);
    return b_.CreateSelect(condition, v, otherwise);
  }
  return gather(n, as_vector(condition), as_vector(otherwise));
}

Value* KernelEmitter::load_stream(const Stream& s) {
  DType t = k_.buffers[s.buffer].type;
  llvm::Type* mem = memory_type(t);
  Value* at = b_.CreateGEP(mem, s.base, vec_.i);
  return b_.CreateAlignedLoad(LeafEmitter::with_lanes(mem, width_), at, llvm::Align(size_of(t)));
}

// A load at any index. With a mask: `otherwise` where it does not hold; a run of neighbouring elements is still one
// masked load.
Value* KernelEmitter::gather(const Node& n, Value* mask_value, Value* otherwise) {
  DType t = k_.buffers[n.id].type;
  llvm::Type* mem = memory_type(t);
  auto* vt = llvm::cast<llvm::VectorType>(LeafEmitter::with_lanes(mem, width_));
  llvm::Align align(size_of(t));
  if (!lane_dependent(n.args[0])) {  // only the condition differs by lane
    Value* any = b_.CreateOrReduce(mask_value);
    Value* at = b_.CreateSelect(any, scalar(n.args[0]), i64(0));
    Value* one = from_memory(b_.CreateAlignedLoad(mem, element(n.id, at), align), t);
    return b_.CreateSelect(mask_value, b_.CreateVectorSplat(width_, one), otherwise);
  }
  Value* loaded;
  if (contiguous(n.args[0])) {
    Value* at = element(n.id, b_.CreateAdd(at_zero(n.args[0]), vec_.i));
    Value* live = mask_value ? b_.CreateAnd(mask_value, mask()) : mask();
    loaded = b_.CreateMaskedLoad(vt, at, align, live, llvm::Constant::getNullValue(vt));
  } else {
    Value* at = b_.CreateGEP(mem, buffers_[n.id], vector(n.args[0]));
    Value* live =
        mask_value ? mask_value : llvm::Constant::getAllOnesValue(LeafEmitter::with_lanes(b_.getInt1Ty(), width_));
    loaded = b_.CreateMaskedGather(vt, at, align, live, llvm::Constant::getNullValue(vt));
  }
  Value* v = from_memory(loaded, t);
  return otherwise ? b_.CreateSelect(mask_value, v, otherwise) : v;
}

void KernelEmitter::store(const Stmt& s) {
  DType t = k_.buffers[s.buffer].type;
  llvm::Align align(size_of(t));
  llvm::Type* mem = memory_type(t);
  if (!lane_dependent(s.at)) {
    if (lane_dependent(s.value)) ouro_bug("a vector is stored to one element");
    b_.CreateAlignedStore(to_memory(scalar(s.value), t), element(s.buffer, scalar(s.at)), align);
    return;
  }
  Value* v = to_memory(vector(s.value), t);
  if (Stream* stream = find_stream(s.buffer, s.at)) {
    b_.CreateAlignedStore(v, b_.CreateGEP(mem, stream->base, vec_.i), align);
    return;
  }
  b_.CreateMaskedScatter(v, b_.CreateGEP(mem, buffers_[s.buffer], vector(s.at)), align, mask());
}

}  // namespace ouro::backends
