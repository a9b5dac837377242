// What the prompt and its commands act on: the session, the module of the statements, and where answers go.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/object/value.h"
#include "tools/prompt/style.h"

namespace ouro::runtime {
class Session;
}

namespace ouro::tools {

class Shell {
 public:
  explicit Shell(runtime::Session& s);

  /// Runs one statement, a source file of its own (`<cell N>`, so that tracebacks show its lines). False: it asked to
  /// leave, with status().
  bool run(const std::string& text);
  /// The same with a file's text under the file's name, and without leaving: the status that the file has ended with.
  int run_file(const std::string& name, const std::string& text);
  /// Work of the prompt itself that may call into the script: an interrupt or a lack of memory ends it, and is told.
  /// So is the exception that `work` leaves pending.
  void guarded(const std::function<void()>& work);

  /// A line, or several, of an answer; the newline at the end is added.
  void say(std::string_view text);
  /// What is wrong with what was asked, in a sentence.
  void complain(std::string_view text);

  runtime::Session& session() { return s_; }
  const runtime::Value& module() const { return module_; }
  const Style& style() const { return style_; }
  int status() const { return status_; }

 private:
  bool run_source(const std::string& name, const std::string& text, bool interactive);
  // Prints the exception that a call has left; false if it is SystemExit.
  bool report_error();
  bool leave(const runtime::Value& exception);

  runtime::Session& s_;
  runtime::Value module_;
  const Style style_;
  int cells_ = 0, status_ = 0;
};

}  // namespace ouro::tools
