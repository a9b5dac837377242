// Statements as somebody types them, or as they come from a file: for the prompt and `ouro attach`.
#pragma once

#include <string>

#include "tools/prompt/line_source.h"

namespace ouro::tools {

/// The next whole statement; false at the end of input. Empty after Ctrl-C.
bool read_cell(LineSource& lines, std::string& text);
/// Where the lines that were typed are kept; empty: nowhere.
std::string history_file();
/// Is it `?name` or `name?`? Such a line is never a part of a statement.
bool is_question(std::string_view cell);
/// Is it `exit`, `quit`, or a call of one of them?
bool asks_to_leave(std::string_view cell);

}  // namespace ouro::tools
