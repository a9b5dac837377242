// Which names functions set while they run: globals (`global x`) and attributes, of anything.
//
// A name of a module or class that nobody sets but the module's own code, as it is read, keeps its value whatever else
// is called: compiled code need not read it again behind a call that it knows nothing of.
#pragma once

#include "ir/anf.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

/// Looks through the code of a module that is to run.
void note_names_set(Session& s, const ir::Function& module);
bool is_set_by_functions(Session& s, Symbol name);

}  // namespace ouro::runtime
