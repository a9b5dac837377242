// What a person did wrong, and what we did wrong: two different calls.
//
// A Diagnostic is a message with a place. Messages about the text of a program print exactly as
// CPython prints them:
//
//       File "f.ouro", line 3
//         x = = 1
//             ^
//     SyntaxError: invalid syntax
//
// `user_error` throws UserError and never crosses generated code; parsers collect into Diagnostics
// instead. `ouro_bug` is for broken invariants of Ouro itself: it prints where, and aborts; but where the compiler
// works for a program that can do without it, it throws InternalError (ContainBugs).
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace ouro {
inline namespace support {

enum class Severity : uint8_t { error, warning, note };

struct Diagnostic {
  Span span;
  /// Stable identity of the message ("syntax.invalid", "refused.async"); each has a test.
  std::string code;
  std::string text;
  /// One sentence of help, or empty.
  std::string suggestion;
  Severity severity = Severity::error;
  /// Python's exception class: SyntaxError, IndentationError, TabError, RecursionError,
  /// MemoryError, ...
  std::string kind = "SyntaxError";
  /// CPython raises some errors without a range; then only a line is shown, without carets.
  bool show_caret = true;
};

/// True for the classes whose message shows file, line and caret.
bool is_syntax_error_kind(std::string_view kind);

/// CPython's text for a diagnostic: place, line, caret, `Kind: text`, each line ending in \n.
std::string render(const Diagnostic& d, const SourceManager& sources);
std::string render(const Diagnostic& d, const SourceFile* file);

/// The source line of an error with carets under [col, end_col), indented by four as CPython does:
/// two lines ending in \n, or one if there is nothing to underline. Columns are bytes of `line`,
/// from 0; end_col <= col underlines one.
std::string render_caret(std::string_view line, uint32_t col, uint32_t end_col);

/// Where a stage puts its messages. The first error is the one CPython would have raised.
class Diagnostics {
 public:
  void report(Diagnostic d);
  /// An error of class SyntaxError unless said otherwise.
  void error(Span span, std::string code, std::string text, std::string kind = "SyntaxError");
  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& all() const { return list_; }
  const Diagnostic* first_error() const;
  void clear();

 private:
  std::vector<Diagnostic> list_;
  size_t errors_ = 0;
};

/// An error of the person's making, on its way to whoever prints it.
struct UserError : std::exception {
  explicit UserError(Diagnostic d) : diagnostic(std::move(d)) {}
  const char* what() const noexcept override { return diagnostic.text.c_str(); }
  Diagnostic diagnostic;
};

/// Throws UserError. `kind` is the Python exception class it counts as.
[[noreturn]] void user_error(Span span, std::string code, std::string text, std::string suggestion = {},
                             std::string kind = "SyntaxError");

/// A broken invariant of Ouro, where it is contained. The text names the place in Ouro's source.
struct InternalError : std::exception {
  explicit InternalError(std::string t) : text(std::move(t)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

/// While one lives, `ouro_bug` on this thread throws InternalError. Not where frames that cannot be unwound (generated
/// code, LLVM's) stand between the two. With OURO_ABORT_ON_BUG in the environment bugs are never contained.
class ContainBugs {
 public:
  ContainBugs();
  ~ContainBugs();
  ContainBugs(const ContainBugs&) = delete;
  ContainBugs& operator=(const ContainBugs&) = delete;

 private:
  bool before_;
};

[[noreturn]] void ouro_bug_at(const char* file, int line, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

}  // namespace support
}  // namespace ouro

/// printf-style; prints "internal error" with the place in Ouro's own source, and aborts (or throws: ContainBugs).
#define ouro_bug(...) ::ouro::support::ouro_bug_at(__FILE__, __LINE__, __VA_ARGS__)
/// Checks an invariant of Ouro in every build.
#define OURO_CHECK(cond)                              \
  do {                                                \
    if (!(cond)) ouro_bug("check failed: %s", #cond); \
  } while (0)
