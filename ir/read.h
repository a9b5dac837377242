// Reads the text form of ir/print.h. `;` starts a comment to the end of the line.
#pragma once

#include <string>
#include <string_view>

#include "ir/anf.h"

namespace ouro::ir {

struct ReadResult {
  FunctionRef function;  // null on error
  std::string error;     // "line 3: expected ..."
};

/// One function. It is not verified.
ReadResult read(std::string_view text);

}  // namespace ouro::ir
