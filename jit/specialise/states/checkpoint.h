// The state of an abstract execution before something is tried that may be undone.
#pragma once

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

// The abstract state and the length of the residual program at that point. (Variables belong to the frame.)
struct Specialiser::Checkpoint {
  Residual::Mark mark;
  AHeap heap;
  Effects effects;
  size_t notes = 0, redone = 0, pullbacks = 0;
  bool symbol = false, in_try = false;
  Recording* recording = nullptr;
  Span span;
};

}  // namespace ouro::jit
