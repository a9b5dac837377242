// What became of each compiled version: `ouro ir --stage=typed|plan|loops|llvm|asm|cl|ptx` (docs/ir.md).
#pragma once

#include <string>
#include <string_view>

#include "runtime/object/session.h"

namespace ouro::jit {

/// Is it a stage of versions, which only a run of the script makes?
bool is_version_stage(std::string_view stage);

/// The stage of every version that the session compiled, in the order of the functions, lines ending in \n. Waits for
/// versions that are being compiled. `function` limits it to functions of that name.
std::string listing(runtime::Session& s, std::string_view stage, std::string_view function = {});

/// The same of one function and of its gradients.
std::string listing_of(runtime::Session& s, std::string_view stage, const runtime::Function& f);

}  // namespace ouro::jit
