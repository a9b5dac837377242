#include "jit/versions/place.h"

#include <fmt/format.h>

namespace ouro::jit {

std::string Place::name() const { return line ? fmt::format("{}:{}", file, line) : "?"; }

Place place_of(runtime::Session& s, Span span) {
  const SourceFile* file = span.known() ? s.sources.file(span.file) : nullptr;
  if (!file) return {.file = "?"};
  Place at{.file = file->name(), .line = static_cast<uint32_t>(file->line_col(span.begin).line)};
  const std::string_view line = file->line_text(at.line);
  if (const size_t first = line.find_first_not_of(" \t"); first != line.npos)
    at.text = line.substr(first, line.find_last_not_of(" \t\r\n") - first + 1);
  return at;
}

// The function whose text a place is in: the nearest `def` above that is indented less. Empty: none.
static std::string function_around(runtime::Session& s, Span span) {
  const SourceFile* file = span.known() ? s.sources.file(span.file) : nullptr;
  if (!file) return {};
  auto indent = [](std::string_view line) { return line.find_first_not_of(" \t"); };
  auto line = static_cast<uint32_t>(file->line_col(span.begin).line);
  size_t least = indent(file->line_text(line));
  while (--line > 0) {
    std::string_view text = file->line_text(line);
    const size_t at = indent(text);
    if (at == text.npos || at >= least) continue;
    least = at;
    text.remove_prefix(at);
    if (!text.starts_with("def ")) continue;
    text.remove_prefix(4);
    return std::string(text.substr(0, text.find('(')));
  }
  return {};
}

std::string micro_batch_text(runtime::Session& s, const Plan::MicroBatching& m) {
  if (m.size && m.rows) return fmt::format("{} of {} rows of the batch at a time", m.size, m.rows);
  if (m.size) return fmt::format("{} rows of the batch at a time", m.size);
  if (m.refusal.empty()) return "the whole batch at once: it has no more rows";
  std::string out = "the whole batch at once: " + m.refusal;
  // (The rule of a derivative tells nobody where he would have to look.)
  if (const Place at = place_of(s, m.where); at.line && at.file != "ouro/rule") {
    const std::string function = function_around(s, m.where);
    out += fmt::format(" ({}{})", function.empty() ? "" : "in " + function + ", ", at.name());
  }
  return out;
}

}  // namespace ouro::jit
