// What reverse mode asks of tensors.
#pragma once

#include <vector>

#include "runtime/object/ops.h"
#include "support/dtype.h"

namespace ouro::runtime::autodiff {

struct TensorInfo {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
};
[[nodiscard]] bool tensor_info(Session& s, const Value& v, TensorInfo& out);
bool same_tensor_type(Session& s, const Value& a, const Value& b);
Value full_tensor(Session& s, const std::vector<int64_t>& dims, DType dtype, const Value& fill);
Value tensor_to_float(Session& s, const Value& v);  // the sum of its elements
// Sums over the dims that broadcasting made, and converts.
Value reduce_to(Session& s, const Value& v, const std::vector<int64_t>& dims, DType dtype);
// sum[index] += d, equal indices added up; in place where `sum` is unshared.
Value add_at(Session& s, Value sum, const Value& index, const Value& d);
Value broadcast_like(Session& s, const Value& v, const std::vector<int64_t>& dims, DType dtype);

}  // namespace ouro::runtime::autodiff
