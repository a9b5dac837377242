// The operators as the slots of built-in classes know them (rows: ir/operators.inc).
#pragma once

#include <cstdint>

#include "ir/prim.h"

namespace ouro::runtime {

enum class BinOp : uint8_t {
#define BINARY(id, ...) id,
#include "ir/operators.inc"
};
enum class UnOp : uint8_t {
#define UNARY(id, ...) id,
#include "ir/operators.inc"
};
enum class CmpOp : uint8_t {
#define COMPARE(id, ...) id,
#include "ir/operators.inc"
};

#define BINARY(...) +1
constexpr int kBinOps = 0
#include "ir/operators.inc"
    ;
#define UNARY(...) +1
constexpr int kUnOps = 0
#include "ir/operators.inc"
    ;

constexpr uint32_t bit(BinOp op) { return 1u << static_cast<int>(op); }
constexpr uint32_t bit(UnOp op) { return 1u << static_cast<int>(op); }
constexpr CmpOp swapped(CmpOp op) {
  constexpr CmpOp k[] = {
#define COMPARE(id, ast, symbol, special, swapped) CmpOp::swapped,
#include "ir/operators.inc"
  };
  return k[static_cast<int>(op)];
}

// The operator of a primitive, `a += b` as `a + b`. Its rows stand in the order of the primitives.
constexpr BinOp binary_of(ir::Op op) {
  return static_cast<BinOp>(static_cast<uint16_t>(ir::plain_form(op)) - static_cast<uint16_t>(ir::prim::add));
}
constexpr UnOp unary_of(ir::Op op) {
  return static_cast<UnOp>(static_cast<uint16_t>(op) - static_cast<uint16_t>(ir::prim::neg));
}
constexpr CmpOp compare_of(ir::Op op) {
  return static_cast<CmpOp>(static_cast<uint16_t>(op) - static_cast<uint16_t>(ir::prim::eq));
}

}  // namespace ouro::runtime
