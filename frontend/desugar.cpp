#include "frontend/desugar.h"

#include <algorithm>

#include "frontend/ast_walk.h"
#include "support/diag.h"

namespace ouro::frontend {
using namespace ast;
namespace prim = ir::prim;

ir::Op op_of(Operator op) {
  switch (op) {
#define BINARY(id, ast, ...) \
  case Operator::ast:        \
    return prim::id;
#include "ir/operators.inc"
  }
  ouro_bug("no such operator");
}
ir::Op in_place_op_of(Operator op) { return ir::in_place_form(op_of(op)); }
ir::Op op_of(UnaryOperator op) {
  switch (op) {
    case UnaryOperator::Not:
      return prim::not_;
#define UNARY(id, ast, ...) \
  case UnaryOperator::ast:  \
    return prim::id;
#include "ir/operators.inc"
  }
  ouro_bug("no such operator");
}
ir::Op op_of(CmpOperator op) {
  switch (op) {
    case CmpOperator::Is:
      return prim::is;
    case CmpOperator::IsNot:
      return prim::is_not;
    case CmpOperator::In:
      return prim::in;
    case CmpOperator::NotIn:
      return prim::not_in;
#define COMPARE(id, ast, ...) \
  case CmpOperator::ast:      \
    return prim::id;
#include "ir/operators.inc"
  }
  ouro_bug("no such operator");
}

PlaceChain place_chain(const Subscript& target) {
  PlaceChain c;
  const ExprNode* e = &target;
  while (auto* s = dyn<Subscript>(e)) {
    c.indices.push_back(s->slice);
    e = s->value;
  }
  std::reverse(c.indices.begin(), c.indices.end());
  if (auto* a = dyn<Attribute>(e)) {
    c.attr = a;
    e = a->value;
  }
  c.base = e;
  return c;
}

bool may_call(const ExprNode* e) {
  bool found = false;
  const auto look = [&](auto& self, const Node* n) -> void {
    switch (n->kind) {
      case Kind::Call:
      case Kind::NamedExpr:
      case Kind::Yield:
      case Kind::YieldFrom:
      case Kind::ListComp:
      case Kind::SetComp:
      case Kind::DictComp:
      case Kind::GeneratorExp:
        found = true;
        break;
      case Kind::Lambda:
        break;
      default:
        for_each_child(n, [&](const Node* c) { self(self, c); });
    }
  };
  look(look, e);
  return found;
}

bool is_negative_number(const ExprNode* e) {
  auto* u = dyn<UnaryOp>(e);
  if (!u || u->op != UnaryOperator::USub) return false;
  auto* c = dyn<Constant>(u->operand);
  return c && (c->value_kind == ConstantKind::Int || c->value_kind == ConstantKind::BigInt ||
               c->value_kind == ConstantKind::Float);
}

const Constant* docstring(Stmts body) {
  if (body.empty()) return nullptr;
  auto* e = dyn<Expr>(body[0]);
  auto* c = e ? dyn<Constant>(e->value) : nullptr;
  return c && c->value_kind == ConstantKind::Str ? c : nullptr;
}

}  // namespace ouro::frontend
