// Recursive descent over characters; every error is one ReadError with a line.
#include "ir/read.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "ir/effect.h"
#include "ir/type.h"
#include "support/dtype.h"

namespace ouro::ir {
namespace {

struct ReadError {
  std::string text;
};

bool word_char(unsigned char c) { return c >= 0x80 || isalnum(c) || c == '_' || c == '.' || c == '<' || c == '>'; }

class Scanner {
 public:
  explicit Scanner(std::string_view t) : text_(t) {}

  [[noreturn]] void fail(const std::string& what) {
    size_t line = 1;
    for (size_t i = 0; i < pos_ && i < text_.size(); ++i) line += text_[i] == '\n';
    throw ReadError{"line " + std::to_string(line) + ": " + what};
  }
  void skip() {
    while (pos_ < text_.size()) {
      if (isspace(static_cast<unsigned char>(text_[pos_])))
        ++pos_;
      else if (text_[pos_] == ';' && comments_)
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      else
        break;
    }
  }
  bool comments_ = true;
  bool at_end() { return skip(), pos_ == text_.size(); }
  char peek() { return skip(), pos_ < text_.size() ? text_[pos_] : '\0'; }
  char raw() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  // Consumes nothing if it fails.
  bool accept(std::string_view t) {
    size_t before = pos_;
    skip();
    size_t end = pos_ + t.size();
    bool inside_word = word_char(static_cast<unsigned char>(t.back())) && end < text_.size() &&
                       word_char(static_cast<unsigned char>(text_[end]));
    bool found = text_.substr(pos_).starts_with(t) && !inside_word;
    pos_ = found ? end : before;
    return found;
  }
  void expect(std::string_view t) {
    if (!accept(t))
      fail("expected '" + std::string(t) + "'" + (raw() ? std::string(" before '") + raw() + "'" : " at the end"));
  }
  // Without skipping space first: what follows a name directly.
  bool accept_here(char c) {
    if (raw() != c) return false;
    ++pos_;
    return true;
  }
  std::string_view word() {
    skip();
    size_t begin = pos_;
    while (pos_ < text_.size() && word_char(static_cast<unsigned char>(text_[pos_]))) ++pos_;
    if (begin == pos_) fail("expected a word");
    return text_.substr(begin, pos_ - begin);
  }
  template <class T>
  T number() {
    skip();
    T v{};
    auto r = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), v);
    if (r.ec != std::errc()) fail("expected a number");
    pos_ = static_cast<size_t>(r.ptr - text_.data());
    return v;
  }
  std::string string() {
    expect("\"");
    std::string s;
    for (;;) {
      if (pos_ == text_.size()) fail("a string does not end");
      char c = text_[pos_++];
      if (c == '"') return s;
      if (c != '\\') {
        s += c;
        continue;
      }
      char e = raw();
      ++pos_;
      if (e == 'n')
        s += '\n';
      else if (e == 'x') {
        unsigned v = 0;
        if (pos_ + 2 > text_.size()) fail("bad escape");
        auto r = std::from_chars(text_.data() + pos_, text_.data() + pos_ + 2, v, 16);
        if (r.ptr != text_.data() + pos_ + 2) fail("bad escape");
        s += static_cast<char>(v);
        pos_ += 2;
      } else
        s += e;
    }
  }
  Symbol symbol() {
    if (peek() == '"') return intern(string());
    if (accept("~")) return {};
    return intern(word());
  }
  size_t pos() const { return pos_; }
  void rewind(size_t p) { pos_ = p; }
  std::string_view slice(size_t begin) const { return text_.substr(begin, pos_ - begin); }

 private:
  std::string_view text_;
  size_t pos_ = 0;
};

class Reader {
 public:
  explicit Reader(Scanner& s) : s_(s) {}

  FunctionRef function() {
    s_.expect("@");
    f_.name = f_.qualname = s_.symbol();
    head();
    s_.expect("{");
    find_inner();
    while (s_.peek() != '}' && !s_.accept("func")) block();
    if (end_) s_.rewind(*end_);
    s_.expect("}");
    return std::make_shared<const Function>(std::move(f_));
  }

 private:
  // Skips the blocks once to read the inner functions, whose numbers constants use.
  void find_inner() {
    size_t start = s_.pos();
    for (;;) {
      char c = s_.peek();
      if (c == '\0') s_.fail("a function does not end");
      if (c == '}') break;
      if (c == '"') {
        s_.string();
        continue;
      }
      if (s_.accept("func")) {
        if (s_.peek() != '&') continue;  // a keyword of a call
        s_.expect("&");
        uint32_t i = s_.number<uint32_t>();
        if (i != codes_.size()) s_.fail("inner functions must be numbered in order");
        codes_.push_back(Reader(s_).function());
        continue;
      }
      if (word_char(static_cast<unsigned char>(c)))
        s_.word();
      else
        s_.accept_here(c);
    }
    if (!codes_.empty()) end_ = s_.pos();
    s_.rewind(start);
  }

  void head() {
    Block entry;
    s_.expect("(");
    s_.comments_ = false;  // `;` stands before the captures
    Signature& sig = f_.sig;
    bool after_star = false;
    while (s_.peek() != ')' && s_.peek() != ';') {
      if (s_.accept("/"))
        sig.posonly = sig.positional;
      else if (s_.accept("**"))
        sig.varkw = true, parameter(entry);
      else if (s_.accept("*")) {
        after_star = true;
        if (s_.peek() == '%') sig.varargs = true, parameter(entry);
      } else {
        parameter(entry);
        ++(after_star ? sig.kwonly : sig.positional);
      }
      if (!s_.accept(",")) break;
    }
    if (s_.accept(";")) {
      do {
        Capture c;
        c.cell = s_.accept("cell");
        parameter(entry);
        c.name = f_.sig.names.back();
        f_.sig.names.pop_back();
        f_.captures.push_back(c);
      } while (s_.accept(","));
    }
    s_.expect(")");
    s_.comments_ = true;
    for (;;) {
      if (s_.accept("name"))
        s_.expect("="), f_.qualname = s_.symbol();
      else if (s_.accept("kind"))
        s_.expect("="), f_.kind = kind(s_.word());
      else if (s_.accept("generator"))
        f_.is_generator = true;
      else if (s_.accept("method"))
        f_.is_method = true;
      else if (s_.accept("doc"))
        s_.expect("="), f_.doc = constant();
      else
        break;
    }
    f_.span = span();
    f_.blocks.push_back(std::move(entry));
  }
  Function::Kind kind(std::string_view word) {
    static constexpr std::string_view kKinds[] = {"function",   "lambda",    "module",
                                                  "class_body", "generator", "comprehension"};
    for (int i = 0; i < 6; ++i)
      if (kKinds[i] == word) return static_cast<Function::Kind>(i);
    s_.fail("no such kind of function");
  }
  void parameter(Block& entry) {
    NameId n = binder();
    entry.params.push_back(n);
    f_.sig.names.push_back(s_.peek() == '=' && s_.accept("=") ? s_.symbol() : f_.names[index(n)].hint);
  }

  NameId name() {
    s_.expect("%");
    uint32_t i = s_.number<uint32_t>();
    if (i > 100'000'000) s_.fail("name out of range");
    if (i >= f_.names.size()) f_.names.resize(i + 1);
    return NameId{i};
  }
  NameId binder() {
    NameId n = name();
    if (s_.accept_here('.')) f_.names[index(n)].hint = s_.symbol();
    if (s_.peek() == ':') {
      size_t p = s_.pos();
      s_.accept(":");
      if (s_.raw() == '\n')
        s_.rewind(p);
      else
        f_.names[index(n)].type = type();
    }
    return n;
  }
  Span span() {
    Span sp;
    if (!s_.accept("@")) return sp;
    sp.file = s_.number<uint32_t>();
    s_.expect(":");
    sp.begin = s_.number<uint32_t>();
    s_.expect(":");
    sp.end = s_.number<uint32_t>();
    return sp;
  }

  // ---- constants and atoms
  ConstId add(Constant c) {
    std::string key = std::to_string(static_cast<int>(c.kind)) + ":" + std::to_string(c.i) + ":" +
                      std::to_string(std::bit_cast<uint64_t>(c.f)) + ":" + c.text + ":";
    for (ConstId i : c.items) key += std::to_string(index(i)) + ",";
    key += std::to_string(reinterpret_cast<uintptr_t>(c.code.get()));
    auto [it, fresh] = constants_.emplace(key, ConstId{static_cast<uint32_t>(f_.constants.size())});
    if (fresh) f_.constants.push_back(std::move(c));
    return it->second;
  }
  ConstId constant() {
    using K = Constant::Kind;
    char c = s_.peek();
    if (c == '"') return add({.kind = K::string, .text = s_.string()});
    if (c == '(') {
      Constant t{.kind = K::tuple};
      s_.expect("(");
      while (!s_.accept(")")) {
        t.items.push_back(constant());
        if (!s_.accept(",") && s_.peek() != ')') s_.fail("expected ',' or ')'");
      }
      return add(std::move(t));
    }
    if (c == '&') {
      s_.expect("&");
      uint32_t i = s_.number<uint32_t>();
      if (i >= codes_.size()) s_.fail("no such inner function");
      Constant t{.kind = K::code};
      t.code = codes_[i];
      return add(std::move(t));
    }
    if (c == '-' || isdigit(static_cast<unsigned char>(c))) return numeral();
    std::string_view w = s_.word();
    if (w == "b" && s_.raw() == '"') return add({.kind = K::bytes, .text = s_.string()});
    static constexpr std::pair<std::string_view, K> kWords[] = {{"None", K::none},
                                                                {"True", K::true_},
                                                                {"False", K::false_},
                                                                {"Ellipsis", K::ellipsis},
                                                                {"NotImplemented", K::not_implemented},
                                                                {"unbound", K::unbound},
                                                                {"zero", K::zero}};
    for (auto [word, k] : kWords)
      if (w == word) return add({.kind = k});
    if (w == "inf") return add({.kind = K::floating, .f = INFINITY});
    if (w == "nan") {
      s_.expect(":");
      std::string_view bits = s_.word();
      uint64_t v = 0;
      std::from_chars(bits.data(), bits.data() + bits.size(), v, 16);
      return add({.kind = K::floating, .f = std::bit_cast<double>(v)});
    }
    if (w.starts_with("dtype."))
      if (auto t = dtype_from_name(w.substr(6))) return add({.kind = K::dtype, .i = static_cast<int64_t>(*t)});
    s_.fail("no such constant: " + std::string(w));
  }
  ConstId numeral() {
    using K = Constant::Kind;
    size_t begin = s_.pos();
    s_.accept_here('-');
    if (s_.raw() == 'i') {
      s_.expect("inf");
      return add({.kind = K::floating, .f = -INFINITY});
    }
    if (size_t at = s_.pos(); s_.accept_here('0') && s_.accept_here('x')) {
      while (isxdigit(static_cast<unsigned char>(s_.raw()))) s_.accept_here(s_.raw());
      std::string_view hexadecimal = s_.slice(begin);
      if (s_.pos() == at + 2 || !s_.accept_here('n')) s_.fail("bad number");
      return add({.kind = K::big_integer, .text = std::string(hexadecimal)});
    }
    bool real = false;
    for (char c = s_.raw();
         isdigit(static_cast<unsigned char>(c)) || c == '.' || c == 'e' || ((c == '-' || c == '+') && real);
         c = s_.raw()) {
      real = real || c == '.' || c == 'e';
      s_.accept_here(c);
    }
    std::string_view t = s_.slice(begin);
    if (!real && s_.accept_here('n')) return add({.kind = K::big_integer, .text = std::string(t)});
    Constant k{.kind = real ? K::floating : K::integer};
    auto r = real ? std::from_chars(t.data(), t.data() + t.size(), k.f)
                  : std::from_chars(t.data(), t.data() + t.size(), k.i);
    if (r.ec != std::errc() || r.ptr != t.data() + t.size()) s_.fail("bad number");
    return add(std::move(k));
  }
  Atom atom() {
    if (s_.peek() == '%') return name();
    return constant();
  }
  // ---- types
  SymDim dim() {
    SymDim d;
    int64_t m = 1;
    bool neg = s_.accept("-");
    if (isdigit(static_cast<unsigned char>(s_.peek()))) {
      m = s_.number<int64_t>();
      if (!s_.accept("*")) return SymDim::number(neg ? -m : m);
    }
    if (!s_.accept_here('s')) s_.fail("expected a dim");
    d.m = neg ? -m : m;
    d.symbol = s_.number<uint32_t>();
    if (s_.accept("+"))
      d.c = s_.number<int64_t>();
    else if (s_.peek() == '-')
      d.c = s_.number<int64_t>();
    return d;
  }
  const Type* type() {
    static constexpr std::string_view kNames[] = {"none",  "bool",     "int",    "float",    "str",    "bytes",
                                                  "dtype", "ellipsis", "slice",  "range",    "tensor", "tuple",
                                                  "list",  "dict",     "object", "function", "native", "class"};
    std::string_view w = s_.word();
    if (w == "any") return nullptr;
    Type t;
    if (s_.raw() == '[') {
      auto dt = dtype_from_name(w);
      if (!dt) s_.fail("no such dtype");
      t.kind = TypeKind::tensor;
      t.dtype = *dt;
      s_.expect("[");
      while (!s_.accept("]")) t.dims.push_back(dim()), s_.accept(",");
      return intern_type(std::move(t));
    }
    size_t k = 0;
    while (k < std::size(kNames) && kNames[k] != w) ++k;
    if (k == std::size(kNames)) s_.fail("no such type: " + std::string(w));
    t.kind = static_cast<TypeKind>(k);
    if (t.kind < TypeKind::tensor) return intern_type(std::move(t));
    s_.expect("(");
    if (t.kind >= TypeKind::object) {
      t.name = s_.symbol();
      s_.expect("#");
      t.identity = s_.number<uint64_t>();
      s_.accept(",");
    }
    while (!s_.accept(")")) {
      if (t.kind == TypeKind::object) t.fields.push_back(s_.symbol()), s_.expect(":");
      t.items.push_back(type());
      s_.accept(",");
    }
    return intern_type(std::move(t));
  }

  // ---- blocks
  uint32_t pool(const std::vector<Atom>& a) {
    uint32_t begin = static_cast<uint32_t>(f_.atoms.size());
    f_.atoms.insert(f_.atoms.end(), a.begin(), a.end());
    return begin;
  }
  BlockId block_name() {
    s_.expect("^");
    return BlockId{s_.number<uint32_t>()};
  }
  Target target() {
    Target t;
    t.block = block_name();
    std::vector<Atom> args;
    if (s_.raw() == '(') {
      s_.expect("(");
      while (!s_.accept(")")) args.push_back(atom()), s_.accept(",");
    }
    t.args_begin = pool(args);
    t.nargs = static_cast<uint32_t>(args.size());
    return t;
  }
  uint32_t handover() {
    if (!s_.accept("unwind")) return Let::kNoHandover;
    Target t = target();
    f_.handovers.push_back({t.block, t.args_begin, t.nargs});
    return static_cast<uint32_t>(f_.handovers.size() - 1);
  }

  void block() {
    bool loop = s_.accept("loop"), handler = s_.accept("handler");
    BlockId id = block_name();
    if (index(id) != 0) {
      if (index(id) != f_.blocks.size()) s_.fail("blocks must be numbered in order");
      f_.blocks.emplace_back();
    }
    if (index(id) == 0 && seen_entry_) s_.fail("two entries");
    seen_entry_ = true;
    Block b = std::move(f_.blocks[index(id)]);
    b.loop_head = loop;
    b.handler = handler;
    if (s_.raw() == '(') {
      s_.expect("(");
      while (!s_.accept(")")) b.params.push_back(binder()), s_.accept(",");
    }
    s_.expect(":");
    while (s_.peek() == '%') b.lets.push_back(let());
    b.term = terminator();
    f_.blocks[index(id)] = std::move(b);
  }

  PlacePath path() {
    PlacePath p;
    if (s_.accept("cell"))
      p.root = PlacePath::Root::cell;
    else if (s_.accept("global"))
      p.root = PlacePath::Root::global;
    else
      s_.expect("value");
    p.name = s_.symbol();
    for (;;) {
      if (s_.accept("item"))
        p.steps.push_back({true, {}});
      else if (s_.accept("attr"))
        p.steps.push_back({false, s_.symbol()});
      else
        break;
    }
    p.held = !p.steps.empty() && s_.accept("held");
    if (s_.peek() != '=') p.augmented = true, p.in_place = op(), p.loaded = s_.accept("loaded");
    s_.expect("=");
    return p;
  }
  Op op() {
    std::string_view w = s_.word();
    if (auto o = op_by_name(w)) return *o;
    s_.fail("no such operation: " + std::string(w));
  }

  Let let() {
    Let l;
    l.result = binder();
    s_.expect("=");
    l.op = op();
    OpFacts info = op_facts(l.op);
    CallSig sig;
    if (info.attr == AttrKind::constant) l.attr = kNoAttr;
    if (s_.raw() == '[') {
      s_.expect("[");
      switch (info.attr) {
        case AttrKind::symbol:
          l.attr = s_.symbol().id();
          break;
        case AttrKind::integer:
          l.attr = static_cast<uint32_t>(s_.number<int32_t>());
          break;
        case AttrKind::constant:
          l.attr = index(constant());
          break;
        case AttrKind::call:
          sig.method = s_.symbol();
          break;
        case AttrKind::path:
          f_.paths.push_back(path()), l.attr = static_cast<uint32_t>(f_.paths.size() - 1);
          break;
        case AttrKind::none:
          s_.fail(std::string(info.name) + " has no attribute");
      }
      s_.expect("]");
    }
    std::vector<Atom> args;
    if (info.attr == AttrKind::call) {
      args.push_back(atom());
      if (call_lead(l.op) == 2) s_.expect(","), args.push_back(atom());
      call_args(sig, args);
      f_.calls.push_back(std::move(sig));
      l.attr = static_cast<uint32_t>(f_.calls.size() - 1);
    } else if (info.nargs != 0) {
      while (!line_ends()) {
        args.push_back(atom());
        if (!s_.accept(",")) break;
      }
    }
    l.args_begin = pool(args);
    l.nargs = static_cast<uint32_t>(args.size());
    l.handover = handover();
    l.span = span();
    return l;
  }
  // No argument follows: a span, a handover, or the next line.
  bool line_ends() {
    size_t p = s_.pos();
    char c = s_.peek();
    std::string_view gap = s_.slice(p);
    bool newline = gap.find('\n') != std::string_view::npos;
    bool ends = newline || c == '@' || c == '}' || c == '\0' || s_.accept("unwind");
    s_.rewind(p);
    return ends;
  }
  void call_args(CallSig& sig, std::vector<Atom>& args) {
    s_.expect("(");
    while (!s_.accept(")")) {
      CallSig::Arg a;
      if (s_.accept("**"))
        a.kind = CallSig::Kind::double_star;
      else if (s_.accept("*"))
        a.kind = CallSig::Kind::star;
      else {  // NAME= is a keyword
        size_t p = s_.pos();
        char c = s_.peek();
        if (c == '"' || word_char(static_cast<unsigned char>(c))) {
          Symbol name = s_.symbol();
          if (s_.raw() == '=')
            s_.expect("="), a = {CallSig::Kind::keyword, name};
          else
            s_.rewind(p);
        }
      }
      args.push_back(atom());
      sig.args.push_back(a);
      if (!s_.accept(",") && s_.peek() != ')') s_.fail("expected ',' or ')'");
    }
  }

  Terminator terminator() {
    using K = Terminator::Kind;
    static constexpr std::string_view kWords[] = {"none",  "return", "jump",       "if",         "switch",
                                                  "raise", "yield",  "yield_from", "unreachable"};
    Terminator t;
    std::string_view w = s_.word();
    size_t k = 0;
    while (k < std::size(kWords) && kWords[k] != w) ++k;
    if (k == std::size(kWords) || k == 0) s_.fail("expected a terminator");
    t.kind = static_cast<K>(k);
    if (t.kind != K::jump && t.kind != K::unreachable && !line_ends()) t.a = atom();
    if (t.kind == K::raise && s_.accept("from")) t.b = atom();
    while (!line_ends() && s_.peek() == '^') t.targets.push_back(target());
    t.handover = handover();
    t.span = span();
    return t;
  }

  Scanner& s_;
  Function f_;
  std::vector<FunctionRef> codes_;
  std::map<std::string, ConstId> constants_;
  std::optional<size_t> end_;
  bool seen_entry_ = false;
};

}  // namespace

ReadResult read(std::string_view text) {
  Scanner s(text);
  try {
    s.expect("func");
    FunctionRef f = Reader(s).function();
    if (!s.at_end()) s.fail("text behind the function");
    return {f, {}};
  } catch (const ReadError& e) {
    return {nullptr, e.text};
  }
}

}  // namespace ouro::ir
