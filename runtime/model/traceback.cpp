// The text of an uncaught exception, as CPython 3.11 prints it (Python/traceback.c, Python/pythonrun.c): frames with
// the source line and the failing range underlined, chained exceptions, notes, "Did you mean".
#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "frontend/build_ast.h"
#include "runtime/machine/memory.h"
#include "runtime/object/dunder.h"
#include "runtime/object/interrupt.h"
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

// The text of one exception after the other: each place in the source is read once, and what takes long can be
// interrupted.
class Printer {
 public:
  explicit Printer(Session& s) : s_(s), asked_before_(asked()) {}
  void chain(const Value& exc);
  std::string take() { return std::move(out_); }

 private:
  bool asked() const { return s_.poll.load(std::memory_order_relaxed) & Session::kInterrupt; }
  // Outside of a script, where an exception is shown that nobody caught, an interrupt ends the text.
  bool go_on() {
    if (!s_.memory.in_script()) return asked_before_ || !asked();
    poll_interrupt(s_);
    require_memory(3 * out_.size());
    return true;
  }
  void exception(const Value& exc);
  void frames(const Value& traceback);
  void message(const Value& exc);
  void notes(const Value& notes);
  const std::string& lines_at(const SourceFile& file, Span span);

  Session& s_;
  const bool asked_before_;
  std::string out_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::string> lines_;
};

const std::string& Printer::lines_at(const SourceFile& file, Span span) {
  constexpr size_t kKept = 1000;
  if (lines_.size() >= kKept) lines_.clear();
  const auto [at, is_new] = lines_.try_emplace({span.file, span.begin, span.end});
  if (is_new) at->second = source_lines(file, span);
  return at->second;
}

void Printer::frames(const Value& traceback) {
  out_ += "Traceback (most recent call last):\n";
  std::string last_place;
  int same = 0;
  auto flush_repeats = [&] {
    if (same > kRepeats) {
      int n = same - kRepeats;
      out_ += "  [Previous line repeated " + std::to_string(n) + (n > 1 ? " more times]\n" : " more time]\n");
    }
  };
  for (const Value* at = &traceback; cast<Traceback>(*at) && go_on(); at = &at->as<Traceback>()->next) {
    auto* t = at->as<Traceback>();
    const SourceFile* file = s_.sources.file(t->span.file);
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
    out_ += place;
    if (file) out_ += lines_at(*file, t->span);
  }
  flush_repeats();
}

void Printer::message(const Value& exc) {
  auto* e = exc.as<Exception>();
  // SyntaxError(msg, (file, line, column, text, end_line, end_column)): extra2 holds the text rendered when it was
  // raised.
  Str* rendered = cast<Str>(e->extra2);
  if (rendered && is_subtype(e->type, exception_type(s_, ExcKind::SyntaxError))) {
    out_ += rendered->view();
    return notes(e->notes);
  }
  out_ += exception_class_text(s_, e->type);
  const Value text = str(s_, exc);
  if (text.is_error()) {
    clear_pending(s_);
    out_ += ": <exception str() failed>\n";
  } else {
    if (const std::string_view message = cast<Str>(text)->view(); !message.empty()) out_ += ": ", out_ += message;
    out_ += suggestion(s_, exc);
    out_ += "\n";
  }
  notes(e->notes);
}

// Whatever a script has put there. A note's __str__ may raise, and change the others.
void Printer::notes(const Value& given) {
  if (given.is_unbound()) return;
  auto add = [&](const Value& text, const char* otherwise) {
    if (text.is_error()) clear_pending(s_);
    append_text(out_, cast<Str>(text) ? cast<Str>(text)->view() : otherwise);
  };
  const Value notes = given;
  if (cast<Dict>(notes) || find_dunder(s_, type_of(s_, notes), Dunder::getitem_).is_unbound())
    return add(repr(s_, notes), "<__notes__ repr() failed>");
  const int64_t count = length(s_, notes);
  for (int64_t i = 0; i < count && go_on(); ++i) {
    const Value note = get_item(s_, notes, Value::integer(i));
    if (note.is_error()) break;
    add(str(s_, note), "<note str() failed>");
    out_ += '\n';
  }
  if (s_.has_error()) clear_pending(s_);
}

void Printer::exception(const Value& exc) {
  const Value traceback = exc.as<Exception>()->traceback;
  if (cast<Traceback>(traceback)) frames(traceback);
  message(exc);
}

// From the exception down to where it all began, then printed from there; whoever was met ends the way. The links are
// values: a __str__ may drop the exception that holds another one.
void Printer::chain(const Value& exc) {
  struct Link {
    Value exc;
    const char* why;  // stands behind it
  };
  CountedVector<Link> links;
  std::unordered_set<const Exception*, std::hash<const Exception*>, std::equal_to<>, CountedAllocator<const Exception*>>
      seen;
  const char* why = "";
  for (Value at = exc; cast<Exception>(at) && seen.insert(at.as<Exception>()).second && go_on();) {
    const auto* e = at.as<Exception>();
    links.push_back({at, why});
    const bool caused = cast<Exception>(e->cause);
    why = caused ? "\nThe above exception was the direct cause of the following exception:\n\n"
                 : "\nDuring handling of the above exception, another exception occurred:\n\n";
    at = caused ? Value(e->cause) : e->suppress_context ? Value() : Value(e->context);
  }
  for (; !links.empty() && go_on(); links.pop_back()) {
    exception(links.back().exc);
    out_ += links.back().why;
  }
}

}  // namespace

std::string format_exception(Session& s, const Value& exc) {
  if (!cast<Exception>(exc)) return {};
  Printer printer(s);
  const int depth = s.depth;
  s.depth = std::min(depth, s.recursion_limit - 50);
  printer.chain(exc);
  s.depth = depth;
  std::string text = printer.take();
  // An interrupt before the first line ends the text there, and yet what was raised has a name.
  return text.empty() ? exception_class_text(s, exc.as<Exception>()->type) + "\n" : text;
}

}  // namespace ouro::runtime
