// Elementwise rows, eagerly: the row's expression, typed for the operands, is run block by block (1,024 elements, which
// stay in the first cache) by the kernels of each leaf. A plan is made once per (operation, operand types) and kept per
// thread.
#pragma once

#include <span>

#include "runtime/tensor/tensor.h"

namespace ouro::runtime {

// inputs: tensors and Python numbers, one per input of the row; params: the row's other parameters, numbers. If all
// inputs are numbers the result is a number. An input whose tensor nobody else holds may be overwritten if `may_reuse`.
Value run_elementwise(Session& s, const ir::OpInfo& op, std::span<const Value> inputs, std::span<const Value> params,
                      bool may_reuse);

// target = op(target, v) in place, keeping dtype and shape; false with the error set when that is impossible (a wider
// result).
[[nodiscard]] bool update_elementwise(Session& s, const ir::OpInfo& op, Value& target, const Value& v);

// out[i] = x[broadcast index of i] for i in [from, from + n): the operand of shape `shape` as if it had the shape `as`.
class BroadcastReader {
 public:
  BroadcastReader(std::span<const int64_t> shape, std::span<const int64_t> as, size_t element);
  bool direct() const { return direct_; }  // same layout: no copy is needed
  bool single() const { return single_; }  // one element for all
  void read(void* out, const char* data, int64_t from, int64_t n) const;

 private:
  int rank_ = 0;
  int64_t dims_[kMaxRank], strides_[kMaxRank];
  size_t element_;
  bool direct_ = false, single_ = false;
};
// The broadcast of two shapes; false when they do not fit.
bool broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b, std::vector<int64_t>& out);

}  // namespace ouro::runtime
