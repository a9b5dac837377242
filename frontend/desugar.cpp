#include "frontend/desugar.h"

#include <algorithm>

namespace ouro::frontend {
using namespace ast;
namespace prim = ir::prim;

// In the order of ast::Operator.
static constexpr ir::Op kBinary[] = {prim::add,  prim::sub,  prim::mul,     prim::matmul, prim::truediv,
                                     prim::mod,  prim::pow,  prim::lshift,  prim::rshift, prim::or_,
                                     prim::xor_, prim::and_, prim::floordiv};
static constexpr ir::Op kInPlace[] = {prim::iadd, prim::isub, prim::imul,     prim::imatmul, prim::itruediv,
                                      prim::imod, prim::ipow, prim::ilshift,  prim::irshift, prim::ior,
                                      prim::ixor, prim::iand, prim::ifloordiv};
static constexpr ir::Op kUnary[] = {prim::invert, prim::not_, prim::pos, prim::neg};
static constexpr ir::Op kCompare[] = {prim::eq, prim::ne, prim::lt,     prim::le, prim::gt,
                                      prim::ge, prim::is, prim::is_not, prim::in, prim::not_in};

ir::Op op_of(Operator op) { return kBinary[static_cast<int>(op)]; }
ir::Op in_place_op_of(Operator op) { return kInPlace[static_cast<int>(op)]; }
ir::Op op_of(UnaryOperator op) { return kUnary[static_cast<int>(op)]; }
ir::Op op_of(CmpOperator op) { return kCompare[static_cast<int>(op)]; }

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

bool is_quiet(const ExprNode* e) {
  while (true) {
    switch (e->kind) {
      case Kind::Constant:
      case Kind::Name:
        return true;
      case Kind::Attribute:
        e = as<Attribute>(e).value;
        break;
      case Kind::UnaryOp:
        e = as<UnaryOp>(e).operand;
        break;
      case Kind::BinOp: {
        auto& b = as<BinOp>(e);
        if (b.op != Operator::Add && b.op != Operator::Sub && b.op != Operator::Mult && b.op != Operator::MatMult)
          return false;
        if (!is_quiet(b.right)) return false;
        e = b.left;
        break;
      }
      default:
        return false;
    }
  }
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
