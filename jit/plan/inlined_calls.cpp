#include "jit/plan/inlined_calls.h"

#include "runtime/object/exception.h"

namespace ouro::jit {

Span add_inlined_frames(runtime::Session& s, const ir::InlinedCalls* calls, uint32_t call, Span at) {
  for (; calls && call != 0; call = calls->calls[call].caller) {
    const ir::InlinedCalls::Call& c = calls->calls[call];
    if (c.shown) runtime::add_traceback(s, s.pending, c.code, at, c.globals);
    at = c.site;
  }
  return at;
}

}  // namespace ouro::jit
