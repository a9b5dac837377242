// Translation validation of a plan: does its program compute what the typed function says, in the memory it has?
//
// Three questions, asked for the sizes of a run:
//  1. Memory. Every instruction is followed with what each register and each stretch of the arena holds: the name that
//     was written there last. What an instruction reads must be, whole, what it is said to read; what it writes takes
//     away what was there. Where registers and memory end, moves between blocks and returned values are checked alike.
//  2. Kernels. Elements that a kernel stores are computed as terms (kernel_terms.h) and compared with what the typed
//     function says of them (meaning.h), over the elements that are in memory. Each element is stored once.
//  3. Sharing. Where an output has the memory of an input, no element may be stored that another iteration loads, or
//     that this one loads later.
//
// Nothing of the compiler's analyses (clusters, dependence, lifetimes, placement) is asked; a plan's claims of what is
// in its buffers are where the questions start, and are believed only once they are answered.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "jit/plan/plan_program.h"

namespace ouro::jit::check {

struct PlanSizes {
  std::function<int64_t(uint32_t)> of_symbol;
  std::span<const int64_t> sizes;    // of Program::sizes
  std::span<const int64_t> offsets;  // of the arena's slots
};

/// Empty, or the first thing that is wrong, with the instruction.
std::string check_program(const Program& p, const PlanSizes& sizes);

/// Do tests and the debug option ask for it? (OURO_CHECK_PLANS in the environment, `ouro --check-plans`)
bool checking_plans();
void set_checking_plans(bool on);

}  // namespace ouro::jit::check
