// How each primitive is executed on abstract values: functions that ir/prims.inc names, in execute/prims.cpp, and those
// of reverse mode in execute/grad.cpp.
#pragma once

#include <vector>

#include "ir/prim.h"
#include "jit/specialise/specialiser.h"

namespace ouro::jit {

using PrimHandler = AVal (*)(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>&);

namespace handlers {
#define EXECUTE(name) AVal name(Specialiser&, AFrame&, const ir::Let&, std::vector<AVal>&);
#define NOT_EXECUTED(why)
#define PRIM(id, text, n, attr, effects, location, interpreter, reverse, specialiser, ...) specialiser
#include "ir/prims.inc"
#undef EXECUTE
#undef NOT_EXECUTED
}  // namespace handlers

struct PrimRow {
  PrimHandler execute;
  const char* reason;  // why the interpreter has to, if it is not executed
};
const PrimRow& handler_of(ir::Op prim);

}  // namespace ouro::jit
