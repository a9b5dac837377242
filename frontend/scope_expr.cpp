// The walk over expressions, comprehensions and patterns, in the order of evaluation.
#include "frontend/constant_set.h"
#include "frontend/scope_collector.h"
#include "ir/prim.h"

namespace ouro::frontend {

void Collector::yield(const ExprNode& e) {
  switch (cur_->kind) {
    case Scope::Kind::list_comp:
      fail(e.span, "'yield' inside list comprehension");
    case Scope::Kind::set_comp:
      fail(e.span, "'yield' inside set comprehension");
    case Scope::Kind::dict_comp:
      fail(e.span, "'yield' inside dict comprehension");
    case Scope::Kind::generator_exp:
      fail(e.span, "'yield' inside generator expression");
    case Scope::Kind::module:
    case Scope::Kind::class_:
      fail_late(e.span, "'yield' outside function");
      break;
    default:
      cur_->generator = true;
  }
}

void Collector::comp_target(const ExprNode* target) {
  cur_->comp_iter_target = true;
  ++loops_;
  expression(target);
  --loops_;
  cur_->comp_iter_target = false;
}

void Collector::generator(Seq<Comprehension> generators, size_t i, const ExprNode* elt, const ExprNode* value) {
  if (i == generators.size()) {
    expression(elt);
    if (value) expression(value);
    return;
  }
  const Comprehension& g = *generators[i];
  if (i > 0) {
    ++cur_->comp_iter_expr;
    looked_into(g.iter);
    --cur_->comp_iter_expr;
  }
  Region r(*this);
  comp_target(g.target);
  ++loops_;
  expressions(g.ifs);
  generator(generators, i + 1, elt, value);
  --loops_;
}

void Collector::comprehension(Scope::Kind kind, Symbol name, const ExprNode& e, Seq<Comprehension> generators,
                              const ExprNode* elt, const ExprNode* value) {
  ++cur_->comp_iter_expr;
  looked_into(generators[0]->iter);
  --cur_->comp_iter_expr;
  Scope& s = enter(kind, name, &e);
  if (kind == Scope::Kind::generator_exp) s.generator = true;
  define_in(s, names().dot0, Variable::kParam, e.span).bindings.push_back({0, 0});
  generator(generators, 0, elt, value);
  leave();
}

void Collector::looked_into(const ExprNode* e) {
  if (auto* s = dyn<Set>(e); s && is_constant_set(*s)) res_.constant_sets.emplace(constant_set_key(*s), s);
  expression(e);
}

void Collector::expression(const ExprNode* e) {
  if (!e) return;
  switch (e->kind) {
    case Kind::Name: {
      auto& n = as<Name>(e);
      if (n.ctx == Context::Load) return use(n);
      if (n.ctx == Context::Store) return bind(n.id, n.span);
      if (n.id == names().debug) fail_late(n.span, "cannot delete __debug__");
      define(n.id, Variable::kLocal | Variable::kDeleted | Variable::kDelStatement, n.span);
      return;
    }
    case Kind::BoolOp: {
      auto& b = as<BoolOp>(e);
      expression(b.values[0]);
      Region r(*this);
      return expressions(b.values.subspan(1));
    }
    case Kind::NamedExpr: {
      auto& n = as<NamedExpr>(e);
      if (cur_->comp_iter_expr > 0)
        fail(e->span, "assignment expression cannot be used in a comprehension iterable expression");
      if (cur_->is_comprehension()) named_expr_scope(n);
      expression(n.value);
      return expression(n.target);
    }
    case Kind::BinOp:
      expression(as<BinOp>(e).left);
      return expression(as<BinOp>(e).right);
    case Kind::UnaryOp:
      return expression(as<UnaryOp>(e).operand);
    case Kind::Lambda: {
      auto& l = as<Lambda>(e);
      arguments_outside(*l.args);
      enter(Scope::Kind::lambda, names().lambda, e);
      parameters(*l.args);
      expression(l.body);
      return leave();
    }
    case Kind::IfExp: {
      auto& i = as<IfExp>(e);
      expression(i.test);
      {
        Region r(*this);
        expression(i.body);
      }
      Region r(*this);
      return expression(i.orelse);
    }
    case Kind::Dict: {
      auto& d = as<Dict>(e);
      for (size_t i = 0; i < d.values.size(); ++i) {
        expression(d.keys[i]);
        expression(d.values[i]);
      }
      return;
    }
    case Kind::Set:
      if (auto& s = as<Set>(e); is_copied_set(s)) res_.constant_sets.emplace(constant_set_key(s), &s);
      return expressions(as<Set>(e).elts);
    case Kind::ListComp: {
      auto& c = as<ListComp>(e);
      return comprehension(Scope::Kind::list_comp, names().listcomp, *e, c.generators, c.elt, nullptr);
    }
    case Kind::SetComp: {
      auto& c = as<SetComp>(e);
      return comprehension(Scope::Kind::set_comp, names().setcomp, *e, c.generators, c.elt, nullptr);
    }
    case Kind::DictComp: {
      auto& c = as<DictComp>(e);
      return comprehension(Scope::Kind::dict_comp, names().dictcomp, *e, c.generators, c.key, c.value);
    }
    case Kind::GeneratorExp: {
      auto& c = as<GeneratorExp>(e);
      return comprehension(Scope::Kind::generator_exp, names().genexpr, *e, c.generators, c.elt, nullptr);
    }
    case Kind::Yield:
      expression(as<Yield>(e).value);
      return yield(*e);
    case Kind::YieldFrom:
      expression(as<YieldFrom>(e).value);
      return yield(*e);
    case Kind::Compare: {
      auto& c = as<Compare>(e);
      const bool in_last = c.ops.back() == CmpOperator::In || c.ops.back() == CmpOperator::NotIn;
      auto last = [&] { in_last ? looked_into(c.comparators.back()) : expression(c.comparators.back()); };
      expression(c.left);
      if (c.comparators.size() == 1) return last();
      expression(c.comparators[0]);
      Region r(*this);
      expressions(c.comparators.subspan(1, c.comparators.size() - 2));
      return last();
    }
    case Kind::Call: {
      auto& c = as<Call>(e);
      expression(c.func);
      expressions(c.args);
      for (const Keyword* k : c.keywords) expression(k->value);
      return;
    }
    case Kind::FormattedValue:
      expression(as<FormattedValue>(e).value);
      return expression(as<FormattedValue>(e).format_spec);
    case Kind::JoinedStr:
      return expressions(as<JoinedStr>(e).values);
    case Kind::Attribute:
      return expression(as<Attribute>(e).value);
    case Kind::Subscript:
      if (as<Subscript>(e).ctx == Context::Store) place_write(e);
      expression(as<Subscript>(e).value);
      return expression(as<Subscript>(e).slice);
    case Kind::Starred:
      return expression(as<Starred>(e).value);
    case Kind::List:
      if (as<List>(e).ctx == Context::Store) star_target(*e, as<List>(e).elts);
      return expressions(as<List>(e).elts);
    case Kind::Tuple:
      if (as<Tuple>(e).ctx == Context::Store) star_target(*e, as<Tuple>(e).elts);
      return expressions(as<Tuple>(e).elts);
    case Kind::Slice: {
      auto& s = as<Slice>(e);
      expression(s.lower);
      expression(s.upper);
      return expression(s.step);
    }
    default:
      return;
  }
}

// More around a star than CPython can take apart at once.
static bool too_many_around(size_t before, size_t of) {
  return before > ir::kMostBeforeStar || of - before - 1 > ir::kMostBehindStar;
}

void Collector::star_target(const ExprNode& e, Exprs elts) {
  for (size_t i = 0; i < elts.size(); ++i)
    if (is<Starred>(elts[i]) && too_many_around(i, elts.size()))
      fail_late(e.span, "too many expressions in star-unpacking assignment");
}

void Collector::star_pattern(const MatchSequence& p) {
  for (size_t i = 0; i < p.patterns.size(); ++i)
    if (auto* star = dyn<MatchStar>(p.patterns[i]); star && star->name && too_many_around(i, p.patterns.size()))
      fail_late(p.span, "too many expressions in star-unpacking sequence pattern");
}

void Collector::pattern(const PatternNode& p) {
  auto all = [&](Seq<PatternNode> list) {
    for (const PatternNode* q : list) pattern(*q);
  };
  switch (p.kind) {
    case Kind::MatchValue:
      return expression(as<MatchValue>(&p).value);
    case Kind::MatchSequence:
      star_pattern(as<MatchSequence>(&p));
      return all(as<MatchSequence>(&p).patterns);
    case Kind::MatchMapping: {
      auto& m = as<MatchMapping>(&p);
      expressions(m.keys);
      all(m.patterns);
      if (m.rest) bind(m.rest, p.span);
      return;
    }
    case Kind::MatchClass: {
      auto& m = as<MatchClass>(&p);
      expression(m.cls);
      all(m.patterns);
      return all(m.kwd_patterns);
    }
    case Kind::MatchStar:
      if (as<MatchStar>(&p).name) bind(as<MatchStar>(&p).name, p.span);
      return;
    case Kind::MatchAs: {
      auto& m = as<MatchAs>(&p);
      if (m.pattern) pattern(*m.pattern);
      if (m.name) bind(m.name, p.span);
      return;
    }
    case Kind::MatchOr:
      for (const PatternNode* q : as<MatchOr>(&p).patterns) {
        Region r(*this);
        pattern(*q);
      }
      return;
    default:
      return;
  }
}

}  // namespace ouro::frontend
