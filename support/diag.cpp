#include "support/diag.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace ouro {
inline namespace support {
namespace {

// End of the underlined range on the error's own line: a range that goes on below is underlined to
// the end of the line.
uint32_t caret_end(const SourceFile& file, LineCol at, Span span) {
  LineCol end = file.line_col(span.end);
  if (end.line > at.line) return static_cast<uint32_t>(file.line_text(at.line).size());
  return end.col;
}

std::string_view without_indent(std::string_view line) {
  size_t skip = std::min(line.find_first_not_of(" \t\f"), line.size());
  return line.substr(skip);
}

std::string source_line(std::string_view line) { return "    " + std::string(without_indent(line)) + "\n"; }

}  // namespace

bool is_syntax_error_kind(std::string_view kind) {
  return kind == "SyntaxError" || kind == "IndentationError" || kind == "TabError";
}

std::string render_caret(std::string_view line, uint32_t col, uint32_t end_col) {
  size_t skip = line.size() - without_indent(line).size();
  std::string out = source_line(line);
  if (col < skip) return out;
  uint32_t before = utf8_length(line.substr(skip, col - skip));
  if (col > line.size()) before += col - static_cast<uint32_t>(line.size());
  uint32_t width = end_col > col && col < line.size() ? utf8_length(line.substr(col, end_col - col)) : 1;
  out += "    ";
  out.append(before, ' ');
  out.append(width ? width : 1, '^');
  return out + "\n";
}

std::string render(const Diagnostic& d, const SourceFile* file) {
  std::string out;
  if (file && d.span.known() && is_syntax_error_kind(d.kind)) {
    LineCol at = file->line_col(d.span.begin);
    out += "  File \"" + file->name() + "\", line " + std::to_string(at.line) + "\n";
    std::string_view line = file->line_text(at.line);
    if (d.show_caret)
      out += render_caret(line, at.col, caret_end(*file, at, d.span));
    else
      out += source_line(line);
  }
  if (d.severity == Severity::warning) out += "warning: ";
  if (d.severity == Severity::note) out += "note: ";
  out += d.kind;
  if (!d.text.empty()) out += ": " + d.text;
  if (!d.suggestion.empty()) out += ". " + d.suggestion;
  return out + "\n";
}

std::string render(const Diagnostic& d, const SourceManager& sources) { return render(d, sources.file(d.span.file)); }

void Diagnostics::report(Diagnostic d) {
  errors_ += d.severity == Severity::error;
  list_.push_back(std::move(d));
}

void Diagnostics::error(Span span, std::string code, std::string text, std::string kind) {
  report({span, std::move(code), std::move(text), {}, Severity::error, std::move(kind), true});
}

const Diagnostic* Diagnostics::first_error() const {
  for (const Diagnostic& d : list_)
    if (d.severity == Severity::error) return &d;
  return nullptr;
}

void Diagnostics::clear() {
  list_.clear();
  errors_ = 0;
}

void user_error(Span span, std::string code, std::string text, std::string suggestion, std::string kind) {
  throw UserError(
      {span, std::move(code), std::move(text), std::move(suggestion), Severity::error, std::move(kind), true});
}

namespace {
thread_local bool bugs_are_contained = false;
}

ContainBugs::ContainBugs() : before_(bugs_are_contained) {
  bugs_are_contained = std::getenv("OURO_ABORT_ON_BUG") == nullptr;
}
ContainBugs::~ContainBugs() { bugs_are_contained = before_; }

void ouro_bug_at(const char* file, int line, const char* format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (bugs_are_contained) throw InternalError(fmt::format("{} ({}:{})", text, file, line));
  std::fprintf(stderr, "internal error: %s (%s:%d)\nThis is a bug in Ouro, not in your program.\n", text, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace support
}  // namespace ouro
