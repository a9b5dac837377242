// The loop IR's text: print, read back, hash. `read_kernel(print(k))` prints the same text.
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ir/loops/loop_ir.h"
#include "ir/loops/placement.h"
#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

constexpr std::string_view kAccess[] = {"in", "out", "inout"};
constexpr std::string_view kOrder[] = {"fold", "blocks", "serial"};

class Printer {
 public:
  explicit Printer(const Kernel& k)
      : k_(k), placement_(k), names_(k.nodes.size(), -1), vars_(k.vars, -1), results_(k.results, -1) {}

  std::string run() {
    out_ = "kernel(";
    for (size_t i = 0; i < k_.buffers.size(); ++i)
      out_ += fmt::format("{}b{} {} {}", i ? ", " : "", i, kAccess[static_cast<int>(k_.buffers[i].access)],
                          name(k_.buffers[i].type));
    out_ += ";";
    for (uint32_t i = 0; i < k_.sizes; ++i) out_ += fmt::format("{} n{}", i ? "," : "", i);
    out_ += ";";
    for (size_t i = 0; i < k_.scalars.size(); ++i)
      out_ += fmt::format("{} s{} {}", i ? "," : "", i, name(k_.scalars[i]));
    out_ += ") {\n";
    body(k_.body, {}, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  std::string var(uint32_t v) {
    if (vars_[v] < 0) vars_[v] = next_var_++;
    return fmt::format("i{}", vars_[v]);
  }

  std::string atom(NodeId id) {
    const Node& n = k_.node(id);
    switch (n.kind) {
      case Node::Kind::size:
        return fmt::format("n{}", n.id);
      case Node::Kind::scalar:
        return fmt::format("s{}", n.id);
      case Node::Kind::var:
        return var(n.id);
      case Node::Kind::result:
        return fmt::format("r{}", results_[n.id]);
      case Node::Kind::constant: {
        if (!is_float(n.type))
          return n.type == DType::i64 ? fmt::format("{}", n.bits) : fmt::format("{}:{}", n.bits, name(n.type));
        double d;
        std::memcpy(&d, &n.bits, 8);
        return fmt::format("{}:{}", std::isnan(d) ? "nan" : fmt::format("{}", d), name(n.type));
      }
      default:
        return fmt::format("%{}", names_[index(id)]);
    }
  }

  void define(NodeId id, int depth) {
    const Node& n = k_.node(id);
    names_[index(id)] = next_node_++;
    std::string line = fmt::format("%{} = ", names_[index(id)]);
    if (n.kind == Node::Kind::load) {
      line += fmt::format("load.{} b{}[{}]", name(n.type), n.id, atom(n.args[0]));
      if (n.nargs == 3) line += fmt::format(" if {} else {}", atom(n.args[1]), atom(n.args[2]));
    } else {
      line += n.kind == Node::Kind::index ? fmt::format("ix.{}", info(n.leaf).name)
                                          : fmt::format("{}.{}", info(n.leaf).name, name(n.type));
      for (int a = 0; a < n.nargs; ++a) line += fmt::format("{}{}", a ? ", " : " ", atom(n.args[a]));
    }
    put(depth, line);
  }

  void put(int depth, const std::string& line) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + line + "\n";
  }

  std::string range(const Stmt& s) {
    std::string text;
    for (size_t i = 0; i < s.vars.size(); ++i)
      text += fmt::format("{}{} < {}", i ? ", " : "", var(s.vars[i]), atom(s.extents[i]));
    return text;
  }

  void body(const std::vector<Stmt>& stmts, Placement::Scope scope, int depth) {
    for (const Stmt& s : stmts) {
      for (NodeId n : placement_.before(s, scope)) define(n, depth);
      size_t mark = placement_.mark();
      Placement::Scope inner = scope;
      for (uint32_t v : s.vars) inner.vars |= uint64_t{1} << v;
      switch (s.kind) {
        case Stmt::Kind::parallel:
        case Stmt::Kind::loop:
          put(depth, fmt::format("{} {} {{", s.kind == Stmt::Kind::loop ? "loop" : "parallel", range(s)));
          body(s.body, inner, depth + 1);
          put(depth, "}");
          break;
        case Stmt::Kind::reduce:
          reduce(s, inner, depth);
          break;
        case Stmt::Kind::store:
          put(depth, fmt::format("store b{}[{}] = {}", s.buffer, atom(s.at), atom(s.value)));
          break;
      }
      if (s.kind != Stmt::Kind::store) placement_.forget(mark);
      for (uint32_t r : s.results) scope.results |= uint64_t{1} << r;
    }
  }

  void reduce(const Stmt& s, const Placement::Scope& inner, int depth) {
    put(depth, fmt::format("reduce {} {} {{", kOrder[static_cast<int>(s.order)], range(s)));
    for (NodeId n : placement_.inside_reduce(s, inner)) define(n, depth + 1);
    std::string line = "}";
    for (size_t i = 0; i < s.results.size(); ++i) {
      results_[s.results[i]] = next_result_++;
      line += fmt::format("{} r{} = {}.{} {}", i ? "," : "", results_[s.results[i]], info(s.combine[i]).name,
                          name(k_.node(s.values[i]).type), atom(s.values[i]));
    }
    put(depth, line);
  }

  const Kernel& k_;
  Placement placement_;
  std::string out_;
  std::vector<int> names_, vars_, results_;
  int next_node_ = 0, next_var_ = 0, next_result_ = 0;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Kernel run() {
    expect("kernel");
    expect("(");
    while (!accept(";")) {
      accept(",");
      numbered('b');
      Access access{};
      std::string_view a = word();
      bool known = false;
      for (int i = 0; i < 3; ++i)
        if (a == kAccess[i]) access = static_cast<Access>(i), known = true;
      if (!known) fail("an access (in, out, inout)");
      b_.buffer(dtype(word()), access);
    }
    while (!accept(";")) {
      accept(",");
      b_.size(numbered('n'));
    }
    while (!accept(")")) {
      accept(",");
      numbered('s');
      b_.scalar(dtype(word()));
    }
    expect("{");
    b_.body() = body();
    skip();
    if (pos_ != text_.size()) fail("the end");
    Kernel k = b_.finish();
    if (std::string wrong = verify(k); !wrong.empty()) error("not a valid kernel: " + wrong);
    return k;
  }

 private:
  [[noreturn]] void error(std::string what) {
    size_t line = 1;
    for (size_t i = 0; i < pos_ && i < text_.size(); ++i) line += text_[i] == '\n';
    user_error(Span{}, "loops.text", fmt::format("loop IR, line {}: {}", line, what));
  }
  [[noreturn]] void fail(std::string_view wanted) { error(fmt::format("expected {}", wanted)); }

  void skip() {
    while (pos_ < text_.size()) {
      if (text_[pos_] == ';' && pos_ + 1 < text_.size() && text_[pos_ + 1] == ';') {
        while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
      } else if (std::isspace(static_cast<unsigned char>(text_[pos_]))) {
        ++pos_;
      } else {
        break;
      }
    }
  }
  bool accept(std::string_view t) {
    skip();
    if (text_.substr(pos_, t.size()) != t) return false;
    pos_ += t.size();
    return true;
  }
  void expect(std::string_view t) {
    if (!accept(t)) fail(fmt::format("'{}'", t));
  }
  std::string_view word() {
    skip();
    size_t start = pos_;
    while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) ++pos_;
    return text_.substr(start, pos_ - start);
  }
  uint32_t numbered(char prefix) {
    skip();
    if (pos_ >= text_.size() || text_[pos_] != prefix) fail(fmt::format("{}<number>", prefix));
    ++pos_;
    uint32_t v = 0;
    auto [end, ec] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), v);
    if (ec != std::errc{}) fail("a number");
    pos_ = static_cast<size_t>(end - text_.data());
    return v;
  }
  DType dtype(std::string_view t) {
    auto d = dtype_from_name(t);
    if (!d) fail("an element type");
    return *d;
  }
  template <class T>
  T& slot(std::vector<T>& v, size_t i, T empty) {
    if (i >= v.size()) v.resize(i + 1, empty);
    return v[i];
  }

  NodeId atom() {
    skip();
    char c = pos_ < text_.size() ? text_[pos_] : 0;
    auto named = [&](std::vector<NodeId>& table, char prefix) {
      uint32_t i = numbered(prefix);
      NodeId n = i < table.size() ? table[i] : NodeId::none;
      if (n == NodeId::none) error(fmt::format("{}{} is not defined", prefix, i));
      return n;
    };
    bool digit_next = pos_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_ + 1]));
    if (c == '%') return named(nodes_, '%');
    if (c == 'i' && digit_next) return named(vars_, 'i');
    if (c == 'r' && digit_next) return named(results_, 'r');
    if (c == 'n' && digit_next) {
      uint32_t i = numbered('n');
      if (i >= b_.kernel().sizes) error(fmt::format("n{} is not a parameter", i));
      return b_.size(i);
    }
    if (c == 's' && digit_next) {
      uint32_t i = numbered('s');
      if (i >= b_.kernel().scalars.size()) error(fmt::format("s{} is not a parameter", i));
      return b_.scalar_node(i);
    }
    return number();
  }

  NodeId number() {
    size_t start = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || std::strchr("+-.", text_[pos_])))
      ++pos_;
    std::string digits(text_.substr(start, pos_ - start));
    if (digits.empty()) fail("an operand");
    DType type = DType::i64;
    if (pos_ < text_.size() && text_[pos_] == ':') {
      ++pos_;
      type = dtype(word());
    }
    char* end = nullptr;
    double d = std::strtod(digits.c_str(), &end);
    if (*end) fail("a number");
    return is_float(type) ? b_.constant(type, d) : b_.integer(type, std::strtoll(digits.c_str(), nullptr, 10));
  }

  void definition() {
    uint32_t id = numbered('%');
    expect("=");
    std::string_view op = word();
    expect(".");
    std::string_view suffix = word();
    NodeId n;
    if (op == "load") {
      uint32_t buffer = numbered('b');
      if (buffer >= b_.kernel().buffers.size()) error(fmt::format("b{} is not a parameter", buffer));
      expect("[");
      NodeId at = atom();
      expect("]");
      if (accept("if")) {
        NodeId condition = atom();
        expect("else");
        n = b_.load_if(buffer, at, condition, atom());
      } else {
        n = b_.load(buffer, at);
      }
    } else {
      bool ix = op == "ix";
      const LeafDef* def = nullptr;
      for (const LeafDef& l : kLeaves)
        if (l.name == (ix ? suffix : op) && l.operands) def = &l;
      if (!def) error(fmt::format("no leaf is called '{}'", ix ? suffix : op));
      DType type = ix ? DType::i64 : dtype(suffix);
      NodeId args[3] = {NodeId::none, NodeId::none, NodeId::none};
      for (int a = 0; a < def->operands; ++a) {
        if (a) expect(",");
        args[a] = atom();
      }
      n = ix ? b_.ix(def->leaf, args[0], args[1]) : b_.leaf(def->leaf, type, args[0], args[1], args[2]);
    }
    slot(nodes_, id, NodeId::none) = n;
  }

  void range(Stmt& s) {
    do {
      uint32_t name = numbered('i');
      expect("<");
      NodeId extent = atom();
      uint32_t v = b_.var();
      slot(vars_, name, NodeId::none) = b_.var_node(v);
      s.vars.push_back(v);
      s.extents.push_back(extent);
    } while (accept(","));
    expect("{");
  }

  std::vector<Stmt> body() {
    std::vector<Stmt> out;
    while (!accept("}")) {
      skip();
      if (pos_ >= text_.size()) fail("'}'");
      if (text_[pos_] == '%') {
        definition();
        continue;
      }
      Stmt s;
      std::string_view kind = word();
      if (kind == "parallel" || kind == "loop") {
        s.kind = kind == "loop" ? Stmt::Kind::loop : Stmt::Kind::parallel;
        range(s);
        s.body = body();
      } else if (kind == "reduce") {
        reduce(s);
      } else if (kind == "store") {
        s.buffer = numbered('b');
        expect("[");
        s.at = atom();
        expect("]");
        expect("=");
        s.value = atom();
      } else {
        fail("a statement");
      }
      out.push_back(std::move(s));
    }
    return out;
  }

  void reduce(Stmt& s) {
    s.kind = Stmt::Kind::reduce;
    std::string_view order = word();
    bool known = false;
    for (int i = 0; i < 3; ++i)
      if (order == kOrder[i]) s.order = static_cast<ReduceOrder>(i), known = true;
    if (!known) fail("an order (fold, blocks, serial)");
    range(s);
    while (!accept("}")) definition();
    do {
      uint32_t name = numbered('r');
      expect("=");
      std::string_view op = word();
      expect(".");
      DType type = dtype(word());
      const LeafDef* combine = nullptr;
      for (const LeafDef& l : kLeaves)
        if (l.name == op && l.operands == 2 && !l.function) combine = &l;
      if (!combine) error(fmt::format("no reduction is called '{}'", op));
      s.combine.push_back(combine->leaf);
      s.values.push_back(atom());
      uint32_t r = b_.result();
      slot(results_, name, NodeId::none) = b_.result_node(r, type);
      s.results.push_back(r);
    } while (accept(","));
  }

  std::string_view text_;
  size_t pos_ = 0;
  KernelBuilder b_;
  std::vector<NodeId> nodes_, vars_, results_;
};

}  // namespace

std::string print(const Kernel& k) { return Printer(k).run(); }
Kernel read_kernel(std::string_view text) { return Reader(text).run(); }

uint64_t structural_hash(const Kernel& k) {
  uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  for (unsigned char c : print(k)) h = (h ^ c) * 0x100000001b3u;
  return h;
}

}  // namespace ouro::ir::loops
