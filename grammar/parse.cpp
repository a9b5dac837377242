#include "grammar/parse.h"

#include <OuroParser.h>

#include "grammar/indent_lexer.h"
#include "grammar/syntax_error.h"
#include "support/process_end.h"

namespace ouro::grammar {
namespace {

// Tok, Rule and the generated constants are the same numbers.
#define X(name, text) static_assert(static_cast<size_t>(Tok::name) == OuroParser::name);
OURO_TOKENS(X)
#undef X
static_assert(static_cast<size_t>(Rule::yield_expr) == OuroParser::RuleYield_expr);

[[maybe_unused]] void check_rule_names(const OuroParser& parser) {
  static const bool agree = [&] {
    const std::vector<std::string>& names = parser.getRuleNames();
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] != rule_name(static_cast<Rule>(i))) return false;
    return true;
  }();
  OURO_CHECK(agree);
}

void run(OuroParser& parser, Start start) {
  switch (start) {
    case Start::file:
      parser.file_input();
      return;
    case Start::expression:
      parser.eval_input();
      return;
    case Start::fstring:
      parser.fstring_input();
      return;
  }
}

// Drops the statement that failed and closes the file: what is left is a well-formed tree of the
// statements before it.
void close_tree(Tree& tree, const std::vector<uint32_t>& open) {
  if (open.size() < 2 || tree.nodes[open[0]].kind != static_cast<uint8_t>(Rule::file_input)) {
    tree.nodes.clear();
    return;
  }
  tree.nodes.resize(open[1]);
  tree.nodes[0].next = open[1];
  tree.nodes[0].last = tree.nodes.size() > 1 ? tree.nodes[0].first : 0;
}

Diagnostic too_deep(const SourceFile& file, const Token& at) {
  return {file.span(at.begin, at.end), "limit.nesting", "", {}, Severity::error, "MemoryError", false};
}

}  // namespace

std::optional<Diagnostic> parse(const SourceFile& file, Start start, uint32_t begin, uint32_t end, Tree& tree) {
  tree.file = file.id();
  tree.nodes.clear();
  if (!file.decode_error().empty()) {
    return Diagnostic{
        file.span(0, 0), "syntax.encoding", file.decode_error(), {}, Severity::error, "SyntaxError", false};
  }
  if (process_ends())
    return Diagnostic{
        file.span(0, 0), "syntax.process", "the process ends", {}, Severity::error, "RuntimeError", false};
  TokenList lexed = tokenize(file, begin, end, start == Start::file ? LexMode::file : LexMode::bracket);
  tree.tokens = std::move(lexed.tokens);
  tree.nodes.reserve(tree.tokens.size() * 4);
  KindStream stream(tree.tokens);
  OuroParser parser(&stream);
#ifdef OURO_ASSERTS
  check_rule_names(parser);
#endif
  parser.nodes = &tree.nodes;
  try {
    run(parser, start);
    return std::nullopt;
  } catch (const ParseStop& stop) {
    Failure f{file,
              tree,
              lexed,
              {},
              std::min(stop.token, static_cast<uint32_t>(tree.tokens.size() - 1)),
              start == Start::fstring};
    f.open = parser.failed_open;
    Diagnostic d = stop.too_deep ? too_deep(file, tree.tokens[f.token]) : describe_failure(f);
    close_tree(tree, f.open);
    return d;
  }
}

namespace {

template <class F>
uint32_t match_rule(const Tree& tree, uint32_t token, uint32_t* furthest, F rule) {
  Tree scratch;
  KindStream stream(tree.tokens);
  stream.at = token;
  OuroParser parser(&stream);
  parser.nodes = &scratch.nodes;
  try {
    rule(parser);
    if (furthest) *furthest = stream.at;
    return stream.at;
  } catch (const ParseStop& stop) {
    if (furthest) *furthest = stop.token;
    return 0;
  }
}

}  // namespace

uint32_t match_expression(const Tree& tree, uint32_t token, uint32_t* furthest) {
  return match_rule(tree, token, furthest, [](OuroParser& p) { p.test(); });
}
uint32_t match_expressions(const Tree& tree, uint32_t token, uint32_t* furthest) {
  return match_rule(tree, token, furthest, [](OuroParser& p) { p.star_list(); });
}
uint32_t match_arith(const Tree& tree, uint32_t token, uint32_t* furthest) {
  return match_rule(tree, token, furthest, [](OuroParser& p) { p.arith(); });
}
uint32_t match_comprehension(const Tree& tree, uint32_t token, uint32_t* furthest) {
  return match_rule(tree, token, furthest, [](OuroParser& p) { p.comp_for(); });
}

}  // namespace ouro::grammar
