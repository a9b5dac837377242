// What the surface syntax means, as far as it is data: operator tables, the chain of a place, and
// which expressions are so simple that the moment of their evaluation cannot be observed.
#pragma once

#include "frontend/ast.h"
#include "ir/prim.h"
#include "support/small_vec.h"

namespace ouro::frontend {

ir::Op op_of(ast::Operator op);           // op.add
ir::Op in_place_op_of(ast::Operator op);  // iop.add
ir::Op op_of(ast::UnaryOperator op);
ir::Op op_of(ast::CmpOperator op);

/// A subscript target as a place (docs/design/rules.md C16): `base[i][j]` or `base.attr[i][j]`, indices in source
/// order.
struct PlaceChain {
  const ast::ExprNode* base = nullptr;  // evaluated as a value; a Name without `attr` is the variable itself
  const ast::Attribute* attr = nullptr;
  SmallVec<const ast::ExprNode*, 2> indices;
  const ast::Name* root_name() const { return attr ? nullptr : ast::dyn<ast::Name>(base); }
  /// False: the target is an item of a passing value (`f(x)[0]`).
  bool is_place() const { return attr || ast::is<ast::Name>(base); }
};
PlaceChain place_chain(const ast::Subscript& target);

/// Is there a call, an assignment or a pause in it, so that evaluating it is likely to change something?
bool may_call(const ast::ExprNode* e);

/// The number that a constant, or a minus before one, stands for.
bool is_negative_number(const ast::ExprNode* e);

/// The docstring of a body, or null.
const ast::Constant* docstring(ast::Stmts body);

}  // namespace ouro::frontend
