#pragma once

#include "ir/anf.h"

namespace ouro::ir::grad {

/// A generator as a function that runs to its end and gives an iterator over the list of what it yielded. This is how
/// reverse mode takes generators that differentiated code makes: generator expressions are consumed whole anyway. What
/// a `def` raises on the way comes behind what it yielded, as it does step by step (grad_rules.late). What is not kept
/// is the order of the generator's effects and its consumer's; a generator that yields without end is an error at a
/// million values. Null: it wants what is sent to it, or what another one returns to it.
FunctionRef run_generator_at_once(const Function& f);

}  // namespace ouro::ir::grad
