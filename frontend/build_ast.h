// Text → AST: parses with grammar/parse.h, then turns the neutral syntax tree into ast.h's nodes.
//
// Operators come from the grammar as flat lists; precedence and associativity are the table in
// build_expr.cpp. All checks that CPython's parser makes beyond its grammar (assignable targets,
// argument order, string literals, ...) are made here.
#pragma once

#include "frontend/ast.h"
#include "support/arena.h"
#include "support/diag.h"
#include "support/source.h"

namespace ouro::frontend {

/// Parses a whole file. Null if there was an error; then diags holds it as CPython 3.11 words it
/// (SyntaxError, IndentationError, TabError; RecursionError and MemoryError for nesting; refused
/// constructs as SyntaxError). Safe from any thread; arena and diags belong to the caller, the
/// SourceFile must outlive the tree.
ast::Module* parse_module(const SourceFile& file, Arena& arena, Diagnostics& diags);

/// Parses one expression, as `eval` does (leading blanks and trailing newlines allowed). Null on
/// error.
ast::ExprNode* parse_expression(const SourceFile& file, Arena& arena, Diagnostics& diags);

}  // namespace ouro::frontend
