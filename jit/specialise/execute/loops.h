// What blocks and loops of abstract execution share (control.cpp, loops.cpp).
#pragma once

#include "jit/specialise/state.h"

namespace ouro::jit {

// Operations that are executed until loops are not written out any more; twice as many end the attempt.
constexpr size_t kMaxSteps = 10'000'000;

// A log that grows in each turn is the runtime's where the turns stay a loop. That costs less than to compile so many
// operations.
constexpr double kMaxForNoHole = 1'500;

// A loop that was being unrolled is to be a loop of the program.
struct LoopRetry {
  enum class Why : uint8_t {
    undecided,  // it turns out not to end by itself
    many,       // it has many turns
    forks,      // data may end it in more than a few turns
    large,      // the program has become large
  };
  AFrame* frame;
  ir::BlockId head;
  Why why;
};

}  // namespace ouro::jit
