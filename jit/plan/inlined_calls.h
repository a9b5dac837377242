// The calls whose functions stand inside of a compiled program: an exception that is raised there has their frames in
// its traceback, as if the interpreter had made them.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/anf.h"
#include "runtime/object/session.h"

namespace ouro::ir {

struct InlinedCalls {
  struct Call {
    FunctionRef code;        // of the function that is called
    runtime::Value globals;  // its module
    Span site{};             // in the caller's text
    uint32_t caller = 0;
    bool shown = true;  // false: text that does what the interpreter does natively (stdlib/protocol.ouro)
  };
  std::vector<Call> calls;  // the first one is the program's own function
};

}  // namespace ouro::ir

namespace ouro::jit {

/// Adds the frames of the calls that `call` stands in, which has raised the pending exception at `at`. Gives the place
/// of the outermost one in the program's own function.
Span add_inlined_frames(runtime::Session& s, const ir::InlinedCalls* calls, uint32_t call, Span at);

}  // namespace ouro::jit
