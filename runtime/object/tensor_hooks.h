// What the interpreter needs of tensors: places (docs/design/rules.md C16) and the bodies of tensor operations in eager
// code. The tensor room fills the table when a session starts (`Session::tensors`).
#pragma once

#include <span>

#include "ir/anf.h"
#include "runtime/object/type_slots.h"
#include "runtime/object/value.h"

namespace ouro::runtime {

struct TensorHooks {
  // Replaces what a script has to be asked for (an __index__ among the keys or in a slice, the items of a value that is
  // iterated) by what it says: set_item and update_item of these run no script.
  bool (*settle)(Session&, std::span<Value> keys, Value& v) = nullptr;
  // tensor[keys[0]][keys[1]]... = v. `tensor` is in and out: written in place if its count is 1, else a written copy
  // takes its place. On failure (false) it is unchanged.
  bool (*set_item)(Session&, Value& tensor, std::span<const Value> keys, const Value& v) = nullptr;
  // Could `tensor op= v` be done in place? Anything but a tensor or a number may have an operator of its own.
  bool (*is_operand)(const Value& v) = nullptr;
  // tensor[keys...] op= v; with no keys `tensor op= v` of an operand, which keeps the dtype or is an error.
  bool (*update_item)(Session&, Value& tensor, std::span<const Value> keys, BinOp op, const Value& v) = nullptr;
  // An operation of ir/ops on values (Any): args moved in where they are last uses. `statics` is the tuple constant of
  // the let, or unbound.
  Value (*operation)(Session&, ir::Op op, std::span<Value> args, const Value& statics) = nullptr;
  // The value of a dtype constant.
  Value (*make_dtype)(Session&, int64_t dtype) = nullptr;
};

}  // namespace ouro::runtime
