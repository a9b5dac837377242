#include "grammar/syntax_error.h"

namespace ouro::grammar {

Diagnostic describe_failure(const Failure& f) {
  const Token& t = f.tree.tokens[f.token];
  if (t.kind == Tok::ERROR) return *f.lexed.error;
  return {f.file.span(t.begin, t.end), "syntax.invalid", "invalid syntax", {}, Severity::error, "SyntaxError", true};
}

}  // namespace ouro::grammar
