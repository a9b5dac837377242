#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

/// `jit`, and what else marks functions for the compiler.
void register_transforms(runtime::Session& s);

}  // namespace ouro::stdlib
