// Expressions back to text, as CPython writes annotations under `from __future__ import
// annotations` (ast_unparse.c).
#pragma once

#include <string>

#include "frontend/ast.h"

namespace ouro::frontend {

std::string unparse(const ast::ExprNode* e);

}  // namespace ouro::frontend
