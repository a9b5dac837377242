// The language's primitives by number and name; their rows are ir/prims.inc. (Tensor operations are rows of ir/ops; a
// row's index there plus kFirstTensorOp is its Op.)
#pragma once

#include <string_view>

#include "ir/anf.h"

namespace ouro::ir {

enum class AttrKind : uint8_t { none, symbol, integer, constant, call, path };

// Effect bits; see ir/effect.h for locations and for the effects once types are known.
enum Effects : uint32_t {
  kPure = 0,
  kRaises = 1,
  kAlloc = 2,
  kReads = 4,
  kWrites = 8,
  kRng = 16,
  kIo = 32,
  kUnknown = 64 | kRaises | kAlloc | kReads | kWrites | kRng | kIo,
};

namespace prim {
enum : uint16_t {
#define PRIM(id, ...) id##_,
#include "ir/prims.inc"
  count_
};
// Op constants: prim::add, prim::call, ...
#define PRIM(id, ...) inline constexpr Op id = static_cast<Op>(id##_);
#include "ir/prims.inc"
}  // namespace prim

constexpr bool is_reverse_mode(Op op) { return op >= prim::ad_forward && op <= prim::seq_prev; }

// `a += b` for `a + b`, and so on.
constexpr Op in_place_form(Op op) {
  switch (static_cast<uint16_t>(op)) {
#define BINARY(id, ...) \
  case prim::id##_:     \
    return prim::i##id;
#include "ir/operators.inc"
    default:
      return op;
  }
}
// `a + b` for `a += b`; others as they are.
constexpr Op plain_form(Op op) {
  switch (static_cast<uint16_t>(op)) {
#define BINARY(id, ...) \
  case prim::i##id##_:  \
    return prim::id;
#include "ir/operators.inc"
    default:
      return op;
  }
}
constexpr bool is_in_place(Op op) { return plain_form(op) != op; }
// An arithmetic operator, unary, binary or in place: no comparison, and not `not`.
constexpr bool is_operator(Op op) {
  switch (static_cast<uint16_t>(plain_form(op))) {
#define BINARY(id, ...) case prim::id##_:
#define UNARY(id, ...) case prim::id##_:
#include "ir/operators.inc"
    return true;
    default:
      return false;
  }
}

// What scripts may say that is a bool or a number of items: a comparison (no `is`), `in`, `not`, the truth of a branch,
// a length.
constexpr bool is_test(Op op) {
  switch (static_cast<uint16_t>(op)) {
#define COMPARE(id, ...) case prim::id##_:
#include "ir/operators.inc"
    case prim::in_:
    case prim::not_in_:
    case prim::not__:
    case prim::truth_:
    case prim::length_:
      return true;
    default:
      return false;
  }
}

// What unpack.star takes, in its attr: items before the star (as in CPython at most 255) and behind it.
constexpr uint32_t kMostBeforeStar = 255, kMostBehindStar = (1 << 23) - 2;
constexpr uint32_t star_attr(size_t before, size_t behind) { return static_cast<uint32_t>(before | behind << 8); }
constexpr uint32_t before_star(uint32_t attr) { return attr & 0xff; }
constexpr uint32_t behind_star(uint32_t attr) { return attr >> 8; }

// The arguments of a call's let before those that its CallSig tells of.
constexpr uint32_t call_lead(Op op) { return op == prim::make_class || op == prim::call_loaded ? 2 : 1; }

struct PrimDef {
  Op op;
  std::string_view name;
  int nargs;  // -1: any
  AttrKind attr;
  uint32_t effects;
  std::string_view doc;
};
inline constexpr PrimDef kPrims[] = {
#define PRIM(id, text, n, attr, effects, location, interpreter, reverse, specialiser, on_values, doc) \
  {prim::id, text, n, AttrKind::attr, static_cast<uint32_t>(effects), doc},
#include "ir/prims.inc"
};

}  // namespace ouro::ir
