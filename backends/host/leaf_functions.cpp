// Leaf functions as LLVM instructions: the builder of ir/ops/leaf_math.h whose values are vectors (or single numbers).
#include <type_traits>

#include <llvm/IR/Intrinsics.h>

#include "backends/host/leaf_emitter.h"
#include "ir/ops/leaf_apply.h"

namespace ouro::backends {
namespace {
using ir::Leaf;
using ir::leaf_math::Kind;
namespace intrinsic = llvm::Intrinsic;

struct VectorBuilder {
  template <Kind>
  using Value = llvm::Value*;
  using V = llvm::Value*;

  llvm::IRBuilder<>& b;
  LeafEmitter& leaf;
  unsigned lanes;

  V f32(float x) { return llvm::ConstantFP::get(leaf.type(DType::f32, lanes), x); }
  V f64(double x) { return llvm::ConstantFP::get(leaf.type(DType::f64, lanes), x); }
  V i32(int32_t x) { return llvm::ConstantInt::get(leaf.type(DType::i32, lanes), static_cast<uint64_t>(x), true); }
  V i64(int64_t x) { return llvm::ConstantInt::get(leaf.type(DType::i64, lanes), static_cast<uint64_t>(x), true); }

  static bool is_float(V x) { return x->getType()->isFPOrFPVectorTy(); }
  V add(V x, V y) { return is_float(x) ? b.CreateFAdd(x, y) : b.CreateAdd(x, y); }
  V sub(V x, V y) { return is_float(x) ? b.CreateFSub(x, y) : b.CreateSub(x, y); }
  V mul(V x, V y) { return is_float(x) ? b.CreateFMul(x, y) : b.CreateMul(x, y); }
  V div(V x, V y) { return b.CreateFDiv(x, y); }
  V fma(V x, V y, V z) { return b.CreateIntrinsic(intrinsic::fma, {x->getType()}, {x, y, z}); }
  V neg(V x) { return is_float(x) ? b.CreateFNeg(x) : b.CreateNeg(x); }
  V abs(V x) { return b.CreateUnaryIntrinsic(intrinsic::fabs, x); }
  V floor(V x) { return b.CreateUnaryIntrinsic(intrinsic::floor, x); }
  V trunc(V x) { return b.CreateUnaryIntrinsic(intrinsic::trunc, x); }
  V round(V x) { return b.CreateUnaryIntrinsic(intrinsic::roundeven, x); }
  V sqrt(V x) { return b.CreateUnaryIntrinsic(intrinsic::sqrt, x); }
  V eq(V x, V y) { return is_float(x) ? b.CreateFCmpOEQ(x, y) : b.CreateICmpEQ(x, y); }
  V ne(V x, V y) { return is_float(x) ? b.CreateFCmpUNE(x, y) : b.CreateICmpNE(x, y); }
  V lt(V x, V y) { return is_float(x) ? b.CreateFCmpOLT(x, y) : b.CreateICmpSLT(x, y); }
  V le(V x, V y) { return is_float(x) ? b.CreateFCmpOLE(x, y) : b.CreateICmpSLE(x, y); }
  V gt(V x, V y) { return is_float(x) ? b.CreateFCmpOGT(x, y) : b.CreateICmpSGT(x, y); }
  V ge(V x, V y) { return is_float(x) ? b.CreateFCmpOGE(x, y) : b.CreateICmpSGE(x, y); }
  V and_(V x, V y) { return b.CreateAnd(x, y); }
  V or_(V x, V y) { return b.CreateOr(x, y); }
  V xor_(V x, V y) { return b.CreateXor(x, y); }
  V not_(V x) { return b.CreateNot(x); }
  V select(V c, V x, V y) { return b.CreateSelect(c, x, y); }
  V shl(V x, V n) { return b.CreateShl(x, n); }
  V shr(V x, V n) { return b.CreateAShr(x, n); }
  V to_f32(V x) {
    llvm::Type* t = leaf.type(DType::f32, lanes);
    return is_float(x) ? b.CreateFPTrunc(x, t) : b.CreateSIToFP(x, t);
  }
  V to_f64(V x) {
    llvm::Type* t = leaf.type(DType::f64, lanes);
    return is_float(x) ? b.CreateFPExt(x, t) : b.CreateSIToFP(x, t);
  }
  V as_i32(V x) { return b.CreateBitCast(x, leaf.type(DType::i32, lanes)); }
  V as_f32(V x) { return b.CreateBitCast(x, leaf.type(DType::f32, lanes)); }
  V as_i64(V x) { return b.CreateBitCast(x, leaf.type(DType::i64, lanes)); }
  V as_f64(V x) { return b.CreateBitCast(x, leaf.type(DType::f64, lanes)); }
};

}  // namespace

llvm::Value* LeafEmitter::function(Leaf leaf, DType t, Value* a, Value* b) {
  VectorBuilder builder{b_, *this, lanes_of(a)};
  return t == DType::f64 ? ir::leaf_math::apply<Kind::f64>(leaf, builder, a, b)
                         : ir::leaf_math::apply<Kind::f32>(leaf, builder, a, b);
}

}  // namespace ouro::backends
