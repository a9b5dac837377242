// AST → text, exactly as CPython's ast.dump writes it.
#pragma once

#include <string>

#include "frontend/ast.h"

namespace ouro::frontend {

/// `ast.dump(tree)`. With a file also `include_attributes=True`: lines from 1, columns in bytes
/// from 0.
std::string dump_ast(const ast::Node* node, const SourceFile* positions = nullptr);

/// Python's repr of a str (UTF-8, surrogates in three-byte form), of bytes and of a float.
std::string repr_str(std::string_view text);
std::string repr_bytes(std::string_view text);
std::string repr_float(double value);

}  // namespace ouro::frontend
