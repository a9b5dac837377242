#include "backends/host/leaf_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include "support/diag.h"

namespace ouro::backends {
using ir::Leaf;
using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

llvm::Type* LeafEmitter::type(DType t, unsigned lanes) {
  llvm::Type* r = nullptr;
  switch (t) {
    case DType::boolean:
      r = b_.getInt1Ty();
      break;
    case DType::u8:
    case DType::i8:
      r = b_.getInt8Ty();
      break;
    case DType::i16:
    case DType::f16:
    case DType::bf16:
      r = b_.getInt16Ty();
      break;
    case DType::i32:
      r = b_.getInt32Ty();
      break;
    case DType::i64:
      r = b_.getInt64Ty();
      break;
    case DType::f32:
      r = b_.getFloatTy();
      break;
    case DType::f64:
      r = b_.getDoubleTy();
      break;
  }
  return with_lanes(r, lanes);
}

Value* LeafEmitter::apply(Leaf leaf, DType type, DType operand, Value* const* args) {
  switch (leaf) {
    case Leaf::select:
      return b_.CreateSelect(args[0], args[1], args[2]);
    case Leaf::cast:
      return cast(args[0], operand, type);
    case Leaf::bitcast:
      return b_.CreateBitCast(args[0], this->type(type, lanes_of(args[0])));
    case Leaf::idiv:
    case Leaf::irem:
      return divide(leaf, operand, args[0], args[1]);
    case Leaf::shl:
    case Leaf::shr:
      return shift(leaf, operand, args[0], args[1]);
    case Leaf::min:
    case Leaf::max:
      return extremum(leaf, operand, args[0], args[1]);
    case Leaf::eq:
    case Leaf::ne:
    case Leaf::lt:
    case Leaf::le:
    case Leaf::gt:
    case Leaf::ge:
      return compare(leaf, operand, args[0], args[1]);
    default:
      break;
  }
  if (ir::is_function(leaf)) return function(leaf, type, args[0], args[1]);
  return arithmetic(leaf, operand, args[0], args[1]);
}

Value* LeafEmitter::arithmetic(Leaf leaf, DType t, Value* a, Value* b) {
  bool f = is_float(t);
  auto unary = [&](intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, a); };
  switch (leaf) {
    case Leaf::add:
      return f ? b_.CreateFAdd(a, b) : is_bool(t) ? b_.CreateOr(a, b) : b_.CreateAdd(a, b);
    case Leaf::sub:
      return f ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case Leaf::mul:
      return f ? b_.CreateFMul(a, b) : is_bool(t) ? b_.CreateAnd(a, b) : b_.CreateMul(a, b);
    case Leaf::div:
      return b_.CreateFDiv(a, b);
    case Leaf::neg:
      return f ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case Leaf::abs:
      if (f) return unary(intrinsic::fabs);
      return info(t).is_signed ? b_.CreateBinaryIntrinsic(intrinsic::abs, a, b_.getFalse()) : a;
    case Leaf::floor:
      return unary(intrinsic::floor);
    case Leaf::ceil:
      return unary(intrinsic::ceil);
    case Leaf::trunc:
      return unary(intrinsic::trunc);
    case Leaf::round:
      return unary(intrinsic::roundeven);
    case Leaf::sqrt:
      return unary(intrinsic::sqrt);
    case Leaf::and_:
      return b_.CreateAnd(a, b);
    case Leaf::or_:
      return b_.CreateOr(a, b);
    case Leaf::xor_:
      return b_.CreateXor(a, b);
    case Leaf::not_:
      return b_.CreateNot(a);
    default:
      ouro_bug("leaf %s has no instruction", std::string(info(leaf).name).c_str());
  }
}

Value* LeafEmitter::compare(Leaf leaf, DType t, Value* a, Value* b) {
  using P = llvm::CmpInst::Predicate;
  int i = static_cast<int>(leaf) - static_cast<int>(Leaf::eq);
  constexpr P kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  constexpr P kSigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  constexpr P kUnsigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  if (is_float(t)) return b_.CreateFCmp(kFloat[i], a, b);
  return b_.CreateICmp(info(t).is_signed ? kSigned[i] : kUnsigned[i], a, b);
}

// A zero divisor gives 0; lowest / -1 wraps (the machine would trap).
Value* LeafEmitter::divide(Leaf leaf, DType t, Value* a, Value* b) {
  llvm::Type* ty = a->getType();
  Value *zero = llvm::Constant::getNullValue(ty), *one = llvm::ConstantInt::get(ty, 1);
  Value* by_zero = b_.CreateICmpEQ(b, zero);
  bool is_div = leaf == Leaf::idiv;
  if (!info(t).is_signed) {
    Value* safe = b_.CreateSelect(by_zero, one, b);
    return b_.CreateSelect(by_zero, zero, is_div ? b_.CreateUDiv(a, safe) : b_.CreateURem(a, safe));
  }
  Value* by_minus_one = b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(ty));
  Value* safe = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, b);
  Value* r = is_div ? b_.CreateSDiv(a, safe) : b_.CreateSRem(a, safe);
  r = b_.CreateSelect(by_minus_one, is_div ? b_.CreateNeg(a) : zero, r);
  return b_.CreateSelect(by_zero, zero, r);
}

Value* LeafEmitter::shift(Leaf leaf, DType t, Value* a, Value* b) {
  llvm::Type* ty = a->getType();
  unsigned bits = ty->getScalarSizeInBits();
  Value* inside = b_.CreateICmpULT(b, llvm::ConstantInt::get(ty, bits));
  Value* count = b_.CreateSelect(inside, b, llvm::Constant::getNullValue(ty));
  if (leaf == Leaf::shl) return b_.CreateSelect(inside, b_.CreateShl(a, count), llvm::Constant::getNullValue(ty));
  if (!info(t).is_signed) return b_.CreateSelect(inside, b_.CreateLShr(a, count), llvm::Constant::getNullValue(ty));
  return b_.CreateSelect(inside, b_.CreateAShr(a, count), b_.CreateAShr(a, llvm::ConstantInt::get(ty, bits - 1)));
}

// max(a, b) = (a > b || a != a) ? a : b
Value* LeafEmitter::extremum(Leaf leaf, DType t, Value* a, Value* b) {
  bool max = leaf == Leaf::max;
  if (is_float(t)) {
    Value* ordered = b_.CreateSelect(max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b), a, b);
    return b_.CreateSelect(b_.CreateFCmpUNO(a, a), a, ordered);
  }
  if (is_bool(t)) return max ? b_.CreateOr(a, b) : b_.CreateAnd(a, b);
  bool s = info(t).is_signed;
  return b_.CreateBinaryIntrinsic(
      max ? (s ? intrinsic::smax : intrinsic::umax) : (s ? intrinsic::smin : intrinsic::umin), a, b);
}

Value* LeafEmitter::round_to_bf16(Value* v) {
  unsigned lanes = lanes_of(v);
  llvm::Type* word = type(DType::i32, lanes);
  auto c = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
  Value* bits = b_.CreateBitCast(v, word);
  Value* odd = b_.CreateAnd(b_.CreateLShr(bits, c(16)), c(1));
  Value* rounded = b_.CreateLShr(b_.CreateAdd(b_.CreateAdd(bits, c(0x7fff)), odd), c(16));
  Value* quiet = b_.CreateOr(b_.CreateLShr(bits, c(16)), c(0x40));
  return b_.CreateTrunc(b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, rounded), type(DType::bf16, lanes));
}

// Denormal halves are n * 2^-24: adding 2^-1's ulp places n in the low bits with the right rounding.
Value* LeafEmitter::half_bits(Value* v) {
  unsigned lanes = lanes_of(v);
  llvm::Type *word = type(DType::i32, lanes), *f = type(DType::f32, lanes);
  auto c = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
  Value* bits = b_.CreateBitCast(v, word);
  Value* sign = b_.CreateAnd(b_.CreateLShr(bits, c(16)), c(0x8000));
  Value* a = b_.CreateAnd(bits, c(0x7fffffff));
  Value* odd = b_.CreateAnd(b_.CreateLShr(a, c(13)), c(1));
  Value* normal = b_.CreateLShr(b_.CreateSub(b_.CreateAdd(b_.CreateAdd(a, c(0xfff)), odd), c(112u << 23)), c(13));
  Value* shifted = b_.CreateFAdd(b_.CreateBitCast(a, f), llvm::ConstantFP::get(f, 0.5));
  Value* tiny = b_.CreateSub(b_.CreateBitCast(shifted, word), c(0x3f000000));
  Value* nan = b_.CreateOr(c(0x7e00), b_.CreateAnd(b_.CreateLShr(a, c(13)), c(0x3ff)));
  Value* r = b_.CreateSelect(b_.CreateICmpULT(a, c(0x38800000)), tiny, normal);
  r = b_.CreateSelect(b_.CreateICmpUGE(a, c(0x477ff000)), c(0x7c00), r);
  r = b_.CreateSelect(b_.CreateICmpUGT(a, c(0x7f800000)), nan, r);
  return b_.CreateTrunc(b_.CreateOr(r, sign), type(DType::i16, lanes));
}

Value* LeafEmitter::from_half_bits(Value* v) {
  unsigned lanes = lanes_of(v);
  llvm::Type *word = type(DType::i32, lanes), *f = type(DType::f32, lanes);
  auto c = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
  Value* h = b_.CreateZExt(v, word);
  Value* sign = b_.CreateShl(b_.CreateAnd(h, c(0x8000)), c(16));
  Value* a = b_.CreateShl(b_.CreateAnd(h, c(0x7fff)), c(13));
  Value* normal = b_.CreateAdd(a, c(112u << 23));
  Value* tiny = b_.CreateFSub(b_.CreateBitCast(b_.CreateAdd(a, c(113u << 23)), f), b_.CreateBitCast(c(113u << 23), f));
  Value* r = b_.CreateSelect(b_.CreateICmpULT(a, c(1u << 23)), b_.CreateBitCast(tiny, word), normal);
  Value* quiet = b_.CreateSelect(b_.CreateICmpUGT(a, c(31u << 23)), c(1u << 22), c(0));
  r = b_.CreateSelect(b_.CreateICmpUGE(a, c(31u << 23)), b_.CreateOr(b_.CreateOr(a, c(0x7f800000)), quiet), r);
  return b_.CreateBitCast(b_.CreateOr(r, sign), f);
}

// Values outside of i64 and NaN give its lowest; narrower integers wrap from i64.
Value* LeafEmitter::float_to_int(Value* a, DType to) {
  unsigned lanes = lanes_of(a);
  llvm::Type* word = type(DType::i64, lanes);
  Value* low = llvm::ConstantFP::get(a->getType(), -0x1p63);
  Value* high = llvm::ConstantFP::get(a->getType(), 0x1p63);
  Value* inside = b_.CreateAnd(b_.CreateFCmpOGE(a, low), b_.CreateFCmpOLT(a, high));
  Value* n = b_.CreateFPToSI(b_.CreateSelect(inside, a, llvm::Constant::getNullValue(a->getType())), word);
  n = b_.CreateSelect(inside, n, llvm::ConstantInt::get(word, uint64_t{1} << 63));
  return b_.CreateTrunc(n, type(to, lanes));
}

Value* LeafEmitter::cast(Value* a, DType from, DType to) {
  if (from == to) return a;
  unsigned lanes = lanes_of(a);
  llvm::Type* target = type(to, lanes);
  if (from == DType::bf16) {
    llvm::Type* word = type(DType::i32, lanes);
    a = b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(a, word), llvm::ConstantInt::get(word, 16)),
                         type(DType::f32, lanes));
    return cast(a, DType::f32, to);
  }
  if (to == DType::bf16) return round_to_bf16(cast(a, from, DType::f32));
  if (from == DType::f16)
    return cast(half_conversion_
                    ? b_.CreateFPExt(b_.CreateBitCast(a, with_lanes(b_.getHalfTy(), lanes)), type(DType::f32, lanes))
                    : from_half_bits(a),
                DType::f32, to);
  if (to == DType::f16) {
    Value* v = cast(a, from, DType::f32);
    return half_conversion_ ? b_.CreateBitCast(b_.CreateFPTrunc(v, with_lanes(b_.getHalfTy(), lanes)), target)
                            : half_bits(v);
  }
  if (is_bool(to))
    return is_float(from) ? b_.CreateFCmpUNE(a, llvm::Constant::getNullValue(a->getType()))
                          : b_.CreateICmpNE(a, llvm::Constant::getNullValue(a->getType()));
  if (is_float(to)) {
    if (is_float(from)) return size_of(from) < size_of(to) ? b_.CreateFPExt(a, target) : b_.CreateFPTrunc(a, target);
    return info(from).is_signed ? b_.CreateSIToFP(a, target) : b_.CreateUIToFP(a, target);
  }
  if (is_float(from)) return float_to_int(a, to);
  return info(from).is_signed ? b_.CreateSExtOrTrunc(a, target) : b_.CreateZExtOrTrunc(a, target);
}

}  // namespace ouro::backends
