#include "runtime/interpreter/place_span.h"

#include "frontend/build_ast.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

Span place_span(Session& s, Span whole, const ir::PlacePath& path, size_t step) {
  const SourceFile* file = s.sources.file(whole.file);
  if (!file) return {};
  SourceFile text(1, "<place>", file->text(whole));
  Arena arena;
  Diagnostics diags;
  const ast::ExprNode* e = nullptr;
  if (path.augmented) {
    ast::Module* m = frontend::parse_module(text, arena, diags);
    if (!m || m->body.size() != 1 || m->body[0]->kind != ast::Kind::AugAssign) return {};
    e = static_cast<const ast::AugAssign*>(m->body[0])->target;
  } else {
    e = frontend::parse_expression(text, arena, diags);
  }
  for (size_t k = path.steps.size(); e && k > step + 1; --k) {
    if (e->kind == ast::Kind::Subscript)
      e = static_cast<const ast::Subscript*>(e)->value;
    else if (e->kind == ast::Kind::Attribute)
      e = static_cast<const ast::Attribute*>(e)->value;
    else
      return {};
  }
  return e ? Span{whole.file, whole.begin + e->span.begin, whole.begin + e->span.end} : Span{};
}

}  // namespace ouro::runtime
