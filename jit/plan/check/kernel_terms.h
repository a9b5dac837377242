// Runs a kernel on terms: what each store writes, which elements of its buffers it loads, and in which order.
//
// The meaning of the loop IR (ir/loops/loop_ir.h) once more, one iteration after the other. A node is computed before
// the first statement that needs it, in the outermost place where its operands are there, and not again for later
// ones; iterations of `parallel` and `loop` may run in any order, so each access is told with the iterations it stands
// in. Loops that are too long are run in part: their ends, and neighbours in between.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/loops/loop_ir.h"
#include "jit/plan/check/terms.h"

namespace ouro::jit::check {

struct KernelAccess {
  uint32_t buffer = 0;
  int64_t at = 0;
  bool store = false;
  Term value = Term::none;  // of a store
  // Loops around it whose iterations are in no order, outermost first: (variable, iteration). Of a load, only those
  // around the place where it is computed.
  std::vector<std::pair<uint32_t, int64_t>> iterations;
};

struct KernelRun {
  const ir::loops::Kernel& kernel;
  std::vector<int64_t> sizes;  // of the size parameters
  std::vector<Term> scalars;   // of the scalar parameters
  std::vector<int64_t> buffer_elements;
  std::function<Term(uint32_t buffer, int64_t at)> load;
  std::function<void(const KernelAccess&)> access;  // in order
  int64_t budget = 40'000;                          // nodes to compute, roughly
};

/// A reduction that is too long to be followed: the kernel is not checked.
struct TooLong {};

/// False: some iterations were left out. Throws Violation for an access outside of a buffer, and for an index that
/// depends on numbers; TooLong.
bool run_kernel(const KernelRun& run, Terms& terms);

/// The extent of the first parallel loop; 1 if there is none.
int64_t first_extent(const ir::loops::Kernel& kernel, const std::vector<int64_t>& sizes);

}  // namespace ouro::jit::check
