// Runs ANF: the meaning of the language. Functions are flattened into register code at their first call (flatten.h) and
// run by one loop (run.cpp), in which calls from script to script do not recurse in C++.
#pragma once

#include <string>
#include <string_view>

#include "ir/anf.h"
#include "runtime/native.h"
#include "runtime/object.h"

namespace ouro::runtime {

class Session;
struct Interpreter;

Interpreter* make_interpreter(Session& s);
void destroy_interpreter(Interpreter* i);

// Calls a script function. Arguments are borrowed.
Value call_function(Session& s, const Value& function, const Args& args);

// A closure of `code`: args are default tuple, keyword default dict, annotations, then captures (prim::function).
Value make_function(Session& s, const ir::FunctionRef& code, const Value& globals, std::span<const Value> args);

// Runs a module's code (Kind::module, no parameters) in `module`; None or error.
Value run_module(Session& s, const ir::FunctionRef& code, const Value& module);

// Generators: mode 0 sends v, 1 raises v in it (an exception instance), 2 closes it. The end marker when it returned
// (its value is in s.stop_value).
enum class ResumeMode : uint8_t { send, raise, close };
Value resume_generator(Session& s, Generator* g, ResumeMode mode, const Value& v);
Value next_of_generator(Session& s, Generator* g);
// The iterator that the generator is waiting for in a `yield from`, or null.
const Value* delegate_of(Generator* g);

// Names of parameters etc. for introspection: the tuple co_varnames-like of a function's parameters.
Value generator_repr_name(Generator* g);

}  // namespace ouro::runtime
