// The classes of the object model itself, one file each.
#pragma once

#include <cstdint>

#include "ir/anf.h"
#include "runtime/object/value.h"
#include "support/source.h"

namespace ouro::runtime {

class Session;

// How the library makes what globals() gives: a mapping of a module's names. Session::state.
struct NamespaceMaker {
  Value (*make)(Session&, const Value& module) = nullptr;
};

void register_object_type(Session& s);       // object, type
void register_exception_types(Session& s);   // BaseException and all below, traceback
void register_function_types(Session& s);    // function, method, builtin_function_or_method, generator, cell
void register_descriptor_types(Session& s);  // property, staticmethod, classmethod, super, member, getset
void register_module_type(Session& s);       // module, generic alias

// What a call looks like from inside the program (frame_type.cpp): its code, its place, its module and its caller.
Value make_frame(Session& s, const ir::FunctionRef& code, Span span, const Value& module, const Value& back);
// That of the running call, or of the caller so many calls below.
Value current_frame(Session& s, int64_t depth);
Value code_object(Session& s, const ir::FunctionRef& code);

}  // namespace ouro::runtime
