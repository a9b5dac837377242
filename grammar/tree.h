// Tokens and the syntax tree, in a neutral form: what the rest of Ouro sees of the grammar.
//
// A Tree is two flat arrays. Tokens are in source order; nodes are in pre-order, each knowing where
// its subtree ends, so that a child is one index away and nothing is allocated per node. A node is
// a rule of OuroParser.g4 or a token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/source.h"

namespace ouro::grammar {

// In the order of OuroLexer.g4 and OuroParser.g4; parse.cpp checks at compile time that they agree.
// clang-format off
#define OURO_TOKENS(X) \
  X(NEWLINE, "") X(INDENT, "") X(DEDENT, "") X(ERROR, "") X(FALSE, "False") X(NONE, "None") X(TRUE, "True") \
  X(AND, "and") X(AS, "as") X(ASSERT, "assert") X(ASYNC, "async") X(AWAIT, "await") X(BREAK, "break") \
  X(CLASS, "class") X(CONTINUE, "continue") X(DEF, "def") X(DEL, "del") X(ELIF, "elif") X(ELSE, "else") \
  X(EXCEPT, "except") X(FINALLY, "finally") X(FOR, "for") X(FROM, "from") X(GLOBAL, "global") X(IF, "if") \
  X(IMPORT, "import") X(IN, "in") X(IS, "is") X(LAMBDA, "lambda") X(NONLOCAL, "nonlocal") X(NOT, "not") \
  X(OR, "or") X(PASS, "pass") X(RAISE, "raise") X(RETURN, "return") X(TRY, "try") X(WHILE, "while") \
  X(WITH, "with") X(YIELD, "yield") X(MATCH, "match") X(CASE, "case") X(TYPE, "type") X(IS_NOT, "is not") \
  X(NOT_IN, "not in") X(WITH_LPAR, "(") X(NAME, "") X(NUMBER, "") X(STRING, "") X(OPEN_STRING, "") \
  X(LPAR, "(") X(RPAR, ")") X(LSQB, "[") X(RSQB, "]") X(LBRACE, "{") X(RBRACE, "}") X(COMMA, ",") \
  X(COLON, ":") X(SEMI, ";") X(DOT, ".") X(ELLIPSIS, "...") X(ARROW, "->") X(EQUAL, "=") X(COLONEQUAL, ":=") \
  X(PLUS, "+") X(MINUS, "-") X(STAR, "*") X(DOUBLESTAR, "**") X(SLASH, "/") X(DOUBLESLASH, "//") \
  X(PERCENT, "%") X(AT, "@") X(LSHIFT, "<<") X(RSHIFT, ">>") X(AMPER, "&") X(VBAR, "|") X(CIRCUMFLEX, "^") \
  X(TILDE, "~") X(LESS, "<") X(GREATER, ">") X(LESSEQUAL, "<=") X(GREATEREQUAL, ">=") X(EQEQUAL, "==") \
  X(NOTEQUAL, "!=") X(PLUSEQUAL, "+=") X(MINEQUAL, "-=") X(STAREQUAL, "*=") X(SLASHEQUAL, "/=") \
  X(PERCENTEQUAL, "%=") X(AMPEREQUAL, "&=") X(VBAREQUAL, "|=") X(CIRCUMFLEXEQUAL, "^=") \
  X(LEFTSHIFTEQUAL, "<<=") X(RIGHTSHIFTEQUAL, ">>=") X(DOUBLESTAREQUAL, "**=") X(DOUBLESLASHEQUAL, "//=") \
  X(ATEQUAL, "@=") X(BLANK, "") X(COMMENT, "") X(LINE_END, "") X(JOIN, "") X(BAD_CHAR, "")

#define OURO_RULES(X) \
  X(file_input) X(eval_input) X(fstring_input) X(stmt) X(suite) X(simple_stmts) X(simple_stmt) X(expr_stmt) \
  X(assigned) X(return_stmt) X(raise_stmt) X(global_stmt) X(del_stmt) X(assert_stmt) X(type_stmt) \
  X(type_params) X(import_name) X(dotted_as) X(dotted_name) X(import_from) X(import_names) X(import_as) \
  X(if_stmt) X(else_part) X(while_stmt) X(for_stmt) X(target_list) X(target) X(try_stmt) X(except_part) \
  X(finally_part) X(with_stmt) X(with_item) X(decorated) X(decorator) X(async_stmt) X(func_def) X(class_def) \
  X(params) X(param) X(star_test) X(lambda_params) X(lambda_param) X(match_stmt) X(case_block) \
  X(pattern_list) X(pattern_item) X(pattern) X(or_pattern) X(closed_pattern) X(pattern_args) X(pattern_arg) \
  X(pattern_entry) X(star_list) X(star_item) X(named_list) X(named_item) X(test_list) X(named_test) X(test) \
  X(disjunction) X(arith) X(primary) X(paren) X(bracket) X(brace) X(brace_item) X(comp_for) X(args) X(arg) \
  X(subscripts) X(subscript) X(slice_rest) X(yield_expr)
// clang-format on

enum class Tok : uint8_t {
  END,  // end of input
#define X(name, text) name,
  OURO_TOKENS(X)
#undef X
};

enum class Rule : uint8_t {
#define X(name) name,
  OURO_RULES(X)
#undef X
};

const char* token_name(Tok t);  // "NAME"
const char* rule_name(Rule r);  // "if_stmt"

struct Token {
  Tok kind = Tok::END;
  uint8_t level = 0;  // brackets open around it
  uint32_t begin = 0;
  uint32_t end = 0;
};

struct TreeNode {
  bool is_token;
  uint8_t kind;    // Tok or Rule
  uint32_t first;  // index of its first token
  uint32_t last;   // index behind its last token
  uint32_t next;   // index behind its subtree
};

struct Tree {
  uint32_t file = 0;
  std::vector<Token> tokens;
  std::vector<TreeNode> nodes;
};

/// A place in a Tree; as cheap as a pointer. A default Ref is no node: is() is false for all kinds.
class Ref {
 public:
  Ref() = default;
  Ref(const Tree* tree, uint32_t index) : tree_(tree), index_(index) {}

  explicit operator bool() const { return tree_ != nullptr; }
  bool is_token() const { return node().is_token; }
  bool is(Tok t) const { return tree_ && node().is_token && node().kind == static_cast<uint8_t>(t); }
  bool is(Rule r) const { return tree_ && !node().is_token && node().kind == static_cast<uint8_t>(r); }
  Tok tok() const { return node().is_token ? static_cast<Tok>(node().kind) : Tok::END; }
  Rule rule() const { return static_cast<Rule>(node().kind); }
  uint32_t index() const { return index_; }
  uint32_t first_token() const { return node().first; }
  uint32_t last_token() const { return node().last; }
  const Token& token() const { return tree_->tokens[node().first]; }
  uint32_t begin() const { return tree_->tokens[node().first].begin; }
  uint32_t end() const { return node().last > node().first ? tree_->tokens[node().last - 1].end : begin(); }
  Span span() const { return {tree_->file, begin(), end()}; }

  /// First child, or no node.
  Ref first() const { return node().next > index_ + 1 && !is_token() ? Ref(tree_, index_ + 1) : Ref(); }

  struct Iterator {
    const Tree* tree;
    uint32_t index;
    Ref operator*() const { return {tree, index}; }
    Iterator& operator++() {
      index = tree->nodes[index].next;
      return *this;
    }
    bool operator==(const Iterator& o) const { return index == o.index; }
  };
  /// Children in order. `for (Ref c : node)`
  Iterator children_begin() const { return {tree_, index_ + 1}; }
  Iterator children_end() const { return {tree_, node().next}; }

 private:
  const TreeNode& node() const { return tree_->nodes[index_]; }

  const Tree* tree_ = nullptr;
  uint32_t index_ = 0;
};

struct Children {
  Ref node;
  Ref::Iterator begin() const { return node.children_begin(); }
  Ref::Iterator end() const { return node.children_end(); }
};
inline Children children(Ref node) { return {node}; }

/// `ouro ir --stage=tokens`: one line per token: line:col-line:col, kind, text.
std::string dump_tokens(const SourceFile& file, const std::vector<Token>& tokens);
/// `ouro ir --stage=tree`: the tree, indented; rules with a single rule below them are joined by
/// dots.
std::string dump_tree(const SourceFile& file, const Tree& tree);

}  // namespace ouro::grammar
