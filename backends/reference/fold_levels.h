// The upper levels of a `fold` reduction: results of blocks of 4,096 are combined by the same rule again, as if they
// were elements (ir/ops/reduce_order.h). Generated code folds one block; for longer rows it hands each block's result
// here.
#pragma once

#include <cstdint>

#include "ir/ops/leaf.h"
#include "ir/ops/reduce_order.h"

namespace ouro::backends {

/// Room for the levels of one reduction; lies on the stack of the kernel. Rows have fewer than 2^48 elements.
struct FoldLevels {
  static constexpr int kLevels = 3;
  uint64_t lanes[kLevels][ir::kReduceLanes];
  int64_t counts[kLevels];
};

extern "C" {
/// `code` is leaf << 8 | dtype. Forgets everything.
void ouro_fold_begin(FoldLevels* levels, int32_t code);
/// The next block's result, as bits in the low bytes.
void ouro_fold_push(FoldLevels* levels, int32_t code, uint64_t bits);
/// The result of at least one block.
uint64_t ouro_fold_finish(FoldLevels* levels, int32_t code);
}

/// op(a, b) of numbers of one type, by bits.
uint64_t combine_bits(ir::Leaf op, DType type, uint64_t a, uint64_t b);
/// The value that a reduction starts with.
uint64_t identity_bits(ir::Leaf op, DType type);

}  // namespace ouro::backends
