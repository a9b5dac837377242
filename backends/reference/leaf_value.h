// One leaf on numbers held as 64 bits (a value of its type in the low bytes): the evaluator's arithmetic.
#pragma once

#include <cstdint>

#include "ir/ops/leaf.h"

namespace ouro::backends {

/// Leaf applied to operands of type `operand` (of select: its last two), result of type `type`. f16 and bf16 are held
/// as f32 that are already rounded.
uint64_t leaf_value(ir::Leaf leaf, DType type, DType operand, const uint64_t* args);

/// An element of memory as a register value, and back.
uint64_t load_element(DType type, const void* base, int64_t at);
void store_element(DType type, void* base, int64_t at, uint64_t value);

}  // namespace ouro::backends
