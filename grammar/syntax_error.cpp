#include "grammar/syntax_error.h"

#include <algorithm>

namespace ouro::grammar {
namespace {

using Answer = std::optional<Diagnostic>;

// A view of the failed parse in the terms the mistakes need.
struct Scene {
  const Failure& f;
  const Tree& tree;
  const Token& t;  // the token that did not fit

  Scene(const Failure& failure) : f(failure), tree(failure.tree), t(failure.tree.tokens[failure.token]) {}

  Ref open(size_t from_innermost) const {
    return from_innermost < f.open.size() ? Ref(&tree, f.open[f.open.size() - 1 - from_innermost]) : Ref();
  }
  bool in(Rule r) const { return open(0) && open(0).is(r); }
  const Token& token(size_t i) const { return tree.tokens[std::min(i, tree.tokens.size() - 1)]; }
  const Token& before(uint32_t n = 1) const {
    static constexpr Token kNone{};
    return f.token >= n ? tree.tokens[f.token - n] : kNone;
  }
  // True if CPython would have read to the end of the file, where it finds that a bracket is still
  // open.
  bool runs_into_end(uint32_t token) const { return this->token(token).kind == Tok::END && !f.lexed.open.empty(); }
  std::string_view text(const Token& k) const { return f.file.text(f.file.span(k.begin, k.end)); }
  uint32_t line(uint32_t offset) const { return f.file.line_col(offset).line; }

  // Children of the innermost open rule that came before the failure, and the last of them.
  Ref last_child(Ref rule) const {
    Ref last;
    for (Ref c : children(rule))
      if (std::find(f.open.begin(), f.open.end(), c.index()) == f.open.end()) last = c;
    return last;
  }
  // The largest finished disjunction that ends right before the failure, where an expression may
  // begin.
  Ref expression_before() const {
    for (uint32_t i = 1; i < tree.nodes.size(); ++i) {
      const TreeNode& n = tree.nodes[i];
      bool begins = !tree.nodes[i - 1].is_token && tree.nodes[i - 1].kind == static_cast<uint8_t>(Rule::test);
      bool follows = tree.nodes[i - 1].is_token && tree.nodes[i - 1].kind == static_cast<uint8_t>(Tok::ELSE);
      bool target = !tree.nodes[i - 1].is_token && tree.nodes[i - 1].kind == static_cast<uint8_t>(Rule::target) &&
                    n.kind == static_cast<uint8_t>(Rule::arith);
      bool expression = (begins || follows) && n.kind == static_cast<uint8_t>(Rule::disjunction);
      if ((expression || target) && !n.is_token && n.last == f.token &&
          std::find(f.open.begin(), f.open.end(), i) == f.open.end())
        return Ref(&tree, i);
    }
    return {};
  }

  Diagnostic at(uint32_t begin, uint32_t end, const char* code, std::string text) const {
    return {f.file.span(begin, end), code, std::move(text), {}, Severity::error, "SyntaxError", true};
  }
  // The end of the input is shown as the last line, without a caret.
  Diagnostic here(const char* code, std::string text) const {
    bool end = t.kind == Tok::END || (t.kind == Tok::DEDENT && t.begin == f.file.size());
    if (!end || f.in_fstring) return at(t.begin, t.end, code, std::move(text));
    uint32_t lines = f.file.line_count();
    uint32_t last = lines > 1 && f.file.line_text(lines).empty() ? lines - 1 : lines;
    Diagnostic d = at(f.file.line_start(last), f.file.line_start(last), code, std::move(text));
    d.show_caret = false;
    return d;
  }
};

constexpr const char* kMaybeEqual = "invalid syntax. Maybe you meant '==' or ':=' instead of '='?";

// ---- blocks
// -----------------------------------------------------------------------------------------------------------

// What CPython calls the statement whose block is missing; the keyword's line goes with it.
struct Owner {
  std::string name;
  const Token* keyword;
};

Owner owner_of_block(const Scene& s, Ref rule) {
  const Token* keyword = nullptr;
  for (Ref c : children(rule))
    if (c.is_token() && (c.is(Tok::IF) || c.is(Tok::ELIF) || !keyword)) keyword = &c.token();
  if (rule.is(Rule::func_def)) return {"function definition", keyword};
  if (rule.is(Rule::class_def)) return {"class definition", keyword};
  return {"'" + std::string(s.text(*keyword)) + "' statement", keyword};
}

Answer missing_block(const Scene& s) {
  bool suite = s.in(Rule::suite), match = s.in(Rule::match_stmt);
  if ((!suite && !match) || s.before().kind != Tok::NEWLINE || s.t.kind == Tok::INDENT) return {};
  if (suite && s.last_child(s.open(0)) && !s.last_child(s.open(0)).is(Tok::NEWLINE)) return {};
  Owner owner = owner_of_block(s, s.open(suite ? 1 : 0));
  if (s.before(2).kind != Tok::COLON) return {};
  Diagnostic d = s.here("syntax.block", "expected an indented block after " + owner.name + " on line " +
                                            std::to_string(s.line(owner.keyword->begin)));
  d.kind = "IndentationError";
  d.span.end = d.span.begin;  // CPython shows a single caret
  return d;
}

Answer missing_colon(const Scene& s) {
  if (s.before().kind == Tok::ARROW) return s.at(s.before().begin, s.before().end, "syntax.colon", "expected ':'");
  Ref rule = s.open(0);
  if (!rule) return {};
  Ref last = s.last_child(rule);
  if (!last) return {};
  bool forced = (rule.is(Rule::else_part) && last.is(Tok::ELSE)) ||
                (rule.is(Rule::finally_part) && last.is(Tok::FINALLY)) ||
                (rule.is(Rule::try_stmt) && last.is(Tok::TRY)) ||
                (rule.is(Rule::func_def) && (last.is(Tok::RPAR) || last.is(Rule::test)));
  bool header = s.t.kind == Tok::NEWLINE &&
                (((rule.is(Rule::if_stmt) || rule.is(Rule::while_stmt)) && last.is(Rule::named_test)) ||
                 (rule.is(Rule::for_stmt) && last.is(Rule::star_list)) ||
                 (rule.is(Rule::with_stmt) && (last.is(Rule::with_item) || last.is(Tok::RPAR))) ||
                 (rule.is(Rule::class_def) && (last.is(Tok::NAME) || last.is(Tok::RPAR))) ||
                 (rule.is(Rule::case_block) && (last.is(Rule::pattern_list) || last.is(Rule::named_test))) ||
                 (rule.is(Rule::match_stmt) && last.is(Rule::named_list)) ||
                 (rule.is(Rule::except_part) && !last.is(Tok::COLON) && !last.is(Tok::STAR) && !last.is(Tok::COMMA)));
  if (!forced && !header) return {};
  return s.here("syntax.colon", "expected ':'");
}

// `except A, b:` of Python 2.
Answer listed_exceptions(const Scene& s) {
  if (!s.in(Rule::except_part) || s.t.kind != Tok::COMMA) return {};
  Ref type = s.last_child(s.open(0));
  if (!type.is(Rule::test)) return {};
  uint32_t end = match_expressions(s.tree, s.f.token + 1);
  if (end == 0) return {};
  if (s.token(end).kind == Tok::AS && s.token(end + 1).kind == Tok::NAME) end += 2;
  if (s.token(end).kind != Tok::COLON) return {};
  return s.at(type.begin(), s.token(end).begin, "syntax.except_tuple",
              "multiple exception types must be parenthesized");
}

Answer missing_parameters(const Scene& s) {
  if (!s.in(Rule::func_def) || !s.last_child(s.open(0)).is(Tok::NAME)) return {};
  return s.here("syntax.parenthesis", "expected '('");
}

Answer lonely_try(const Scene& s) {
  if (!s.in(Rule::try_stmt) || !s.last_child(s.open(0)).is(Rule::suite)) return {};
  return s.here("syntax.try", "expected 'except' or 'finally' block");
}

Diagnostic never_closed(const Scene& s) {
  const OpenBracket& b = s.f.lexed.open.back();
  return s.at(b.offset, b.offset + 1, "syntax.never_closed", std::string("'") + b.kind + "' was never closed");
}

// ---- expressions
// ------------------------------------------------------------------------------------------------------

bool is_legacy(const Scene& s, Ref e) {
  if (!e || e.last_token() - e.first_token() != 1) return false;
  std::string_view word = s.text(e.token());
  return e.token().kind == Tok::NAME && (word == "print" || word == "exec");
}

Answer print_statement(const Scene& s) {
  Ref a = s.expression_before();
  if (!is_legacy(s, a)) return {};
  uint32_t end = match_expressions(s.tree, s.f.token);
  if (end == 0) return {};
  std::string word(s.text(a.token()));
  return s.at(a.begin(), s.token(end - 1).end, "syntax.print",
              "Missing parentheses in call to '" + word + "'. Did you mean " + word + "(...)?");
}

Answer forgotten_comma(const Scene& s) {
  Ref a = s.expression_before();
  if (!a || is_legacy(s, a)) return {};
  const Token& first = s.token(a.first_token());
  std::string_view word = s.text(first);
  // CPython looks only whether a soft keyword begins with the word.
  auto begins = [&](std::string_view keyword) { return keyword.starts_with(word); };
  bool soft = first.kind == Tok::NAME && (begins("_") || begins("match") || begins("case"));
  if (soft || (first.kind == Tok::NAME && s.token(a.first_token() + 1).kind == Tok::STRING)) return {};
  uint32_t furthest = 0;
  uint32_t end = match_expression(s.tree, s.f.token, &furthest);
  if (s.runs_into_end(furthest)) return never_closed(s);
  if (end == 0 || (s.token(end - 1).level == 0 && !s.f.in_fstring)) return {};
  return s.at(a.begin(), s.token(end - 1).end, "syntax.comma", "invalid syntax. Perhaps you forgot a comma?");
}

Answer missing_else(const Scene& s) {
  if (!s.in(Rule::test) || s.t.kind == Tok::COLON) return {};
  Ref first = s.open(0).first();
  if (!s.last_child(s.open(0)).is(Rule::disjunction) || s.last_child(s.open(0)).index() == first.index()) return {};
  return s.at(first.begin(), s.before().end, "syntax.else", "expected 'else' after 'if' expression");
}

// CPython's name for an expression that may not be assigned to, from its tree; null if it may, or
// is a display.
const char* name_of_value(Ref disjunction) {
  Ref only = disjunction.first();
  if (only.last_token() != disjunction.last_token() || only.is_token()) return "expression";
  Ref first = only.first(), last = first, before;
  for (Ref c : children(only)) before = last, last = c;
  if (last.is(Tok::RPAR)) return "function call";
  if (last.is(Tok::RSQB)) return "subscript";
  if (last.is(Tok::NAME)) return before.is(Tok::DOT) ? "attribute" : "name";
  if (last.is(Tok::NUMBER)) return "literal";
  if (last.is(Tok::STRING)) return "literal";
  if (last.is(Tok::ELLIPSIS)) return "ellipsis";
  if (last.is(Rule::brace)) return last.last_token() - last.first_token() == 2 ? "dict literal" : nullptr;
  return nullptr;
}

Answer equal_in_expression(const Scene& s) {
  if (s.t.kind != Tok::EQUAL ||
      !(s.in(Rule::if_stmt) || s.in(Rule::while_stmt) || s.in(Rule::paren) || s.in(Rule::bracket) ||
        s.in(Rule::brace) || s.in(Rule::subscripts) || s.in(Rule::match_stmt) || s.in(Rule::primary) ||
        s.in(Rule::case_block) || s.in(Rule::decorator)))
    return {};
  Ref a = s.expression_before();
  if (!a) return {};
  for (Ref c : children(a))
    if (c.is_token() && (c.tok() <= Tok::OR || (c.tok() >= Tok::LESS && c.tok() <= Tok::NOTEQUAL) ||
                         c.is(Tok::IS_NOT) || c.is(Tok::NOT_IN)))
      return {};
  uint32_t furthest = 0;
  uint32_t end = match_arith(s.tree, s.f.token + 1, &furthest);
  if (s.runs_into_end(furthest)) return never_closed(s);
  if (end == 0 || s.token(end).kind == Tok::EQUAL || s.token(end).kind == Tok::COLONEQUAL) return {};
  bool name = a.last_token() - a.first_token() == 1 && s.token(a.first_token()).kind == Tok::NAME;
  if (name) return s.at(a.begin(), s.token(end - 1).end, "syntax.equal", kMaybeEqual);
  const char* what = name_of_value(a);
  if (!what) return {};
  return s.at(a.begin(), a.end(), "syntax.equal",
              std::string("cannot assign to ") + what + " here. Maybe you meant '==' instead of '='?");
}

// `f() := 1` as a statement.
Answer named_statement(const Scene& s) {
  Ref a = s.t.kind == Tok::COLONEQUAL && s.in(Rule::simple_stmts) ? s.expression_before() : Ref();
  const char* what = a ? name_of_value(a) : nullptr;
  if (!what || std::string_view(what) == "name" || match_expression(s.tree, s.f.token + 1) == 0) return {};
  return s.at(a.begin(), a.end(), "syntax.named_target", std::string("cannot use assignment expressions with ") + what);
}

// `for f() in`, found before the `in`.
Answer wrong_loop_target(const Scene& s) {
  if (!s.in(Rule::for_stmt) && !s.in(Rule::comp_for)) return {};
  Ref list = s.last_child(s.open(0));
  if (!list.is(Rule::target_list) || list.last_token() != s.f.token) return {};
  for (Ref target : children(list)) {
    Ref arith = target.is(Rule::target) ? target.first() : Ref();
    const char* what = arith.is(Rule::arith) ? name_of_value(arith) : nullptr;
    if (!what || std::string_view(what) == "name" || std::string_view(what) == "attribute" ||
        std::string_view(what) == "subscript")
      continue;
    return s.at(arith.begin(), arith.end(), "syntax.target", std::string("cannot assign to ") + what);
  }
  return {};
}

Answer dictionary_value(const Scene& s) {
  if (s.before().kind != Tok::COLON) return {};
  bool item = false;
  for (uint32_t i : s.f.open) item |= Ref(&s.tree, i).is(Rule::brace_item);
  if (!item) return {};
  const Token& colon = s.before();
  if (s.t.kind == Tok::STAR) {
    uint32_t end = match_arith(s.tree, s.f.token + 1);
    if (end == 0) return {};
    return s.at(s.t.begin, s.token(end).begin, "syntax.dict_star",
                "cannot use a starred expression in a dictionary value");
  }
  if (s.t.kind != Tok::RBRACE && s.t.kind != Tok::COMMA) return {};
  return s.at(colon.begin, colon.end, "syntax.dict_value", "expression expected after dictionary key and ':'");
}

Answer comprehension_target(const Scene& s) {
  if (s.t.kind != Tok::FOR || !(s.in(Rule::bracket) || s.in(Rule::brace))) return {};
  Ref first, last_item, last;
  for (Ref c : children(s.open(0))) {
    if (c.is(Rule::named_item) || c.is(Rule::brace_item)) {
      if (!first) first = c;
      last_item = c;
    }
    last = c;
  }
  if (!first || match_comprehension(s.tree, s.f.token) == 0) return {};
  if (last_item.index() == first.index()) last_item = last;  // only `[a, for`: up to the comma
  if (!last_item.is(Tok::COMMA) && last_item.index() == first.index()) return {};
  return s.at(first.begin(), last_item.end(), "syntax.comprehension_target",
              "did you forget parentheses around the comprehension target?");
}

Answer keyword_generator(const Scene& s) {
  if (s.t.kind != Tok::FOR || !(s.in(Rule::primary) || s.in(Rule::class_def))) return {};
  Ref list = s.last_child(s.open(0)), arg;
  if (!list.is(Rule::args)) return {};
  for (Ref c : children(list))
    if (c.is(Rule::arg)) arg = c;
  auto c = children(arg).begin();
  Ref key = *c, equal = *++c;
  if (!equal.is(Tok::EQUAL)) return {};
  return s.at(key.begin(), equal.end(), "syntax.equal", kMaybeEqual);
}

// ---- parameters
// -------------------------------------------------------------------------------------------------------

Answer default_expression(const Scene& s) {
  bool parameter = false;
  for (uint32_t i : s.f.open) parameter |= Ref(&s.tree, i).is(Rule::param) || Ref(&s.tree, i).is(Rule::lambda_param);
  if (!parameter || s.before().kind != Tok::EQUAL) return {};
  if (s.t.kind != Tok::COMMA && s.t.kind != Tok::RPAR) return {};
  return s.at(s.before().begin, s.before().end, "syntax.parameters", "expected default value expression");
}

Answer parenthesized_parameters(const Scene& s) {
  Tok before = s.before().kind;
  if (s.t.kind != Tok::LPAR || (before != Tok::LAMBDA && before != Tok::LPAR && before != Tok::COMMA)) return {};
  bool lambda = before == Tok::LAMBDA || s.in(Rule::test);
  if (!lambda && !s.in(Rule::func_def) && !s.in(Rule::params)) return {};
  uint32_t i = s.f.token + 1;
  uint32_t names = 0;
  for (; s.token(i).kind == Tok::NAME; ++names) i += s.token(i + 1).kind == Tok::COMMA ? 2 : 1;
  if (names == 0 || s.token(i).kind != Tok::RPAR) return {};
  return s.at(
      s.t.begin, s.token(i).end, "syntax.parameters",
      lambda ? "Lambda expression parameters cannot be parenthesized" : "Function parameters cannot be parenthesized");
}

// `x not y`: CPython has looked for `not in` and stands behind it.
Answer lonely_not(const Scene& s) {
  if (s.t.kind != Tok::NOT || !s.expression_before()) return {};
  const Token& next = s.token(s.f.token + 1);
  return s.at(next.begin, next.end, "syntax.invalid", "invalid syntax");
}

// ---- last resorts
// -----------------------------------------------------------------------------------------------------

Answer unexpected_indent(const Scene& s) {
  if (s.t.kind != Tok::INDENT) return {};
  Diagnostic d = s.here("syntax.indent", "unexpected indent");
  d.kind = "IndentationError";
  return d;
}

using Mistake = Answer (*)(const Scene&);
constexpr Mistake kMistakes[] = {
    missing_block,     listed_exceptions,  named_statement,          dictionary_value, comprehension_target,
    keyword_generator, default_expression, parenthesized_parameters, print_statement,  forgotten_comma,
    wrong_loop_target, missing_else,       equal_in_expression,      missing_colon,    missing_parameters,
    lonely_try,        lonely_not,         unexpected_indent,
};

// Errors that CPython's tokenizer only notes, and raises if the parser gets there.
bool raised_early(const Diagnostic& lexical) {
  return lexical.kind == "SyntaxError" && lexical.code != "syntax.eof" && lexical.code != "syntax.after_backslash";
}

}  // namespace

Diagnostic describe_failure(const Failure& f) {
  Scene s(f);
  if (s.t.kind == Tok::ERROR) return *f.lexed.error;
  if (s.t.kind == Tok::END && !f.lexed.open.empty()) return never_closed(s);
  Answer found;
  for (Mistake m : kMistakes)
    if ((found = m(s))) break;
  if (found && found->code == std::string_view("syntax.indent")) return *found;
  if (!found) found = s.here("syntax.invalid", "invalid syntax");
  if (f.in_fstring) {
    found->text = "f-string: " + found->text;
    return *found;
  }
  // CPython reads on to the end of the file: an error of the text itself, or a bracket that was
  // opened on an earlier line and never closed, explains more than the place where the parser
  // stopped.
  if (f.lexed.error && raised_early(*f.lexed.error)) return *f.lexed.error;
  if (!f.lexed.open.empty() && s.line(s.t.begin) > s.line(f.lexed.open.back().offset)) return never_closed(s);
  return *found;
}

}  // namespace ouro::grammar
