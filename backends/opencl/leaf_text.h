// Scalar leaves as OpenCL C: basic ones as expressions, leaf functions as functions of the program.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "ir/ops/leaf.h"
#include "support/dtype.h"

namespace ouro::backends::opencl {

class LeafText {
 public:
  /// `leaf` of operands of type `operand` (of select: of its last two), giving `type`. Arguments are names.
  std::string apply(ir::Leaf leaf, DType type, DType operand, const std::string* args);
  static std::string cast(const std::string& a, DType from, DType to);
  /// The functions that apply() named so far, and what casts call.
  std::string definitions() const;

 private:
  std::set<std::pair<ir::Leaf, DType>> used_;
};

}  // namespace ouro::backends::opencl
