#include "backends/reference/fold_levels.h"

#include <cstring>

#include "backends/reference/leaf_value.h"
#include "backends/reference/typed_bits.h"
#include "ir/ops/combine.h"
#include "support/diag.h"

namespace ouro::backends {
namespace {

ir::Leaf leaf_of(int32_t code) { return static_cast<ir::Leaf>(code >> 8); }
DType type_of(int32_t code) { return static_cast<DType>(code & 0xff); }

void clear(FoldLevels& f, int level, int32_t code) {
  uint64_t z = identity_bits(leaf_of(code), type_of(code));
  for (uint64_t& l : f.lanes[level]) l = z;
  f.counts[level] = 0;
}

uint64_t fold(FoldLevels& f, int level, int32_t code) {
  uint64_t* lane = f.lanes[level];
  for (int64_t h = ir::kReduceLanes / 2; h > 0; h /= 2)
    for (int64_t j = 0; j < h; ++j) lane[j] = combine_bits(leaf_of(code), type_of(code), lane[j], lane[j + h]);
  return lane[0];
}

void push(FoldLevels& f, int level, int32_t code, uint64_t bits) {
  if (level == FoldLevels::kLevels) ouro_bug("a reduction over too many elements");
  if (f.counts[level] == ir::kReduceBlock) {
    push(f, level + 1, code, fold(f, level, code));
    clear(f, level, code);
  }
  uint64_t& lane = f.lanes[level][f.counts[level]++ % ir::kReduceLanes];
  lane = combine_bits(leaf_of(code), type_of(code), lane, bits);
}

}  // namespace

uint64_t combine_bits(ir::Leaf op, DType type, uint64_t a, uint64_t b) {
  const uint64_t args[] = {a, b};
  return leaf_value(op, type, type, args);
}

uint64_t identity_bits(ir::Leaf op, DType type) {
  return with_type(type, [&](auto tag) { return to_bits(ir::identity_of<decltype(tag)>(op)); });
}

void ouro_fold_begin(FoldLevels* levels, int32_t code) {
  for (int i = 0; i < FoldLevels::kLevels; ++i) clear(*levels, i, code);
}

void ouro_fold_push(FoldLevels* levels, int32_t code, uint64_t bits) { push(*levels, 0, code, bits); }

uint64_t ouro_fold_finish(FoldLevels* levels, int32_t code) {
  for (int level = 0;; ++level) {
    bool top = level + 1 == FoldLevels::kLevels || levels->counts[level + 1] == 0;
    uint64_t bits = 0;
    if (top && levels->counts[level] == 1) {
      // One block is its own result; with z folded in it would be the same value in lane 0 before any fold.
      bits = levels->lanes[level][0];
    } else {
      bits = fold(*levels, level, code);
    }
    if (top) return bits;
    push(*levels, level + 1, code, bits);
  }
}

}  // namespace ouro::backends
