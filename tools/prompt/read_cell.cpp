#include "tools/prompt/read_cell.h"

#include <cstdlib>

#include "tools/prompt/cell.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

bool read_cell(LineSource& lines, std::string& text) {
  text.clear();
  for (;;) {
    std::string line;
    lines.indent(text.empty() ? "" : indent_after(text));
    switch (lines.read(text.empty() ? ">>> " : "... ", line)) {
      case LineEnd::interrupted:
        text.clear();
        return true;
      case LineEnd::end_of_input:
        return !text.empty();
      case LineEnd::line:
        break;
    }
    if (text.empty() && is_blank(line)) continue;
    text += line;
    if (is_question(text)) return true;
    const CellState state = cell_state(text);
    if (state.open || state.decorated) continue;
    if (!state.block) return true;
    // Where the next line is known, it tells; where somebody types, a blank line does.
    const std::string* next = lines.peek();
    const bool ends = next                  ? !continues_block(*next)
                      : lines.interactive() ? line.find_first_not_of(" \t\r\n") == std::string::npos
                                            : true;
    if (ends) return true;
  }
}

std::string history_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && state[0] == '/') return std::string(state) + "/ouro/history";
  const char* home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.local/state/ouro/history" : "";
}

bool is_question(std::string_view cell) {
  const std::string_view text = trimmed(cell);
  return text.starts_with('?') || (text.ends_with('?') && is_dotted_name(trimmed(text.substr(0, text.find('?')))));
}

bool asks_to_leave(std::string_view cell) {
  const std::string_view word = trimmed(cell);
  return word == "exit" || word == "quit" || word == "exit()" || word == "quit()";
}

}  // namespace ouro::tools
