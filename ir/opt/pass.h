// Passes by name: what tools/ouro_opt and the tests of passes run. A pass takes a finished function to another one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/anf.h"

namespace ouro::ir {

using PassFn = FunctionRef (*)(const FunctionRef&);
struct Pass {
  std::string_view name;
  PassFn run;
  std::string_view doc;
};

/// The passes of ir/ (the table is in ir/opt/pass.cpp).
std::vector<Pass> passes();
const PassFn* find_pass(std::string_view name);

}  // namespace ouro::ir
