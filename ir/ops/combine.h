// Leaves with which reductions and scans combine elements (in the order of reduce_order.h). Each leaf of this table can
// be the `combine` of a row (op.h). The interpreter's blocks, generated code and devices all take its identity and the
// type of its arithmetic from here. To add a leaf, add a line.
#pragma once

#include <cstdint>
#include <limits>

#include "ir/ops/leaf.h"

namespace ouro::ir {

// The identity, in each type: 0; 1; what is below, or above, every number.
enum class Identity : uint8_t { zero, one, lowest, highest };
// What it is done in. Half floats always in f32.
enum class CombineIn : uint8_t {
  wide,  // integers and bools in i64
  same,  // each type in itself
  truth  // bool
};

// clang-format off
#define OURO_COMBINES(X) \
  X(add,  zero,    wide) \
  X(mul,  one,     wide) \
  X(max,  lowest,  same) \
  X(min,  highest, same) \
  X(and_, one,     truth) \
  X(or_,  zero,    truth)
// clang-format on

struct CombineDef {
  Leaf leaf;
  Identity identity;
  CombineIn in;
};
inline constexpr CombineDef kCombines[] = {
#define X(leaf, identity, in) {Leaf::leaf, Identity::identity, CombineIn::in},
    OURO_COMBINES(X)
#undef X
};
inline constexpr int kCombineCount = sizeof(kCombines) / sizeof(kCombines[0]);

// Its line in the table, or -1.
constexpr int combine_index(Leaf leaf) {
  for (int i = 0; i < kCombineCount; ++i)
    if (kCombines[i].leaf == leaf) return i;
  return -1;
}

constexpr DType combine_type(Leaf leaf, DType element) {
  const CombineIn in = kCombines[combine_index(leaf)].in;
  if (in == CombineIn::truth) return DType::boolean;
  if (is_float(element)) return compute_type(element);
  return in == CombineIn::same ? element : DType::i64;
}

// f32 and f64 as float and double, bool as bool.
template <class T>
constexpr T identity_of(Leaf leaf) {
  using L = std::numeric_limits<T>;
  switch (kCombines[combine_index(leaf)].identity) {
    case Identity::zero:
      return T(0);
    case Identity::one:
      return T(1);
    case Identity::lowest:
      return L::has_infinity ? -L::infinity() : L::lowest();
    case Identity::highest:
      return L::has_infinity ? L::infinity() : L::max();
  }
  return T(0);
}

}  // namespace ouro::ir
