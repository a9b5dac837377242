// Text → tokens: the raw lexer's matches, plus everything that needs memory.
//
// NEWLINE, INDENT and DEDENT follow CPython's tokenizer: a stack of columns with tabs to multiples
// of 8, a second stack with tabs of width 1 to find inconsistent use of tabs, blank and comment
// lines ignored, nothing inside brackets. Names become keywords by table, soft keywords by place.
// Limits are CPython's: 200 open brackets, 100 indents.
//
// The first lexical error ends the list with an ERROR token; the parser decides whether an earlier
// token is wrong first.
#pragma once

#include <optional>
#include <vector>

#include "grammar/tree.h"
#include "support/diag.h"

namespace ouro::grammar {

enum class LexMode : uint8_t {
  file,     // lines and indentation
  bracket,  // as inside brackets: line ends are blanks (expressions of f-strings)
};

struct OpenBracket {
  char kind;
  uint32_t offset;
};

struct TokenList {
  std::vector<Token> tokens;  // ends with END, or with ERROR
  std::optional<Diagnostic> error;
  std::vector<OpenBracket> open;  // brackets still open at the end, outermost first
};

inline constexpr size_t kMaxBrackets = 200;
inline constexpr size_t kMaxIndents = 100;

/// Tokens of text [begin, end) of the file.
TokenList tokenize(const SourceFile& file, uint32_t begin, uint32_t end, LexMode mode);

}  // namespace ouro::grammar
