// Scalar operands of lets, for the graph. Internal to ir/loops.
#pragma once

#include <optional>
#include <string_view>

#include "ir/loops/graph.h"
#include "ir/ops/let_args.h"

namespace ouro::ir::loops {

/// A scalar operand: constant or scalar name; nothing if it is something else (None, text, a tensor).
std::optional<Use> scalar_use(const Function& f, Atom a);
std::optional<Use> constant_use(const Function& f, ConstId c);
/// An integer parameter that is a constant or a scalar name.
std::optional<Use> integer_use(const Function& f, const LetArgs& args, std::string_view param);

}  // namespace ouro::ir::loops
