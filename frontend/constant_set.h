// Set displays of constants. CPython makes one frozenset of such a display, where it is looked into or iterated, and a
// copy of it elsewhere, if there are three items or more; displays of one module with the same items share it. The
// order of iteration shows that.
#pragma once

#include <string>
#include <vector>

#include "frontend/ast.h"

namespace ouro::frontend {

/// Are all items constants, negated numbers, or tuples of those?
bool is_constant_set(const ast::Set& s);
/// Copies are made of it.
inline bool is_copied_set(const ast::Set& s) { return s.elts.size() > 2 && is_constant_set(s); }
/// The items in the order in which they are added to the set that is kept: CPython makes one of them as they are
/// written, and another of what the first gives.
std::vector<ast::ExprNode*> kept_order(const ast::Set& s);
/// Equal for displays of the same items in any order.
std::string constant_set_key(const ast::Set& s);

}  // namespace ouro::frontend
