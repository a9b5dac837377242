// What stands in brackets: tuples, lists, sets, dicts, and their comprehensions.
#include "frontend/builder.h"

namespace ouro::frontend {

using namespace ast;

Seq<Comprehension> Builder::comp_fors(Ref parent) {
  SmallVec<Comprehension*, 4> out;
  for (Ref c : children(parent))
    if (c.is(Rule::comp_for)) out.push_back(comp_for(c));
  return arena_.copy(out);
}

Comprehension* Builder::comp_for(Ref n) {
  auto c = list(n);
  if (c[0].is(Tok::ASYNC)) refuse(grammar::Refused::async_comprehension, c[0].span());
  Comprehension* g = make<Comprehension>(n.span());
  g->target = target_list(c[1]);
  g->iter = operation(c[3]);
  ExprVec ifs;
  for (size_t i = 5; i < c.size(); i += 2) ifs.push_back(operation(c[i]));
  g->ifs = arena_.copy(ifs);
  return done(g);
}

ExprNode* Builder::paren(Ref n) {
  auto c = list(n);
  if (c.size() == 2) return done(make<Tuple>(n.span()));
  return group(n, n.span());
}

// What stands in parentheses, or in the braces of an f-string, which CPython reads as parentheses;
// `where` is their span.
ExprNode* Builder::group(Ref n, Span where) {
  SmallVec<Ref, 8> c;
  for (Ref r : children(n))
    if (!r.is(Tok::LPAR) && !r.is(Tok::RPAR)) c.push_back(r);
  if (c[0].is(Rule::yield_expr)) return yield_expr(c[0]);
  no_double_comma(n);
  ExprNode* first = star_item(c[0]);
  if (c.size() == 1) {
    if (first->kind == Kind::Starred) fail(first->span, "syntax.star_group", "cannot use starred expression here");
    return first;
  }
  if (c[1].is(Rule::comp_for)) {
    if (first->kind == Kind::Starred)
      fail(first->span, "syntax.star_comprehension", "iterable unpacking cannot be used in comprehension");
    GeneratorExp* g = make<GeneratorExp>(where);
    g->elt = first;
    g->generators = comp_fors(n);
    return done(g);
  }
  ExprVec elts{first};
  for (size_t i = 1; i < c.size(); ++i)
    if (c[i].is(Rule::named_item)) elts.push_back(star_item(c[i]));
  Tuple* t = make<Tuple>(where);
  t->elts = arena_.copy(elts);
  return done(t);
}

ExprNode* Builder::bracket(Ref n) {
  no_double_comma(n);
  auto c = list(n);
  if (c.size() > 3 && c[2].is(Rule::comp_for)) {
    ListComp* l = make<ListComp>(n.span());
    l->elt = star_item(c[1]);
    if (l->elt->kind == Kind::Starred)
      fail(l->elt->span, "syntax.star_comprehension", "iterable unpacking cannot be used in comprehension");
    l->generators = comp_fors(n);
    return done(l);
  }
  ExprVec elts;
  for (Ref r : c)
    if (r.is(Rule::named_item)) elts.push_back(star_item(r));
  List* l = make<List>(n.span());
  l->elts = arena_.copy(elts);
  return done(l);
}

namespace {

enum class BraceItem : uint8_t { element, pair, unpack };

BraceItem kind_of(const SmallVec<Ref, 8>& item) {
  if (item[0].is(Tok::DOUBLESTAR)) return BraceItem::unpack;
  return item.size() == 3 && item[1].is(Tok::COLON) ? BraceItem::pair : BraceItem::element;
}

}  // namespace

ExprNode* Builder::brace(Ref n) {
  no_double_comma(n);
  auto c = list(n);
  if (c.size() == 2) return done(make<Dict>(n.span()));
  auto first = list(c[1]);
  BraceItem kind = kind_of(first);
  bool comprehension = c[2].is(Rule::comp_for);
  if (comprehension && kind == BraceItem::unpack)
    fail(first[0].span(), "syntax.dict_unpack_comprehension", "dict unpacking cannot be used in dict comprehension");
  if (comprehension && kind == BraceItem::pair) {
    DictComp* d = make<DictComp>(n.span());
    d->key = test(first[0]);
    d->value = test(first[2]);
    d->generators = comp_fors(n);
    return done(d);
  }
  if (comprehension) {
    SetComp* s = make<SetComp>(n.span());
    s->elt = star_item(c[1]);
    if (s->elt->kind == Kind::Starred)
      fail(s->elt->span, "syntax.star_comprehension", "iterable unpacking cannot be used in comprehension");
    s->generators = comp_fors(n);
    return done(s);
  }
  ExprVec keys, values;
  for (Ref r : c) {
    if (!r.is(Rule::brace_item)) continue;
    auto item = list(r);
    BraceItem k = kind_of(item);
    if ((k == BraceItem::element) != (kind == BraceItem::element)) {
      if (kind == BraceItem::element) invalid(k == BraceItem::pair ? item[1] : item[0]);
      if (item[0].is(Tok::STAR)) invalid(item[0]);
      fail(span(item[0].end() - 1, item[0].end()), "syntax.dict_pair", "':' expected after dictionary key");
    }
    if (k == BraceItem::element) {
      values.push_back(star_item(r));
      continue;
    }
    keys.push_back(k == BraceItem::pair ? test(item[0]) : nullptr);
    values.push_back(k == BraceItem::pair ? test(item[2]) : operation(item[1]));
  }
  if (kind == BraceItem::element) {
    Set* s = make<Set>(n.span());
    s->elts = arena_.copy(values);
    return done(s);
  }
  Dict* d = make<Dict>(n.span());
  d->keys = arena_.copy(keys);
  d->values = arena_.copy(values);
  return done(d);
}

}  // namespace ouro::frontend
