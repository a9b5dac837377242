// Checks the invariants V1-V6 of ir/anf.h, inner functions included. Run after every pass in debug builds and tests.
#pragma once

#include <string>

#include "ir/anf.h"

namespace ouro::ir {

/// The broken invariants, one a line ("V2 in f, ^3: %7 is used before it is bound"); empty if all hold.
std::string verify(const Function& f);

/// A bug, with the function's text, if an invariant is broken.
void check(const Function& f);

}  // namespace ouro::ir
