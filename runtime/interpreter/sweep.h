// Removes texts and code that can no longer be entered. A host may give a session many texts, each of which runs once.
// Code that no function, frame, traceback or compiled version holds is removed, and a text when none of its functions
// is left. Reference counts decide: a holder of an ir::Function holds its Code and its text.
#pragma once

#include <memory>
#include <vector>

#include "ir/anf.h"

namespace ouro::runtime {

class Session;

struct TextUse {
  uint32_t file;
  std::vector<std::weak_ptr<const ir::Function>> functions;  // all that stand in it
};

// From here on the text lives only as long as the functions that were made of it.
void keep_while_used(Session& s, uint32_t file, const ir::FunctionRef& module);
// Now and then, as there is more.
void sweep_code(Session& s);

}  // namespace ouro::runtime
