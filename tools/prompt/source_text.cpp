#include "tools/prompt/source_text.h"

#include <algorithm>

#include "ir/ops/registry.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "runtime/tensor/tensor.h"
#include "tools/prompt/words.h"

namespace ouro::tools {

using namespace runtime;

namespace {

std::string_view blanks_of(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

// The first line of the definition that begins at `line`: its decorators are a part of it.
uint32_t with_decorators(const SourceFile& file, uint32_t line) {
  const std::string_view in = blanks_of(file.line_text(line));
  while (line > 1) {
    const std::string_view above = file.line_text(line - 1);
    if (blanks_of(above) != in || !above.substr(in.size()).starts_with('@')) break;
    --line;
  }
  return line;
}

// Lines from `first` up to `last`, without the indentation of the first.
SourceText lines_of(const SourceFile& file, uint32_t first, uint32_t last) {
  const size_t margin = blanks_of(file.line_text(first)).size();
  SourceText out{file.name() + ":" + std::to_string(first), ""};
  for (uint32_t i = first; i <= last; ++i) {
    const std::string_view line = file.line_text(i);
    out.text += std::string(line.substr(std::min(margin, blanks_of(line).size()))) + "\n";
  }
  return out;
}

std::optional<SourceText> of_code(Session& s, const ir::Function& code) {
  const SourceFile* file = s.sources.file(code.span.file);
  if (!file || code.span.size() == 0) return std::nullopt;
  const uint32_t first = with_decorators(*file, file->line_col(code.span.begin).line);
  uint32_t last = file->line_col(code.span.end).line;
  while (last > first && trimmed(file->line_text(last)).empty()) --last;
  // The span may end at the beginning of the line behind.
  if (last > first && file->line_start(last) >= code.span.end) --last;
  return lines_of(*file, first, last);
}

// Where `class NAME` stands in the file, and the lines that are further in.
std::optional<SourceText> class_in(const SourceFile& file, std::string_view name) {
  for (uint32_t first = file.line_count(); first >= 1; --first) {
    const std::string_view line = file.line_text(first), in = blanks_of(line), rest = line.substr(in.size());
    const std::string head = "class " + std::string(name);
    if (!rest.starts_with(head) || (rest.size() > head.size() && is_name_char(rest[head.size()]))) continue;
    uint32_t last = first;
    for (uint32_t i = first + 1; i <= file.line_count(); ++i) {
      const std::string_view below = file.line_text(i);
      if (trimmed(below).empty()) continue;
      if (blanks_of(below).size() <= in.size() && !below.substr(blanks_of(below).size()).starts_with(')')) break;
      last = i;
    }
    return lines_of(file, with_decorators(file, first), last);
  }
  return std::nullopt;
}

// The file of a class: that of the first of its methods that is its own; where it has none, the cells, the newest
// first.
std::optional<SourceText> of_class(Session& s, const Type& t) {
  if (t.builtin) return std::nullopt;
  for (const auto& e : t.names.entries()) {
    const auto* f = e.name ? cast<Function>(e.value) : nullptr;
    const SourceFile* file = f ? s.sources.file(f->code->span.file) : nullptr;
    if (!file || !f->code->is_method) continue;
    if (auto found = class_in(*file, t.text())) return found;
  }
  const Value module = type_lookup(s, const_cast<Type*>(&t), intern("__module__"));
  const Str* home = cast<Str>(module);
  if (!home || home->view() != "__main__") return std::nullopt;
  const uint32_t newest = s.sources.add("<newest>", "").id();  // numbers go up
  s.sources.drop(newest);
  for (uint32_t id = newest; id > 0; --id) {
    const SourceFile* file = s.sources.file(id);
    if (!file || !file->name().starts_with("<cell ")) continue;
    if (auto found = class_in(*file, t.text())) return found;
  }
  return std::nullopt;
}

}  // namespace

const ir::OpInfo* operation_row(const Native& n) {
  const ir::OpInfo* row = ir::find_op(n.def->name);
  return row && row->def->doc == n.def->doc ? row : nullptr;
}

std::optional<SourceText> source_text(Session& s, const Value& v) {
  if (auto* bound = cast_exact<BoundMethod>(v)) return source_text(s, bound->function);
  if (auto* f = cast_exact<Function>(v)) return of_code(s, *f->code);
  if (auto* t = cast<Type>(v)) return of_class(s, *t);
  if (auto* n = cast_exact<Native>(v)) {
    // An operation is a row: a function in Ouro (stdlib/ops), or an expression over scalars.
    const ir::OpInfo* row = operation_row(*n);
    if (row && !row->def->source.empty()) return source_text(s, operation_source(s, *row));
    if (row && row->body) return SourceText{"for each element", ir::to_text(row->body) + "\n"};
  }
  return std::nullopt;
}

}  // namespace ouro::tools
