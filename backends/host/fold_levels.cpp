#include "backends/host/fold_levels.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "support/diag.h"

namespace ouro::backends {
namespace {

template <class T>
uint64_t to_bits(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class T>
T from_bits(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

template <class T>
T combine(ir::Leaf op, T a, T b) {
  switch (op) {
    case ir::Leaf::add:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      else
        return a + b;
    case ir::Leaf::mul:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      else
        return a * b;
    case ir::Leaf::min:
      return a < b || a != a ? a : b;
    case ir::Leaf::max:
      return a > b || a != a ? a : b;
    case ir::Leaf::and_:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(a & b);
      break;
    case ir::Leaf::or_:
      if constexpr (std::is_integral_v<T>) return static_cast<T>(a | b);
      break;
    default:
      break;
  }
  ouro_bug("not a reduction: %d", static_cast<int>(op));
}

template <class T>
T identity(ir::Leaf op) {
  using L = std::numeric_limits<T>;
  switch (op) {
    case ir::Leaf::add:
    case ir::Leaf::or_:
      return T(0);
    case ir::Leaf::mul:
      return T(1);
    case ir::Leaf::min:
      return L::has_infinity ? L::infinity() : L::max();
    case ir::Leaf::max:
      return L::has_infinity ? -L::infinity() : L::lowest();
    case ir::Leaf::and_:
      return std::is_same_v<T, bool> ? T(1) : static_cast<T>(-1);
    default:
      ouro_bug("not a reduction: %d", static_cast<int>(op));
  }
}

template <class Fn>
auto with_type(DType t, Fn&& fn) {
  switch (t) {
    case DType::boolean:
      return fn(bool{});
    case DType::u8:
      return fn(uint8_t{});
    case DType::i8:
      return fn(int8_t{});
    case DType::i16:
      return fn(int16_t{});
    case DType::i32:
      return fn(int32_t{});
    case DType::i64:
      return fn(int64_t{});
    case DType::f32:
      return fn(float{});
    case DType::f64:
      return fn(double{});
    default:
      ouro_bug("no such register type");
  }
}

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
  return with_type(type, [&](auto tag) {
    using T = decltype(tag);
    return to_bits<T>(combine<T>(op, from_bits<T>(a), from_bits<T>(b)));
  });
}

uint64_t identity_bits(ir::Leaf op, DType type) {
  return with_type(type, [&](auto tag) { return to_bits(identity<decltype(tag)>(op)); });
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
