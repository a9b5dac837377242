// The words in which a kernel for a device of many cores is written: what a language of device code (OpenCL C, LLVM IR
// for PTX) has to say, and nothing about loops of the loop IR. device/kernel_walk.h speaks them.
//
// Values are typed numbers held in registers: handles of the writer. A work item is one iteration of a launch; a group
// of work items shares local memory and meets at barriers.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/loops/loop_ir.h"

namespace ouro::backends::device {

/// Work items of one group: the virtual lanes of a reduction (ir/ops/reduce_order.h), so that one group folds a block
/// in the order that every engine follows.
inline constexpr int kGroup = static_cast<int>(ir::kReduceLanes);

class KernelWriter {
 public:
  enum class Value : uint32_t { none = UINT32_MAX };
  enum class Variable : uint32_t {};
  using Leaf = ir::Leaf;

  virtual ~KernelWriter() = default;

  // Parameters and constants
  virtual Value size(uint32_t id) = 0;  // i64
  virtual Value scalar(uint32_t id) = 0;
  virtual Value constant(DType type, uint64_t bits) = 0;  // the bits of a value of that type
  Value i64(int64_t v) { return constant(DType::i64, static_cast<uint64_t>(v)); }

  // Pure operations
  /// As LeafEmitter::apply: `leaf` of values of type `operand` (of select: its last two), giving `type`.
  virtual Value leaf(Leaf leaf, DType type, DType operand, const Value* args) = 0;
  /// Index arithmetic on i64 that are not negative.
  virtual Value index(Leaf op, Value a, Value b) = 0;
  virtual Value less(Value a, Value b) = 0;  // of i64

  // Memory: elements of buffers are widened as they are loaded, rounded as they are stored
  virtual Value load(uint32_t buffer, Value at) = 0;
  /// `at` is only touched where `condition` holds.
  virtual Value load_if(uint32_t buffer, Value at, Value condition, Value otherwise) = 0;
  virtual void store(uint32_t buffer, Value at, Value v) = 0;

  // Control
  virtual Variable variable(DType type, Value initial) = 0;
  virtual Value get(Variable v) = 0;
  virtual void set(Variable v, Value x) = 0;
  virtual void loop(Value begin, Value end, int64_t step, const std::function<void(Value)>& body) = 0;
  virtual void when(Value condition, const std::function<void()>& body) = 0;

  // Groups
  virtual Value item() = 0;   // i64: the number of this work item in the launch
  virtual Value group() = 0;  // i64: the number of its group
  virtual Value lane() = 0;   // i64: its number in the group
  /// Local memory: the arrays of the grid (Grid::shared), each of one type at a time, by element.
  virtual void shared_put(uint32_t array, DType type, Value at, Value v) = 0;
  virtual Value shared_get(uint32_t array, DType type, Value at) = 0;
  /// 2 or 4 numbers from `at` on, a multiple of `count`, in one access.
  virtual void shared_get_run(uint32_t array, DType type, Value at, int count, Value* out) = 0;
  /// All items of the group meet; what they wrote to local memory, and with `global` to buffers, is seen by all.
  virtual void barrier(bool global) = 0;
};

}  // namespace ouro::backends::device
