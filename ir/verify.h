// Checks the invariants V1-V6 of ir/anf.h, inner functions included. Debug builds check after every pass. A release
// build checks a function when it is built, and before and after the pipeline of ir/opt, if OURO_CHECK_PLANS is set, as
// in tests.
#pragma once

#include <string>

#include "ir/anf.h"

namespace ouro::ir {

/// The broken invariants, one a line ("V2 in f, ^3: %7 is used before it is bound"); empty if all hold.
std::string verify(const Function& f);

/// A bug, with the function's text, if an invariant is broken.
void check(const Function& f);

/// The same in debug builds, and where the environment has OURO_CHECK_PLANS.
void check_if_asked(const Function& f);

}  // namespace ouro::ir
