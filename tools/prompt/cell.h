// When is what was typed at the prompt a whole statement? A scan of the text alone, no parser:
// brackets, strings, line ends that a backslash takes away, and whether the first line opens a
// block. And how far in does the next line begin?
#pragma once

#include <string>
#include <string_view>

namespace ouro::tools {

struct CellState {
  bool open = false;       // in brackets, in a triple-quoted string, or behind a backslash
  bool block = false;      // a compound statement: it goes on until a blank line
  bool decorated = false;  // the last line is a decorator: a definition must follow
  // Of the last line that is not blank (a logical one): how far in it stands, and whether it begins or ends a block.
  std::string_view blanks{};
  bool begins_block = false, ends_block = false;
};

CellState cell_state(std::string_view text);

/// Blanks that the next line of an unfinished statement begins with: those of the last line; four more behind a colon,
/// four fewer behind return, raise, break, continue and pass, which end their block. None in brackets and strings.
std::string indent_after(std::string_view text);

// Blank, or a comment alone.
bool is_blank(std::string_view line);

// Does this line go on with the block above it (indented, or else, elif, except, finally)?
bool continues_block(std::string_view line);

}  // namespace ouro::tools
