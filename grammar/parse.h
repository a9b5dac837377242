// Tokens → tree. The only door to the grammar; no ANTLR type passes it.
#pragma once

#include <optional>

#include "grammar/tree.h"
#include "support/diag.h"
#include "support/source.h"

namespace ouro::grammar {

enum class Start : uint8_t {
  file,        // statements
  expression,  // one expression list, as eval takes
  fstring,     // what stands in the braces of an f-string, without conversion and format
};

/// Parses text [begin, end) of the file into `tree`. On failure returns the error as CPython 3.11
/// words it; the tree then holds the tokens read, and as nodes the statements before the one that
/// failed (closed, so that they can be checked for errors that come first). Nesting beyond the
/// limits is an error, never a crash. Safe from any thread.
std::optional<Diagnostic> parse(const SourceFile& file, Start start, uint32_t begin, uint32_t end, Tree& tree);

}  // namespace ouro::grammar
