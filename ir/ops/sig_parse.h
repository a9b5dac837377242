// The parsed form of a row's `sig` text. Internal to ir/ops.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/dtype.h"

namespace ouro::ir {

struct SigDim {
  enum class Kind : uint8_t { name, number, sequence, any } kind = Kind::name;
  std::string name;
  int64_t number = 0;
};
struct SigTensor {
  char cls = 't';  // t n f i b a, `$` (the dtype parameter) or `=` (the fixed `dtype`)
  DType dtype = DType::f32;
  bool optional = false;
  bool many = false;  // `+`: a list of tensors
  bool rule = false;  // `@`: the shape comes from OpDef::shape
  std::vector<SigDim> dims;
};
struct Sig {
  std::vector<SigTensor> inputs, results;
  bool states_dims = false;  // a dim of an input has a name or is a number
};

// Parses and keeps for the life of the process. A malformed text is our bug.
const Sig* parse_sig(std::string_view text, std::string_view op);

}  // namespace ouro::ir
