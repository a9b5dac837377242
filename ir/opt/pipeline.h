// The optimiser of typed functions: one list of passes.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "ir/anf.h"
#include "ir/opt/pass.h"

namespace ouro::ir::opt {

/// The list, in order; a name may stand in it twice.
std::span<const Pass> pipeline();

/// Runs the list. `after` is told of every pass that has run (for dumps). In debug builds the verifier runs after each.
FunctionRef optimise(FunctionRef typed,
                     const std::function<void(std::string_view pass, const FunctionRef&)>& after = {});

}  // namespace ouro::ir::opt
