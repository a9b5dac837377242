// Scalar leaves as LLVM instructions, on scalars and on vectors alike.
//
// Basic leaves follow the table in ir/ops/leaf.h to the bit; leaf functions (exp, tanh, ...) are the templates of
// ir/ops/leaf_math.h run with these instructions as their arithmetic. No fast-math flags, no contraction, no library
// calls. In registers a bool is i1, f16 and bf16 are i16 (their bits, only between casts), everything else is itself.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "ir/ops/leaf.h"

namespace ouro::backends {

class LeafEmitter {
 public:
  using Value = llvm::Value;
  /// `half_conversion`: the machine converts f16 (F16C).
  LeafEmitter(llvm::IRBuilder<>& b, bool half_conversion) : b_(b), half_conversion_(half_conversion) {}

  /// `leaf` applied to values of type `operand` (of select: of its last two; the first is a bool), giving `type`.
  /// All values have the same number of lanes.
  Value* apply(ir::Leaf leaf, DType type, DType operand, Value* const* args);

  llvm::Type* type(DType t, unsigned lanes);
  static llvm::Type* with_lanes(llvm::Type* t, unsigned lanes) {
    return lanes == 1 ? t : llvm::FixedVectorType::get(t, lanes);
  }
  static unsigned lanes_of(const Value* v) {
    auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    return t ? t->getNumElements() : 1;
  }
  Value* cast(Value* a, DType from, DType to);

 private:
  Value* arithmetic(ir::Leaf leaf, DType t, Value* a, Value* b);
  Value* compare(ir::Leaf leaf, DType t, Value* a, Value* b);
  Value* divide(ir::Leaf leaf, DType t, Value* a, Value* b);
  Value* shift(ir::Leaf leaf, DType t, Value* a, Value* b);
  Value* extremum(ir::Leaf leaf, DType t, Value* a, Value* b);
  // f32 to bf16's or f16's bits, to nearest even; the latter and its inverse by integer arithmetic, for machines
  // without the instruction.
  Value* round_to_bf16(Value* v);
  Value* half_bits(Value* v);
  Value* from_half_bits(Value* v);
  Value* float_to_int(Value* a, DType to);
  Value* function(ir::Leaf leaf, DType t, Value* a, Value* b);

  llvm::IRBuilder<>& b_;
  bool half_conversion_;
};

}  // namespace ouro::backends
