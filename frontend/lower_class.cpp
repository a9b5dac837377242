// class: the body is a function of the namespace (a dict), called once by the `class` operation. It
// returns the `__class__` cell if a method needs it (super(), `__class__`), which the operation
// then fills, else None.
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

void Lowerer::make_annotations_dict(Span span) {
  static const Symbol annotations = intern("__annotations__");
  assign(annotations, let(span, prim::dict), span);
}

FunctionRef Lowerer::class_body(const ClassDef& c) {
  begin(ir::Function::Kind::class_body, nullptr);
  static const Symbol module = intern("__module__"), name = intern("__name__"), qualname = intern("__qualname__"),
                      doc_name = intern("__doc__");
  Atom in = let(c.span, prim::global_get, {}, name);
  let(c.span, prim::class_set, {namespace_, in}, module);
  let(c.span, prim::class_set, {namespace_, b_.string(scope_.qualname.text())}, qualname);
  Stmts body = c.body;
  if (scope_.has_annotations) make_annotations_dict(c.span);
  if (const Constant* doc = docstring(body)) {
    b_.set_doc(doc->text);
    let(body[0]->span, prim::class_set, {namespace_, b_.string(doc->text)}, doc_name);
    body = body.subspan(1);
  }
  statements(body);
  b_.set_span(c.span);
  if (b_.reachable()) b_.return_(scope_.class_cell ? class_cell_ : b_.none());
  return end();
}

void Lowerer::class_def(const ClassDef& s) {
  Atoms decorators;
  for (const ExprNode* d : s.decorator_list) decorators.push_back(expr(d));
  Scope& inner = names_.of(&s);
  FunctionRef code = Lowerer(names_, inner, s.span).class_body(s);
  Atom body = closure(inner, std::move(code), b_.tuple_const({}), b_.none(), b_.none(), s.span);
  CallArgs args;
  arguments(s.bases, s.keywords, args, true);
  b_.set_span(s.span);
  Atom c = b_.make_class(body, b_.string(s.name.text()), view(args.atoms), std::move(args.sig));
  for (size_t i = decorators.size(); i-- > 0;) {
    b_.set_span(s.decorator_list[i]->span);
    c = b_.call(decorators[i], {c});
  }
  assign(mangled(s.name), c, s.span);
}

}  // namespace ouro::frontend
