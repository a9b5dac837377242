// The text of an uncaught exception, as CPython 3.11 prints it (Python/traceback.c, Python/pythonrun.c): frames with
// the source line and the failing range underlined, chained exceptions, notes, "Did you mean".
#include <algorithm>

#include "frontend/build_ast.h"
#include "runtime/object/ops.h"
#include "runtime/object/suggest.h"
#include "support/source.h"

namespace ouro::runtime {

std::string exception_class_text(Session& s, Type* t) {
  std::string name(t->qualname.is_object() ? t->qualname.as<Str>()->view() : t->text());
  static const Symbol module_name = intern("__module__");
  Value m = type_lookup(s, t, module_name);
  if (Str* text = cast<Str>(m); text && text->view() != "__main__" && text->view() != "builtins" && !t->builtin)
    return std::string(text->view()) + "." + name;
  return name;
}

namespace {

constexpr int kRepeats = 3;

bool blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

// Where the operator of a binary operation, or the brackets of a subscript, stand in the segment (byte offsets): then
// the range is drawn as ~~~^~~~ (CPython: extract_anchors_from_ast).
struct Anchors {
  int left = -1, right = -1;
};
Anchors find_anchors(std::string_view segment) {
  Anchors a;
  SourceFile file(1, "<segment>", segment);
  Arena arena;
  Diagnostics diags;
  ast::ExprNode* e = frontend::parse_expression(file, arena, diags);
  if (!e) return a;
  if (e->kind == ast::Kind::BinOp) {
    auto* b = static_cast<ast::BinOp*>(e);
    for (uint32_t i = b->left->span.end; i < b->right->span.begin; ++i) {
      if (blank(segment[i])) continue;
      a.left = static_cast<int>(i);
      a.right = a.left + 1;
      if (i + 1 < b->right->span.begin && !blank(segment[i + 1])) ++a.right;
      break;
    }
  } else if (e->kind == ast::Kind::Subscript) {
    auto* b = static_cast<ast::Subscript*>(e);
    a.left = static_cast<int>(b->value->span.end);
    a.right = static_cast<int>(b->slice->span.end) + 1;
  }
  return a;
}

// The source line without its indentation, and the underline if there is something to say.
std::string source_lines(const SourceFile& file, Span span) {
  LineCol from = file.line_col(span.begin), to = file.line_col(span.end);
  std::string_view line = file.line_text(from.line);
  size_t indent = 0;
  while (indent < line.size() && (blank(line[indent]))) ++indent;
  std::string_view text = line.substr(indent);
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  if (text.empty()) return {};
  std::string out = "    " + std::string(text) + "\n";
  if (span.end <= span.begin) return out;

  size_t begin = from.col, end = to.col;
  Anchors anchors;
  if (from.line == to.line) {
    if (end > begin && end <= line.size()) anchors = find_anchors(line.substr(begin, end - begin));
  } else {
    end = line.size();
    while (end > begin && blank(line[end - 1])) --end;
  }
  bool special = anchors.left >= 0;
  auto column = [&](size_t byte) { return utf8_length(line.substr(0, byte)); };
  uint32_t c_indent = column(indent), c_begin = column(begin), c_end = column(end),
           c_all = column(indent + text.size());
  if (c_end - c_begin == c_all - c_indent && !special) return out;
  uint32_t c_left = special ? column(begin + static_cast<size_t>(anchors.left)) : 0;
  uint32_t c_right = special ? column(begin + static_cast<size_t>(anchors.right)) : 0;
  out += "    ";
  for (uint32_t c = c_indent; c < c_end; ++c) {
    if (c < c_begin)
      out += ' ';
    else if (special)
      out += c_left <= c && c < c_right ? '^' : '~';
    else
      out += '^';
  }
  return out + "\n";
}

void append_frames(Session& s, std::string& out, const Value& traceback) {
  out += "Traceback (most recent call last):\n";
  std::string last_place;
  int same = 0;
  auto flush_repeats = [&] {
    if (same > kRepeats) {
      int n = same - kRepeats;
      out += "  [Previous line repeated " + std::to_string(n) + (n > 1 ? " more times]\n" : " more time]\n");
    }
  };
  for (const Value* at = &traceback; cast<Traceback>(*at); at = &at->as<Traceback>()->next) {
    auto* t = at->as<Traceback>();
    const SourceFile* file = s.sources.file(t->span.file);
    uint32_t line = file ? file->line_col(t->span.begin).line : 0;
    std::string place = "  File \"" + (file ? file->name() : std::string("<unknown>")) + "\", line " +
                        std::to_string(line) + ", in " + t->code->name.str() + "\n";
    if (place == last_place) {
      ++same;
    } else {
      flush_repeats();
      last_place = place;
      same = 1;
    }
    if (same > kRepeats) continue;
    out += place;
    if (file) out += source_lines(*file, t->span);
  }
  flush_repeats();
}

void append_syntax_place(Session& s, std::string& out, Exception* e) {
  // SyntaxError(msg, (file, line, column, text, end_line, end_column)): extra2 holds the text rendered when it was
  // raised.
  (void)s;
  if (Str* rendered = cast<Str>(e->extra2)) out += rendered->view();
}

void append_message(Session& s, std::string& out, const Value& exc) {
  auto* e = exc.as<Exception>();
  if (is_subtype(e->type, exception_type(s, ExcKind::SyntaxError)) && cast<Str>(e->extra2)) {
    append_syntax_place(s, out, e);
    return;
  }
  std::string name = exception_class_text(s, e->type);
  Value text = str(s, exc);
  if (text.is_error()) {
    clear_pending(s);
    out += name + ": <exception str() failed>\n";
    return;
  }
  std::string_view message = text.as<Str>()->view();
  out += name;
  if (!message.empty()) out += ": " + std::string(message);
  out += suggestion(s, exc);
  out += "\n";
  // A note's __str__ may change the list, and raise.
  const Value notes = e->notes;
  for (size_t i = 0; cast<List>(notes) && i < cast<List>(notes)->size; ++i) {
    const Value note = *(cast<List>(notes)->begin() + i);
    out += text_of(s, note) + "\n";
    if (!s.pending.is_unbound()) clear_pending(s);
  }
}

// By value: a __str__ on the way may drop the exception that holds this one.
void append_exception(Session& s, std::string& out, const Value exc, std::vector<Exception*>& seen) {
  auto* e = exc.as<Exception>();
  seen.push_back(e);
  auto chained = [&](const Value other, const char* text) {
    if (std::find(seen.begin(), seen.end(), other.as<Exception>()) != seen.end()) return;
    append_exception(s, out, other, seen);
    out += text;
  };
  if (cast<Exception>(e->cause))
    chained(e->cause, "\nThe above exception was the direct cause of the following exception:\n\n");
  else if (!e->suppress_context && cast<Exception>(e->context))
    chained(e->context, "\nDuring handling of the above exception, another exception occurred:\n\n");
  if (cast<Traceback>(e->traceback)) append_frames(s, out, e->traceback);
  append_message(s, out, exc);
}

}  // namespace

std::string format_exception(Session& s, const Value& exc) {
  std::string out;
  if (!cast<Exception>(exc)) return out;
  std::vector<Exception*> seen;
  int depth = s.depth;
  s.depth = std::min(depth, s.recursion_limit - 50);
  append_exception(s, out, exc, seen);
  s.depth = depth;
  return out;
}

}  // namespace ouro::runtime
