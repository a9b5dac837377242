// match: the cases in order; a pattern tests and takes apart, and jumps to `fail` when it does not
// match. Names are bound only when the whole pattern has matched, before the guard, as in CPython.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

void Lowerer::match(const Match& s) {
  Atom subject = expr(s.subject);
  BlockId after = b_.new_block();
  Assigned before = assigned_, at_end;
  bool any = false;
  auto ends = [&] {
    if (!b_.reachable()) return;
    if (any)
      at_end.meet(assigned_);
    else
      at_end = assigned_;
    any = true;
    b_.jump(after, {});
  };
  for (const MatchCase* c : s.cases) {
    BlockId fail = b_.new_block();
    Captures captures;
    pattern(*c->pattern, subject, fail, captures);
    for (auto& [name, value] : captures.names) assign(name, value, c->pattern->span);
    if (c->guard) {
      BlockId body = b_.new_block();
      Outcome o = condition(c->guard, body, fail);
      start(body);
      assigned_ = o.if_true;
    }
    statements(c->body);
    ends();
    start(fail);
    assigned_ = before;
  }
  ends();
  start(after);
  if (any) assigned_ = at_end;
}

void Lowerer::require(Span span, Atom boolean, BlockId fail) {
  BlockId next = b_.new_block();
  b_.set_span(span);
  b_.branch(boolean, next, fail);
  start(next);
}

void Lowerer::pattern(const PatternNode& p, Atom subject, BlockId fail, Captures& out) {
  switch (p.kind) {
    case Kind::MatchValue: {
      Atom value = expr(as<MatchValue>(&p).value);
      return require_truth(p.span, let(p.span, prim::eq, {subject, value}), fail);
    }
    case Kind::MatchSingleton: {
      ConstantKind k = as<MatchSingleton>(&p).value;
      Atom value = k == ConstantKind::None ? b_.none() : b_.boolean(k == ConstantKind::True);
      return require(p.span, let(p.span, prim::is, {subject, value}), fail);
    }
    case Kind::MatchSequence:
      return pattern_sequence(as<MatchSequence>(&p), subject, fail, out);
    case Kind::MatchMapping:
      return pattern_mapping(as<MatchMapping>(&p), subject, fail, out);
    case Kind::MatchClass:
      return pattern_class(as<MatchClass>(&p), subject, fail, out);
    case Kind::MatchOr:
      return pattern_or(as<MatchOr>(&p), subject, fail, out);
    case Kind::MatchAs: {
      auto& m = as<MatchAs>(&p);
      if (m.pattern) pattern(*m.pattern, subject, fail, out);
      if (m.name) out.names.push_back({mangled(m.name), subject});
      return;
    }
    case Kind::MatchStar:
      if (Symbol name = as<MatchStar>(&p).name) out.names.push_back({mangled(name), subject});
      return;
    default:
      ouro_bug("%s is no pattern", kind_name(p.kind));
  }
}

static bool is_wildcard(const PatternNode* p) {
  if (auto* s = dyn<MatchStar>(p)) return !s->name;
  auto* a = dyn<MatchAs>(p);
  return a && !a->pattern && !a->name;
}

void Lowerer::pattern_sequence(const MatchSequence& p, Atom subject, BlockId fail, Captures& out) {
  size_t n = p.patterns.size(), star = n;
  for (size_t i = 0; i < n; ++i)
    if (is<MatchStar>(p.patterns[i])) star = i;
  require(p.span, let(p.span, prim::match_sequence, {subject}), fail);
  if (star < n && n == 1 && is_wildcard(p.patterns[0])) return;  // [*_]
  Atom length = let(p.span, prim::length, {subject});
  if (star == n)
    require_truth(p.span, let(p.span, prim::eq, {length, b_.integer(static_cast<int64_t>(n))}), fail);
  else if (n > 1)
    require_truth(p.span, let(p.span, prim::ge, {length, b_.integer(static_cast<int64_t>(n - 1))}), fail);
  bool all_ignored = true;
  for (const PatternNode* q : p.patterns) all_ignored &= is_wildcard(q);
  if (all_ignored) return;
  if (star < n && is_wildcard(p.patterns[star])) {  // `first, *_, last`: only what is named is fetched
    for (size_t i = 0; i < n; ++i) {
      if (is_wildcard(p.patterns[i])) continue;
      Atom at = b_.integer(static_cast<int64_t>(i));
      if (i > star) at = let(p.span, prim::sub, {length, b_.integer(static_cast<int64_t>(n - i))});
      pattern(*p.patterns[i], let(p.patterns[i]->span, prim::item_get, {subject, at}), fail, out);
    }
    return;
  }
  NameId items = star == n ? let(p.span, prim::unpack, {subject}, static_cast<uint32_t>(n))
                           : let(p.span, prim::unpack_star, {subject}, ir::star_attr(star, n - star - 1));
  for (size_t i = 0; i < n; ++i) {
    if (is_wildcard(p.patterns[i])) continue;
    pattern(*p.patterns[i], let(p.patterns[i]->span, prim::tuple_get, {items}, static_cast<uint32_t>(i)), fail, out);
  }
}

void Lowerer::pattern_mapping(const MatchMapping& p, Atom subject, BlockId fail, Captures& out) {
  require(p.span, let(p.span, prim::match_mapping, {subject}), fail);
  size_t n = p.keys.size();
  if (n == 0 && !p.rest) return;
  Atom keys = b_.tuple_const({});
  if (n > 0) {
    Atom length = let(p.span, prim::length, {subject});
    require_truth(p.span, let(p.span, prim::ge, {length, b_.integer(static_cast<int64_t>(n))}), fail);
    if (!constant_tuple(p.keys, keys)) {
      Atoms items;
      for (const ExprNode* k : p.keys) items.push_back(expr(k));
      keys = let(p.span, prim::tuple, items);
    }
    Atom values = let(p.span, prim::match_keys, {subject, keys});
    require(p.span, let(p.span, prim::is_not, {values, b_.none()}), fail);
    for (size_t i = 0; i < n; ++i) {
      if (is_wildcard(p.patterns[i])) continue;
      pattern(*p.patterns[i], let(p.patterns[i]->span, prim::tuple_get, {values}, static_cast<uint32_t>(i)), fail, out);
    }
  }
  if (p.rest) out.names.push_back({mangled(p.rest), let(p.span, prim::match_rest, {subject, keys})});
}

void Lowerer::pattern_class(const MatchClass& p, Atom subject, BlockId fail, Captures& out) {
  Atom cls = expr(p.cls);
  Atoms names;
  for (Symbol s : p.kwd_attrs) names.push_back(b_.string(s.text()));
  Atom keywords = b_.tuple_const(view(names));
  Atom values = let(p.span, prim::match_class, {subject, cls, keywords}, static_cast<uint32_t>(p.patterns.size()));
  require(p.span, let(p.span, prim::is_not, {values, b_.none()}), fail);
  for (size_t i = 0; i < p.patterns.size() + p.kwd_patterns.size(); ++i) {
    const PatternNode* q = i < p.patterns.size() ? p.patterns[i] : p.kwd_patterns[i - p.patterns.size()];
    if (is_wildcard(q)) continue;
    pattern(*q, let(q->span, prim::tuple_get, {values}, static_cast<uint32_t>(i)), fail, out);
  }
}

// The alternatives bind the same names: they reach the join as its parameters.
void Lowerer::pattern_or(const MatchOr& p, Atom subject, BlockId fail, Captures& out) {
  BlockId join = b_.new_block();
  std::vector<Symbol> names;
  std::vector<NameId> params;
  for (size_t i = 0; i < p.patterns.size(); ++i) {
    bool last = i + 1 == p.patterns.size();
    BlockId next = last ? fail : b_.new_block();
    Captures here;
    pattern(*p.patterns[i], subject, next, here);
    if (i == 0) {
      for (auto& [name, value] : here.names) {
        names.push_back(name);
        params.push_back(b_.block_param(join, name));
      }
    }
    Atoms args;
    for (Symbol n : names)
      for (auto& [name, value] : here.names)
        if (name == n) args.push_back(value);
    b_.jump(join, view(args));
    if (!last) start(next);
  }
  start(join);
  for (size_t i = 0; i < names.size(); ++i) out.names.push_back({names[i], params[i]});
}

}  // namespace ouro::frontend
