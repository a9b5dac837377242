// The tables behind register_python_natives, one per file.
#pragma once

#include <span>
#include <string_view>

#include "runtime/object/native.h"
#include "runtime/object/session.h"
#include "runtime/object/type_slots.h"

namespace ouro::stdlib {

using runtime::Args;
using runtime::NativeDef;
using runtime::NativeModule;
using runtime::Session;
using runtime::Value;

std::span<const NativeDef> object_functions();    // builtins_object.cpp: getattr, isinstance, id, ...
std::span<const NativeDef> number_functions();    // builtins_number.cpp: abs, round, pow, ...
std::span<const NativeDef> sequence_functions();  // builtins_sequence.cpp: len, sum, max, sorted, ...
std::span<const NativeDef> io_functions();        // builtins_io.cpp: print, input, open
std::span<const NativeDef> intrinsics();          // sys_module.cpp: what only lowered code calls
Value dict_of_locals(Session& s, const Args& a);  // builtins_object.cpp, one of them
extern const NativeModule kMathModule, kTimeModule, kSysModule;
extern const NativeModule kTensorsModule;                                           // tensors_module.cpp
extern const NativeModule kRandomModule, kJsonModule, kCsvModule, kPrefetchModule;  // what modules of python/ stand on
extern const NativeModule kDefsModule;                                              // defs_module.cpp
extern const NativeModule kStreamsModule;  // file_object.cpp: the classes of what open() gives

// A class made when it is first needed. The session keeps the first class of a kind, whoever asked the others
// (library.cpp).
Value make_late_type(Session& s, const runtime::TypeDef& def);

// Standard streams and files (file_object.cpp).
enum class Stream { in, out, err };
Value standard_stream(Session& s, Stream which);
Value open_file(Session& s, const Args& args);
// sys.stdout as scripts have set it: unbound if it is the real one.
Value replaced_stream(Session& s, Stream which);

}  // namespace ouro::stdlib
