// From "this token did not fit here" to the message CPython 3.11 gives.
//
// CPython's parser runs a second time with rules that describe mistakes (Grammar/python.gram,
// invalid_*). Here the failed parse itself is looked at: the token, the rules that were open, and
// the tree so far. Each mistake is one function in a list; the first that recognises its case words
// the message, and "invalid syntax" is the last resort.
#pragma once

#include <vector>

#include "grammar/indent_lexer.h"
#include "grammar/tree.h"
#include "support/diag.h"

namespace ouro::grammar {

struct Failure {
  const SourceFile& file;
  const Tree& tree;            // nodes as far as the parse came; open rules have no end yet
  const TokenList& lexed;      // error and open brackets; its tokens are in the tree
  std::vector<uint32_t> open;  // nodes of the open rules, outermost first
  uint32_t token;              // index of the token that did not fit
  bool in_fstring;
};

Diagnostic describe_failure(const Failure& failure);

/// Parse the longest construct that begins at `token`; the index behind it, or 0 if there is none.
/// `furthest` becomes the last token looked at.
uint32_t match_expression(const Tree& tree, uint32_t token, uint32_t* furthest = nullptr);  // test
uint32_t match_expressions(const Tree& tree, uint32_t token,
                           uint32_t* furthest = nullptr);                              // star_list
uint32_t match_arith(const Tree& tree, uint32_t token, uint32_t* furthest = nullptr);  // arith
uint32_t match_comprehension(const Tree& tree, uint32_t token,
                             uint32_t* furthest = nullptr);  // comp_for

}  // namespace ouro::grammar
