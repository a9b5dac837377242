// Modules: finding, running and keeping them; names of builtins.
#pragma once

#include <string>

#include "runtime/object/object.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

// `import .x` inside a package: the frontend writes leading dots; the absolute name is found from the module's own.
Symbol resolve_relative(Session& s, const Module& from, Symbol name);
// Registers a native module that only the modules of the library find.
void register_internal(Session& s, const NativeModule* rows);
// One of those, for a module of the library; unbound for others, and where it is none. It is made each time: it stands
// nowhere that a script looks.
Value internal_module(Session& s, const Module& importer, Symbol name);
[[nodiscard]] bool import_star(Session& s, const Value& module, Module& into);

// Compiles text and runs it in a module. Syntax errors become SyntaxError values.
Value run_source(Session& s, std::string_view file_name, std::string_view text, const Value& module,
                 bool interactive = false);
// Runs a module of the library, which stands in the program already parsed, in `module`.
Value run_embedded(Session& s, const Session::Embedded& library, const Value& module);
// The module `__main__`, fresh, registered, with __name__ etc. `ouro_names`: a .ouro file (or -c, or the prompt).
Value make_main_module(Session& s, std::string_view file, bool ouro_names);
// The module of that dotted name where it is loaded, else unbound.
Value loaded_module(Session& s, Symbol dotted);
// sys.modules: a dict that follows what is imported, and that import follows. One a session.
Value modules_dict(Session& s);
// At the end of a session.
void drop_modules(Session& s);
// The loaded module of that dotted name, or an empty one made for names that come from outside, with those above it.
Value add_module(Session& s, std::string_view dotted);

}  // namespace ouro::runtime
