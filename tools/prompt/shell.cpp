#include "tools/prompt/shell.h"

#include <stdexcept>
#include <utility>

#include "runtime/interpreter/modules.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"
#include "runtime/text/foreign.h"

namespace ouro::tools {

using namespace runtime;

Shell::Shell(Session& s) : s_(s), module_(make_main_module(s, "", true)), style_(Style::of_terminal()) {}

bool Shell::run(const std::string& text) {
  return run_source("<cell " + std::to_string(++cells_) + ">", text, /*interactive=*/true);
}

int Shell::run_file(const std::string& name, const std::string& text) {
  (void)run_source(text::from_system(name), text, /*interactive=*/false);
  return std::exchange(status_, 0);
}

bool Shell::run_source(const std::string& name, const std::string& text, bool interactive) {
  CallScope call(s_);
  const Value value = runtime::run_source(s_, name, text, module_, interactive);
  return value.is_error() || s_.met_end ? report_error() : true;
}

void Shell::guarded(const std::function<void()>& work) {
  CallScope call(s_);
  MemoryLimited script(s_.memory);
  try {
    work();
  } catch (const Interrupted&) {
    (void)raise_interrupt(s_);
  } catch (const std::bad_alloc&) {
    (void)raise_memory_error(s_);
  } catch (const std::length_error&) {
    (void)raise_memory_error(s_);
  }
  if (s_.has_error() || s_.met_end) (void)report_error();
}

bool Shell::report_error() {
  Value exception;
  take_outcome(s_, exception);
  if (exception_is(s_, exception, ExcKind::SystemExit)) return leave(exception);
  (void)s_.out.flush();
  s_.err.write(style_.traceback(text::shown_text(format_exception(s_, exception))));
  return true;
}

bool Shell::leave(const Value& exception) {
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

void Shell::say(std::string_view text) {
  std::string out = text::shown_text(text);
  if (!out.ends_with('\n')) out += '\n';
  s_.out.write(out);
}

void Shell::complain(std::string_view text) {
  (void)s_.out.flush();
  s_.err.write(style_.paint(Look::error, text::shown_text(text)) + "\n");
}

}  // namespace ouro::tools
