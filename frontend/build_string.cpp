// Literals: numbers, strings, and f-strings, whose expressions are parsed by the same grammar in
// their place.
//
// Positions are CPython 3.11's: every part of a concatenation has the span of the whole, only the
// expressions inside an f-string keep their own.
#include <charconv>
#include <cstdlib>

#include "frontend/builder.h"
#include "frontend/string_literal.h"
#include "grammar/parse.h"

namespace ouro::frontend {

using namespace ast;

namespace {

constexpr size_t kMaxDigits = 4300;  // of a decimal integer literal, as CPython

std::string without_underscores(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != '_') out += c;
  return out;
}

// Decimal digits of a number given in base 2, 8 or 16: multiply and add, in limbs of 18 digits.
std::string to_decimal(std::string_view digits, int base) {
  constexpr uint64_t kLimb = 1'000'000'000'000'000'000;
  std::vector<uint64_t> limbs{0};
  for (char c : digits) {
    uint64_t carry = static_cast<uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    for (uint64_t& l : limbs) {
      unsigned __int128 v = static_cast<unsigned __int128>(l) * static_cast<unsigned>(base) + carry;
      l = static_cast<uint64_t>(v % kLimb);
      carry = static_cast<uint64_t>(v / kLimb);
    }
    if (carry) limbs.push_back(carry);
  }
  std::string out = std::to_string(limbs.back());
  for (size_t i = limbs.size() - 1; i-- > 0;) {
    std::string part = std::to_string(limbs[i]);
    out.append(18 - part.size(), '0');
    out += part;
  }
  return out;
}

// The same number in base 16, in linear time: its bits in fours instead of `bits` each.
std::string to_hexadecimal(std::string_view digits, int bits) {
  std::string out;
  unsigned low = 0;
  int have = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    const char c = digits[i];
    low |= static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10) << have;
    for (have += bits; have >= 4; have -= 4, low >>= 4) out += "0123456789abcdef"[low & 15];
  }
  if (low) out += "0123456789abcdef"[low];
  out += "x0";
  std::ranges::reverse(out);
  return out;
}

double to_double(const std::string& text) {
  double v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  (void)end;
  return error == std::errc::result_out_of_range ? std::strtod(text.c_str(), nullptr) : v;
}

}  // namespace

ExprNode* Builder::number(Ref token) {
  std::string digits = without_underscores(text(token));
  Constant* c = make<Constant>(token.span());
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    char kind = static_cast<char>(digits[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
  }
  if (base == 10 && (digits.back() | 0x20) == 'j') refuse(grammar::Refused::complex_number, token.span());
  if (base == 10 && digits.find_first_of(".eE") != digits.npos) {
    c->value_kind = ConstantKind::Float;
    c->float_value = to_double(digits);
    return done(c);
  }
  if (base != 10) digits.erase(0, 2);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c->int_value, base);
  (void)end;
  c->value_kind = ConstantKind::Int;
  if (error == std::errc()) return done(c);
  if (base == 10 && digits.size() > kMaxDigits)
    fail(token.span(), "limit.digits",
         "Exceeds the limit (4300 digits) for integer string conversion: value has " + std::to_string(digits.size()) +
             " digits; use sys.set_int_max_str_digits() to increase the limit - Consider "
             "hexadecimal for huge integer "
             "literals to avoid decimal conversion limits.");
  c->value_kind = ConstantKind::BigInt;
  c->int_value = 0;
  c->text = arena_.copy_text(base == 10                    ? digits
                             : digits.size() <= kMaxDigits ? to_decimal(digits, base)
                                                           : to_hexadecimal(digits, base == 16  ? 4
                                                                                    : base == 8 ? 3
                                                                                                : 1));
  return done(c);
}

// Collects the parts of adjacent literals. Text that stands together becomes one Constant.
class StringBuilder {
 public:
  /// `behind` is the token after the literals, where CPython reports their errors.
  StringBuilder(Builder& b, Span whole, Span behind, bool u_prefix)
      : b_(b), whole_(whole), behind_(behind), u_prefix_(u_prefix) {}

  void plain(Span literal, const StringParts& p) {
    add_text(literal.begin + p.begin, literal.begin + p.end, p.raw, literal);
  }
  void formatted(Span literal, const StringParts& p) {
    has_formatted_ = true;
    at_ = literal.begin + p.begin;
    end_ = literal.begin + p.end;
    literal_ = literal;
    raw_ = p.raw;
    pieces(0);
  }
  ExprNode* finish(Span where) {
    if (!has_formatted_) return constant(where);
    flush(where);
    JoinedStr* j = b_.make<JoinedStr>(where);
    j->values = b_.arena_.copy(values_);
    return b_.done(j);
  }

 private:
  char here() const { return b_.file_.text()[at_]; }
  char peek(uint32_t n) const { return at_ + n < end_ ? b_.file_.text()[at_ + n] : '\0'; }
  [[noreturn]] void fail(std::string text) { b_.fail(behind_, "syntax.fstring", "f-string: " + std::move(text)); }

  Constant* constant(Span where) {
    Constant* c = b_.make<Constant>(where);
    c->value_kind = ConstantKind::Str;
    c->u_prefix = u_prefix_;
    c->text = b_.arena_.copy_text(text_);
    text_.clear();
    return b_.done(c);
  }
  void flush(Span where) {
    if (!text_.empty()) values_.push_back(constant(where));
  }

  void add_text(uint32_t begin, uint32_t end, bool raw, Span literal) {
    std::string_view body = b_.file_.text().substr(begin, end - begin);
    if (raw) {
      text_ += body;
      return;
    }
    EscapeResult r = decode_str(body, text_);
    if (r.fault == EscapeFault::error) b_.fail(behind_, "syntax.escape", r.message);
    if (r.fault == EscapeFault::named_character) b_.refuse(grammar::Refused::named_character, literal);
  }

  // Literal text and replacement fields up to the end, or to the brace that closes a nested format.
  void pieces(int depth) {
    while (at_ < end_) {
      if (literal_text(depth)) continue;
      if (at_ >= end_ || here() == '}') return;
      field(depth);
    }
  }

  // Text up to the next field; true if it ended in a doubled brace, so that more text may follow.
  bool literal_text(int depth) {
    uint32_t begin = at_;
    while (at_ < end_) {
      char c = here();
      if (c == '\\' && !raw_ && at_ + 1 < end_) {
        if (peek(1) == 'N' && peek(2) == '{') {
          while (at_ < end_ && here() != '}') ++at_;
          if (at_ < end_) ++at_;
        } else {
          at_ += peek(1) == '{' || peek(1) == '}' ? 1 : 2;
        }
        continue;
      }
      if (c != '{' && c != '}') {
        ++at_;
        continue;
      }
      bool doubled = depth == 0 && peek(1) == c;
      if (!doubled && depth == 0 && c == '}') fail("single '}' is not allowed");
      add_text(begin, at_ + doubled, raw_, literal_);
      if (doubled) at_ += 2;
      return doubled;
    }
    add_text(begin, at_, raw_, literal_);
    return false;
  }

  void field(int depth) {
    ++at_;
    if (depth >= 2) fail("expressions nested too deeply");
    uint32_t begin = at_;
    find_end();
    if (at_ >= end_) fail("expecting '}'");
    uint32_t end = at_;
    ExprNode* value = expression(begin, end);
    bool shows_itself = here() == '=';
    if (shows_itself) {
      ++at_;
      while (at_ < end_ && (here() == ' ' || (here() >= '\t' && here() <= '\r'))) ++at_;
      text_ += b_.file_.text().substr(begin, at_ - begin);
    }
    int conversion = -1;
    if (at_ < end_ && here() == '!') conversion = read_conversion();
    flush(whole_);
    ExprNode* spec = nullptr;
    if (at_ < end_ && here() == ':') spec = format_spec(depth);
    if (at_ >= end_ || here() != '}') fail("expecting '}'");
    ++at_;
    FormattedValue* f = b_.make<FormattedValue>(whole_);
    f->value = value;
    f->conversion = shows_itself && conversion == -1 && !spec ? 'r' : conversion;
    f->format_spec = spec;
    values_.push_back(b_.done(f));
  }

  int read_conversion() {
    ++at_;
    if (at_ >= end_) fail("expecting '}'");
    char c = here();
    ++at_;
    if (c != 's' && c != 'r' && c != 'a') fail("invalid conversion character: expected 's', 'r', or 'a'");
    return c;
  }

  ExprNode* format_spec(int depth) {
    ++at_;
    StringBuilder inner(b_, whole_, behind_, u_prefix_);
    inner.has_formatted_ = true;
    inner.at_ = at_;
    inner.end_ = end_;
    inner.literal_ = literal_;
    inner.raw_ = raw_;
    inner.pieces(depth + 1);
    at_ = inner.at_;
    return inner.finish(literal_);
  }

  // Moves to the character that ends an expression: one of ! : = } outside brackets and strings.
  void find_end() {
    SmallVec<char, 8> brackets;
    char quote = 0;
    int quote_size = 0;
    for (; at_ < end_; ++at_) {
      char c = here();
      if (c == '\\') b_.fail(behind_, "syntax.fstring", "f-string expression part cannot include a backslash");
      if (quote) {
        if (c != quote || (quote_size == 3 && (peek(1) != c || peek(2) != c))) continue;
        at_ += static_cast<uint32_t>(quote_size) - 1;
        quote = 0;
        continue;
      }
      if (c == '\'' || c == '"') {
        quote = c;
        quote_size = peek(1) == c && peek(2) == c ? 3 : 1;
        at_ += static_cast<uint32_t>(quote_size) - 1;
        continue;
      }
      if (c == '(' || c == '[' || c == '{') {
        if (brackets.size() >= 200) fail("too many nested parenthesis");
        brackets.push_back(c);
        continue;
      }
      if (c == '#') b_.fail(behind_, "syntax.fstring", "f-string expression part cannot include '#'");
      if (brackets.empty() && ends_expression(c)) break;
      if (c == ')' || c == ']' || c == '}') close_bracket(brackets, c);
    }
    if (quote) fail("unterminated string");
    if (!brackets.empty()) fail(std::string("unmatched '") + brackets.back() + "'");
  }

  // Comparison operators do not end it; their second character is skipped.
  bool ends_expression(char c) {
    if (c != '!' && c != ':' && c != '}' && c != '=' && c != '>' && c != '<') return false;
    if ((c == '!' || c == '=' || c == '<' || c == '>') && peek(1) == '=') {
      ++at_;
      return false;
    }
    return c != '<' && c != '>';
  }

  void close_bracket(SmallVec<char, 8>& brackets, char c) {
    if (brackets.empty()) fail(std::string("unmatched '") + c + "'");
    char open = brackets.back();
    brackets.pop_back();
    char want = open == '(' ? ')' : open == '[' ? ']' : '}';
    if (c != want)
      fail(std::string("closing parenthesis '") + c + "' does not match opening parenthesis '" + open + "'");
  }

  ExprNode* expression(uint32_t begin, uint32_t end) {
    std::string_view inside = b_.file_.text().substr(begin, end - begin);
    if (inside.find_first_not_of(" \t\f\r\n") == inside.npos)
      fail(here() == '}' ? "empty expression not allowed" : std::string("expression required before '") + here() + "'");
    grammar::Tree tree;
    if (std::optional<Diagnostic> error = grammar::parse(b_.file_, grammar::Start::fstring, begin, end, tree)) {
      if (is_syntax_error_kind(error->kind) && !error->text.starts_with("f-string: "))
        error->text = "f-string: " + error->text;
      throw BuildError{std::move(*error)};
    }
    Builder inner(b_.file_, b_.arena_, tree);
    return inner.group(Ref(&tree, 0), b_.span(begin - 1, end + 1));
  }

  Builder& b_;
  Span whole_, behind_;
  bool u_prefix_;
  bool has_formatted_ = false;
  bool raw_ = false;
  Span literal_;
  uint32_t at_ = 0, end_ = 0;
  std::string text_;
  ExprVec values_;
};

ExprNode* Builder::strings(Ref first, uint32_t count) {
  const grammar::Token* tokens = &first.token();
  Span whole = span(tokens[0].begin, tokens[count - 1].end);
  size_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) bytes += split_string(file_.text(span(tokens[i].begin, tokens[i].end))).bytes;
  Span behind = span(tokens[count].begin, tokens[count].end);
  if (bytes && bytes != count) fail(behind, "syntax.mixed_strings", "cannot mix bytes and nonbytes literals");
  std::string data;
  StringBuilder builder(*this, whole, behind, split_string(file_.text(span(tokens[0].begin, tokens[0].end))).u_prefix);
  for (uint32_t i = 0; i < count; ++i) {
    Span literal = span(tokens[i].begin, tokens[i].end);
    std::string_view source = file_.text(literal);
    StringParts p = split_string(source);
    if (p.formatted) {
      builder.formatted(literal, p);
    } else if (!p.bytes) {
      builder.plain(literal, p);
    } else {
      std::string_view body = source.substr(p.begin, p.end - p.begin);
      for (char c : body)
        if (static_cast<signed char>(c) < 0)
          fail(behind, "syntax.bytes_ascii", "bytes can only contain ASCII literal characters");
      EscapeResult r;
      if (p.raw)
        data += body;
      else
        r = decode_bytes(body, data);
      if (r.fault == EscapeFault::error) fail(behind, "syntax.escape", r.message);
    }
  }
  if (!bytes) return builder.finish(whole);
  Constant* c = make<Constant>(whole);
  c->value_kind = ConstantKind::Bytes;
  c->text = arena_.copy_text(data);
  return done(c);
}

}  // namespace ouro::frontend
