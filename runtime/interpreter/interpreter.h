// Runs ANF: the meaning of the language. Functions are flattened into register code at their first call (flatten.h) and
// run by one loop (run.cpp), in which calls from script to script do not recurse in C++.
#pragma once

#include <string>
#include <string_view>

#include "ir/anf.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {

Interpreter* make_interpreter(Session& s);
void destroy_interpreter(Interpreter* i);
void give_back_frames(Session& s);  // those that are free
void register_generator_kind();     // its memory rows

// A closure of `code`: args are default tuple, keyword default dict, annotations, then captures (prim::function).
Value make_function(Session& s, const ir::FunctionRef& code, const Value& globals, std::span<const Value> args);

// Runs a module's code (Kind::module, no parameters) in `module`; None or error.
Value run_module(Session& s, const ir::FunctionRef& code, const Value& module);

// The iterator that the generator is waiting for in a `yield from`, or null.
const Value* delegate_of(Generator* g);

}  // namespace ouro::runtime
