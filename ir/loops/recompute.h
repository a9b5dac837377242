// Recompute instead of keep: a block that holds fewer temporaries at once and computes some of them a second time.
//
// A derivative keeps what its forward pass has computed until the backward pass reads it. Where that is more than may
// be held, a value is dropped after its last early use and computed again before its first late one, from what is there
// then (Griewank and Walther, "Revolve", 2000; Chen et al., "Training deep nets with sublinear memory cost", 2016).
// Each value is computed again at most once. Which values: those whose loss brings the schedule nearest to the budget
// for the work of computing them again, one after the other, as XLA's rematerialisation chooses.
//
// A copy computes what the first let computed from the same operands with the same kernels, so no bit changes. It must
// not run early: each is fenced behind what stands before its first use, and clustering keeps that order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/anf.h"
#include "ir/loops/graph.h"

namespace ouro::ir::loops {

struct Recomputed {
  FunctionRef function;
  std::vector<Fence> fences;
  int64_t before = 0, after = 0;  // bytes of temporaries at the worst moment, by the schedule's account
  double work = 0;                // of the copies, as a part of the work of all
  size_t copies = 0;
};

/// `f` with about `budget` bytes of temporaries in each block, or as near to it as can be reached. `size_of` gives the
/// number that a symbol is likely to have. The account of memory does not see what clustering makes of the copies:
/// `after` is what is expected, and the caller finds out what came of it.
Recomputed recompute(const FunctionRef& f, int64_t budget, const std::function<int64_t(uint32_t)>& size_of,
                     size_t most_joined = SIZE_MAX);

}  // namespace ouro::ir::loops
