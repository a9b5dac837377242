#include "tools/repl.h"

#include <string>

#include "runtime/interpreter/modules.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"
#include "tools/complete.h"
#include "tools/line_source.h"
#include "tools/read_cell.h"

namespace ouro::tools {

using namespace runtime;

namespace {

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
  if (asks_to_leave(text)) return false;
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
