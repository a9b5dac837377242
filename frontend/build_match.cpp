// The match statement and its patterns (PEP 634), with the checks of binding that CPython's
// compiler makes.
#include <algorithm>

#include "frontend/builder.h"

namespace ouro::frontend {

using namespace ast;

namespace {

using NameVec = SmallVec<Symbol, 8>;

struct PatternFault {
  Span where;
  std::string text;
};

// Names a pattern binds, in order; throws at a second binding.
void bound_names(const PatternNode* p, NameVec& out) {
  auto bind = [&](Symbol s) {
    if (!s) return;
    if (std::find(out.begin(), out.end(), s) != out.end())
      throw PatternFault{p->span, "multiple assignments to name '" + s.str() + "' in pattern"};
    out.push_back(s);
  };
  auto all = [&](Seq<PatternNode> list) {
    for (const PatternNode* x : list) bound_names(x, out);
  };
  switch (p->kind) {
    case Kind::MatchSequence:
      return all(as<MatchSequence>(p).patterns);
    case Kind::MatchMapping:
      return all(as<MatchMapping>(p).patterns), bind(as<MatchMapping>(p).rest);
    case Kind::MatchClass:
      return all(as<MatchClass>(p).patterns), all(as<MatchClass>(p).kwd_patterns);
    case Kind::MatchStar:
      return bind(as<MatchStar>(p).name);
    case Kind::MatchAs:
      if (as<MatchAs>(p).pattern) bound_names(as<MatchAs>(p).pattern, out);
      return bind(as<MatchAs>(p).name);
    case Kind::MatchOr: {
      NameVec first;
      for (const PatternNode* x : as<MatchOr>(p).patterns) {
        NameVec names;
        bound_names(x, names);
        std::sort(names.begin(), names.end());
        if (x == as<MatchOr>(p).patterns[0]) first = names;
        if (!(names == first)) throw PatternFault{p->span, "alternative patterns bind different names"};
      }
      for (Symbol s : first) bind(s);
      return;
    }
    default:
      return;
  }
}

// A capture or wildcard always matches: right only in the last case, or with a guard.
void check_reachable(const PatternNode* p, bool last) {
  if (const MatchOr* alternatives = dyn<MatchOr>(p)) {
    for (const PatternNode* x : alternatives->patterns) check_reachable(x, last && x == alternatives->patterns.back());
    return;
  }
  const MatchAs* a = dyn<MatchAs>(p);
  if (!a || last) return;
  if (a->pattern) return check_reachable(a->pattern, last);
  if (a->name) throw PatternFault{a->span, "name capture '" + a->name.str() + "' makes remaining patterns unreachable"};
  throw PatternFault{a->span, "wildcard makes remaining patterns unreachable"};
}

}  // namespace

StmtNode* Builder::match_stmt(Ref n) {
  auto c = list(n);
  ExprNode* subject = star_list(c[1]);
  if (subject->kind == Kind::Starred) invalid(c[2]);
  SmallVec<MatchCase*, 4> cases;
  for (Ref block : c) {
    if (!block.is(Rule::case_block)) continue;
    auto part = list(block);
    MatchCase* m = make<MatchCase>(block.span());
    m->pattern = pattern_list(part[1], false, part[1].span());
    if (part.size() > 4) m->guard = named_test(part[3]);
    m->body = suite(part.back());
    m->span.end = m->body.back()->span.end;
    cases.push_back(done(m));
  }
  try {
    for (MatchCase* m : cases) {
      check_reachable(m->pattern, m == cases.back() || m->guard);
      NameVec names;
      bound_names(m->pattern, names);
    }
  } catch (PatternFault& f) {
    fail(f.where, "syntax.pattern", std::move(f.text));
  }
  Match* m = make<Match>(span(n.begin(), cases.back()->body.back()->span.end));
  m->subject = subject;
  m->cases = arena_.copy(cases);
  return done(m);
}

PatternNode* Builder::pattern_list(Ref n, bool always_sequence, Span where) {
  no_double_comma(n);
  auto c = list(n);
  SmallVec<PatternNode*, 8> parts;
  int stars = 0;
  for (Ref item : c) {
    if (item.is_token()) continue;
    parts.push_back(pattern_item(item));
    if (is<MatchStar>(parts.back()) && ++stars == 2)
      fail(where, "syntax.pattern", "multiple starred names in sequence pattern");
  }
  if (c.size() == 1 && !always_sequence) {
    if (stars) invalid(c[0]);
    return parts[0];
  }
  MatchSequence* s = make<MatchSequence>(where);
  s->patterns = arena_.copy(parts);
  return done(s);
}

PatternNode* Builder::pattern_item(Ref n) {
  auto c = list(n);
  if (c.size() == 1) return pattern(c[0]);
  MatchStar* s = make<MatchStar>(n.span());
  if (text(c[1]) != "_") s->name = name(c[1]);
  return done(s);
}

PatternNode* Builder::pattern(Ref n) {
  auto c = list(n);
  SmallVec<PatternNode*, 4> alternatives;
  for (Ref p : children(c[0]))
    if (!p.is_token()) alternatives.push_back(closed_pattern(p));
  PatternNode* p = alternatives[0];
  if (alternatives.size() > 1) {
    MatchOr* o = make<MatchOr>(c[0].span());
    o->patterns = arena_.copy(alternatives);
    p = done(o);
  }
  if (c.size() == 1) return p;
  Ref target = innermost(c[2]);
  const grammar::Token* first = &c[2].token();
  if (!target.is(Tok::NAME) && first->kind == Tok::NAME)
    fail(span(first[1].begin, first[1].end), "syntax.invalid", "invalid syntax");
  if (!target.is(Tok::NAME)) fail(c[2].span(), "syntax.pattern", "invalid pattern target");
  if (text(target) == "_") fail(target.span(), "syntax.pattern", "cannot use '_' as a target");
  MatchAs* a = make<MatchAs>(n.span());
  a->pattern = p;
  a->name = name(target);
  return done(a);
}

PatternNode* Builder::closed_pattern(Ref n) {
  auto c = list(n);
  auto value = [&](ExprNode* e) {
    MatchValue* v = make<MatchValue>(n.span());
    v->value = e;
    return done(v);
  };
  auto singleton = [&](ConstantKind k) {
    MatchSingleton* s = make<MatchSingleton>(n.span());
    s->value = k;
    return done(s);
  };
  switch (c[0].tok()) {
    case Tok::NONE:
      return singleton(ConstantKind::None);
    case Tok::TRUE:
      return singleton(ConstantKind::True);
    case Tok::FALSE:
      return singleton(ConstantKind::False);
    case Tok::LPAR:
      if (c.size() == 2) return done(make<MatchSequence>(n.span()));
      return pattern_list(c[1], false, n.span());
    case Tok::LSQB:
      if (c.size() == 2) return done(make<MatchSequence>(n.span()));
      return pattern_list(c[1], true, n.span());
    case Tok::LBRACE:
      return mapping_pattern(n);
    case Tok::STRING: {
      ExprNode* e = strings(c[0], static_cast<uint32_t>(c.size()));
      if (is<JoinedStr>(e)) fail(e->span, "syntax.pattern", "patterns may only match literals and attribute lookups");
      return value(e);
    }
    case Tok::NUMBER:
    case Tok::MINUS: {
      bool minus = c[0].is(Tok::MINUS);
      ExprNode* e = number(c[minus ? 1 : 0]);
      if (minus) {
        UnaryOp* u = make<UnaryOp>(span(n.begin(), e->span.end));
        u->op = UnaryOperator::USub;
        u->operand = e;
        e = done(u);
      }
      if (c.size() > (minus ? 2u : 1u)) {
        number(c.back());  // an imaginary number is refused here
        fail(c.back().span(), "syntax.pattern", "imaginary number required in complex literal");
      }
      return value(e);
    }
    default:
      break;
  }
  if (c.size() == 1) {
    MatchAs* a = make<MatchAs>(n.span());
    if (text(c[0]) != "_") a->name = name(c[0]);
    return done(a);
  }
  Name* base = make<Name>(c[0].span());
  base->id = name(c[0]);
  ExprNode* e = done(base);
  size_t i = 1;
  for (; i < c.size() && c[i].is(Tok::DOT); i += 2) {
    Attribute* a = make<Attribute>(span(n.begin(), c[i + 1].end()));
    a->value = e;
    a->attr = name(c[i + 1]);
    e = done(a);
  }
  if (i == c.size()) return value(e);
  return class_pattern(n, e, child(n, Rule::pattern_args));
}

PatternNode* Builder::class_pattern(Ref n, ExprNode* cls, Ref args) {
  MatchClass* m = make<MatchClass>(n.span());
  m->cls = cls;
  SmallVec<PatternNode*, 8> patterns, kwd_patterns;
  NameVec attrs;
  if (args) no_double_comma(args);
  for (Ref arg : args ? list(args) : SmallVec<Ref, 8>()) {
    if (arg.is_token()) continue;
    auto c = list(arg);
    if (c.size() == 1) {
      patterns.push_back(pattern(c[0]));
      if (!attrs.empty()) fail(patterns.back()->span, "syntax.pattern", "positional patterns follow keyword patterns");
      continue;
    }
    Ref key = innermost(c[0]);
    if (!key.is(Tok::NAME)) invalid(c[1]);
    Symbol attr = name(key);
    kwd_patterns.push_back(pattern(c[2]));
    if (std::find(attrs.begin(), attrs.end(), attr) != attrs.end())
      fail(kwd_patterns.back()->span, "syntax.pattern", "attribute name repeated in class pattern: " + attr.str());
    attrs.push_back(attr);
  }
  m->patterns = arena_.copy(patterns);
  m->kwd_attrs = arena_.copy(attrs);
  m->kwd_patterns = arena_.copy(kwd_patterns);
  return done(m);
}

// Literals that are equal as keys: 1 and True are, names are not compared.
static bool equal_keys(const ExprNode* a, const ExprNode* b) {
  auto *x = dyn<Constant>(a), *y = dyn<Constant>(b);
  if (!x || !y) return false;
  auto integer = [](const Constant& c, int64_t& out) {
    out = c.value_kind == ConstantKind::Int ? c.int_value : c.value_kind == ConstantKind::True;
    return c.value_kind == ConstantKind::Int || c.value_kind == ConstantKind::True ||
           c.value_kind == ConstantKind::False;
  };
  int64_t i, k;
  if (integer(*x, i) && integer(*y, k)) return i == k;
  if (x->value_kind != y->value_kind) return false;
  if (x->value_kind == ConstantKind::Float) return x->float_value == y->float_value;
  return x->text == y->text;
}

PatternNode* Builder::mapping_pattern(Ref n) {
  no_double_comma(n);
  MatchMapping* m = make<MatchMapping>(n.span());
  ExprVec keys;
  SmallVec<PatternNode*, 8> patterns;
  for (Ref entry : children(n)) {
    if (entry.is_token()) continue;
    auto c = list(entry);
    const grammar::Token& first = entry.token();
    if (m->rest) fail(span(first.begin, first.end), "syntax.invalid", "invalid syntax");
    if (c[0].is(Tok::DOUBLESTAR)) {
      if (text(c[1]) == "_") invalid(c[1]);
      m->rest = name(c[1]);
      continue;
    }
    PatternNode* key = closed_pattern(c[0]);
    if (MatchValue* v = dyn<MatchValue>(key)) {
      keys.push_back(v->value);
    } else if (MatchSingleton* s = dyn<MatchSingleton>(key)) {
      Constant* k = make<Constant>(key->span);
      k->value_kind = s->value;
      keys.push_back(done(k));
    } else {
      invalid(c[1]);
    }
    for (size_t i = 0; i + 1 < keys.size(); ++i)
      if (equal_keys(keys[i], keys.back())) {
        std::string shown(text(c[0]));
        if (shown.find('"', 1) == shown.size() - 1 && shown.find('\'') == shown.npos)
          shown.front() = shown.back() = '\'';
        fail(n.span(), "syntax.pattern", "mapping pattern checks duplicate key (" + shown + ")");
      }
    patterns.push_back(pattern(c[2]));
  }
  m->keys = arena_.copy(keys);
  m->patterns = arena_.copy(patterns);
  return done(m);
}

}  // namespace ouro::frontend
