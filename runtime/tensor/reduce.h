// Reductions over any axes, in the orders of ir/ops/reduce_order.h; and helpers on element types.
#pragma once

#include <memory>
#include <vector>

#include "runtime/machine/memory.h"
#include "runtime/tensor/kernels.h"
#include "runtime/tensor/tensor.h"

namespace ouro::runtime {

// `input` reduced over `axes` (sorted), as dtype `result` and in shape `shape` (which may keep axes of size 1).
Value reduce_axes(Session& s, ir::Leaf op, Value input, const std::vector<int>& axes, std::span<const int64_t> shape,
                  DType result);

// The same bytes under another dtype of equal size (bool and u8).
Value share_as(Session& s, const Value& tensor, DType t);

// f(T{}) for the C++ type of t; half floats are not numbers here, bool is uint8_t.
template <class F>
void visit_type(DType t, F&& f) {
  switch (t) {
    case DType::boolean:
    case DType::u8:
      return f(uint8_t{});
    case DType::i8:
      return f(int8_t{});
    case DType::i16:
      return f(int16_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::i64:
      return f(int64_t{});
    case DType::f64:
      return f(double{});
    default:
      return f(float{});
  }
}

// Scratch memory that ends with its scope.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : held_(bytes + 64), memory_(new char[bytes + 64]) {}
  char* data() const { return memory_.get() + (64 - reinterpret_cast<uintptr_t>(memory_.get()) % 64) % 64; }

 private:
  HeldMemory held_;
  std::unique_ptr<char[]> memory_;
};
#define OURO_BUFFER(name, bytes) ::ouro::runtime::Scratch name(bytes)

}  // namespace ouro::runtime
