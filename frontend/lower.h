// AST → ANF: what every construct means, in operations of ir/prim.h. One Function per scope; inner
// functions are constants of the one around them. Evaluation order is CPython 3.11's, to the
// letter, except that an item target's container is loaded after its index (docs/design/rules.md C16: the place is
// taken, written and put back at once).
//
// Each let has the span of the expression that CPython underlines for it in a traceback.
#pragma once

#include "frontend/ast.h"
#include "frontend/resolve.h"
#include "ir/anf.h"

namespace ouro::frontend {

/// Lowers a resolved module. `interactive`: a cell of the prompt, whose expression statements outside of functions and
/// classes hand their values to the intrinsic `display`.
ir::FunctionRef lower(const ast::Module& module, const Resolution& names, bool interactive);

}  // namespace ouro::frontend
