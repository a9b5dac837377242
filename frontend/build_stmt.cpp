// Statements.
#include <algorithm>

#include "frontend/builder.h"

namespace ouro::frontend {

using namespace ast;

void Builder::stmt(Ref n, StmtVec& out) {
  Ref s = n.first();
  switch (s.rule()) {
    case Rule::simple_stmts:
      return simple_stmts(s, out);
    case Rule::if_stmt:
      return out.push_back(if_stmt(s));
    case Rule::while_stmt:
      return out.push_back(while_stmt(s));
    case Rule::for_stmt:
      return out.push_back(for_stmt(s));
    case Rule::try_stmt:
      return out.push_back(try_stmt(s));
    case Rule::with_stmt:
      return out.push_back(with_stmt(s));
    case Rule::func_def:
      return out.push_back(func_def(s, {}));
    case Rule::class_def:
      return out.push_back(class_def(s, {}));
    case Rule::decorated:
      return out.push_back(decorated(s));
    case Rule::match_stmt:
      return out.push_back(match_stmt(s));
    case Rule::async_stmt: {
      auto c = list(s);
      refuse(c[1].is(Rule::func_def)   ? grammar::Refused::async_def
             : c[1].is(Rule::for_stmt) ? grammar::Refused::async_for
                                       : grammar::Refused::async_with,
             c[0].span());
    }
    default:
      ouro_bug("no statement: %s", grammar::rule_name(s.rule()));
  }
}

Stmts Builder::suite(Ref n) {
  StmtVec body;
  for (Ref c : children(n)) {
    if (c.is(Rule::simple_stmts)) simple_stmts(c, body);
    if (c.is(Rule::stmt)) stmt(c, body);
  }
  return arena_.copy(body);
}

void Builder::simple_stmts(Ref n, StmtVec& out) {
  bool semi = false;
  for (Ref c : children(n)) {
    if (c.is(Rule::simple_stmt)) out.push_back(simple_stmt(c));
    if (semi && c.is(Tok::SEMI)) invalid(c);
    semi = c.is(Tok::SEMI);
  }
}

StmtNode* Builder::simple_stmt(Ref n) {
  Ref s = n.first();
  Span where = n.span();
  if (s.is(Tok::PASS)) return done(make<Pass>(where));
  if (s.is(Tok::BREAK)) return done(make<Break>(where));
  if (s.is(Tok::CONTINUE)) return done(make<Continue>(where));
  auto c = list(s);
  switch (s.rule()) {
    case Rule::expr_stmt:
      return expr_stmt(s);
    case Rule::return_stmt: {
      Return* r = make<Return>(where);
      if (c.size() > 1) r->value = star_list(c[1]);
      return done(r);
    }
    case Rule::raise_stmt: {
      Raise* r = make<Raise>(where);
      if (c.size() > 1) r->exc = test(c[1]);
      if (c.size() > 3) r->cause = test(c[3]);
      return done(r);
    }
    case Rule::assert_stmt: {
      Assert* a = make<Assert>(where);
      a->test = test(c[1]);
      if (c.size() > 3) a->msg = test(c[3]);
      return done(a);
    }
    case Rule::import_name:
      return import_name(s);
    case Rule::import_from:
      return import_from(s);
    case Rule::global_stmt:
      return global_stmt(s);
    case Rule::del_stmt:
      return del_stmt(s);
    case Rule::type_stmt:
      refuse(grammar::Refused::type_statement, where);
    default:
      ouro_bug("no simple statement: %s", grammar::rule_name(s.rule()));
  }
}

// ---- assignment
// -------------------------------------------------------------------------------------------------------

ExprNode* Builder::assigned(Ref n, bool target) {
  Ref c = n.first();
  return c.is(Rule::yield_expr) ? yield_expr(c) : star_list(c, target);
}

StmtNode* Builder::expr_stmt(Ref n) {
  auto c = list(n);
  if (c.size() > 1 && c[1].is(Tok::COLON)) return annotated(n);
  if (c.size() > 1 && c[1].is(Tok::EQUAL)) return assignment(n);
  if (c.size() > 1) return augmented(n, c[1]);
  Expr* e = make<Expr>(n.span());
  e->value = assigned(c[0]);
  return done(e);
}

namespace {

// `f() = 1`: the item before a single `=` binds tighter than comparisons, so `==` may have been
// meant.
bool meant_to_compare(ExprNode* target, ExprNode* bad, Ref assigned) {
  Tuple* tuple = dyn<Tuple>(target);
  ExprNode* last = tuple && !tuple->elts.empty() && !innermost(assigned).is(Rule::paren) ? tuple->elts.back() : target;
  if (last != bad) return false;
  Constant* c = dyn<Constant>(bad);
  if (is<GeneratorExp>(bad) || (c && c->value_kind <= ConstantKind::False)) return false;
  auto items = list(assigned.first());
  if (innermost(items.back()).is(Rule::paren)) return true;
  UnaryOp* u = dyn<UnaryOp>(bad);
  return !is<BoolOp>(bad) && !is<Compare>(bad) && !is<IfExp>(bad) && !is<Lambda>(bad) &&
         !(u && u->op == UnaryOperator::Not);
}

}  // namespace

StmtNode* Builder::assignment(Ref n) {
  auto c = list(n);
  Assign* a = make<Assign>(n.span());
  ExprVec targets;
  for (size_t i = 0; i + 1 < c.size(); i += 2) {
    ExprNode* t = assigned(c[i], true);
    if (t->kind == Kind::Yield || t->kind == Kind::YieldFrom)
      if (c[i].first().is(Rule::yield_expr))
        fail(t->span, "syntax.target", "assignment to yield expression not possible");
    ExprNode* bad = invalid_target(t, TargetKind::assign);
    if (bad && c.size() == 3 && meant_to_compare(t, bad, c[i]))
      fail(bad->span, "syntax.target",
           std::string("cannot assign to ") + expression_name(bad) + " here. Maybe you meant '==' instead of '='?");
    assign_to(t, TargetKind::assign);
    targets.push_back(t);
  }
  a->targets = arena_.copy(targets);
  a->value = assigned(c.back());
  return done(a);
}

StmtNode* Builder::augmented(Ref n, Ref op) {
  static constexpr std::pair<Tok, Operator> kOps[] = {
      {Tok::PLUSEQUAL, Operator::Add},         {Tok::MINEQUAL, Operator::Sub},
      {Tok::STAREQUAL, Operator::Mult},        {Tok::SLASHEQUAL, Operator::Div},
      {Tok::PERCENTEQUAL, Operator::Mod},      {Tok::AMPEREQUAL, Operator::BitAnd},
      {Tok::VBAREQUAL, Operator::BitOr},       {Tok::CIRCUMFLEXEQUAL, Operator::BitXor},
      {Tok::LEFTSHIFTEQUAL, Operator::LShift}, {Tok::RIGHTSHIFTEQUAL, Operator::RShift},
      {Tok::DOUBLESTAREQUAL, Operator::Pow},   {Tok::DOUBLESLASHEQUAL, Operator::FloorDiv},
      {Tok::ATEQUAL, Operator::MatMult},
  };
  auto c = list(n);
  AugAssign* a = make<AugAssign>(n.span());
  a->target = assigned(c[0], true);
  bool single = is<Name>(a->target) || is<Attribute>(a->target) || is<Subscript>(a->target);
  if (!single)
    fail(a->target->span, "syntax.augmented_target",
         std::string("'") + expression_name(a->target) + "' is an illegal expression for augmented assignment");
  set_context(a->target, Context::Store);
  for (auto [tok, value] : kOps)
    if (op.is(tok)) a->op = value;
  a->value = assigned(c[2]);
  return done(a);
}

StmtNode* Builder::annotated(Ref n) {
  auto c = list(n);
  AnnAssign* a = make<AnnAssign>(n.span());
  a->target = assigned(c[0], true);
  const char* container = is<List>(a->target) ? "list" : is<Tuple>(a->target) ? "tuple" : nullptr;
  bool bare_tuple = is<Tuple>(a->target) && !innermost(c[0]).is(Rule::paren);
  if (container)
    fail(bare_tuple ? as<Tuple>(a->target).elts[0]->span : a->target->span, "syntax.annotation_target",
         std::string("only single target (not ") + container + ") can be annotated");
  if (!is<Name>(a->target) && !is<Attribute>(a->target) && !is<Subscript>(a->target))
    fail(a->target->span, "syntax.annotation_target", "illegal target for annotation");
  set_context(a->target, Context::Store);
  a->simple = innermost(c[0]).is(Tok::NAME);
  a->annotation = test(c[2]);
  if (c.size() > 3) a->value = assigned(c[4]);
  return done(a);
}

StmtNode* Builder::del_stmt(Ref n) {
  Delete* d = make<Delete>(n.span());
  Ref targets = list(n)[1];
  no_double_comma(targets);
  ExprVec out;
  for (Ref t : children(targets)) {
    if (t.is_token()) continue;
    ExprNode* e = star_item(t);
    assign_to(e, TargetKind::del);
    out.push_back(e);
  }
  d->targets = arena_.copy(out);
  return done(d);
}

// ---- names
// ------------------------------------------------------------------------------------------------------------

Symbol Builder::dotted_name(Ref n) {
  std::string whole;
  for (Ref c : children(n)) whole += c.is(Tok::DOT) ? "." : name(c).text();
  return intern(whole);
}

Alias* Builder::alias(Ref n, Symbol name_symbol) {
  Alias* a = make<Alias>(n.span());
  a->name = name_symbol;
  auto c = list(n);
  if (c.size() == 3) a->asname = name(c[2]);
  return done(a);
}

StmtNode* Builder::import_name(Ref n) {
  Import* s = make<Import>(n.span());
  SmallVec<Alias*, 4> names;
  for (Ref c : children(n))
    if (c.is(Rule::dotted_as)) names.push_back(alias(c, dotted_name(c.first())));
  s->names = arena_.copy(names);
  return done(s);
}

StmtNode* Builder::import_from(Ref n) {
  ImportFrom* s = make<ImportFrom>(n.span());
  SmallVec<Alias*, 4> names;
  bool behind = false, bracket = false;
  for (Ref c : children(n)) {
    if (c.is(Tok::DOT)) ++s->level;
    if (c.is(Tok::ELLIPSIS)) s->level += 3;
    if (c.is(Rule::dotted_name)) s->module = dotted_name(c);
    if (c.is(Tok::IMPORT)) {
      behind = true;
      if (!s->module && s->level == 0) invalid(c);
    }
    if (c.is(Tok::LPAR)) bracket = true;
    if (c.is(Tok::STAR) && behind) names.push_back(alias(c, intern("*")));
    if (!c.is(Rule::import_names)) continue;
    no_double_comma(c);
    auto items = list(c);
    if (!bracket && items.back().is(Tok::COMMA))
      fail(span(c.end(), c.end()), "syntax.import_comma", "trailing comma not allowed without surrounding parentheses");
    for (Ref i : items)
      if (i.is(Rule::import_as)) names.push_back(alias(i, name(i.first())));
  }
  s->names = arena_.copy(names);
  return done(s);
}

StmtNode* Builder::global_stmt(Ref n) {
  SmallVec<Symbol, 8> names;
  for (Ref c : children(n))
    if (c.is(Tok::NAME)) names.push_back(name(c));
  if (n.first().is(Tok::GLOBAL)) {
    Global* g = make<Global>(n.span());
    g->names = arena_.copy(names);
    return done(g);
  }
  Nonlocal* g = make<Nonlocal>(n.span());
  g->names = arena_.copy(names);
  return done(g);
}

// `from __future__` imports stand first, behind the docstring (PEP 236).
void Builder::check_future(Stmts body) {
  static constexpr std::string_view kFeatures[] = {
      "nested_scopes",  "generators",       "division",       "absolute_import", "with_statement",
      "print_function", "unicode_literals", "generator_stop", "annotations",     "barry_as_FLUFL"};
  bool first = true, docstring = true;
  for (StmtNode* s : body) {
    ImportFrom* from = dyn<ImportFrom>(s);
    bool future = from && from->level == 0 && from->module == intern("__future__");
    if (!future) {
      Expr* e = dyn<Expr>(s);
      bool doc = docstring && e && is<Constant>(e->value) && as<Constant>(e->value).value_kind == ConstantKind::Str;
      docstring = false;
      first = first && doc;
      continue;
    }
    if (!first) fail(s->span, "syntax.future_place", "from __future__ imports must occur at the beginning of the file");
    docstring = false;
    for (Alias* a : from->names) {
      if (a->name == intern("braces"))
        fail(span(s->span.begin, s->span.begin), "syntax.future_feature", "not a chance");
      if (std::find(std::begin(kFeatures), std::end(kFeatures), a->name.text()) == std::end(kFeatures))
        fail(span(s->span.begin, s->span.begin), "syntax.future_feature",
             "future feature " + a->name.str() + " is not defined");
    }
  }
}

// ---- control flow
// -----------------------------------------------------------------------------------------------------

StmtNode* Builder::if_stmt(Ref n) {
  // if t : s  (elif t : s)*  else_part?   built from the last clause up, so that long chains are no
  // recursion
  auto c = list(n);
  Stmts orelse;
  size_t clauses = c.size();
  Ref else_part = c.back().is(Rule::else_part) ? c.back() : Ref();
  if (else_part) --clauses;
  struct Clause {
    Ref keyword;
    ExprNode* test;
    Stmts body;
  };
  SmallVec<Clause, 4> built;
  for (size_t i = 0; i < clauses; i += 4) {
    ExprNode* t = named_test(c[i + 1]);
    built.push_back({c[i], t, suite(c[i + 3])});
  }
  if (else_part) orelse = suite(list(else_part)[2]);
  If* made = nullptr;
  for (size_t i = built.size(); i-- > 0;) {
    made = make<If>(to_end_of(built[i].keyword, orelse.empty() ? built[i].body : orelse));
    made->test = built[i].test;
    made->body = built[i].body;
    made->orelse = orelse;
    done(made);
    StmtVec one{made};
    if (i > 0) orelse = arena_.copy(one);
  }
  return made;
}

StmtNode* Builder::while_stmt(Ref n) {
  auto c = list(n);
  ExprNode* t = named_test(c[1]);
  Stmts body = suite(c[3]), orelse;
  if (c.size() > 4) orelse = suite(list(c[4])[2]);
  While* w = make<While>(to_end_of(n, orelse.empty() ? body : orelse));
  w->test = t;
  w->body = body;
  w->orelse = orelse;
  return done(w);
}

ExprNode* Builder::target_list(Ref n) {
  no_double_comma(n);
  ExprVec elts;
  auto c = list(n);
  for (Ref t : c) {
    if (t.is_token()) continue;
    auto part = list(t);
    ExprNode* e = operation(part.back());
    if (part.size() == 2) {
      Starred* s = make<Starred>(t.span());
      s->value = e;
      e = done(s);
    }
    elts.push_back(e);
  }
  ExprNode* target = elts[0];
  if (c.size() > 1) {
    Tuple* t = make<Tuple>(n.span());
    t->elts = arena_.copy(elts);
    target = done(t);
  }
  assign_to(target, TargetKind::loop);
  return target;
}

StmtNode* Builder::for_stmt(Ref n) {
  auto c = list(n);
  ExprNode* target = target_list(c[1]);
  ExprNode* iter = star_list(c[3]);
  Stmts body = suite(c[5]), orelse;
  if (c.size() > 6) orelse = suite(list(c[6])[2]);
  For* f = make<For>(to_end_of(n, orelse.empty() ? body : orelse));
  f->target = target;
  f->iter = iter;
  f->body = body;
  f->orelse = orelse;
  return done(f);
}

StmtNode* Builder::try_stmt(Ref n) {
  auto c = list(n);
  Stmts body = suite(c[2]), orelse, finalbody, last = body;
  SmallVec<ExceptHandler*, 4> handlers;
  for (size_t i = 3; i < c.size(); ++i) {
    auto part = list(c[i]);
    if (c[i].is(Rule::else_part)) {
      last = orelse = suite(part[2]);
      continue;
    }
    if (c[i].is(Rule::finally_part)) {
      last = finalbody = suite(part[2]);
      continue;
    }
    if (part[1].is(Tok::STAR)) refuse(grammar::Refused::except_star, span(part[0].begin(), part[1].end()));
    if (!handlers.empty() && !handlers.back()->type)
      fail(handlers.back()->span, "syntax.default_except", "default 'except:' must be last");
    ExprNode* type = part[1].is(Rule::test) ? test(part[1]) : nullptr;
    last = suite(part.back());
    ExceptHandler* h = make<ExceptHandler>(to_end_of(c[i], last));
    h->type = type;
    if (Ref as_name = child(c[i], Tok::NAME)) h->name = name(as_name);
    h->body = last;
    handlers.push_back(done(h));
  }
  Try* t = make<Try>(to_end_of(n, last));
  t->body = body;
  t->handlers = arena_.copy(handlers);
  t->orelse = orelse;
  t->finalbody = finalbody;
  return done(t);
}

StmtNode* Builder::with_stmt(Ref n) {
  SmallVec<WithItem*, 4> items;
  no_double_comma(n);
  Ref block;
  for (Ref c : children(n)) {
    if (c.is(Rule::suite)) block = c;
    if (!c.is(Rule::with_item)) continue;
    auto part = list(c);
    WithItem* w = make<WithItem>(c.span());
    w->context_expr = test(part[0]);
    if (part.size() == 3) {
      auto target = list(part[2]);
      w->optional_vars = operation(target.back());
      if (target.size() == 2) invalid(part[2]);
      assign_to(w->optional_vars, TargetKind::assign);
    }
    items.push_back(done(w));
  }
  // `with (a, b):` holds two items, not a tuple, unless an element is starred or named.
  Tuple* tuple = items.size() == 1 && !items[0]->optional_vars ? dyn<Tuple>(items[0]->context_expr) : nullptr;
  bool plain = tuple && !tuple->elts.empty() && std::none_of(tuple->elts.begin(), tuple->elts.end(), [](ExprNode* e) {
                 return is<Starred>(e) || is<NamedExpr>(e);
               });
  if (plain) {
    items.clear();
    for (ExprNode* e : tuple->elts) {
      WithItem* w = make<WithItem>(e->span);
      w->context_expr = e;
      items.push_back(done(w));
    }
  }
  Stmts body = suite(block);
  With* w = make<With>(to_end_of(n, body));
  w->items = arena_.copy(items);
  w->body = body;
  return done(w);
}

}  // namespace ouro::frontend
