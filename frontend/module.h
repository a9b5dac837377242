// Text → ANF: parse, resolve, lower, verify.
#pragma once

#include "ir/anf.h"
#include "support/diag.h"
#include "support/source.h"

namespace ouro::frontend {

struct CompileOptions {
  /// A cell of the prompt: the module returns the value of its last statement if that is an
  /// expression.
  bool interactive = false;
  /// A Python file: it sees only Python's built-in names. (Which names there are is the session's
  /// business; the text means the same.)
  bool is_py = false;
};

/// Compiles a file to the function that runs it (Function::Kind::module). Null on error, with the
/// message in `diags` as CPython 3.11 words it. Safe from any thread.
ir::FunctionRef compile_module(const SourceFile& file, Diagnostics& diags, CompileOptions options = {});

}  // namespace ouro::frontend
