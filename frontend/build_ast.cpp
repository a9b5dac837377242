#include "frontend/build_ast.h"

#include <algorithm>

#include "frontend/ast_walk.h"
#include "frontend/builder.h"
#include "grammar/parse.h"
#include "support/unicode_names.h"

namespace ouro::frontend {

using namespace ast;

Ref child(Ref n, Rule rule) {
  for (Ref c : children(n))
    if (c.is(rule)) return c;
  return {};
}

Ref child(Ref n, Tok tok) {
  for (Ref c : children(n))
    if (c.is(tok)) return c;
  return {};
}

bool has(Ref n, Tok tok) { return static_cast<bool>(child(n, tok)); }

Ref innermost(Ref n) {
  for (;;) {
    Ref only = n.first();
    if (!only || ++Ref::Iterator(n.children_begin()) != n.children_end()) return n;
    n = only;
  }
}

SmallVec<Ref, 8> list(Ref n) {
  SmallVec<Ref, 8> out;
  for (Ref c : children(n)) out.push_back(c);
  return out;
}

uint16_t check_height(const Node* node, const SourceFile& file) {
  int below = 0;
  for_each_child(node, [&](const Node* c) { below = std::max<int>(below, c->height); });
  bool counts = node->kind < Kind::MatchValue;  // CPython counts statements and expressions
  int height = below + counts;
  if (height > kMaxDepth)
    throw BuildError{{file.span(node->span.begin, node->span.end),
                      "limit.depth",
                      "maximum recursion depth exceeded during compilation",
                      {},
                      Severity::error,
                      "RecursionError",
                      false}};
  return static_cast<uint16_t>(height);
}

void Builder::fail(Span where, std::string code, std::string text) {
  throw BuildError{{where, std::move(code), std::move(text), {}, Severity::error, "SyntaxError", true}};
}

void Builder::refuse(grammar::Refused what, Span where) {
  const grammar::RefusedRow& row = grammar::refused_row(what);
  fail(where, row.code, row.text);
}

Symbol Builder::name(std::string_view text) {
  for (char c : text)
    if (static_cast<signed char>(c) < 0) return intern(normalize_name(text));
  return intern(text);
}

// The grammar takes `x (',' x?)*`; two commas with nothing between are an error at the second.
void Builder::no_double_comma(Ref n) {
  bool comma = false;
  for (Ref c : children(n)) {
    bool is_comma = c.is(Tok::COMMA);
    if (comma && is_comma) invalid(c);
    comma = is_comma;
  }
}

Module* Builder::module(Ref n) {
  Module* m = make<Module>(span(0, file_.size()));
  StmtVec body;
  for (Ref c : children(n))
    if (c.is(Rule::stmt)) stmt(c, body);
  m->body = arena_.copy(body);
  check_future(m->body);
  return done(m);
}

namespace {

// Runs the build of the tree's root; the first error of the text is the one reported.
template <class F>
auto build(const SourceFile& file, grammar::Start start, Arena& arena, Diagnostics& diags, F f)
    -> decltype(f(std::declval<Builder&>(), Ref())) {
  grammar::Tree tree;
  std::optional<Diagnostic> error = grammar::parse(file, start, 0, file.size(), tree);
  decltype(f(std::declval<Builder&>(), Ref())) result = nullptr;
  if (!tree.nodes.empty()) {
    Builder builder(file, arena, tree);
    try {
      result = f(builder, Ref(&tree, 0));
    } catch (BuildError& e) {
      bool nesting = e.diagnostic.kind == "RecursionError" && error;
      if (!nesting) error = std::move(e.diagnostic);
    }
  }
  if (!error) return result;
  diags.report(std::move(*error));
  return nullptr;
}

}  // namespace

Module* parse_module(const SourceFile& file, Arena& arena, Diagnostics& diags) {
  return build(file, grammar::Start::file, arena, diags, [](Builder& b, Ref root) { return b.module(root); });
}

ExprNode* parse_expression(const SourceFile& file, Arena& arena, Diagnostics& diags) {
  return build(file, grammar::Start::expression, arena, diags,
               [](Builder& b, Ref root) { return b.star_list(root.first()); });
}

}  // namespace ouro::frontend
