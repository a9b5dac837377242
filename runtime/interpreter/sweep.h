// Texts and code that nobody can enter any more. A host may give a session text after text, each run once: what no
// function, frame, traceback or compiled version holds goes, and the text when none of its functions is left. Counting
// says which; who holds an ir::Function holds its Code and its text.
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
