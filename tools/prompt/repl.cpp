#include "tools/prompt/repl.h"

#include <string>

#include "runtime/object/session.h"
#include "tools/prompt/about.h"
#include "tools/prompt/banner.h"
#include "tools/prompt/command.h"
#include "tools/prompt/complete.h"
#include "tools/prompt/display.h"
#include "tools/prompt/line_source.h"
#include "tools/prompt/read_cell.h"
#include "tools/prompt/shell.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

using namespace runtime;

namespace {

// One thing that was typed; false when it asked to leave.
bool answer(Shell& shell, const std::string& text) {
  if (trimmed(text).empty()) return true;
  if (asks_to_leave(text)) return false;
  if (is_question(text)) return tell_about(shell, text), true;
  if (is_command(text)) return run_command(shell, text);
  return shell.run(text);
}

}  // namespace

int run_repl(Session& s) {
  Shell shell(s);
  show_results(s);
  const auto completer = [&](std::string_view text, size_t& start) {
    return is_command(text) ? complete_command(shell, text, start) : complete(s, shell.module(), text, start);
  };
  const auto lines = make_line_source(history_file(), completer, shell.style());
  const auto drop_interrupt = [&] { s.poll.fetch_and(~static_cast<uint32_t>(Session::kInterrupt)); };
  if (lines->interactive()) {
    shell.say(banner(s));
    (void)s.out.flush();
  }
  std::string text;
  while (read_cell(*lines, text)) {
    drop_interrupt();  // that came before the statement, or too late for it
    const bool go_on = answer(shell, text);
    drop_interrupt();
    (void)s.out.flush();
    (void)s.err.flush();
    if (!go_on) break;
  }
  return shell.status();
}

}  // namespace ouro::tools
