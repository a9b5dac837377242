#include "grammar/indent_lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "grammar/number_check.h"
#include "grammar/raw_lexer.h"
#include "support/unicode_names.h"

namespace ouro::grammar {
namespace {

struct KeywordRow {
  std::string_view word;
  Tok kind;
};

constexpr auto kKeywords = [] {
  std::array rows = {
      KeywordRow{"False", Tok::FALSE},
      KeywordRow{"None", Tok::NONE},
      KeywordRow{"True", Tok::TRUE},
      KeywordRow{"and", Tok::AND},
      KeywordRow{"as", Tok::AS},
      KeywordRow{"assert", Tok::ASSERT},
      KeywordRow{"async", Tok::ASYNC},
      KeywordRow{"await", Tok::AWAIT},
      KeywordRow{"break", Tok::BREAK},
      KeywordRow{"class", Tok::CLASS},
      KeywordRow{"continue", Tok::CONTINUE},
      KeywordRow{"def", Tok::DEF},
      KeywordRow{"del", Tok::DEL},
      KeywordRow{"elif", Tok::ELIF},
      KeywordRow{"else", Tok::ELSE},
      KeywordRow{"except", Tok::EXCEPT},
      KeywordRow{"finally", Tok::FINALLY},
      KeywordRow{"for", Tok::FOR},
      KeywordRow{"from", Tok::FROM},
      KeywordRow{"global", Tok::GLOBAL},
      KeywordRow{"if", Tok::IF},
      KeywordRow{"import", Tok::IMPORT},
      KeywordRow{"in", Tok::IN},
      KeywordRow{"is", Tok::IS},
      KeywordRow{"lambda", Tok::LAMBDA},
      KeywordRow{"nonlocal", Tok::NONLOCAL},
      KeywordRow{"not", Tok::NOT},
      KeywordRow{"or", Tok::OR},
      KeywordRow{"pass", Tok::PASS},
      KeywordRow{"raise", Tok::RAISE},
      KeywordRow{"return", Tok::RETURN},
      KeywordRow{"try", Tok::TRY},
      KeywordRow{"while", Tok::WHILE},
      KeywordRow{"with", Tok::WITH},
      KeywordRow{"yield", Tok::YIELD},
  };
  std::sort(rows.begin(), rows.end(), [](const KeywordRow& a, const KeywordRow& b) { return a.word < b.word; });
  return rows;
}();

Tok keyword(std::string_view word) {
  if (word.size() > 8 || word.size() < 2) return Tok::NAME;
  auto it = std::lower_bound(kKeywords.begin(), kKeywords.end(), word,
                             [](const KeywordRow& r, std::string_view w) { return r.word < w; });
  return it != kKeywords.end() && it->word == word ? it->kind : Tok::NAME;
}

char closer_of(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

class Lexer {
 public:
  Lexer(const SourceFile& file, uint32_t begin, uint32_t end, LexMode mode, TokenList& out)
      : file_(file), text_(file.text().substr(0, end)), raw_(text_), at_(begin), mode_(mode), out_(out) {
    out_.tokens.reserve((end - begin) / 4 + 8);
  }

  void run() {
    bool line_start = mode_ == LexMode::file;
    while (!failed_) {
      if (line_start && out_.open.empty()) {
        if (!indentation()) continue;
        line_start = false;
      }
      uint32_t begin = at_;
      Tok kind = raw_.match(begin, at_);
      if (kind == Tok::END) return finish();
      if (size_t nul = text_.substr(begin, at_ - begin).find('\0'); nul != text_.npos) {
        bad_char(begin + static_cast<uint32_t>(nul));
      } else if (kind == Tok::LINE_END) {
        if (mode_ == LexMode::bracket || !out_.open.empty()) continue;
        add(Tok::NEWLINE, begin, at_);
        line_start = true;
      } else if (kind == Tok::JOIN) {
        if (at_ >= text_.size()) fail(begin + 1, begin + 1, "syntax.eof", "unexpected EOF while parsing");
      } else if (kind != Tok::BLANK && kind != Tok::COMMENT) {
        token(kind, begin);
      }
    }
  }

 private:
  struct Indent {
    uint32_t col;
    uint32_t alt;  // the column with tabs of width 1
  };

  // Measures the line at at_ and emits INDENT or DEDENTs; false if the line is blank or a comment,
  // then at_ is behind it.
  bool indentation() {
    uint32_t start = at_, p = at_, joined = 0;
    Indent here{0, 0};
    for (; p < text_.size(); ++p) {
      char c = text_[p];
      if (c == ' ') {
        ++here.col, ++here.alt;
      } else if (c == '\t') {
        here = {(here.col / 8 + 1) * 8, here.alt + 1};
      } else if (c == '\f') {
        here = {0, 0};
      } else if (c == '\\' && p + 1 < text_.size() && text_[p + 1] == '\n') {
        if (joined == 0) joined = here.col;  // the indentation is that of the first of joined lines
        ++p;
      } else {
        break;
      }
    }
    at_ = p;
    if (p >= text_.size()) {
      if (p > start && text_[p - 1] == '\n' && p - start >= 2 && text_[p - 2] == '\\')
        fail(p, p, "syntax.eof", "unexpected EOF while parsing");
      else
        finish();
      return false;
    }
    if (text_[p] == '#') at_ = std::min(text_.find('\n', p), text_.size());
    if (at_ < text_.size() && text_[at_] == '\n') return ++at_, false;
    if (at_ >= text_.size()) return finish(), false;
    if (joined) here = {joined, joined};
    return indent_to(here, start);
  }

  bool indent_to(Indent here, uint32_t line) {
    if (here.col > indents_.back().col) {
      if (indents_.size() >= kMaxIndents)
        return fail_line(line, "syntax.indent_depth", "too many levels of indentation", "IndentationError"), false;
      if (here.alt <= indents_.back().alt) return bad_tabs(line), false;
      indents_.push_back(here);
      add(Tok::INDENT, line, at_);
      return true;
    }
    while (here.col < indents_.back().col) {
      indents_.pop_back();
      add(Tok::DEDENT, at_, at_);
    }
    if (here.col != indents_.back().col) {
      while (!out_.tokens.empty() && out_.tokens.back().kind == Tok::DEDENT) out_.tokens.pop_back();
      fail_dedent(line);
      return false;
    }
    if (here.alt != indents_.back().alt) return bad_tabs(line), false;
    return true;
  }

  void token(Tok kind, uint32_t begin) {
    switch (kind) {
      case Tok::NAME:
        return name(begin);
      case Tok::NUMBER:
        return number(begin);
      case Tok::LPAR:
      case Tok::LSQB:
      case Tok::LBRACE:
        if (out_.open.size() >= kMaxBrackets)
          return fail(begin, at_, "syntax.too_many_parentheses", "too many nested parentheses");
        out_.open.push_back({text_[begin], begin});
        return add(kind, begin, at_);
      case Tok::RPAR:
      case Tok::RSQB:
      case Tok::RBRACE:
        return close(kind, begin);
      case Tok::OPEN_STRING:
        return open_string(begin);
      case Tok::BAD_CHAR:
        return bad_char(begin);
      default:
        return add(kind, begin, at_);
    }
  }

  void name(uint32_t begin) {
    std::string_view word = text_.substr(begin, at_ - begin);
    Tok kind = keyword(word);
    std::vector<Token>& t = out_.tokens;
    if (kind == Tok::IN && !t.empty() && t.back().kind == Tok::NOT) {
      t.back().kind = Tok::NOT_IN;
      t.back().end = at_;
      return;
    }
    if (kind == Tok::NOT && !t.empty() && t.back().kind == Tok::IS) {
      t.back().kind = Tok::IS_NOT;
      t.back().end = at_;
      return;
    }
    if (kind == Tok::NAME && !check_name(word, begin)) return;
    add(kind, begin, at_);
  }

  // A name of ASCII letters is right by the grammar; others are checked character by character.
  bool check_name(std::string_view word, uint32_t begin) {
    if (std::none_of(word.begin(), word.end(), [](char c) { return static_cast<signed char>(c) < 0; })) return true;
    for (size_t i = 0; i < word.size();) {
      size_t at = i;
      uint32_t cp = next_code_point(word, i);
      if (at == 0 ? is_xid_start(cp) || cp == '_' : is_xid_continue(cp)) continue;
      char hex[16];
      std::snprintf(hex, sizeof hex, "U+%04X", cp);
      uint32_t b = begin + static_cast<uint32_t>(at), e = begin + static_cast<uint32_t>(i);
      if (is_printable(cp))
        fail(b, e, "syntax.invalid_character",
             "invalid character '" + std::string(word.substr(at, i - at)) + "' (" + hex + ")");
      else
        fail(b, e, "syntax.non_printable", std::string("invalid non-printable character ") + hex);
      return false;
    }
    return true;
  }

  void number(uint32_t begin) {
    if (auto e = check_number(text_, begin, at_)) return fail(e->begin, e->end, e->code, e->text);
    add(Tok::NUMBER, begin, at_);
  }

  void close(Tok kind, uint32_t begin) {
    char c = text_[begin];
    if (out_.open.empty()) {
      if (mode_ == LexMode::bracket)
        return fail(begin, at_, "syntax.fstring", std::string("f-string: unmatched '") + c + "'");
      return fail(begin, at_, "syntax.unmatched", std::string("unmatched '") + c + "'");
    }
    OpenBracket top = out_.open.back();
    if (closer_of(top.kind) == c) {
      out_.open.pop_back();
      return add(kind, begin, at_);
    }
    std::string text =
        std::string("closing parenthesis '") + c + "' does not match opening parenthesis '" + top.kind + "'";
    uint32_t line = file_.line_col(top.offset).line;
    if (line != file_.line_col(begin).line) text += " on line " + std::to_string(line);
    fail(begin, at_, "syntax.mismatched", mode_ == LexMode::bracket ? "f-string: " + text : text);
  }

  void open_string(uint32_t begin) {
    uint32_t quote = begin;
    while (text_[quote] != '\'' && text_[quote] != '"') ++quote;
    bool triple = quote + 2 < at_ && text_[quote + 1] == text_[quote] && text_[quote + 2] == text_[quote];
    bool eof = at_ >= text_.size();
    uint32_t last = eof && triple ? static_cast<uint32_t>(text_.size()) : at_;
    std::string line = std::to_string(last_line(last));
    fail(begin, begin + 1, "syntax.unterminated_string",
         std::string("unterminated ") + (triple ? "triple-quoted " : "") + "string literal (detected at line " + line +
             ")");
  }
  uint32_t last_line(uint32_t offset) const {
    if (offset > 0 && offset >= text_.size() && text_[offset - 1] == '\n') --offset;
    return file_.line_col(offset).line;
  }

  void bad_char(uint32_t begin) {
    unsigned char c = static_cast<unsigned char>(text_[begin]);
    if (c == '\\') {
      if (begin + 1 >= text_.size()) return fail(begin + 1, begin + 1, "syntax.eof", "unexpected EOF while parsing");
      return fail(begin + 1, begin + 2, "syntax.after_backslash",
                  "unexpected character after line continuation character");
    }
    if (c == 0) return fail(begin, begin, "syntax.null", "source code cannot contain null bytes");
    if (std::isprint(c) || at_ > begin + 1) return add(Tok::BAD_CHAR, begin, at_);  // the parser stops there
    char hex[16];
    std::snprintf(hex, sizeof hex, "U+%04X", c);
    fail(begin, at_, "syntax.non_printable", std::string("invalid non-printable character ") + hex);
  }

  void bad_tabs(uint32_t line) {
    fail_line(line, "syntax.tabs", "inconsistent use of tabs and spaces in indentation", "TabError");
  }

  // Errors of a whole line, shown without a caret.
  void fail_line(uint32_t line, const char* code, std::string text, const char* kind) {
    uint32_t end = static_cast<uint32_t>(std::min(text_.find('\n', line), text_.size()));
    fail(end, end, code, std::move(text), kind);
    out_.error->show_caret = false;
  }
  void fail_dedent(uint32_t line) {
    uint32_t end = static_cast<uint32_t>(std::min(text_.find('\n', line), text_.size()));
    fail(end, end, "syntax.dedent", "unindent does not match any outer indentation level", "IndentationError");
  }

  void fail(uint32_t begin, uint32_t end, std::string code, std::string text, const char* kind = "SyntaxError") {
    failed_ = true;
    Diagnostic d{file_.span(begin, end), std::move(code), std::move(text), {}, Severity::error, kind, true};
    out_.error = std::move(d);
    add(Tok::ERROR, begin, end);
  }

  void finish() {
    uint32_t end = static_cast<uint32_t>(text_.size());
    if (mode_ == LexMode::file && out_.open.empty()) {
      if (!out_.tokens.empty() && out_.tokens.back().kind != Tok::NEWLINE && out_.tokens.back().kind != Tok::DEDENT)
        add(Tok::NEWLINE, end, end);
      for (size_t i = 1; i < indents_.size(); ++i) add(Tok::DEDENT, end, end);
    }
    add(Tok::END, end, end);
    failed_ = true;  // ends run()
  }

  void add(Tok kind, uint32_t begin, uint32_t end) {
    out_.tokens.push_back({kind, static_cast<uint8_t>(out_.open.size()), begin, end});
  }

  const SourceFile& file_;
  std::string_view text_;
  RawLexer raw_;
  uint32_t at_;
  LexMode mode_;
  TokenList& out_;
  std::vector<Indent> indents_{{0, 0}};
  bool failed_ = false;
};

// Soft keywords and the bracket of `with`: marks tokens whose meaning depends on what follows.
class Marker {
 public:
  Marker(std::string_view text, std::vector<Token>& tokens) : text_(text), t_(tokens) {}

  void run() {
    bool start = true;        // a statement may begin here
    bool match_line = false;  // the current line is a match statement's
    for (size_t i = 0; i < t_.size(); ++i) {
      Tok k = t_[i].kind;
      if (k == Tok::INDENT) {
        match_blocks_.push_back(match_line);
        continue;
      }
      if (k == Tok::DEDENT) {
        if (!match_blocks_.empty()) match_blocks_.pop_back();
        continue;
      }
      if (start) {
        if (k == Tok::NAME) statement(i);
        match_line = t_[i].kind == Tok::MATCH;
      }
      if (k == Tok::WITH && kind(i + 1) == Tok::LPAR) with_bracket(i + 1);
      start = k == Tok::NEWLINE || (k == Tok::SEMI && t_[i].level == 0);
    }
  }

 private:
  std::string_view word(size_t i) const { return text_.substr(t_[i].begin, t_[i].end - t_[i].begin); }
  Tok kind(size_t i) const { return i < t_.size() ? t_[i].kind : Tok::END; }

  void statement(size_t i) {
    std::string_view w = word(i);
    if (w == "match" && begins_match(i)) t_[i].kind = Tok::MATCH;
    if (w == "case" && !match_blocks_.empty() && match_blocks_.back()) t_[i].kind = Tok::CASE;
    if (w == "type" && kind(i + 1) == Tok::NAME && (kind(i + 2) == Tok::EQUAL || kind(i + 2) == Tok::LSQB))
      t_[i].kind = Tok::TYPE;
  }

  // `match subject:` is a statement if its line ends in a colon, which no expression does, or if
  // what follows the word could not follow a name.
  bool begins_match(size_t i) const {
    Tok next = kind(i + 1);
    if (next == Tok::COLON || next == Tok::NEWLINE || next == Tok::END) return false;
    if (next == Tok::NAME || next == Tok::NUMBER || next == Tok::STRING || next == Tok::LBRACE) return true;
    size_t end = i;
    while (kind(end) != Tok::NEWLINE && kind(end) != Tok::END && kind(end) != Tok::ERROR) ++end;
    return kind(end - 1) == Tok::COLON;
  }

  // `with (a as b, ...):` has an `as` directly inside its bracket; no expression has.
  void with_bracket(size_t i) {
    uint8_t level = t_[i].level;
    for (size_t j = i + 1; j < t_.size() && t_[j].level >= level; ++j) {
      if (t_[j].kind == Tok::AS && t_[j].level == level) {
        t_[i].kind = Tok::WITH_LPAR;
        return;
      }
    }
  }

  std::string_view text_;
  std::vector<Token>& t_;
  std::vector<bool> match_blocks_;  // per open indentation: is it the block of a match statement
};

}  // namespace

TokenList tokenize(const SourceFile& file, uint32_t begin, uint32_t end, LexMode mode) {
  TokenList out;
  Lexer(file, begin, end, mode, out).run();
  if (mode == LexMode::file) Marker(file.text(), out.tokens).run();
  return out;
}

}  // namespace ouro::grammar
