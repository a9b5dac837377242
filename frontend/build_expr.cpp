// Expressions. Operators stand in the tree as a flat list (operand, operator, operand, ...);
// Dijkstra's shunting-yard algorithm gives them structure from the table below, with explicit
// stacks, so that a chain of any length is no recursion.
#include <algorithm>
#include <array>

#include "frontend/builder.h"

namespace ouro::frontend {

using namespace ast;

namespace {

enum class Fix : uint8_t { none, prefix, binary, boolean, compare };

struct OperatorRow {
  Tok tok;
  Fix fix;
  uint8_t precedence;
  uint8_t op;  // Operator, UnaryOperator, BoolOperator or CmpOperator
};

constexpr uint8_t kNot = 3, kUnary = 11, kPower = 12;

template <class E>
constexpr uint8_t id(E e) {
  return static_cast<uint8_t>(e);
}

// Lowest binding first (Python language reference, 6.17).
constexpr OperatorRow kInfix[] = {
    {Tok::OR, Fix::boolean, 1, id(BoolOperator::Or)},
    {Tok::AND, Fix::boolean, 2, id(BoolOperator::And)},
    {Tok::LESS, Fix::compare, 4, id(CmpOperator::Lt)},
    {Tok::GREATER, Fix::compare, 4, id(CmpOperator::Gt)},
    {Tok::LESSEQUAL, Fix::compare, 4, id(CmpOperator::LtE)},
    {Tok::GREATEREQUAL, Fix::compare, 4, id(CmpOperator::GtE)},
    {Tok::EQEQUAL, Fix::compare, 4, id(CmpOperator::Eq)},
    {Tok::NOTEQUAL, Fix::compare, 4, id(CmpOperator::NotEq)},
    {Tok::IN, Fix::compare, 4, id(CmpOperator::In)},
    {Tok::NOT_IN, Fix::compare, 4, id(CmpOperator::NotIn)},
    {Tok::IS, Fix::compare, 4, id(CmpOperator::Is)},
    {Tok::IS_NOT, Fix::compare, 4, id(CmpOperator::IsNot)},
    {Tok::VBAR, Fix::binary, 5, id(Operator::BitOr)},
    {Tok::CIRCUMFLEX, Fix::binary, 6, id(Operator::BitXor)},
    {Tok::AMPER, Fix::binary, 7, id(Operator::BitAnd)},
    {Tok::LSHIFT, Fix::binary, 8, id(Operator::LShift)},
    {Tok::RSHIFT, Fix::binary, 8, id(Operator::RShift)},
    {Tok::PLUS, Fix::binary, 9, id(Operator::Add)},
    {Tok::MINUS, Fix::binary, 9, id(Operator::Sub)},
    {Tok::STAR, Fix::binary, 10, id(Operator::Mult)},
    {Tok::SLASH, Fix::binary, 10, id(Operator::Div)},
    {Tok::DOUBLESLASH, Fix::binary, 10, id(Operator::FloorDiv)},
    {Tok::PERCENT, Fix::binary, 10, id(Operator::Mod)},
    {Tok::AT, Fix::binary, 10, id(Operator::MatMult)},
    {Tok::DOUBLESTAR, Fix::binary, kPower, id(Operator::Pow)},
};
constexpr OperatorRow kPrefix[] = {
    {Tok::NOT, Fix::prefix, kNot, id(UnaryOperator::Not)},
    {Tok::MINUS, Fix::prefix, kUnary, id(UnaryOperator::USub)},
    {Tok::PLUS, Fix::prefix, kUnary, id(UnaryOperator::UAdd)},
    {Tok::TILDE, Fix::prefix, kUnary, id(UnaryOperator::Invert)},
};

constexpr size_t kTokens = static_cast<size_t>(Tok::BAD_CHAR) + 1;
template <size_t N>
constexpr std::array<OperatorRow, kTokens> by_token(const OperatorRow (&rows)[N]) {
  std::array<OperatorRow, kTokens> t{};
  for (const OperatorRow& r : rows) t[static_cast<size_t>(r.tok)] = r;
  return t;
}
constexpr auto kInfixOf = by_token(kInfix);
constexpr auto kPrefixOf = by_token(kPrefix);

struct Operand {
  ExprNode* node;
  uint32_t begin, end;  // with its parentheses
};
struct Pending {
  const OperatorRow* row;
  uint32_t begin;  // of a prefix operator
};

}  // namespace

ExprNode* Builder::operation(Ref n) {
  Ref only = n.first();
  if (++n.children_begin() == n.children_end()) return primary(only);
  SmallVec<Operand, 8> operands;
  SmallVec<Pending, 8> pending;

  // Applies the operators on top that bind tighter than `precedence`.
  auto reduce_one = [&] {
    Pending top = pending.back();
    pending.pop_back();
    if (top.row->fix == Fix::prefix) {
      Operand& x = operands.back();
      UnaryOp* u = make<UnaryOp>(span(top.begin, x.end));
      u->op = static_cast<UnaryOperator>(top.row->op);
      u->operand = x.node;
      x = {done(u), top.begin, x.end};
      return;
    }
    size_t count = 2;  // operands taken; chains of one boolean operator, or of comparisons, are one node
    SmallVec<CmpOperator, 4> ops{static_cast<CmpOperator>(top.row->op)};
    if (top.row->fix != Fix::binary) {
      while (!pending.empty() && pending.back().row->precedence == top.row->precedence) {
        ops.push_back(static_cast<CmpOperator>(pending.back().row->op));
        pending.pop_back();
        ++count;
      }
    }
    Operand* first = operands.end() - count;
    Span where = span(first->begin, operands.back().end);
    ExprVec nodes;
    for (Operand* o = first; o != operands.end(); ++o) nodes.push_back(o->node);
    ExprNode* made;
    if (top.row->fix == Fix::binary) {
      BinOp* b = make<BinOp>(where);
      b->left = nodes[0];
      b->op = static_cast<Operator>(top.row->op);
      b->right = nodes[1];
      made = done(b);
    } else if (top.row->fix == Fix::boolean) {
      BoolOp* b = make<BoolOp>(where);
      b->op = static_cast<BoolOperator>(top.row->op);
      b->values = arena_.copy(nodes);
      made = done(b);
    } else {
      Compare* c = make<Compare>(where);
      std::reverse(ops.begin(), ops.end());
      c->left = nodes[0];
      c->ops = arena_.copy(ops);
      nodes.erase(nodes.begin());
      c->comparators = arena_.copy(nodes);
      made = done(c);
    }
    operands.resize(operands.size() - count, {});
    operands.push_back({made, where.begin, where.end});
  };

  bool want_operand = true;
  for (Ref c : children(n)) {
    if (!c.is_token()) {
      operands.push_back({primary(c), c.begin(), c.end()});
      want_operand = false;
      continue;
    }
    if (c.is(Tok::AWAIT)) refuse(grammar::Refused::await_expr, c.span());
    if (want_operand) {
      const OperatorRow* row = &kPrefixOf[static_cast<size_t>(c.tok())];
      if (row->tok == Tok::NOT && !pending.empty() && pending.back().row->precedence > kNot) invalid(c);
      pending.push_back({row, c.begin()});
      continue;
    }
    const OperatorRow* row = &kInfixOf[static_cast<size_t>(c.tok())];
    bool left = row->fix == Fix::binary && row->precedence != kPower;
    while (!pending.empty() && (pending.back().row->precedence > row->precedence ||
                                (left && pending.back().row->precedence == row->precedence)))
      reduce_one();
    pending.push_back({row, 0});
    want_operand = true;
  }
  while (!pending.empty()) reduce_one();
  return operands[0].node;
}

ExprNode* Builder::test(Ref n) {
  Ref first = n.first();
  if (first.is(Tok::LAMBDA)) return lambda(n);
  if (++n.children_begin() == n.children_end()) return operation(first);
  auto c = list(n);  // body if test else orelse
  IfExp* e = make<IfExp>(n.span());
  e->body = operation(c[0]);
  e->test = operation(c[2]);
  e->orelse = test(c[4]);
  return done(e);
}

ExprNode* Builder::lambda(Ref n) {
  auto c = list(n);
  Lambda* l = make<Lambda>(n.span());
  l->args = params(child(n, Rule::lambda_params));
  l->body = test(c.back());
  return done(l);
}

// star_item, named_item, star_test: `*x`, `x`, `x := y`.
ExprNode* Builder::star_item(Ref n) {
  auto c = list(n);
  if (c[0].is(Tok::STAR)) {
    Starred* s = make<Starred>(n.span());
    s->value = operation(c[1]);
    return done(s);
  }
  return named_test(n);
}

ExprNode* Builder::named_test(Ref n) {
  auto c = list(n);
  ExprNode* e = test(c[0]);
  return c.size() == 1 ? e : named(e, c[0], c[2]);
}

ExprNode* Builder::named(ExprNode* target, Ref target_ref, Ref value) {
  bool bare = target->kind == Kind::Name && innermost(target_ref).is(Tok::NAME);
  if (!bare)
    fail(target->span, "syntax.named_target",
         std::string("cannot use assignment expressions with ") + expression_name(target));
  NamedExpr* e = make<NamedExpr>(span(target_ref.begin(), value.end()));
  e->target = target;
  assign_to(target, TargetKind::assign);
  e->value = test(value);
  return done(e);
}

// A list without comma is its item. A lone `*x` is right only as a target, which has its own
// message.
ExprNode* Builder::star_list(Ref n, bool target) {
  no_double_comma(n);
  auto c = list(n);
  auto item = [&](Ref r) { return r.is(Rule::test) ? test(r) : star_item(r); };
  if (c.size() == 1) {
    ExprNode* e = item(c[0]);
    if (is<Starred>(e) && !target) fail(e->span, "syntax.lone_star", "can't use starred expression here");
    return e;
  }
  ExprVec elts;
  for (Ref r : c)
    if (!r.is_token()) elts.push_back(item(r));
  Tuple* t = make<Tuple>(n.span());
  t->elts = arena_.copy(elts);
  return done(t);
}

ExprNode* Builder::yield_expr(Ref n) {
  auto c = list(n);
  if (c.size() == 3) {
    YieldFrom* y = make<YieldFrom>(n.span());
    y->value = test(c[2]);
    return done(y);
  }
  Yield* y = make<Yield>(n.span());
  if (c.size() == 2) y->value = star_list(c[1]);
  return done(y);
}

ExprNode* Builder::primary(Ref n) {
  auto c = list(n);
  uint32_t begin = n.begin();
  size_t i = 0;
  ExprNode* e;
  if (c[0].is(Tok::STRING)) {
    while (i < c.size() && c[i].is(Tok::STRING)) ++i;
    e = strings(c[0], static_cast<uint32_t>(i));
  } else {
    e = atom(c[0]);
    i = 1;
  }
  for (; i < c.size(); ++i) {
    if (c[i].is(Tok::DOT)) {
      Attribute* a = make<Attribute>(span(begin, c[i + 1].end()));
      a->value = e;
      a->attr = name(c[i + 1]);
      e = done(a);
      ++i;
    } else if (c[i].is(Tok::LSQB)) {
      Subscript* s = make<Subscript>(span(begin, c[i + 2].end()));
      s->value = e;
      s->slice = subscripts(c[i + 1]);
      e = done(s);
      i += 2;
    } else {
      bool empty = c[i + 1].is(Tok::RPAR);
      Ref close = empty ? c[i + 1] : c[i + 2];
      e = call(e, span(begin, close.end()), empty ? Ref() : c[i + 1], close, c[i]);
      i += empty ? 1 : 2;
    }
  }
  return e;
}

ExprNode* Builder::atom(Ref n) {
  auto constant = [&](ConstantKind k) {
    Constant* c = make<Constant>(n.span());
    c->value_kind = k;
    return done(c);
  };
  switch (n.tok()) {
    case Tok::NAME: {
      Name* x = make<Name>(n.span());
      x->id = name(n);
      return done(x);
    }
    case Tok::NUMBER:
      return number(n);
    case Tok::NONE:
      return constant(ConstantKind::None);
    case Tok::TRUE:
      return constant(ConstantKind::True);
    case Tok::FALSE:
      return constant(ConstantKind::False);
    case Tok::ELLIPSIS:
      return constant(ConstantKind::Ellipsis);
    default:
      break;
  }
  return n.is(Rule::paren) ? paren(n) : n.is(Rule::bracket) ? bracket(n) : brace(n);
}

ExprNode* Builder::subscripts(Ref n) {
  no_double_comma(n);
  auto c = list(n);
  bool starred = c[0].first().is(Tok::STAR);
  if (c.size() == 1 && !starred) return subscript(c[0]);
  ExprVec elts;
  for (Ref r : c)
    if (r.is(Rule::subscript)) elts.push_back(subscript(r));
  Tuple* t = make<Tuple>(n.span());
  t->elts = arena_.copy(elts);
  return done(t);
}

ExprNode* Builder::subscript(Ref n) {
  auto c = list(n);
  if (!c.back().is(Rule::slice_rest)) return star_item(n);
  Slice* s = make<Slice>(n.span());
  if (c.size() == 2) s->lower = test(c[0]);
  int colons = 0;
  for (Ref r : children(c.back())) {
    if (r.is(Tok::COLON))
      ++colons;
    else
      (colons == 1 ? s->upper : s->step) = test(r);
  }
  return done(s);
}

ExprNode* Builder::call(ExprNode* func, Span where, Ref args, Ref close, Ref open) {
  Call* e = make<Call>(where);
  e->func = func;
  ExprVec positional;
  SmallVec<Keyword*, 4> keywords;
  if (args) {
    auto first = list(args.first());
    bool lone_generator =
        first.size() > 1 && first[1].is(Rule::comp_for) && ++args.children_begin() == args.children_end();
    if (lone_generator) {
      GeneratorExp* g = make<GeneratorExp>(span(open.begin(), close.end()));
      g->elt = test(first[0]);
      g->generators = comp_fors(args.first());
      positional.push_back(done(g));
    } else {
      call_args(args, positional, keywords, close);
    }
  }
  e->args = arena_.copy(positional);
  e->keywords = arena_.copy(keywords);
  return done(e);
}

}  // namespace ouro::frontend
