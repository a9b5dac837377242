// Expressions: one atom each, operands from left to right.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

Atom Lowerer::expr(const ExprNode* e) {
  switch (e->kind) {
    case Kind::Constant:
      return constant(as<Constant>(e));
    case Kind::Name:
      return load(mangled(as<Name>(e).id), e->span);
    case Kind::BinOp: {
      auto& n = as<BinOp>(e);
      Atom l = expr(n.left);
      Atom r = expr(n.right);
      return let(e->span, op_of(n.op), {l, r});
    }
    case Kind::UnaryOp: {
      auto& n = as<UnaryOp>(e);
      if (is_negative_number(e)) return negative(as<Constant>(n.operand));
      Atom a = expr(n.operand);
      return let(e->span, op_of(n.op), {a});
    }
    case Kind::BoolOp:
      return bool_op(as<BoolOp>(e));
    case Kind::Compare:
      return compare(as<Compare>(e));
    case Kind::IfExp:
      return if_exp(as<IfExp>(e));
    case Kind::NamedExpr: {
      auto& n = as<NamedExpr>(e);
      Atom a = expr(n.value);
      store(n.target, a);
      return a;
    }
    case Kind::Call:
      return call(as<Call>(e));
    case Kind::Attribute: {
      auto& n = as<Attribute>(e);
      Atom a = expr(n.value);
      return let(e->span, prim::attr_get, {a}, mangled(n.attr));
    }
    case Kind::Subscript: {
      auto& n = as<Subscript>(e);
      Atom a = expr(n.value);
      Atom i = expr(n.slice);
      return let(e->span, prim::item_get, {a, i});
    }
    case Kind::Slice:
      return slice(as<Slice>(e));
    case Kind::List:
      return list_or_set(*e, as<List>(e).elts, false);
    case Kind::Set:
      return set(as<Set>(e));
    case Kind::Tuple:
      return tuple(as<Tuple>(e));
    case Kind::Dict:
      return dict(as<Dict>(e));
    case Kind::JoinedStr:
      return joined_str(as<JoinedStr>(e));
    case Kind::FormattedValue:
      return formatted(as<FormattedValue>(e));
    case Kind::Lambda:
      return lambda_expr(as<Lambda>(e));
    case Kind::ListComp:
      return comprehension_expr(*e, as<ListComp>(e).generators, as<ListComp>(e).elt, nullptr);
    case Kind::SetComp:
      return comprehension_expr(*e, as<SetComp>(e).generators, as<SetComp>(e).elt, nullptr);
    case Kind::DictComp:
      return comprehension_expr(*e, as<DictComp>(e).generators, as<DictComp>(e).key, as<DictComp>(e).value);
    case Kind::GeneratorExp:
      return comprehension_expr(*e, as<GeneratorExp>(e).generators, as<GeneratorExp>(e).elt, nullptr);
    case Kind::Yield: {
      Atom a = expr_or_none(as<Yield>(e).value);
      b_.set_span(e->span);
      return b_.yield(a);
    }
    case Kind::YieldFrom: {
      Atom a = expr(as<YieldFrom>(e).value);
      NameId it = let(e->span, prim::iter, {a});
      return b_.yield_from(it);
    }
    default:
      ouro_bug("expression %s where it cannot stand", kind_name(e->kind));
  }
}

Atom Lowerer::truth(Span span, Atom a) { return let(span, prim::truth, {a}); }

// The value is that of the operand that decides.
Atom Lowerer::bool_op(const BoolOp& e) {
  BlockId join = b_.new_block();
  NameId result = b_.block_param(join, {});
  Assigned first;
  for (size_t i = 0;; ++i) {
    Atom a = expr(e.values[i]);
    if (i + 1 == e.values.size()) {
      b_.jump(join, {a});
      break;
    }
    if (i == 0) first = assigned_;
    BlockId next = b_.new_block();
    Atom t = truth(e.values[i]->span, a);
    if (e.op == BoolOperator::And)
      b_.branch(t, next, {}, join, std::span<const Atom>(&a, 1));
    else
      b_.branch(t, join, std::span<const Atom>(&a, 1), next, {});
    start(next);
  }
  start(join);
  assigned_ = first;
  return result;
}

Atom Lowerer::compared(const Compare& e, size_t i) {
  const bool looked_into = e.ops[i] == CmpOperator::In || e.ops[i] == CmpOperator::NotIn;
  return looked_into ? read_only(e.comparators[i]) : expr(e.comparators[i]);
}

Atom Lowerer::compare(const Compare& e) {
  Atom l = expr(e.left);
  if (e.ops.size() == 1) {
    Atom r = compared(e, 0);
    return let(e.span, op_of(e.ops[0]), {l, r});
  }
  BlockId join = b_.new_block();
  NameId result = b_.block_param(join, {});
  Assigned first;
  for (size_t i = 0; i < e.ops.size(); ++i) {
    Atom r = compared(e, i);
    if (i == 0) first = assigned_;
    Atom c = let(e.span, op_of(e.ops[i]), {l, r});
    l = r;
    if (i + 1 == e.ops.size()) {
      b_.jump(join, {c});
      break;
    }
    BlockId next = b_.new_block();
    Atom t = truth(e.span, c);
    b_.branch(t, next, {}, join, std::span<const Atom>(&c, 1));
    start(next);
  }
  start(join);
  assigned_ = first;
  return result;
}

Atom Lowerer::if_exp(const IfExp& e) {
  BlockId yes = b_.new_block(), no = b_.new_block(), join = b_.new_block();
  NameId result = b_.block_param(join, {});
  Outcome o = condition(e.test, yes, no);
  start(yes);
  assigned_ = o.if_true;
  Atom a = expr(e.body);
  b_.jump(join, {a});
  Assigned after = assigned_;
  start(no);
  assigned_ = o.if_false;
  a = expr(e.orelse);
  b_.jump(join, {a});
  assigned_.meet(after);
  start(join);
  return result;
}

// ---- conditions
// ----------------------------------------------------------------------------------------------------

// 1: true, 0: false, -1: known at run time only.
static int constant_truth(const ExprNode* e) {
  auto* c = dyn<Constant>(e);
  if (!c) return -1;
  switch (c->value_kind) {
    case ConstantKind::None:
    case ConstantKind::False:
      return 0;
    case ConstantKind::Int:
      return c->int_value != 0;
    case ConstantKind::Float:
      return c->float_value != 0;
    case ConstantKind::Str:
    case ConstantKind::Bytes:
      return !c->text.empty();
    default:
      return 1;
  }
}

Lowerer::Outcome Lowerer::branch_on(Span span, Atom a, BlockId if_true, BlockId if_false) {
  Atom t = truth(span, a);
  b_.branch(t, if_true, if_false);
  return {assigned_, assigned_};
}

Lowerer::Outcome Lowerer::condition(const ExprNode* e, BlockId if_true, BlockId if_false) {
  if (int known = constant_truth(e); known >= 0) {
    b_.set_span(e->span);
    b_.jump(known ? if_true : if_false, {});
    return {assigned_, assigned_};
  }
  if (auto* u = dyn<UnaryOp>(e); u && u->op == UnaryOperator::Not) {
    Outcome o = condition(u->operand, if_false, if_true);
    return {o.if_false, o.if_true};
  }
  if (auto* c = dyn<Compare>(e); c && c->ops.size() > 1) return condition_compare(*c, if_true, if_false);
  auto* n = dyn<BoolOp>(e);
  if (!n) return branch_on(e->span, expr(e), if_true, if_false);
  bool is_and = n->op == BoolOperator::And;
  Outcome all;
  for (size_t i = 0; i < n->values.size(); ++i) {
    bool last = i + 1 == n->values.size();
    BlockId next = last ? (is_and ? if_true : if_false) : b_.new_block();
    Outcome o = is_and ? condition(n->values[i], next, if_false) : condition(n->values[i], if_true, next);
    Assigned& leaves = is_and ? all.if_false : all.if_true;
    Assigned& leaves_now = is_and ? o.if_false : o.if_true;
    if (i == 0)
      leaves = leaves_now;
    else
      leaves.meet(leaves_now);
    Assigned& goes_on = is_and ? o.if_true : o.if_false;
    if (last) {
      (is_and ? all.if_true : all.if_false) = goes_on;
      break;
    }
    start(next);
    assigned_ = goes_on;
  }
  return all;
}

Lowerer::Outcome Lowerer::condition_compare(const Compare& e, BlockId if_true, BlockId if_false) {
  Atom l = expr(e.left);
  Outcome all;
  for (size_t i = 0; i < e.ops.size(); ++i) {
    Atom r = compared(e, i);
    Atom c = let(e.span, op_of(e.ops[i]), {l, r});
    l = r;
    BlockId next = i + 1 == e.ops.size() ? if_true : b_.new_block();
    Outcome o = branch_on(e.span, c, next, if_false);
    if (i == 0) all.if_false = o.if_false;
    all.if_true = o.if_true;
    if (next != if_true) start(next);
  }
  return all;
}

}  // namespace ouro::frontend
