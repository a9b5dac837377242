// When is what was typed at the prompt a whole statement? A scan of the text alone, no parser:
// brackets, strings, line ends that a backslash takes away, and whether the first line opens a
// block.
#pragma once

#include <string_view>

namespace ouro::tools {

struct CellState {
  bool open = false;       // in brackets, in a triple-quoted string, or behind a backslash
  bool block = false;      // a compound statement: it goes on until a blank line
  bool decorated = false;  // the last line is a decorator: a definition must follow
};

CellState cell_state(std::string_view text);

// Blank, or a comment alone.
bool is_blank(std::string_view line);

// Does this line go on with the block above it (indented, or else, elif, except, finally)?
bool continues_block(std::string_view line);

}  // namespace ouro::tools
