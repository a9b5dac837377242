// globals() and locals() of the script frame that called a native.
#pragma once

#include "runtime/object/value.h"

namespace ouro::runtime {
class Session;
}

namespace ouro::stdlib {

// A mapping that shows a module's names and writes to them.
runtime::Value module_namespace(runtime::Session& s, const runtime::Value& module);
runtime::Value global_namespace(runtime::Session& s);
// A function's variables by name, in a new dict; a module's namespace at module level.
runtime::Value local_namespace(runtime::Session& s);

}  // namespace ouro::stdlib
