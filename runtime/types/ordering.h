// Comparison operators on what C++ orders.
#pragma once

#include "runtime/object/ops.h"

namespace ouro::runtime {

/// Is `x op y` true? For a three-way comparison `order`: holds(op, order, 0).
template <class T>
bool holds(CmpOp op, T x, T y) {
  switch (op) {
    case CmpOp::eq:
      return x == y;
    case CmpOp::ne:
      return x != y;
    case CmpOp::lt:
      return x < y;
    case CmpOp::le:
      return x <= y;
    case CmpOp::gt:
      return x > y;
    case CmpOp::ge:
      return x >= y;
  }
  return false;
}

}  // namespace ouro::runtime
