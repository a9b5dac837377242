#include "ir/print.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "ir/effect.h"
#include "ir/type.h"
#include "support/dtype.h"

namespace ouro::ir {
namespace {

bool plain_char(unsigned char c) {
  return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
         c == '.' || c == '<' || c == '>';
}

void quote(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += static_cast<char>(c);
    else if (c == '\n')
      out += "\\n";
    else if (c < 0x20 || c == 0x7f)
      out += "\\x", out += kHex[c >> 4], out += kHex[c & 15];
    else
      out += static_cast<char>(c);
  }
  out += '"';
}

// Raw bytes: everything outside ASCII is escaped.
void quote_bytes(std::string& out, std::string_view raw) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += "b\"";
  for (unsigned char c : raw) {
    if (c == '"' || c == '\\')
      out += '\\', out += static_cast<char>(c);
    else if (c < 0x20 || c >= 0x7f)
      out += "\\x", out += kHex[c >> 4], out += kHex[c & 15];
    else
      out += static_cast<char>(c);
  }
  out += '"';
}

void symbol(std::string& out, Symbol s) {
  std::string_view t = s.text();
  bool plain = !t.empty();
  for (unsigned char c : t) plain = plain && plain_char(c);
  if (plain)
    out += t;
  else if (!s)
    out += '~';  // no name at all
  else
    quote(out, t);
}

void floating(std::string& out, double v) {
  if (std::isnan(v)) {
    char buf[40];
    auto r = std::to_chars(buf, buf + sizeof buf, std::bit_cast<uint64_t>(v), 16);
    out += "nan:" + std::string(buf, r.ptr);
    return;
  }
  if (std::isinf(v)) {
    out += v < 0 ? "-inf" : "inf";
    return;
  }
  char buf[40];
  auto r = std::to_chars(buf, buf + sizeof buf, v);
  std::string_view s(buf, static_cast<size_t>(r.ptr - buf));
  out += s;
  if (s.find_first_of(".e") == std::string_view::npos) out += ".0";
}

class Printer {
 public:
  Printer(const Function& f, PrintOptions o, int depth)
      : f_(f), options_(o), indent_(static_cast<size_t>(depth) * 2, ' ') {}

  std::string run(std::string_view head) {
    out_ += indent_;
    out_ += head;
    out_ += "@";
    symbol(out_, f_.name);
    signature();
    if (f_.qualname != f_.name) out_ += " name=", symbol(out_, f_.qualname);
    if (f_.kind != Function::Kind::function) out_ += std::string(" kind=") + kKinds[static_cast<int>(f_.kind)];
    if (f_.is_generator) out_ += " generator";
    if (f_.is_method) out_ += " method";
    if (f_.doc != ConstId::none) out_ += " doc=", constant(f_.doc);
    span(f_.span);
    out_ += " {\n";
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) block(i);
    for (size_t i = 0; i < codes_.size(); ++i)
      out_ += Printer(*codes_[i], options_, static_cast<int>(indent_.size() / 2) + 1)
                  .run("func &" + std::to_string(i) + " ");
    return out_ + indent_ + "}\n";
  }

  void constant(ConstId id) {
    using K = Constant::Kind;
    const Constant& c = f_.constant(id);
    switch (c.kind) {
      case K::none:
        out_ += "None";
        break;
      case K::true_:
        out_ += "True";
        break;
      case K::false_:
        out_ += "False";
        break;
      case K::ellipsis:
        out_ += "Ellipsis";
        break;
      case K::not_implemented:
        out_ += "NotImplemented";
        break;
      case K::unbound:
        out_ += "unbound";
        break;
      case K::integer:
        out_ += std::to_string(c.i);
        break;
      case K::big_integer:
        out_ += c.text + "n";
        break;
      case K::floating:
        floating(out_, c.f);
        break;
      case K::string:
        quote(out_, c.text);
        break;
      case K::bytes:
        quote_bytes(out_, c.text);
        break;
      case K::tuple:
        out_ += "(";
        for (size_t i = 0; i < c.items.size(); ++i) {
          if (i) out_ += ", ";
          constant(c.items[i]);
        }
        out_ += c.items.size() == 1 ? ",)" : ")";
        break;
      case K::dtype:
        out_ += "dtype." + std::string(name(static_cast<DType>(c.i)));
        break;
      case K::code:
        code(c.code.get());
        break;
      case K::zero:
        out_ += "zero";
        break;
    }
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr const char* kKinds[] = {"function", "lambda", "module", "class_body", "generator", "comprehension"};

  void code(const Function* f) {
    size_t i = 0;
    while (i < codes_.size() && codes_[i] != f) ++i;
    if (i == codes_.size()) codes_.push_back(f);
    out_ += "&" + std::to_string(i);
  }
  void span(const Span& s) {
    if (!options_.spans || s == Span{}) return;
    out_ += " @" + std::to_string(s.file) + ":" + std::to_string(s.begin) + ":" + std::to_string(s.end);
  }
  void binder(NameId n) {
    out_ += "%" + std::to_string(index(n));
    const NameInfo& info = f_.name_info(n);
    if (info.hint) {
      out_ += ".";
      symbol(out_, info.hint);
    }
    if (info.type) out_ += ": " + to_string(info.type);
  }
  void atom(Atom a) {
    if (a.is_name())
      out_ += "%" + std::to_string(index(a.name()));
    else
      constant(a.constant());
  }
  void atoms(const Atom* a, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      if (i) out_ += ", ";
      atom(a[i]);
    }
  }

  void parameter(NameId n, Symbol name) {
    binder(n);
    if (name != f_.name_info(n).hint) out_ += "=", symbol(out_, name);
  }
  void signature() {
    const Signature& s = f_.sig;
    const auto& params = f_.blocks[0].params;
    out_ += "(";
    bool first = true;
    auto comma = [&] { out_ += first ? "" : ", ", first = false; };
    size_t i = 0;
    for (; i < s.positional; ++i) {
      if (i == s.posonly && i) comma(), out_ += "/";
      comma();
      parameter(params[i], s.names[i]);
    }
    if (s.posonly && s.posonly == s.positional) comma(), out_ += "/";
    if (s.varargs) {
      comma(), out_ += "*", parameter(params[i], s.names[i]), ++i;
    } else if (s.kwonly) {
      comma(), out_ += "*";
    }
    for (uint32_t k = 0; k < s.kwonly; ++k, ++i) comma(), parameter(params[i], s.names[i]);
    if (s.varkw) comma(), out_ += "**", parameter(params[i], s.names[i]), ++i;
    for (size_t k = 0; k < f_.captures.size(); ++k, ++i) {
      out_ += k ? ", " : (first ? "; " : "; ");
      if (f_.captures[k].cell) out_ += "cell ";
      parameter(params[i], f_.captures[k].name);
    }
    out_ += ")";
  }

  void target(BlockId b, const Atom* a, uint32_t n) {
    out_ += "^" + std::to_string(index(b));
    if (!n) return;
    out_ += "(";
    atoms(a, n);
    out_ += ")";
  }
  void handover(uint32_t h) {
    if (h == Let::kNoHandover) return;
    out_ += " unwind ";
    const Handover& ho = f_.handovers[h];
    target(ho.handler, f_.args(ho), ho.nargs);
  }

  void path(const PlacePath& p) {
    static constexpr const char* kRoots[] = {"value", "cell", "global"};
    out_ += kRoots[static_cast<int>(p.root)];
    out_ += " ";
    symbol(out_, p.name);
    for (const auto& s : p.steps) {
      if (s.is_item)
        out_ += " item";
      else
        out_ += " attr ", symbol(out_, s.attr);
    }
    if (p.held) out_ += " held";
    if (p.augmented) out_ += " " + std::string(op_name(p.in_place));
    if (p.loaded) out_ += " loaded";
    out_ += " =";
  }

  void let(const Let& l) {
    OpFacts info = op_facts(l.op);
    out_ += indent_ + "  ";
    binder(l.result);
    out_ += " = ";
    out_ += info.name;
    uint32_t lead = l.nargs;
    switch (info.attr) {
      case AttrKind::none:
        break;
      case AttrKind::symbol:
        out_ += "[", symbol(out_, Symbol::from_id(l.attr)), out_ += "]";
        break;
      case AttrKind::integer:
        out_ += "[" + std::to_string(static_cast<int32_t>(l.attr)) + "]";
        break;
      case AttrKind::constant:
        if (l.attr != kNoAttr) out_ += "[", constant(ConstId{l.attr}), out_ += "]";
        break;
      case AttrKind::call:
        if (f_.calls[l.attr].method) out_ += "[", symbol(out_, f_.calls[l.attr].method), out_ += "]";
        lead = call_lead(l.op);
        break;
      case AttrKind::path:
        out_ += "[", path(f_.paths[l.attr]), out_ += "]";
        break;
    }
    if (lead) out_ += " ";
    atoms(f_.args(l), lead);
    if (info.attr == AttrKind::call) call_args(f_.calls[l.attr], f_.args(l) + lead);
    handover(l.handover);
    span(l.span);
    out_ += "\n";
  }
  void call_args(const CallSig& sig, const Atom* args) {
    out_ += " (";
    for (size_t i = 0; i < sig.args.size(); ++i) {
      if (i) out_ += ", ";
      switch (sig.args[i].kind) {
        case CallSig::Kind::positional:
          break;
        case CallSig::Kind::star:
          out_ += "*";
          break;
        case CallSig::Kind::double_star:
          out_ += "**";
          break;
        case CallSig::Kind::keyword:
          symbol(out_, sig.args[i].name), out_ += "=";
          break;
      }
      atom(args[i]);
    }
    out_ += ")";
  }

  void terminator(const Terminator& t) {
    using K = Terminator::Kind;
    static constexpr const char* kWords[] = {"none",  "return", "jump",       "if",         "switch",
                                             "raise", "yield",  "yield_from", "unreachable"};
    out_ += indent_ + "  " + kWords[static_cast<int>(t.kind)];
    if (!t.a.is_none()) out_ += " ", atom(t.a);
    if (t.kind == K::raise && !t.b.is_none()) out_ += " from ", atom(t.b);
    for (const Target& to : t.targets) out_ += " ", target(to.block, f_.args(to), to.nargs);
    handover(t.handover);
    span(t.span);
    out_ += "\n";
  }

  void block(uint32_t i) {
    const Block& b = f_.blocks[i];
    out_ += indent_;
    if (b.loop_head) out_ += "loop ";
    if (b.handler) out_ += "handler ";
    out_ += "^" + std::to_string(i);
    if (i && !b.params.empty()) {
      out_ += "(";
      for (size_t k = 0; k < b.params.size(); ++k) {
        if (k) out_ += ", ";
        binder(b.params[k]);
      }
      out_ += ")";
    }
    out_ += ":\n";
    for (const Let& l : b.lets) let(l);
    terminator(b.term);
  }

  const Function& f_;
  PrintOptions options_;
  std::string indent_, out_;
  std::vector<const Function*> codes_;
};

}  // namespace

std::string print(const Function& f, PrintOptions options) { return Printer(f, options, 0).run("func "); }

}  // namespace ouro::ir
