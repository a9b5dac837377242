// What the compiler did, in words: versions and why they were made, fallbacks with their lines, what stays interpreted
// and why.
#pragma once

#include <string>

#include "runtime/object/session.h"

namespace ouro::jit {

/// The report of `ouro explain`, lines ending in \n. Empty modes (eager) say so.
std::string explain(runtime::Session& s);

/// What is called twice is compiled, however short the script: so that there is something to tell.
void compile_soon(runtime::Session& s);

}  // namespace ouro::jit
