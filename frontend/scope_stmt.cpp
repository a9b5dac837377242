// The walk over statements, in the order of evaluation.
#include "frontend/ast_walk.h"
#include "frontend/scope_collector.h"

namespace ouro::frontend {

void Collector::module(const Module& m) {
  for (const StmtNode* s : m.body)
    if (auto* f = dyn<ImportFrom>(s); f && f->module == names().future)
      for (const Alias* a : f->names) res_.future_annotations |= a->name == names().annotations;
  enter(Scope::Kind::module, names().module, &m);
  statements(m.body);
  leave();
}

void Collector::plain_annotation(const Node* n) {
  const char* what = n->kind == Kind::NamedExpr                             ? "named"
                     : n->kind == Kind::Yield || n->kind == Kind::YieldFrom ? "yield"
                                                                            : nullptr;
  if (what) fail(n->span, std::string("'") + what + " expression' can not be used within an annotation");
  if (n->kind != Kind::Lambda) for_each_child(n, [this](const Node* c) { plain_annotation(c); });
}

void Collector::annotation(const ExprNode* e) {
  if (!e) return;
  if (!res_.future_annotations) return expression(e);
  plain_annotation(e);  // kept as text
}

// What a def or lambda evaluates outside: defaults, then annotations.
void Collector::arguments_outside(const Arguments& a) {
  expressions(a.defaults);
  expressions(a.kw_defaults);
  auto annotations = [&](Seq<Arg> list) {
    for (const Arg* p : list) annotation(p->annotation);
  };
  annotations(a.posonlyargs);
  annotations(a.args);
  if (a.vararg) annotation(a.vararg->annotation);
  annotations(a.kwonlyargs);
  if (a.kwarg) annotation(a.kwarg->annotation);
}

void Collector::parameters(const Arguments& a) {
  auto param = [&](const Arg* p) {
    if (!p) return;
    check_assignable(p->arg, p->span);
    Symbol name = mangled(p->arg);
    if (Variable* v = cur_->find(name); v && v->has(Variable::kParam))
      fail(p->span, quoted("duplicate argument ", name, " in function definition"));
    Variable& v = define_in(*cur_, name, Variable::kParam, p->span);
    v.bindings.push_back({0, 0});
  };
  for (const Arg* p : a.posonlyargs) param(p);
  for (const Arg* p : a.args) param(p);
  param(a.vararg);
  for (const Arg* p : a.kwonlyargs) param(p);
  param(a.kwarg);
}

void Collector::function_def(const FunctionDef& s) {
  define(s.name, 0, s.span);
  expressions(s.decorator_list);
  arguments_outside(*s.args);
  annotation(s.returns);
  enter(Scope::Kind::function, s.name, &s);
  parameters(*s.args);
  statements(s.body);
  leave();
  bind(s.name, s.span);
}

void Collector::class_def(const ClassDef& s) {
  define(s.name, 0, s.span);
  expressions(s.decorator_list);
  expressions(s.bases);
  for (const Keyword* k : s.keywords) expression(k->value);
  Scope& c = enter(Scope::Kind::class_, s.name, &s);
  c.private_class = s.name;
  statements(s.body);
  leave();
  bind(s.name, s.span);
}

void Collector::ann_assign(const AnnAssign& s) {
  if (s.value) expression(s.value);
  if (auto* n = dyn<Name>(s.target)) {
    Symbol name = mangled(n->id);
    if (Variable* v = cur_->find(name);
        v && s.simple && v->has(Variable::kGlobal | Variable::kNonlocal) && cur_->kind != Scope::Kind::module)
      fail(s.span, quoted("annotated name ", name, " can't be ") + (v->has(Variable::kGlobal) ? "global" : "nonlocal"));
    if (s.simple) define(n->id, Variable::kAnnot | Variable::kLocal, s.target->span);
    if (s.value) bind(n->id, s.target->span);
    if (s.simple && !cur_->is_function_like()) {
      cur_->has_annotations = true;
      define(intern("__annotations__"), Variable::kLocal, s.span);
    }
  } else {
    expression(s.target);
  }
  annotation(s.annotation);
}

void Collector::loop_body(const StmtNode& loop, Stmts body) {
  Block block(*this, loop.span);
  if (block.too_deep()) return;
  ++loops_;
  statements(body);
  --loops_;
}

void Collector::with_item(const With& s, size_t i) {
  if (i == s.items.size()) return statements(s.body);
  expression(s.items[i]->context_expr);
  Region r(*this);
  Block block(*this, s.span);
  if (block.too_deep()) return;
  if (s.items[i]->optional_vars) expression(s.items[i]->optional_vars);
  with_item(s, i + 1);
}

void Collector::try_(const Try& s) {
  {
    Block whole(*this, s.span, s.finalbody.empty() ? 0 : 1);
    if (!whole.too_deep()) try_except(s);
  }
  Block last(*this, s.span, s.finalbody.empty() ? 0 : 1);
  if (!last.too_deep()) statements(s.finalbody);
}

void Collector::try_except(const Try& s) {
  {
    Region r(*this);
    {
      Block body(*this, s.span, s.handlers.empty() ? 0 : 1);
      if (!body.too_deep()) statements(s.body);
    }
    if (!s.orelse.empty()) {
      Region e(*this);
      statements(s.orelse);
    }
  }
  for (const ExceptHandler* h : s.handlers) {
    Region r(*this);
    Block handler(*this, h->span, 2);  // the exception that is handled, and its name
    if (handler.too_deep()) return;
    if (h->type) expression(h->type);
    if (h->name) bind(h->name, h->span, Variable::kDeleted);
    statements(h->body);
  }
}

void Collector::import(const Import& s) {
  for (const Alias* a : s.names) {
    if (a->asname) {
      bind(a->asname, a->span, Variable::kImport);
      continue;
    }
    std::string_view n = a->name.text();
    bind(intern(n.substr(0, n.find('.'))), a->span, Variable::kImport);
  }
}

void Collector::import_from(const ImportFrom& s) {
  for (const Alias* a : s.names) {
    if (a->name == names().star) {
      if (cur_->kind != Scope::Kind::module) fail(a->span, "import * only allowed at module level");
      continue;
    }
    bind(a->asname ? a->asname : a->name, a->span, Variable::kImport);
  }
}

void Collector::statement(const StmtNode& s) {
  switch (s.kind) {
    case Kind::FunctionDef:
      return function_def(as<FunctionDef>(&s));
    case Kind::ClassDef:
      return class_def(as<ClassDef>(&s));
    case Kind::Return: {
      auto& r = as<Return>(&s);
      if (!cur_->is_function_like()) fail_late(s.span, "'return' outside function");
      if (r.value) expression(r.value);
      return;
    }
    case Kind::Delete:
      return expressions(as<Delete>(&s).targets);
    case Kind::Assign: {
      auto& a = as<Assign>(&s);
      expression(a.value);
      return expressions(a.targets);
    }
    case Kind::AugAssign: {
      auto& a = as<AugAssign>(&s);
      if (auto* n = dyn<Name>(a.target)) {
        use(*n);
        expression(a.value);
        return bind(n->id, n->span);
      }
      expression(a.target);
      return expression(a.value);
    }
    case Kind::AnnAssign:
      return ann_assign(as<AnnAssign>(&s));
    case Kind::For: {
      auto& f = as<For>(&s);
      looked_into(f.iter);
      {
        Region r(*this);
        ++loops_;
        expression(f.target);
        --loops_;
        loop_body(s, f.body);
      }
      Region r(*this);
      return statements(f.orelse);
    }
    case Kind::While: {
      auto& w = as<While>(&s);
      ++loops_;  // what the test binds, it binds again
      expression(w.test);
      --loops_;
      {
        Region r(*this);
        loop_body(s, w.body);
      }
      Region r(*this);
      return statements(w.orelse);
    }
    case Kind::If: {
      auto& i = as<If>(&s);
      expression(i.test);
      {
        Region r(*this);
        statements(i.body);
      }
      Region r(*this);
      return statements(i.orelse);
    }
    case Kind::With:
      return with_item(as<With>(&s), 0);
    case Kind::Match: {
      auto& m = as<Match>(&s);
      expression(m.subject);
      for (const MatchCase* c : m.cases) {
        Region r(*this);
        pattern(*c->pattern);
        if (c->guard) expression(c->guard);
        statements(c->body);
      }
      return;
    }
    case Kind::Raise: {
      auto& r = as<Raise>(&s);
      if (r.exc) expression(r.exc);
      if (r.cause) expression(r.cause);
      return;
    }
    case Kind::Try:
      return try_(as<Try>(&s));
    case Kind::Assert: {
      auto& a = as<Assert>(&s);
      expression(a.test);
      Region r(*this);
      if (a.msg) expression(a.msg);
      return;
    }
    case Kind::Import:
      return import(as<Import>(&s));
    case Kind::ImportFrom:
      return import_from(as<ImportFrom>(&s));
    case Kind::Global:
      return declare(s, as<Global>(&s).names, true);
    case Kind::Nonlocal:
      return declare(s, as<Nonlocal>(&s).names, false);
    case Kind::Expr:
      return expression(as<Expr>(&s).value);
    case Kind::Break:
      if (!loops_) fail_late(s.span, "'break' outside loop");
      return;
    case Kind::Continue:
      if (!loops_) fail_late(s.span, "'continue' not properly in loop");
      return;
    default:
      return;
  }
}

}  // namespace ouro::frontend
