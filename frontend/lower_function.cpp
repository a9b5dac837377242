// Functions: parameters, variables, bodies; and the module.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

Lowerer::Lowerer(const Resolution& names, Scope& scope, Span span)
    : names_(names), scope_(scope), b_(scope.name, span) {}

void Lowerer::begin(ir::Function::Kind kind, const Arguments* args) {
  ir::Function& f = b_.head();
  f.name = scope_.name;
  f.qualname = scope_.qualname;
  f.kind = kind;
  f.is_generator = scope_.generator;
  f.is_method = scope_.parent && scope_.parent->kind == Scope::Kind::class_ && scope_.kind == Scope::Kind::function;
  slots_.resize(scope_.vars.size());
  for (size_t i = 0; i < scope_.vars.size(); ++i) {
    Variable& v = scope_.vars[i];
    if (v.storage == Storage::local || v.storage == Storage::cell) slots_[i].var = b_.declare_var(v.name);
    if (v.storage == Storage::local && v.has(Variable::kDeleted)) deletable_.add(static_cast<uint32_t>(i));
    bool own = (v.storage == Storage::local || v.storage == Storage::cell) && !v.bindings.empty();
    if (own && !v.has(Variable::kParam | Variable::kCaptured)) f.locals.push_back(v.name);
  }
  if (args) begin_params(*args);
  if (scope_.is_comprehension()) {  // its one parameter is the iterator of the first `for`
    Symbol dot0 = intern(".0");
    f.sig.posonly = f.sig.positional = 1;
    f.sig.names = {dot0};
    b_.write_var(slots_[var_index(dot0)].var, b_.entry_param(dot0));
  }
  if (scope_.kind == Scope::Kind::class_) {  // of a class body: the namespace
    f.sig.posonly = f.sig.positional = 1;
    f.sig.names = {intern(".namespace")};
    namespace_ = b_.entry_param(f.sig.names[0]);
  }
  for (const ScopeCapture& c : scope_.captures) {
    f.captures.push_back({c.name, c.cell()});
    captures_.push_back(b_.entry_param(c.name));
  }
  begin_variables();
}

void Lowerer::begin_params(const Arguments& args) {
  ir::Signature& sig = b_.head().sig;
  auto param = [&](const Arg* a) {
    Symbol name = mangled(a->arg);
    sig.names.push_back(name);
    uint32_t i = var_index(name);
    b_.write_var(slots_[i].var, b_.entry_param(name));
    assigned_.add(i);
  };
  sig.posonly = static_cast<uint32_t>(args.posonlyargs.size());
  sig.positional = static_cast<uint32_t>(args.posonlyargs.size() + args.args.size());
  sig.kwonly = static_cast<uint32_t>(args.kwonlyargs.size());
  sig.varargs = args.vararg;
  sig.varkw = args.kwarg;
  for (const Arg* a : args.posonlyargs) param(a);
  for (const Arg* a : args.args) param(a);
  if (args.vararg) param(args.vararg);
  for (const Arg* a : args.kwonlyargs) param(a);
  if (args.kwarg) param(args.kwarg);
}

void Lowerer::begin_variables() {
  for (size_t i = 0; i < scope_.vars.size(); ++i)
    if (scope_.vars[i].storage == Storage::cell) {
      NameId cell = b_.let(prim::cell_new, {b_.read_var(slots_[i].var)});
      b_.set_hint(cell, scope_.vars[i].name);
      slots_[i].cell = cell;
    }
  if (scope_.class_cell) {
    NameId cell = b_.let(prim::cell_new, {b_.unbound()});
    b_.set_hint(cell, intern("__class__"));
    class_cell_ = cell;
  }
}

void Lowerer::set_docstring(Stmts body) {
  if (const Constant* doc = docstring(body)) b_.set_doc(doc->text);
}

FunctionRef Lowerer::end() {
  if (b_.reachable()) b_.return_(b_.none());
  return b_.finish();
}

FunctionRef Lowerer::function(const FunctionDef& f) {
  begin(ir::Function::Kind::function, f.args);
  set_docstring(f.body);
  statements(f.body);
  b_.set_span(f.span);
  return end();
}

FunctionRef Lowerer::lambda(const Lambda& l) {
  begin(ir::Function::Kind::lambda, l.args);
  Atom value = expr(l.body);
  b_.set_span(l.body->span);
  b_.return_(value);
  return end();
}

FunctionRef Lowerer::module(const Module& m, bool interactive) {
  displays_ = interactive;
  begin(ir::Function::Kind::module, nullptr);
  set_docstring(m.body);
  if (scope_.has_annotations && !interactive) make_annotations_dict(m.span);
  Stmts body = m.body;
  if (const Constant* doc = docstring(body); doc && !interactive) {
    let(body[0]->span, prim::global_set, {b_.string(doc->text)}, intern("__doc__"));
    body = body.subspan(1);
  }
  statements(body);
  return end();
}

FunctionRef lower(const Module& module, const Resolution& names, bool interactive) {
  Scope& scope = names.of(&module);
  return Lowerer(names, scope, module.span).module(module, interactive);
}

}  // namespace ouro::frontend
