#include "frontend/dump_ast.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "support/unicode_names.h"

namespace ouro::frontend {

using namespace ast;

namespace {

char quote_for(std::string_view text) {
  return text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
}

// What repr() writes for a character that both str and bytes escape, or null.
const char* short_escape(uint32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      return nullptr;
  }
}

void hex_escape(std::string& out, uint32_t c) {
  char buffer[16];
  const char* format = c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x";
  out.append(buffer, static_cast<size_t>(std::snprintf(buffer, sizeof buffer, format, c)));
}

class Dumper {
 public:
  explicit Dumper(const SourceFile* file) : file_(file) {}

  void node(const Node* n) {
    if (!n) {
      out_ += "None";
      return;
    }
    out_ += kind_name(n->kind);
    out_ += '(';
    bool outer_first = first_;
    first_ = true;
    fields(n);
    if (file_) position(n);
    first_ = outer_first;
    out_ += ')';
  }
  std::string take() { return std::move(out_); }

 private:
  void field(const char* name) {
    if (!first_) out_ += ", ";
    first_ = false;
    out_ += name;
    out_ += '=';
  }
  // Required node, optional node, list, name, optional name, number.
  void one(const char* name, const Node* n) { field(name), node(n); }
  void opt(const char* name, const Node* n) {
    if (n) one(name, n);
  }
  template <class T>
  void all(const char* name, Seq<T> list) {
    field(name);
    out_ += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out_ += ", ";
      node(list[i]);
    }
    out_ += ']';
  }
  void names(const char* name, Names list) {
    field(name);
    out_ += '[';
    for (size_t i = 0; i < list.size(); ++i) out_ += (i ? ", " : "") + repr_str(list[i].text());
    out_ += ']';
  }
  void id(const char* name, Symbol s) { field(name), out_ += repr_str(s.text()); }
  void opt_id(const char* name, Symbol s) {
    if (s) id(name, s);
  }
  void num(const char* name, int64_t v) { field(name), out_ += std::to_string(v); }
  void tag(const char* name, const char* v) { field(name), (out_ += v) += "()"; }
  void ctx(Context c) { tag("ctx", c == Context::Load ? "Load" : c == Context::Store ? "Store" : "Del"); }

  void position(const Node* n) {
    bool none = n->kind == Kind::Module || n->kind == Kind::Arguments || n->kind == Kind::WithItem ||
                n->kind == Kind::MatchCase || n->kind == Kind::Comprehension;
    if (none) return;
    LineCol b = file_->line_col(n->span.begin), e = file_->line_col(n->span.end);
    num("lineno", b.line), num("col_offset", b.col), num("end_lineno", e.line), num("end_col_offset", e.col);
  }

  void constant(const Constant& c) {
    field("value");
    switch (c.value_kind) {
      case ConstantKind::None:
        out_ += "None";
        break;
      case ConstantKind::True:
        out_ += "True";
        break;
      case ConstantKind::False:
        out_ += "False";
        break;
      case ConstantKind::Ellipsis:
        out_ += "Ellipsis";
        break;
      case ConstantKind::Int:
        out_ += std::to_string(c.int_value);
        break;
      case ConstantKind::BigInt:
        out_ += c.text;
        break;
      case ConstantKind::Float:
        out_ += repr_float(c.float_value);
        break;
      case ConstantKind::Str:
        out_ += repr_str(c.text);
        break;
      case ConstantKind::Bytes:
        out_ += repr_bytes(c.text);
        break;
    }
    if (c.u_prefix) field("kind"), out_ += "'u'";
  }

  void fields(const Node* n) {
    if (n->kind <= Kind::Continue) return stmt_fields(n);
    if (n->kind <= Kind::Slice) return expr_fields(n);
    if (n->kind <= Kind::MatchOr) return pattern_fields(n);
    helper_fields(n);
  }

  void stmt_fields(const Node* n) {
    switch (n->kind) {
      case Kind::FunctionDef: {
        auto& x = as<FunctionDef>(n);
        id("name", x.name), one("args", x.args), all("body", x.body), all("decorator_list", x.decorator_list);
        return opt("returns", x.returns);
      }
      case Kind::ClassDef: {
        auto& x = as<ClassDef>(n);
        id("name", x.name), all("bases", x.bases), all("keywords", x.keywords), all("body", x.body);
        return all("decorator_list", x.decorator_list);
      }
      case Kind::Return:
        return opt("value", as<Return>(n).value);
      case Kind::Delete:
        return all("targets", as<Delete>(n).targets);
      case Kind::Assign:
        return all("targets", as<Assign>(n).targets), one("value", as<Assign>(n).value);
      case Kind::AugAssign: {
        auto& x = as<AugAssign>(n);
        one("target", x.target), tag("op", operator_name(x.op)), one("value", x.value);
        return;
      }
      case Kind::AnnAssign: {
        auto& x = as<AnnAssign>(n);
        one("target", x.target), one("annotation", x.annotation), opt("value", x.value), num("simple", x.simple);
        return;
      }
      case Kind::For: {
        auto& x = as<For>(n);
        one("target", x.target), one("iter", x.iter), all("body", x.body), all("orelse", x.orelse);
        return;
      }
      case Kind::While: {
        auto& x = as<While>(n);
        one("test", x.test), all("body", x.body), all("orelse", x.orelse);
        return;
      }
      case Kind::If: {
        auto& x = as<If>(n);
        one("test", x.test), all("body", x.body), all("orelse", x.orelse);
        return;
      }
      case Kind::With:
        return all("items", as<With>(n).items), all("body", as<With>(n).body);
      case Kind::Match:
        return one("subject", as<Match>(n).subject), all("cases", as<Match>(n).cases);
      case Kind::Raise:
        return opt("exc", as<Raise>(n).exc), opt("cause", as<Raise>(n).cause);
      case Kind::Try: {
        auto& x = as<Try>(n);
        all("body", x.body), all("handlers", x.handlers), all("orelse", x.orelse), all("finalbody", x.finalbody);
        return;
      }
      case Kind::Assert:
        return one("test", as<Assert>(n).test), opt("msg", as<Assert>(n).msg);
      case Kind::Import:
        return all("names", as<Import>(n).names);
      case Kind::ImportFrom: {
        auto& x = as<ImportFrom>(n);
        opt_id("module", x.module), all("names", x.names), num("level", x.level);
        return;
      }
      case Kind::Global:
        return names("names", as<Global>(n).names);
      case Kind::Nonlocal:
        return names("names", as<Nonlocal>(n).names);
      case Kind::Expr:
        return one("value", as<Expr>(n).value);
      default:
        return;
    }
  }

  void expr_fields(const Node* n) {
    switch (n->kind) {
      case Kind::BoolOp:
        return tag("op", operator_name(as<BoolOp>(n).op)), all("values", as<BoolOp>(n).values);
      case Kind::NamedExpr:
        return one("target", as<NamedExpr>(n).target), one("value", as<NamedExpr>(n).value);
      case Kind::BinOp: {
        auto& x = as<BinOp>(n);
        one("left", x.left), tag("op", operator_name(x.op)), one("right", x.right);
        return;
      }
      case Kind::UnaryOp:
        return tag("op", operator_name(as<UnaryOp>(n).op)), one("operand", as<UnaryOp>(n).operand);
      case Kind::Lambda:
        return one("args", as<Lambda>(n).args), one("body", as<Lambda>(n).body);
      case Kind::IfExp: {
        auto& x = as<IfExp>(n);
        one("test", x.test), one("body", x.body), one("orelse", x.orelse);
        return;
      }
      case Kind::Dict:
        return all("keys", as<Dict>(n).keys), all("values", as<Dict>(n).values);
      case Kind::Set:
        return all("elts", as<Set>(n).elts);
      case Kind::ListComp:
        return one("elt", as<ListComp>(n).elt), all("generators", as<ListComp>(n).generators);
      case Kind::SetComp:
        return one("elt", as<SetComp>(n).elt), all("generators", as<SetComp>(n).generators);
      case Kind::DictComp: {
        auto& x = as<DictComp>(n);
        one("key", x.key), one("value", x.value), all("generators", x.generators);
        return;
      }
      case Kind::GeneratorExp:
        return one("elt", as<GeneratorExp>(n).elt), all("generators", as<GeneratorExp>(n).generators);
      case Kind::Yield:
        return opt("value", as<Yield>(n).value);
      case Kind::YieldFrom:
        return one("value", as<YieldFrom>(n).value);
      case Kind::Compare: {
        auto& x = as<Compare>(n);
        one("left", x.left), field("ops");
        out_ += '[';
        for (size_t i = 0; i < x.ops.size(); ++i) ((out_ += i ? ", " : "") += operator_name(x.ops[i])) += "()";
        out_ += ']';
        return all("comparators", x.comparators);
      }
      case Kind::Call: {
        auto& x = as<Call>(n);
        one("func", x.func), all("args", x.args), all("keywords", x.keywords);
        return;
      }
      case Kind::FormattedValue: {
        auto& x = as<FormattedValue>(n);
        one("value", x.value), num("conversion", x.conversion), opt("format_spec", x.format_spec);
        return;
      }
      case Kind::JoinedStr:
        return all("values", as<JoinedStr>(n).values);
      case Kind::Constant:
        return constant(as<Constant>(n));
      case Kind::Attribute: {
        auto& x = as<Attribute>(n);
        one("value", x.value), id("attr", x.attr), ctx(x.ctx);
        return;
      }
      case Kind::Subscript: {
        auto& x = as<Subscript>(n);
        one("value", x.value), one("slice", x.slice), ctx(x.ctx);
        return;
      }
      case Kind::Starred:
        return one("value", as<Starred>(n).value), ctx(as<Starred>(n).ctx);
      case Kind::Name:
        return id("id", as<Name>(n).id), ctx(as<Name>(n).ctx);
      case Kind::List:
        return all("elts", as<List>(n).elts), ctx(as<List>(n).ctx);
      case Kind::Tuple:
        return all("elts", as<Tuple>(n).elts), ctx(as<Tuple>(n).ctx);
      case Kind::Slice: {
        auto& x = as<Slice>(n);
        opt("lower", x.lower), opt("upper", x.upper), opt("step", x.step);
        return;
      }
      default:
        return;
    }
  }

  void pattern_fields(const Node* n) {
    switch (n->kind) {
      case Kind::MatchValue:
        return one("value", as<MatchValue>(n).value);
      case Kind::MatchSingleton: {
        ConstantKind k = as<MatchSingleton>(n).value;
        field("value");
        out_ += k == ConstantKind::None ? "None" : k == ConstantKind::True ? "True" : "False";
        return;
      }
      case Kind::MatchSequence:
        return all("patterns", as<MatchSequence>(n).patterns);
      case Kind::MatchMapping: {
        auto& x = as<MatchMapping>(n);
        all("keys", x.keys), all("patterns", x.patterns), opt_id("rest", x.rest);
        return;
      }
      case Kind::MatchClass: {
        auto& x = as<MatchClass>(n);
        one("cls", x.cls), all("patterns", x.patterns), names("kwd_attrs", x.kwd_attrs);
        return all("kwd_patterns", x.kwd_patterns);
      }
      case Kind::MatchStar:
        return opt_id("name", as<MatchStar>(n).name);
      case Kind::MatchAs:
        return opt("pattern", as<MatchAs>(n).pattern), opt_id("name", as<MatchAs>(n).name);
      case Kind::MatchOr:
        return all("patterns", as<MatchOr>(n).patterns);
      default:
        return;
    }
  }

  void helper_fields(const Node* n) {
    switch (n->kind) {
      case Kind::Module:
        all("body", as<Module>(n).body), field("type_ignores");
        out_ += "[]";
        return;
      case Kind::Arguments: {
        auto& x = as<Arguments>(n);
        all("posonlyargs", x.posonlyargs), all("args", x.args), opt("vararg", x.vararg);
        all("kwonlyargs", x.kwonlyargs), all("kw_defaults", x.kw_defaults), opt("kwarg", x.kwarg);
        return all("defaults", x.defaults);
      }
      case Kind::Arg:
        return id("arg", as<Arg>(n).arg), opt("annotation", as<Arg>(n).annotation);
      case Kind::Keyword:
        return opt_id("arg", as<Keyword>(n).arg), one("value", as<Keyword>(n).value);
      case Kind::Alias:
        return id("name", as<Alias>(n).name), opt_id("asname", as<Alias>(n).asname);
      case Kind::WithItem:
        return one("context_expr", as<WithItem>(n).context_expr), opt("optional_vars", as<WithItem>(n).optional_vars);
      case Kind::MatchCase: {
        auto& x = as<MatchCase>(n);
        one("pattern", x.pattern), opt("guard", x.guard), all("body", x.body);
        return;
      }
      case Kind::Comprehension: {
        auto& x = as<Comprehension>(n);
        one("target", x.target), one("iter", x.iter), all("ifs", x.ifs), num("is_async", 0);
        return;
      }
      case Kind::ExceptHandler: {
        auto& x = as<ExceptHandler>(n);
        opt("type", x.type), opt_id("name", x.name), all("body", x.body);
        return;
      }
      default:
        return;
    }
  }

  const SourceFile* file_;
  std::string out_;
  bool first_ = true;
};

}  // namespace

std::string dump_ast(const Node* node, const SourceFile* positions) {
  Dumper d(positions);
  d.node(node);
  return d.take();
}

std::string repr_str(std::string_view text) {
  char quote = quote_for(text);
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    size_t at = i;
    uint32_t c = next_code_point(text, i);
    if (const char* e = short_escape(c))
      out += e;
    else if (c == static_cast<uint32_t>(quote))
      (out += '\\') += quote;
    else if (c < 0x20 || c == 0x7F || (c > 0x7F && !is_printable(c)))
      hex_escape(out, c);
    else
      out += text.substr(at, i - at);
  }
  return out + quote;
}

std::string repr_bytes(std::string_view text) {
  char quote = quote_for(text);
  std::string out = std::string("b") + quote;
  for (char ch : text) {
    unsigned char c = static_cast<unsigned char>(ch);
    if (const char* e = short_escape(c))
      out += e;
    else if (ch == quote)
      (out += '\\') += quote;
    else if (c < 0x20 || c >= 0x7F)
      hex_escape(out, c);
    else
      out += ch;
  }
  return out + quote;
}

// The shortest digits that read back as the same double, in Python's notation: exponents below -4
// and from 16 on.
std::string repr_float(double v) {
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (std::isnan(v)) return "nan";
  char buffer[40];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
  std::string_view s(buffer, static_cast<size_t>(end - buffer));
  *end = '\0';
  int exponent = std::atoi(s.data() + s.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return std::string(s);
  end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::fixed).ptr;
  std::string out(buffer, end);
  return out.find('.') == out.npos ? out + ".0" : out;
}

}  // namespace ouro::frontend
