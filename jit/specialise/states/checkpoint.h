// Something is tried that may be undone.
#pragma once

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

// What has been executed, and what was left of the program. (Variables are the frame's.)
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
