// What the walk notes about a name: used, bound, declared, and where.
#include "frontend/scope_collector.h"

namespace ouro::frontend {

// What is defined in a class body or a comprehension is named after it without `<locals>` (PEP 3155, as CPython does
// it).
static bool has_locals(Scope::Kind k) { return k == Scope::Kind::function || k == Scope::Kind::lambda; }

Scope& Collector::enter(Scope::Kind kind, Symbol name, const Node* node) {
  Scope& s = res_.scopes.emplace_back();
  s.kind = kind;
  s.name = name;
  s.node = node;
  s.parent = cur_;
  s.region_parent.push_back(0);
  res_.by_node.emplace(node, &s);
  if (cur_) {
    cur_->children.push_back(&s);
    s.created = {region_, ++order_};
    s.private_class = cur_->private_class;
    s.comp_iter_expr = cur_->comp_iter_expr;
    Variable* declared = cur_->find(mangled(name));
    bool global =
        declared && declared->has(Variable::kGlobal) && (kind == Scope::Kind::function || kind == Scope::Kind::class_);
    if (cur_->kind == Scope::Kind::module || global)
      s.qualname = name;
    else
      s.qualname = intern(cur_->qualname.str() + (has_locals(cur_->kind) ? ".<locals>." : ".") + name.str());
  } else {
    s.qualname = name;
  }
  stack_.push_back({region_, order_, loops_, blocks_});
  cur_ = &s;
  region_ = order_ = 0;
  loops_ = blocks_ = 0;
  return s;
}

void Collector::leave() {
  cur_ = cur_->parent;
  region_ = stack_.back().region;
  order_ = stack_.back().order;
  loops_ = stack_.back().loops;
  blocks_ = stack_.back().blocks;
  stack_.pop_back();
}

Variable& Collector::define_in(Scope& scope, Symbol name, uint32_t flags, Span span) {
  Variable& v = scope.add(name);
  if (scope.comp_iter_target && &scope == cur_) {
    if (v.has(Variable::kGlobal | Variable::kNonlocal))
      fail(span, quoted("comprehension inner loop cannot rebind assignment expression target ", name, ""));
    flags |= Variable::kCompIter;
  }
  v.flags |= flags;
  return v;
}

void Collector::bind(Symbol name, Span span, uint32_t extra) {
  check_assignable(name, span);
  Variable& v = define(name, Variable::kLocal | extra, span);
  if (loops_) v.flags |= Variable::kInLoop;
  v.bindings.push_back({region_, ++order_});
}

void Collector::use(const Name& n) {
  Symbol name = mangled(n.id);
  define_in(*cur_, name, Variable::kUse, n.span);
  if (n.id == names().super_ && cur_->is_function_like()) define_in(*cur_, names().class_, Variable::kUse, n.span);
}

void Collector::declare(const Node& s, ast::Names list, bool global) {
  const char* what = global ? "global" : "nonlocal";
  for (Symbol raw : list) {
    Symbol name = mangled(raw);
    if (Variable* v = cur_->find(name)) {
      if (v->has(Variable::kParam)) fail(s.span, quoted("name ", name, " is parameter and ") + what);
      if (v->has(Variable::kUse)) fail(s.span, quoted("name ", name, " is used prior to ") + what + " declaration");
      if (v->has(Variable::kAnnot)) fail(s.span, quoted("annotated name ", name, " can't be ") + what);
      if (v->has(Variable::kLocal))
        fail(s.span, quoted("name ", name, " is assigned to before ") + what + " declaration");
    }
    define_in(*cur_, name, global ? Variable::kGlobal : Variable::kNonlocal, s.span);
    cur_->directives.emplace_back(name, s.span);
  }
}

void Collector::named_expr_scope(const NamedExpr& e) {
  Symbol name = mangled(as<Name>(e.target).id);
  for (Scope* s = cur_; s; s = s->parent) {
    if (s->is_comprehension()) {
      Variable* v = s->find(name);
      if (v && v->has(Variable::kCompIter))
        fail(e.target->span, quoted("assignment expression cannot rebind comprehension iteration variable ", name, ""));
      continue;
    }
    if (s->kind == Scope::Kind::class_)
      fail(e.target->span, "assignment expression within a comprehension cannot be used in a class body");
    Variable* v = s->find(name);
    bool global = s->kind == Scope::Kind::module || (v && v->has(Variable::kGlobal));
    define_in(*cur_, name, global ? Variable::kGlobal : Variable::kNonlocal, e.target->span);
    cur_->directives.emplace_back(name, e.target->span);
    s->add(name).flags |= s->kind == Scope::Kind::module ? Variable::kGlobal : Variable::kLocal;
    return;
  }
}

}  // namespace ouro::frontend
