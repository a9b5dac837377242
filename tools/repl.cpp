#include "tools/repl.h"

#include <cstdlib>
#include <string>

#include "runtime/interpreter/modules.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "tools/cell.h"
#include "tools/complete.h"
#include "tools/line_source.h"

namespace ouro::tools {

using namespace runtime;

namespace {

std::string history_file() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && state[0] == '/') return std::string(state) + "/ouro/history";
  const char* home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.local/state/ouro/history" : "";
}

// The next whole statement; false at the end of input. Empty after Ctrl-C.
bool read_cell(LineSource& lines, std::string& text) {
  text.clear();
  for (;;) {
    std::string line;
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

class Repl {
 public:
  explicit Repl(Session& s) : s_(s), module_(make_main_module(s, "", true)) {}
  int run();

 private:
  // Runs one statement; false when it asked to leave, with the status in status_.
  bool run_cell(const std::string& text);
  // Prints the pending exception; false if it is SystemExit.
  bool report_error();
  bool leave(const Value& exception);
  void drop_interrupt() { s_.poll.fetch_and(~static_cast<uint32_t>(Session::kInterrupt)); }

  Session& s_;
  Value module_;
  int cells_ = 0, status_ = 0;
};

int Repl::run() {
  auto lines = make_line_source(
      history_file(), [this](std::string_view text, size_t& start) { return complete(s_, module_, text, start); });
  if (lines->interactive()) {
    s_.out.write("Ouro. Tab completes, Ctrl-C stops a statement, Ctrl-D ends.\n");
    (void)s_.out.flush();
  }
  std::string text;
  while (read_cell(*lines, text)) {
    drop_interrupt();  // that came before the statement, or too late for it
    const bool go_on = text.empty() || run_cell(text);
    drop_interrupt();
    (void)s_.out.flush();
    (void)s_.err.flush();
    if (!go_on) break;
  }
  return status_;
}

bool Repl::run_cell(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  const std::string_view word = std::string_view(text).substr(begin, end - begin + 1);
  if (word == "exit" || word == "quit" || word == "exit()" || word == "quit()") return false;
  const std::string name = "<cell " + std::to_string(++cells_) + ">";
  CallScope call(s_);
  const Value value = run_source(s_, name, text, module_, /*interactive=*/true);
  if (value.is_error() || s_.met_end) return report_error();
  return true;
}

bool Repl::report_error() {
  Value exception;
  take_outcome(s_, exception);
  if (exception_is(s_, exception, ExcKind::SystemExit)) return leave(exception);
  (void)s_.out.flush();
  s_.err.write(text::shown_text(format_exception(s_, exception)));
  return true;
}

bool Repl::leave(const Value& exception) {
  const Value code = lookup_attr(s_, exception, intern("code"));
  if (code.is_int() || code.is_bool()) {
    status_ = static_cast<int>(code.as_int() & 0xFF);
  } else if (!code.is_none() && !code.is_unbound() && !code.is_error()) {
    s_.err.write(text::shown_text(text_of(s_, code) + "\n"));
    status_ = 1;
  }
  if (s_.has_error()) clear_pending(s_);
  return false;
}

}  // namespace

int run_repl(Session& s) { return Repl(s).run(); }

}  // namespace ouro::tools
