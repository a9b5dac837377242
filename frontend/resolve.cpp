#include "frontend/resolve.h"

#include <algorithm>

#include "frontend/ast_walk.h"

namespace ouro::frontend {
using namespace ast;

Symbol mangle(Symbol private_class, Symbol name) {
  if (!private_class) return name;
  std::string_view n = name.text();
  if (n.size() < 3 || n[0] != '_' || n[1] != '_' || n.ends_with("__") || n.find('.') != n.npos) return name;
  std::string_view c = private_class.text();
  size_t start = c.find_first_not_of('_');
  if (start == c.npos) return name;
  std::string out = "_";
  out += c.substr(start);
  out += n;
  return intern(out);
}

bool ScopeCapture::cell() const {
  return owner_var == kClassCell || owner->vars[owner_var].storage == Storage::cell;
}

Variable* Scope::find(Symbol n) {
  if (vars.size() <= 12) {
    for (Variable& v : vars)
      if (v.name == n) return &v;
    return nullptr;
  }
  auto it = index.find(n);
  return it == index.end() ? nullptr : &vars[it->second];
}

Variable& Scope::add(Symbol n) {
  if (Variable* v = find(n)) return *v;
  vars.emplace_back().name = n;
  if (vars.size() == 13)
    for (size_t i = 0; i < vars.size(); ++i) index.emplace(vars[i].name, i);
  else if (vars.size() > 13)
    index.emplace(n, vars.size() - 1);
  return vars.back();
}

bool Scope::binds(Symbol n) const {
  Variable* v = const_cast<Scope*>(this)->find(n);
  return v && v->has(Variable::kBound);
}

const ScopeCapture* Scope::find_capture(Symbol n) const {
  for (const ScopeCapture& c : captures)
    if (c.name == n) return &c;
  return nullptr;
}

namespace {

struct Names {
  Symbol super_ = intern("super"), class_ = intern("__class__"), debug = intern("__debug__"), dot0 = intern(".0"),
         lambda = intern("<lambda>"), listcomp = intern("<listcomp>"), setcomp = intern("<setcomp>"),
         dictcomp = intern("<dictcomp>"), genexpr = intern("<genexpr>"), module = intern("<module>"),
         future = intern("__future__"), annotations = intern("annotations"), star = intern("*");
};
const Names& names() {
  static const Names n;
  return n;
}

std::string quoted(std::string_view before, Symbol name, std::string_view after) {
  std::string out(before);
  out += "'";
  out += name.text();
  out += "'";
  out += after;
  return out;
}

// Thrown inside this file at the first scope error, like CPython's; caught in resolve().
struct ScopeError {};

// First pass: the scope tree, which names each scope uses and binds, and the regions.
class Collector {
 public:
  Collector(Resolution& r, Diagnostics& d) : res_(r), diags_(d) {}

  void module(const Module& m);
  const Diagnostic* late_error() const { return late_.text.empty() ? nullptr : &late_; }

 private:
  // ---- scopes and names
  Scope& enter(Scope::Kind kind, Symbol name, const Node* node);
  void leave();
  [[noreturn]] void fail(Span span, std::string text) {
    diags_.error(span, "scope", std::move(text));
    throw ScopeError{};
  }
  // CPython finds these while generating code, after all scopes were found right.
  void fail_late(Span span, std::string text) {
    if (!late_.text.empty()) return;
    late_.span = span;
    late_.code = "scope";
    late_.text = std::move(text);
  }
  Symbol mangled(Symbol n) const { return mangle(cur_->private_class, n); }
  Variable& define(Symbol name, uint32_t flags, Span span) { return define_in(*cur_, mangled(name), flags, span); }
  Variable& define_in(Scope& scope, Symbol name, uint32_t flags, Span span);
  void bind(Symbol name, Span span, uint32_t extra = 0);
  void use(const Name& n);
  void declare(const Node& s, ast::Names list, bool global);
  void named_expr_scope(const NamedExpr& e);
  void place_write(const ExprNode* e) {
    while (auto* s = dyn<Subscript>(e)) e = s->value;
    if (auto* n = dyn<Name>(e)) define(n->id, Variable::kPlace, n->span);
  }
  void check_assignable(Symbol n, Span span) {
    if (n == names().debug) fail_late(span, "cannot assign to __debug__");
  }

  // ---- regions
  struct Region {  // runs a part of the function that may not run, or not to its end
    Collector& c;
    uint32_t saved;
    explicit Region(Collector& c) : c(c), saved(c.region_) {
      c.region_ = static_cast<uint32_t>(c.cur_->region_parent.size());
      c.cur_->region_parent.push_back(saved);
    }
    ~Region() { c.region_ = saved; }
  };

  // ---- the walk
  void statements(Stmts body) {
    for (const StmtNode* s : body) statement(*s);
  }
  void statement(const StmtNode& s);
  void function_def(const FunctionDef& s);
  void class_def(const ClassDef& s);
  void arguments_outside(const Arguments& a);
  void parameters(const Arguments& a);
  void annotation(const ExprNode* e);
  void plain_annotation(const Node* n);
  void ann_assign(const AnnAssign& s);
  void loop_body(Stmts body);
  void with_item(const With& s, size_t i);
  void try_(const Try& s);
  void import(const Import& s);
  void import_from(const ImportFrom& s);
  void expressions(Exprs list) {
    for (const ExprNode* e : list) expression(e);
  }
  void expression(const ExprNode* e);
  void comprehension(Scope::Kind kind, Symbol name, const ExprNode& e, Seq<Comprehension> generators, const ExprNode* elt,
                     const ExprNode* value);
  void generator(Seq<Comprehension> generators, size_t i, const ExprNode* elt, const ExprNode* value);
  void comp_target(const ExprNode* target);
  void yield(const ExprNode& e);
  void pattern(const PatternNode& p);

  Resolution& res_;
  Diagnostics& diags_;
  Diagnostic late_;
  Scope* cur_ = nullptr;
  uint32_t region_ = 0, order_ = 0;
  int loops_ = 0;  // of the current scope
  struct Saved {
    uint32_t region, order;
    int loops;
  };
  std::vector<Saved> stack_;
};

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
    bool global = declared && declared->has(Variable::kGlobal) &&
                  (kind == Scope::Kind::function || kind == Scope::Kind::class_);
    if (cur_->kind == Scope::Kind::module || global)
      s.qualname = name;
    else
      s.qualname = intern(cur_->qualname.str() + (cur_->kind == Scope::Kind::class_ ? "." : ".<locals>.") + name.str());
  } else {
    s.qualname = name;
  }
  stack_.push_back({region_, order_, loops_});
  cur_ = &s;
  region_ = order_ = 0;
  loops_ = 0;
  return s;
}

void Collector::leave() {
  cur_ = cur_->parent;
  region_ = stack_.back().region;
  order_ = stack_.back().order;
  loops_ = stack_.back().loops;
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
      if (v->has(Variable::kUse))
        fail(s.span, quoted("name ", name, " is used prior to ") + what + " declaration");
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
        fail(e.span, quoted("assignment expression cannot rebind comprehension iteration variable ", name, ""));
      continue;
    }
    if (s->kind == Scope::Kind::class_)
      fail(e.span, "assignment expression within a comprehension cannot be used in a class body");
    Variable* v = s->find(name);
    bool global = s->kind == Scope::Kind::module || (v && v->has(Variable::kGlobal));
    define_in(*cur_, name, global ? Variable::kGlobal : Variable::kNonlocal, e.span);
    cur_->directives.emplace_back(name, e.span);
    s->add(name).flags |= s->kind == Scope::Kind::module ? Variable::kGlobal : Variable::kLocal;
    return;
  }
}

void Collector::module(const Module& m) {
  for (const StmtNode* s : m.body)
    if (auto* f = dyn<ImportFrom>(s); f && f->module == names().future)
      for (const Alias* a : f->names) res_.future_annotations |= a->name == names().annotations;
  enter(Scope::Kind::module, names().module, &m);
  statements(m.body);
  leave();
}

void Collector::plain_annotation(const Node* n) {
  const char* what = n->kind == Kind::NamedExpr                                  ? "named"
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

void Collector::loop_body(Stmts body) {
  ++loops_;
  statements(body);
  --loops_;
}

void Collector::with_item(const With& s, size_t i) {
  if (i == s.items.size()) return statements(s.body);
  expression(s.items[i]->context_expr);
  Region r(*this);
  if (s.items[i]->optional_vars) expression(s.items[i]->optional_vars);
  with_item(s, i + 1);
}

void Collector::try_(const Try& s) {
  {
    Region r(*this);
    statements(s.body);
    if (!s.orelse.empty()) {
      Region e(*this);
      statements(s.orelse);
    }
  }
  for (const ExceptHandler* h : s.handlers) {
    Region r(*this);
    if (h->type) expression(h->type);
    if (h->name) bind(h->name, h->span, Variable::kDeleted);
    statements(h->body);
  }
  statements(s.finalbody);
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
    case Kind::FunctionDef: return function_def(as<FunctionDef>(&s));
    case Kind::ClassDef: return class_def(as<ClassDef>(&s));
    case Kind::Return: {
      auto& r = as<Return>(&s);
      if (!cur_->is_function_like()) fail_late(s.span, "'return' outside function");
      if (r.value) expression(r.value);
      return;
    }
    case Kind::Delete: return expressions(as<Delete>(&s).targets);
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
    case Kind::AnnAssign: return ann_assign(as<AnnAssign>(&s));
    case Kind::For: {
      auto& f = as<For>(&s);
      expression(f.iter);
      {
        Region r(*this);
        ++loops_;
        expression(f.target);
        --loops_;
        loop_body(f.body);
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
        loop_body(w.body);
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
    case Kind::With: return with_item(as<With>(&s), 0);
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
    case Kind::Try: return try_(as<Try>(&s));
    case Kind::Assert: {
      auto& a = as<Assert>(&s);
      expression(a.test);
      Region r(*this);
      if (a.msg) expression(a.msg);
      return;
    }
    case Kind::Import: return import(as<Import>(&s));
    case Kind::ImportFrom: return import_from(as<ImportFrom>(&s));
    case Kind::Global: return declare(s, as<Global>(&s).names, true);
    case Kind::Nonlocal: return declare(s, as<Nonlocal>(&s).names, false);
    case Kind::Expr: return expression(as<Expr>(&s).value);
    case Kind::Break:
      if (!loops_) fail_late(s.span, "'break' outside loop");
      return;
    case Kind::Continue:
      if (!loops_) fail_late(s.span, "'continue' not properly in loop");
      return;
    default: return;
  }
}

void Collector::yield(const ExprNode& e) {
  switch (cur_->kind) {
    case Scope::Kind::list_comp: fail(e.span, "'yield' inside list comprehension");
    case Scope::Kind::set_comp: fail(e.span, "'yield' inside set comprehension");
    case Scope::Kind::dict_comp: fail(e.span, "'yield' inside dict comprehension");
    case Scope::Kind::generator_exp: fail(e.span, "'yield' inside generator expression");
    case Scope::Kind::module:
    case Scope::Kind::class_: fail_late(e.span, "'yield' outside function"); break;
    default: cur_->generator = true;
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
    expression(g.iter);
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
  expression(generators[0]->iter);
  --cur_->comp_iter_expr;
  Scope& s = enter(kind, name, &e);
  if (kind == Scope::Kind::generator_exp) s.generator = true;
  define_in(s, names().dot0, Variable::kParam, e.span).bindings.push_back({0, 0});
  generator(generators, 0, elt, value);
  leave();
}

void Collector::expression(const ExprNode* e) {
  if (!e) return;
  switch (e->kind) {
    case Kind::Name: {
      auto& n = as<Name>(e);
      if (n.ctx == Context::Load) return use(n);
      if (n.ctx == Context::Store) return bind(n.id, n.span);
      if (n.id == names().debug) fail_late(n.span, "cannot delete __debug__");
      define(n.id, Variable::kLocal | Variable::kDeleted, n.span);
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
    case Kind::BinOp: expression(as<BinOp>(e).left); return expression(as<BinOp>(e).right);
    case Kind::UnaryOp: return expression(as<UnaryOp>(e).operand);
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
    case Kind::Set: return expressions(as<Set>(e).elts);
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
    case Kind::Yield: expression(as<Yield>(e).value); return yield(*e);
    case Kind::YieldFrom: expression(as<YieldFrom>(e).value); return yield(*e);
    case Kind::Compare: {
      auto& c = as<Compare>(e);
      expression(c.left);
      expression(c.comparators[0]);
      if (c.comparators.size() == 1) return;
      Region r(*this);
      return expressions(c.comparators.subspan(1));
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
    case Kind::JoinedStr: return expressions(as<JoinedStr>(e).values);
    case Kind::Attribute: return expression(as<Attribute>(e).value);
    case Kind::Subscript:
      if (as<Subscript>(e).ctx == Context::Store) place_write(e);
      expression(as<Subscript>(e).value);
      return expression(as<Subscript>(e).slice);
    case Kind::Starred: return expression(as<Starred>(e).value);
    case Kind::List: return expressions(as<List>(e).elts);
    case Kind::Tuple: return expressions(as<Tuple>(e).elts);
    case Kind::Slice: {
      auto& s = as<Slice>(e);
      expression(s.lower);
      expression(s.upper);
      return expression(s.step);
    }
    default: return;
  }
}

void Collector::pattern(const PatternNode& p) {
  auto all = [&](Seq<PatternNode> list) {
    for (const PatternNode* q : list) pattern(*q);
  };
  switch (p.kind) {
    case Kind::MatchValue: return expression(as<MatchValue>(&p).value);
    case Kind::MatchSequence: return all(as<MatchSequence>(&p).patterns);
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
    default: return;
  }
}

// Second pass: where each name lives; parents before children.
class Analyser {
 public:
  Analyser(Resolution& r, Diagnostics& d) : res_(r), diags_(d) {}

  void run() {
    for (Scope& s : res_.scopes)
      for (size_t i = 0; i < s.vars.size(); ++i) place(s, s.vars[i]);
    for (Scope& s : res_.scopes)
      if (s.is_function_like()) choose_cells(s);
  }

 private:
  struct Owner {
    Scope* scope = nullptr;  // null: global
    uint32_t var = 0;
  };

  // The enclosing function that binds `name`, seen from inside `s`.
  Owner find_owner(Scope& s, Symbol name) {
    for (Scope* p = s.parent; p; p = p->parent) {
      if (p->kind == Scope::Kind::class_) {
        if (name != names().class_) continue;
        p->class_cell = true;
        return {p, ScopeCapture::kClassCell};
      }
      if (p->kind == Scope::Kind::module) break;
      Variable* v = p->find(name);
      if (!v) continue;
      if (v->has(Variable::kGlobal)) break;
      if (v->has(Variable::kBound) && !v->has(Variable::kNonlocal))
        return {p, static_cast<uint32_t>(v - p->vars.data())};
    }
    return {};
  }

  uint32_t capture(Scope& s, Symbol name, Owner owner) {
    for (size_t i = 0; i < s.captures.size(); ++i)
      if (s.captures[i].name == name) return static_cast<uint32_t>(i);
    if (s.parent != owner.scope) capture(*s.parent, name, owner);
    s.captures.push_back({name, owner.scope, owner.var});
    return static_cast<uint32_t>(s.captures.size() - 1);
  }

  [[noreturn]] void fail(Scope& s, Symbol name, std::string text) {
    Span span = s.node->span;
    for (auto& [n, sp] : s.directives)
      if (n == name) {
        span = sp;
        break;
      }
    diags_.error(span, "scope", std::move(text));
    throw ScopeError{};
  }

  void place(Scope& s, Variable& v) {
    if (v.has(Variable::kGlobal)) {
      if (v.has(Variable::kNonlocal)) fail(s, v.name, quoted("name ", v.name, " is nonlocal and global"));
      v.storage = Storage::global;
      return;
    }
    if (v.has(Variable::kNonlocal)) {
      if (s.kind == Scope::Kind::module) fail(s, v.name, "nonlocal declaration not allowed at module level");
      Owner o = find_owner(s, v.name);
      if (!o.scope) fail(s, v.name, quoted("no binding for nonlocal ", v.name, " found"));
      return captured(s, v, o, true);
    }
    if (v.has(Variable::kBound | Variable::kDeleted)) {
      v.storage = s.kind == Scope::Kind::module   ? Storage::global
                  : s.kind == Scope::Kind::class_ ? Storage::class_name
                                                  : Storage::local;
      return;
    }
    Owner o = s.kind == Scope::Kind::module ? Owner{} : find_owner(s, v.name);
    if (o.scope) return captured(s, v, o, v.has(Variable::kPlace));
    v.storage = s.kind == Scope::Kind::class_ ? Storage::class_name : Storage::global;
  }

  void captured(Scope& s, Variable& v, Owner o, bool writes) {
    v.storage = Storage::captured;
    v.slot = capture(s, v.name, o);
    if (o.var == ScopeCapture::kClassCell) return;
    o.scope->vars[o.var].flags |= Variable::kCaptured;
    if (writes) o.scope->vars[o.var].flags |= Variable::kInnerWrite;
  }

  static bool encloses(const Scope& s, uint32_t outer, uint32_t inner) {
    while (inner > outer) inner = s.region_parent[inner];
    return inner == outer;
  }

  // Does every closure below `s` that captures v of `owner` run at once?
  static bool all_immediate(const Scope& s, Symbol v, const Scope& owner) {
    for (const Scope* c : s.children) {
      const ScopeCapture* cap = c->find_capture(v);
      if (!cap || cap->owner != &owner) continue;
      if (!c->is_immediate() || !all_immediate(*c, v, owner)) return false;
    }
    return true;
  }

  static bool bound_at_closures(const Scope& s, const Variable& v) {
    for (const Scope* c : s.children) {
      const ScopeCapture* cap = c->find_capture(v.name);
      if (!cap || cap->owner != &s) continue;
      bool bound = false;
      for (const Binding& b : v.bindings)
        bound |= (b.order < c->created.order || b.order == 0) && encloses(s, b.region, c->created.region);
      if (!bound) return false;
    }
    return true;
  }

  static void choose_cells(Scope& s) {
    for (Variable& v : s.vars) {
      if (v.storage != Storage::local || !v.has(Variable::kCaptured)) continue;
      bool once = v.bindings.size() == 1 && !v.has(Variable::kInLoop | Variable::kPlace);
      bool by_value = !v.has(Variable::kInnerWrite | Variable::kDeleted) && bound_at_closures(s, v) &&
                      (once || all_immediate(s, v.name, s));
      if (!by_value) v.storage = Storage::cell;
    }
  }

  Resolution& res_;
  Diagnostics& diags_;
};

}  // namespace

std::unique_ptr<Resolution> resolve(const Module& module, Diagnostics& diags) {
  auto res = std::make_unique<Resolution>();
  Collector collector(*res, diags);
  try {
    collector.module(module);
    Analyser(*res, diags).run();
  } catch (const ScopeError&) {
    return nullptr;
  }
  if (const Diagnostic* late = collector.late_error()) {
    diags.report(*late);
    return nullptr;
  }
  return res;
}

}  // namespace ouro::frontend
