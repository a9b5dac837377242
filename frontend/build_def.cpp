// Functions and classes; parameters and arguments with their order rules, in CPython's words.
#include <algorithm>

#include "frontend/builder.h"

namespace ouro::frontend {

using namespace ast;

namespace {

struct ParamParts {
  Ref name, annotation, default_value, equal;
};

ParamParts parts(const SmallVec<Ref, 8>& c) {
  ParamParts p;
  for (size_t i = 0; i < c.size(); ++i) {
    if (c[i].is(Tok::NAME)) p.name = c[i];
    if (c[i].is(Tok::COLON)) p.annotation = c[i + 1];
    if (c[i].is(Tok::EQUAL)) p.equal = c[i], p.default_value = c[i + 1];
  }
  return p;
}

}  // namespace

Arguments* Builder::params(Ref n) {
  Arguments* a = make<Arguments>({});
  if (!n) return a;
  no_double_comma(n);
  SmallVec<Arg*, 8> plain, posonly, kwonly;
  ExprVec defaults, kw_defaults;
  Ref star, slash;
  auto bad = [&](Ref where, const char* text) { fail(where.span(), "syntax.parameters", text); };
  auto arg = [&](const ParamParts& p) {
    Arg* x = make<Arg>(span(p.name.begin(), p.annotation ? p.annotation.end() : p.name.end()));
    x->arg = name(p.name);
    if (p.annotation) x->annotation = p.annotation.is(Rule::star_test) ? star_item(p.annotation) : test(p.annotation);
    if (x->arg == intern("__debug__")) fail(x->span, "syntax.debug", "cannot assign to __debug__");
    return done(x);
  };
  for (Ref param : children(n)) {
    if (param.is_token()) continue;
    auto c = list(param);
    ParamParts p = parts(c);
    if (a->kwarg) bad(c[0], "arguments cannot follow var-keyword argument");
    if (c[0].is(Tok::SLASH)) {
      if (slash) bad(c[0], "/ may appear only once");
      if (star) bad(c[0], "/ must be ahead of *");
      if (plain.empty()) bad(c[0], c[0].end() == n.end() ? "invalid syntax" : "at least one argument must precede /");
      slash = c[0];
      std::swap(plain, posonly);
    } else if (c[0].is(Tok::DOUBLESTAR)) {
      if (p.equal) bad(p.equal, "var-keyword argument cannot have default value");
      a->kwarg = arg(p);
    } else if (c[0].is(Tok::STAR)) {
      if (p.equal) bad(p.equal, "var-positional argument cannot have default value");
      if (star) bad(c[0], "* argument may appear only once");
      star = c[0];
      if (p.name) a->vararg = arg(p);
    } else if (star) {
      kwonly.push_back(arg(p));
      kw_defaults.push_back(p.default_value ? test(p.default_value) : nullptr);
    } else {
      plain.push_back(arg(p));
      if (p.default_value)
        defaults.push_back(test(p.default_value));
      else if (!defaults.empty())
        bad(c[0], "non-default argument follows default argument");
    }
  }
  if (star && !a->vararg && kwonly.empty()) {
    // For a lambda CPython has read on, to the colon.
    const grammar::Token& where = n.is(Rule::lambda_params) ? (&star.token())[1] : star.token();
    fail(span(where.begin, where.end), "syntax.parameters", "named arguments must follow bare *");
  }
  a->posonlyargs = arena_.copy(posonly);
  a->args = arena_.copy(plain);
  a->kwonlyargs = arena_.copy(kwonly);
  a->defaults = arena_.copy(defaults);
  a->kw_defaults = arena_.copy(kw_defaults);
  return done(a);
}

void Builder::call_args(Ref n, ExprVec& args, SmallVec<Keyword*, 4>& keywords, Ref close) {
  no_double_comma(n);
  auto items = list(n);
  SmallVec<Symbol, 8> seen;
  bool unpacked = false, named_seen = false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].is_token()) continue;
    auto c = list(items[i]);
    Ref where = items[i];
    if (c[0].is(Tok::STAR)) {
      if (unpacked)
        fail(span(n.begin(), items[i - 2].end()), "syntax.argument_order",
             "iterable argument unpacking follows keyword argument unpacking");
      Starred* s = make<Starred>(where.span());
      s->value = test(c[1]);
      args.push_back(done(s));
    } else if (c[0].is(Tok::DOUBLESTAR) || (c.size() == 3 && c[1].is(Tok::EQUAL))) {
      Keyword* k = make<Keyword>(where.span());
      if (c[0].is(Tok::DOUBLESTAR)) {
        k->value = test(c[1]);
        unpacked = true;
      } else {
        Ref key = innermost(c[0]);
        if (key.is(Tok::TRUE) || key.is(Tok::FALSE) || key.is(Tok::NONE))
          fail(span(key.begin(), c[1].end()), "syntax.keyword_target", "cannot assign to " + std::string(text(key)));
        if (!key.is(Tok::NAME))
          fail(span(c[0].begin(), c[1].end()), "syntax.keyword_target",
               "expression cannot contain assignment, perhaps you meant \"==\"?");
        k->arg = name(key);
        if (k->arg == intern("__debug__")) fail(where.span(), "syntax.debug", "cannot assign to __debug__");
        if (std::find(seen.begin(), seen.end(), k->arg) != seen.end())
          fail(where.span(), "syntax.keyword_repeated", "keyword argument repeated: " + k->arg.str());
        seen.push_back(k->arg);
        named_seen = true;
        k->value = test(c[2]);
      }
      keywords.push_back(done(k));
    } else {
      if (c.size() > 1 && c[1].is(Rule::comp_for))
        fail(where.span(), "syntax.generator_parentheses", "Generator expression must be parenthesized");
      if (unpacked)
        fail(close.span(), "syntax.argument_order", "positional argument follows keyword argument unpacking");
      if (named_seen) fail(close.span(), "syntax.argument_order", "positional argument follows keyword argument");
      args.push_back(named_test(where));
    }
  }
}

// ------------------------------------------------------------------------------------------------------

StmtNode* Builder::decorated(Ref n) {
  ExprVec decorators;
  auto c = list(n);
  for (Ref d : c)
    if (d.is(Rule::decorator)) decorators.push_back(named_test(list(d)[1]));
  Exprs all = arena_.copy(decorators);
  Ref def = c.back();
  if (def.is(Rule::async_stmt)) {
    if (!list(def)[1].is(Rule::func_def)) invalid(list(def)[1].first());
    refuse(grammar::Refused::async_def, def.first().span());
  }
  return def.is(Rule::func_def) ? func_def(def, all) : class_def(def, all);
}

StmtNode* Builder::func_def(Ref n, Exprs decorators) {
  auto c = list(n);
  Arguments* args = params(child(n, Rule::params));
  ExprNode* returns = has(n, Tok::ARROW) ? test(child(n, Rule::test)) : nullptr;
  Stmts body = suite(c.back());
  FunctionDef* f = make<FunctionDef>(to_end_of(n, body));
  f->name = name(c[1]);
  f->args = args;
  f->body = body;
  f->decorator_list = decorators;
  f->returns = returns;
  return done(f);
}

StmtNode* Builder::class_def(Ref n, Exprs decorators) {
  auto c = list(n);
  ExprVec bases;
  SmallVec<Keyword*, 4> keywords;
  Ref args = child(n, Rule::args);
  if (args)
    if (Ref generator = child(args.first(), Rule::comp_for)) invalid(generator.first());
  if (args) call_args(args, bases, keywords, child(n, Tok::RPAR));
  Stmts body = suite(c.back());
  ClassDef* d = make<ClassDef>(to_end_of(n, body));
  d->name = name(c[1]);
  d->bases = arena_.copy(bases);
  d->keywords = arena_.copy(keywords);
  d->body = body;
  d->decorator_list = decorators;
  return done(d);
}

}  // namespace ouro::frontend
