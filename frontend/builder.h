// The state that the parts of build_ast share. Private to build_*.cpp.
#pragma once

#include <string>
#include <string_view>

#include "frontend/ast.h"
#include "grammar/refused.h"
#include "grammar/tree.h"
#include "support/arena.h"
#include "support/diag.h"
#include "support/small_vec.h"

namespace ouro::frontend {

using grammar::Ref;
using grammar::Rule;
using grammar::Tok;

/// The first error ends the build.
struct BuildError {
  Diagnostic diagnostic;
};

enum class TargetKind : uint8_t { assign, loop, del };

using ExprVec = SmallVec<ast::ExprNode*, 8>;

class Builder {
 public:
  Builder(const SourceFile& file, Arena& arena, const grammar::Tree& tree) : file_(file), arena_(arena), tree_(&tree) {}

  ast::Module* module(Ref file_input);
  ast::ExprNode* star_list(Ref n, bool target = false);  // also test_list, named_list

  // build_expr.cpp
  ast::ExprNode* test(Ref n);
  ast::ExprNode* operation(Ref n);  // disjunction, arith
  ast::ExprNode* yield_expr(Ref n);
  ast::ExprNode* named_test(Ref n);
  ast::ExprNode* star_item(Ref n);  // also named_item, star_test

 private:
  friend class StringBuilder;

  // build_ast.cpp
  [[noreturn]] void fail(Span where, std::string code, std::string text);
  [[noreturn]] void invalid(Ref where) { fail(where.span(), "syntax.invalid", "invalid syntax"); }
  [[noreturn]] void refuse(grammar::Refused what, Span where);
  template <class T>
  T* make(Span span) {
    return ast::make<T>(arena_, span);
  }
  /// Sets the height of a finished node; too deep is RecursionError.
  template <class T>
  T* done(T* node);
  Span span(uint32_t begin, uint32_t end) const { return {tree_->file, begin, end}; }
  std::string_view text(Ref token) const { return file_.text(token.span()); }
  Symbol name(Ref token) { return name(text(token)); }
  Symbol name(std::string_view text);  // in NFKC
  void no_double_comma(Ref list);

  // build_stmt.cpp
  using StmtVec = SmallVec<ast::StmtNode*, 8>;
  void stmt(Ref n, StmtVec& out);
  ast::Stmts suite(Ref n);
  void simple_stmts(Ref n, StmtVec& out);
  ast::StmtNode* simple_stmt(Ref n);
  ast::StmtNode* expr_stmt(Ref n);
  ast::StmtNode* annotated(Ref n);
  ast::StmtNode* augmented(Ref n, Ref op);
  ast::StmtNode* assignment(Ref n);
  ast::StmtNode* import_name(Ref n);
  ast::StmtNode* import_from(Ref n);
  ast::StmtNode* global_stmt(Ref n);
  ast::StmtNode* del_stmt(Ref n);
  ast::StmtNode* if_stmt(Ref n);
  ast::StmtNode* while_stmt(Ref n);
  ast::StmtNode* for_stmt(Ref n);
  ast::StmtNode* try_stmt(Ref n);
  ast::StmtNode* with_stmt(Ref n);
  ast::ExprNode* assigned(Ref n, bool target = false);
  ast::ExprNode* target_list(Ref n);
  Symbol dotted_name(Ref n);
  ast::Alias* alias(Ref n, Symbol name_symbol);
  void check_future(ast::Stmts body);
  /// What all compound statements share: span from the keyword to the end of the last block.
  Span to_end_of(Ref first, ast::Stmts block) const { return {tree_->file, first.begin(), block.back()->span.end}; }

  // build_def.cpp
  ast::StmtNode* decorated(Ref n);
  ast::StmtNode* func_def(Ref n, ast::Exprs decorators);
  ast::StmtNode* class_def(Ref n, ast::Exprs decorators);
  ast::Arguments* params(Ref n);  // params, lambda_params, or no node
  void call_args(Ref n, ExprVec& args, SmallVec<ast::Keyword*, 4>& keywords, Ref close);

  // build_expr.cpp
  ast::ExprNode* primary(Ref n);
  ast::ExprNode* atom(Ref n);
  ast::ExprNode* lambda(Ref n);
  ast::ExprNode* call(ast::ExprNode* func, Span where, Ref args, Ref close, Ref open);
  ast::ExprNode* subscripts(Ref n);
  ast::ExprNode* subscript(Ref n);
  ast::ExprNode* named(ast::ExprNode* target, Ref target_ref, Ref value);

  // build_display.cpp
  ast::ExprNode* paren(Ref n);
  ast::ExprNode* group(Ref n, Span where);
  ast::ExprNode* bracket(Ref n);
  ast::ExprNode* brace(Ref n);
  ast::Comprehension* comp_for(Ref n);
  ast::Seq<ast::Comprehension> comp_fors(Ref parent);

  // build_string.cpp
  ast::ExprNode* number(Ref token);
  ast::ExprNode* strings(Ref first, uint32_t count);

  // build_match.cpp
  ast::StmtNode* match_stmt(Ref n);
  ast::PatternNode* pattern_list(Ref n, bool always_sequence, Span where);
  ast::PatternNode* pattern_item(Ref n);
  ast::PatternNode* pattern(Ref n);
  ast::PatternNode* closed_pattern(Ref n);
  ast::PatternNode* class_pattern(Ref n, ast::ExprNode* cls, Ref args);
  ast::PatternNode* mapping_pattern(Ref n);

  // check_target.cpp
  /// Makes an expression a target, or fails.
  void assign_to(ast::ExprNode* e, TargetKind kind);
  void set_context(ast::ExprNode* e, ast::Context ctx);

  const SourceFile& file_;
  Arena& arena_;
  const grammar::Tree* tree_;
};

/// How CPython's messages call an expression ("function call").
const char* expression_name(const ast::ExprNode* e);
/// The first part of `e` that cannot be a target, or null.
ast::ExprNode* invalid_target(ast::ExprNode* e, TargetKind kind);

/// The token or the n-th child of that kind, or no node.
Ref child(Ref n, Rule rule);
Ref child(Ref n, Tok tok);
bool has(Ref n, Tok tok);
/// Descends while there is exactly one child.
Ref innermost(Ref n);
/// Children as an array.
SmallVec<Ref, 8> list(Ref n);

uint16_t check_height(const ast::Node* node, const SourceFile& file);

template <class T>
T* Builder::done(T* node) {
  node->height = check_height(node, file_);
  return node;
}

}  // namespace ouro::frontend
