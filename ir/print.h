// The text form of a Function; ir/read.h reads it back exactly.
//
//   func @f(%0.x, /, *%1.rest, %2.k; cell %3.c) name="m.f" kind=lambda doc="..." @1:0:40 {
//   ^0:
//     %4.y: f32[3, s1] = op.add %0, 2.5 unwind ^2(%0) @1:10:15
//     %5 = call %4 (%0, *%1, key=%2)
//     %6 = function[&0] (), None, None, %3
//     if %5 ^1(%4) ^3
//   loop ^1(%7):
//     ...
//   handler ^2(%8, %9):
//     raise %8 @1:20:30
//   func &0 @g() { ... }
//   }
//
// Names carry their hint where they are bound; a parameter whose name differs from its hint is `%0.hint=name`. An
// attribute stands in brackets behind the operation: a symbol, an integer, a constant, `method` of call.method, or a
// path (`update[cell x .w[] op.add=]`). Symbols that are not plain are quoted. Spans are `@file:begin:end`.
#pragma once

#include <string>

#include "ir/anf.h"

namespace ouro::ir {

struct PrintOptions {
  bool spans = true;
};

std::string print(const Function& f, PrintOptions options = {});

}  // namespace ouro::ir
