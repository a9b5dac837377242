// Statements: assignments, branches, loops, raise, imports.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

void Lowerer::statement(const StmtNode& s) {
  if (!b_.reachable()) return;
  switch (s.kind) {
    case Kind::Expr:
      if (displays_) {
        Atom value = expr(as<Expr>(&s).value);
        Atom display = builtin(s.span, "display");
        b_.call(display, {value});
      } else if (!is<Constant>(as<Expr>(&s).value)) {
        expr(as<Expr>(&s).value);
      }
      return;
    case Kind::Assign:
      return assign_statement(as<Assign>(&s));
    case Kind::AugAssign:
      return aug_assign(as<AugAssign>(&s));
    case Kind::AnnAssign:
      return ann_assign(as<AnnAssign>(&s));
    case Kind::If:
      return if_(as<If>(&s));
    case Kind::While:
      return while_(as<While>(&s));
    case Kind::For:
      return for_(as<For>(&s));
    case Kind::Return: {
      auto& r = as<Return>(&s);
      Atom value = expr_or_none(r.value);
      b_.set_span(s.span);
      return leave({ExitKind::return_, nullptr}, value);
    }
    case Kind::Break:
    case Kind::Continue: {
      Frame* loop = nullptr;
      for (Frame* f : frames_)
        if (f->kind == Frame::Kind::loop) loop = f;
      b_.set_span(s.span);
      return leave({s.kind == Kind::Break ? ExitKind::break_ : ExitKind::continue_, loop}, b_.none());
    }
    case Kind::Raise:
      return raise(as<Raise>(&s));
    case Kind::Try:
      return try_(as<Try>(&s));
    case Kind::With:
      return with(as<With>(&s), 0);
    case Kind::Match:
      return match(as<Match>(&s));
    case Kind::Assert:
      return assert_(as<Assert>(&s));
    case Kind::Delete:
      for (const ExprNode* t : as<Delete>(&s).targets) delete_target(t);
      return;
    case Kind::FunctionDef:
      return function_def(as<FunctionDef>(&s));
    case Kind::ClassDef:
      return class_def(as<ClassDef>(&s));
    case Kind::Import:
      return import(as<Import>(&s));
    case Kind::ImportFrom:
      return import_from(as<ImportFrom>(&s));
    default:
      return;  // pass, global, nonlocal
  }
}

static Exprs display_of(const ExprNode* e) {
  if (auto* t = dyn<Tuple>(e)) return t->elts;
  if (auto* l = dyn<List>(e)) return l->elts;
  return {};
}

static bool has_star(Exprs elts) {
  for (const ExprNode* e : elts)
    if (is<Starred>(e)) return true;
  return false;
}

void Lowerer::assign_statement(const Assign& s) {
  Exprs to = display_of(s.targets[0]), from = display_of(s.value);
  if (s.targets.size() == 1 && to.size() == from.size() && !to.empty() && !has_star(to) && !has_star(from)) {
    Atoms values;  // `a, b = b, a` makes no tuple
    for (const ExprNode* e : from) values.push_back(expr(e));
    for (size_t i = 0; i < to.size(); ++i) store(to[i], values[i]);
    return;
  }
  Atom value = expr(s.value);
  for (const ExprNode* t : s.targets) store(t, value);
}

void Lowerer::ann_assign(const AnnAssign& s) {
  bool kept = !scope_.is_function_like();  // annotations of locals are not evaluated
  if (s.value) store(s.target, expr(s.value));
  if (is<Name>(s.target)) {
    if (!s.simple || !kept) return;
    Atom value = annotation(s.annotation);
    static const Symbol annotations = intern("__annotations__");
    Atom dict = load(annotations, s.span);
    let(s.span, prim::item_set, {dict, b_.string(mangled(as<Name>(s.target).id).text()), value});
    return;
  }
  if (!s.value) {
    if (auto* a = dyn<Attribute>(s.target)) {
      expr(a->value);
    } else {
      expr(as<Subscript>(s.target).value);
      expr(as<Subscript>(s.target).slice);
    }
  }
  if (kept && !names_.future_annotations) expr(s.annotation);
}

void Lowerer::if_(const If& first) {
  BlockId after = b_.new_block();
  Assigned at_end;
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
  const If* s = &first;
  while (true) {  // an elif chain is a loop here
    BlockId yes = b_.new_block(), no = b_.new_block();
    Outcome o = condition(s->test, yes, no);
    start(yes);
    assigned_ = o.if_true;
    statements(s->body);
    ends();
    start(no);
    assigned_ = o.if_false;
    auto* next = s->orelse.size() == 1 ? dyn<If>(s->orelse[0]) : nullptr;
    if (!next || !b_.reachable()) break;
    s = next;
  }
  statements(s->orelse);
  ends();
  start(after);
  if (any) assigned_ = at_end;
}

// `while True: pass` has nothing that an exception from outside (Ctrl-C) could be raised at.
static bool does_nothing(const While& s, bool displays) {
  if (!is<Constant>(s.test)) return false;
  for (const StmtNode* inner : s.body) {
    const bool constant = !displays && inner->kind == Kind::Expr && is<Constant>(as<Expr>(inner).value);
    if (inner->kind != Kind::Pass && inner->kind != Kind::Continue && !constant) return false;
  }
  return true;
}

void Lowerer::while_(const While& s) {
  BlockId head = b_.new_block(), body = b_.new_block(), done = b_.new_block(), after = b_.new_block();
  Frame loop{.kind = Frame::Kind::loop, .handlers = b_.handler_depth(), .on_break = after, .on_continue = head};
  b_.set_span(s.span);
  b_.jump(head, {});
  b_.switch_to(head);
  assigned_ = sure_anywhere();
  if (does_nothing(s, displays_) && b_.handler_depth()) let(s.test->span, prim::truth, {expr(s.test)});
  Outcome o = condition(s.test, body, done);
  start(body);
  assigned_ = o.if_true;
  frames_.push_back(&loop);
  statements(s.body);
  frames_.pop_back();
  b_.set_span(s.span);
  b_.jump(head, {});
  b_.seal(head);
  start(done);
  assigned_ = o.if_false;
  statements(s.orelse);
  if (b_.reachable()) loop.at_breaks.push_back(assigned_);
  b_.jump(after, {});
  start(after);
  if (!loop.at_breaks.empty()) assigned_ = loop.at_breaks[0];
  for (const Assigned& a : loop.at_breaks) assigned_.meet(a);
}

void Lowerer::for_(const For& s) {
  BlockId head = b_.new_block(), body = b_.new_block(), done = b_.new_block(), after = b_.new_block();
  Frame loop{.kind = Frame::Kind::loop, .handlers = b_.handler_depth(), .on_break = after, .on_continue = head};
  Atom iterable = read_only(s.iter);
  Atom iterator = let(s.span, prim::iter, {iterable});
  b_.jump(head, {});
  b_.switch_to(head);
  Assigned before = assigned_ = sure_anywhere();
  Atom item = let(s.span, prim::iter_next, {iterator});
  Atom over = let(s.span, prim::is_end, {item});
  b_.branch(over, done, body);
  start(body);
  store(s.target, item);
  frames_.push_back(&loop);
  statements(s.body);
  frames_.pop_back();
  b_.set_span(s.span);
  b_.jump(head, {});
  b_.seal(head);
  start(done);
  assigned_ = before;
  statements(s.orelse);
  if (b_.reachable()) loop.at_breaks.push_back(assigned_);
  b_.jump(after, {});
  start(after);
  if (!loop.at_breaks.empty()) assigned_ = loop.at_breaks[0];
  for (const Assigned& a : loop.at_breaks) assigned_.meet(a);
}

void Lowerer::raise(const Raise& s) {
  if (!s.exc) {
    b_.set_span(s.span);
    return b_.raise();
  }
  Atom exception = expr(s.exc);
  Atom cause = s.cause ? expr(s.cause) : Atom();
  b_.set_span(s.span);
  b_.raise(exception, cause);
}

// The place of a failed assertion is that of the last comparison which its condition jumps on, else
// the statement.
static Span place_of_test(const ExprNode* e, Span place) {
  if (is<Compare>(e)) return e->span;
  if (auto* u = dyn<UnaryOp>(e); u && u->op == UnaryOperator::Not) return place_of_test(u->operand, place);
  if (auto* b = dyn<BoolOp>(e))
    for (const ExprNode* v : b->values) place = place_of_test(v, place);
  if (auto* i = dyn<IfExp>(e))
    for (const ExprNode* v : {i->test, i->body, i->orelse}) place = place_of_test(v, place);
  return place;
}

void Lowerer::assert_(const Assert& s) {
  const Span place = place_of_test(s.test, s.span);
  BlockId good = b_.new_block(), bad = b_.new_block();
  Outcome o = condition(s.test, good, bad);
  start(bad);
  assigned_ = o.if_false;
  Atom error = builtin(place, "AssertionError");
  if (s.msg) {
    Atom message = expr(s.msg);
    b_.set_span(place);
    error = b_.call(error, {message});
  }
  b_.set_span(place);
  b_.raise(error);
  start(good);
  assigned_ = o.if_true;
}

void Lowerer::import(const Import& s) {
  for (const Alias* a : s.names) {
    if (a->asname) {
      Atom m = let(s.span, prim::import_as, {}, a->name);
      assign(mangled(a->asname), m, s.span);
      continue;
    }
    std::string_view name = a->name.text();
    Atom top = let(s.span, prim::import, {}, a->name);
    assign(mangled(intern(name.substr(0, name.find('.')))), top, s.span);
  }
}

void Lowerer::import_from(const ImportFrom& s) {
  static const Symbol star = intern("*");
  std::string name(static_cast<size_t>(s.level), '.');
  if (s.module) name += s.module.text();
  Atom module = let(s.span, prim::import_as, {}, intern(name));
  for (const Alias* a : s.names) {
    if (a->name == star) {
      let(s.span, prim::import_star, {module});
      continue;
    }
    Atom value = let(s.span, prim::import_from, {module}, a->name);
    assign(mangled(a->asname ? a->asname : a->name), value, s.span);
  }
}

}  // namespace ouro::frontend
