#include "frontend/unparse.h"

#include <charconv>
#include <cmath>

namespace ouro::frontend {
using namespace ast;

namespace {

// Binding strengths, as in ast_unparse.c.
enum Level {
  kTuple,
  kTest,
  kOr,
  kAnd,
  kNot,
  kCmp,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kArith,
  kTerm,
  kFactor,
  kPower,
  kAwait,
  kAtom
};

constexpr Level kBinaryLevel[] = {kArith, kArith, kTerm,  kTerm,   kTerm,   kTerm, kPower,
                                  kShift, kShift, kBitOr, kBitXor, kBitAnd, kTerm};
constexpr const char* kCompareText[] = {" == ", " != ", " < ",      " <= ", " > ",
                                        " >= ", " is ", " is not ", " in ", " not in "};

class Unparser {
 public:
  std::string out;

  void expr(const ExprNode* e, int level);

 private:
  void put(std::string_view s) { out += s; }
  template <class F>
  void parens(bool wanted, F&& f) {
    if (wanted) put("(");
    f();
    if (wanted) put(")");
  }
  void list(Exprs elts, int level = kTest) {
    for (size_t i = 0; i < elts.size(); ++i) {
      if (i) put(", ");
      expr(elts[i], level);
    }
  }
  void constant(const Constant& c);
  void number(double v);
  void quoted(std::string_view text, bool bytes);
  void bin_op(const BinOp& e, int level);
  void unary_op(const UnaryOp& e, int level);
  void arguments(const Arguments& a);
  void call(const Call& e);
  void comprehension(Seq<Comprehension> gens);
  void joined(const JoinedStr& e);
  void joined_body(const JoinedStr& e, std::string& body);
  void slice(const ExprNode* e);
};

void Unparser::number(double v) {
  if (std::isinf(v)) return put("1e309");
  char buf[40];
  auto r = std::to_chars(buf, buf + sizeof buf, v);
  std::string_view s(buf, static_cast<size_t>(r.ptr - buf));
  double a = std::fabs(v);
  if (a != 0 && (a >= 1e16 || a < 1e-4)) {
    r = std::to_chars(buf, buf + sizeof buf, v, std::chars_format::scientific);
    s = {buf, static_cast<size_t>(r.ptr - buf)};
    return put(s);
  }
  r = std::to_chars(buf, buf + sizeof buf, v, std::chars_format::fixed);
  s = {buf, static_cast<size_t>(r.ptr - buf)};
  put(s);
  if (s.find('.') == s.npos) put(".0");
}

void Unparser::quoted(std::string_view text, bool bytes) {
  char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  if (bytes) put("b");
  out += quote;
  for (unsigned char c : text) {
    static const char kHex[] = "0123456789abcdef";
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      put("\\n");
    } else if (c == '\r') {
      put("\\r");
    } else if (c == '\t') {
      put("\\t");
    } else if (c < 32 || c == 127 || (bytes && c >= 128)) {
      put("\\x");
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += static_cast<char>(c);
    }
  }
  out += quote;
}

void Unparser::constant(const Constant& c) {
  switch (c.value_kind) {
    case ConstantKind::None:
      return put("None");
    case ConstantKind::True:
      return put("True");
    case ConstantKind::False:
      return put("False");
    case ConstantKind::Ellipsis:
      return put("...");
    case ConstantKind::Int:
      return put(std::to_string(c.int_value));
    case ConstantKind::BigInt:
      return put(c.text);
    case ConstantKind::Float:
      return number(c.float_value);
    case ConstantKind::Str:
      if (c.u_prefix) put("u");
      return quoted(c.text, false);
    case ConstantKind::Bytes:
      return quoted(c.text, true);
  }
}

void Unparser::bin_op(const BinOp& e, int level) {
  int l = kBinaryLevel[static_cast<int>(e.op)];
  bool right_assoc = e.op == Operator::Pow;
  parens(level > l, [&] {
    expr(e.left, l + right_assoc);
    put(" ");
    put(operator_token(e.op));
    put(" ");
    expr(e.right, l + !right_assoc);
  });
}

void Unparser::unary_op(const UnaryOp& e, int level) {
  int l = e.op == UnaryOperator::Not ? kNot : kFactor;
  parens(level > l, [&] {
    put(e.op == UnaryOperator::Not ? "not " : operator_token(e.op));
    expr(e.operand, l);
  });
}

void Unparser::arguments(const Arguments& a) {
  bool first = true;
  size_t n = a.posonlyargs.size() + a.args.size(), without = n - a.defaults.size();
  auto comma = [&] {
    if (!first) put(", ");
    first = false;
  };
  auto arg = [&](const Arg* p) {
    put(p->arg.text());
    if (p->annotation) {
      put(": ");
      expr(p->annotation, kTest);
    }
  };
  for (size_t i = 0; i < n; ++i) {
    comma();
    arg(i < a.posonlyargs.size() ? a.posonlyargs[i] : a.args[i - a.posonlyargs.size()]);
    if (i >= without) {
      put("=");
      expr(a.defaults[i - without], kTest);
    }
    if (i + 1 == a.posonlyargs.size()) put(", /");
  }
  if (a.vararg || !a.kwonlyargs.empty()) {
    comma();
    put("*");
    if (a.vararg) arg(a.vararg);
  }
  for (size_t i = 0; i < a.kwonlyargs.size(); ++i) {
    comma();
    arg(a.kwonlyargs[i]);
    if (a.kw_defaults[i]) {
      put("=");
      expr(a.kw_defaults[i], kTest);
    }
  }
  if (a.kwarg) {
    comma();
    put("**");
    arg(a.kwarg);
  }
}

void Unparser::call(const Call& e) {
  expr(e.func, kAtom);
  if (e.args.size() == 1 && e.keywords.empty() && is<GeneratorExp>(e.args[0])) return expr(e.args[0], kTest);
  put("(");
  list(e.args);
  bool first = e.args.empty();
  for (const Keyword* k : e.keywords) {
    if (!first) put(", ");
    first = false;
    if (k->arg) {
      put(k->arg.text());
      put("=");
    } else {
      put("**");
    }
    expr(k->value, kTest);
  }
  put(")");
}

void Unparser::comprehension(Seq<Comprehension> gens) {
  for (const Comprehension* g : gens) {
    put(" for ");
    expr(g->target, kTuple);
    put(" in ");
    expr(g->iter, kTest + 1);
    for (const ExprNode* i : g->ifs) {
      put(" if ");
      expr(i, kTest + 1);
    }
  }
}

void Unparser::joined_body(const JoinedStr& e, std::string& body) {
  for (const ExprNode* v : e.values) {
    if (auto* c = dyn<Constant>(v)) {
      for (char ch : c->text) {
        body += ch;
        if (ch == '{' || ch == '}') body += ch;
      }
    } else if (auto* f = dyn<FormattedValue>(v)) {
      Unparser u;
      u.expr(f->value, kTest + 1);
      body += u.out.starts_with("{") ? "{ " : "{";
      body += u.out;
      if (f->conversion > 0) {
        body += '!';
        body += static_cast<char>(f->conversion);
      }
      if (auto* spec = dyn<JoinedStr>(f->format_spec)) {
        body += ':';
        joined_body(*spec, body);
      }
      body += '}';
    } else if (auto* j = dyn<JoinedStr>(v)) {
      joined_body(*j, body);
    }
  }
}

void Unparser::joined(const JoinedStr& e) {
  std::string body;
  joined_body(e, body);
  put("f");
  quoted(body, false);
}

void Unparser::slice(const ExprNode* e) {
  auto* s = dyn<Slice>(e);
  if (!s) return expr(e, kTuple);
  if (s->lower) expr(s->lower, kTest);
  put(":");
  if (s->upper) expr(s->upper, kTest);
  if (s->step) {
    put(":");
    expr(s->step, kTest);
  }
}

void Unparser::expr(const ExprNode* e, int level) {
  switch (e->kind) {
    case Kind::Constant:
      return constant(as<Constant>(e));
    case Kind::Name:
      return put(as<Name>(e).id.text());
    case Kind::BinOp:
      return bin_op(as<BinOp>(e), level);
    case Kind::UnaryOp:
      return unary_op(as<UnaryOp>(e), level);
    case Kind::BoolOp: {
      auto& b = as<BoolOp>(e);
      int l = b.op == BoolOperator::And ? kAnd : kOr;
      return parens(level > l, [&] {
        for (size_t i = 0; i < b.values.size(); ++i) {
          if (i) put(b.op == BoolOperator::And ? " and " : " or ");
          expr(b.values[i], l + 1);
        }
      });
    }
    case Kind::NamedExpr:
      return parens(level > kTuple, [&] {
        expr(as<NamedExpr>(e).target, kAtom);
        put(" := ");
        expr(as<NamedExpr>(e).value, kAtom);
      });
    case Kind::Lambda:
      return parens(level > kTest, [&] {
        auto& l = as<Lambda>(e);
        bool any = !l.args->posonlyargs.empty() || !l.args->args.empty() || l.args->vararg ||
                   !l.args->kwonlyargs.empty() || l.args->kwarg;
        put(any ? "lambda " : "lambda");
        arguments(*l.args);
        put(": ");
        expr(l.body, kTest);
      });
    case Kind::IfExp:
      return parens(level > kTest, [&] {
        auto& i = as<IfExp>(e);
        expr(i.body, kTest + 1);
        put(" if ");
        expr(i.test, kTest + 1);
        put(" else ");
        expr(i.orelse, kTest);
      });
    case Kind::Dict: {
      auto& d = as<Dict>(e);
      put("{");
      for (size_t i = 0; i < d.values.size(); ++i) {
        if (i) put(", ");
        if (d.keys[i]) {
          expr(d.keys[i], kTest);
          put(": ");
          expr(d.values[i], kTest);
        } else {
          put("**");
          expr(d.values[i], kBitOr);
        }
      }
      return put("}");
    }
    case Kind::Set:
      put("{");
      list(as<Set>(e).elts);
      return put("}");
    case Kind::List:
      put("[");
      list(as<List>(e).elts);
      return put("]");
    case Kind::Tuple: {
      auto& t = as<Tuple>(e);
      if (t.elts.empty()) return put("()");
      return parens(level > kTuple, [&] {
        for (size_t i = 0; i < t.elts.size(); ++i) {
          if (i) put(", ");
          if (is<Slice>(t.elts[i]))
            slice(t.elts[i]);
          else
            expr(t.elts[i], kTest);
        }
        if (t.elts.size() == 1) put(",");
      });
    }
    case Kind::ListComp:
      put("[");
      expr(as<ListComp>(e).elt, kTest);
      comprehension(as<ListComp>(e).generators);
      return put("]");
    case Kind::SetComp:
      put("{");
      expr(as<SetComp>(e).elt, kTest);
      comprehension(as<SetComp>(e).generators);
      return put("}");
    case Kind::GeneratorExp:
      put("(");
      expr(as<GeneratorExp>(e).elt, kTest);
      comprehension(as<GeneratorExp>(e).generators);
      return put(")");
    case Kind::DictComp:
      put("{");
      expr(as<DictComp>(e).key, kTest);
      put(": ");
      expr(as<DictComp>(e).value, kTest);
      comprehension(as<DictComp>(e).generators);
      return put("}");
    case Kind::Yield:
      put("(yield");
      if (as<Yield>(e).value) {
        put(" ");
        expr(as<Yield>(e).value, kTest);
      }
      return put(")");
    case Kind::YieldFrom:
      put("(yield from ");
      expr(as<YieldFrom>(e).value, kTest);
      return put(")");
    case Kind::Compare: {
      auto& c = as<Compare>(e);
      return parens(level > kCmp, [&] {
        expr(c.left, kCmp + 1);
        for (size_t i = 0; i < c.ops.size(); ++i) {
          put(kCompareText[static_cast<int>(c.ops[i])]);
          expr(c.comparators[i], kCmp + 1);
        }
      });
    }
    case Kind::Call:
      return call(as<Call>(e));
    case Kind::JoinedStr:
      return joined(as<JoinedStr>(e));
    case Kind::Attribute: {
      auto& a = as<Attribute>(e);
      expr(a.value, kAtom);
      if (auto* c = dyn<Constant>(a.value); c && c->value_kind == ConstantKind::Int) put(" ");
      put(".");
      return put(a.attr.text());
    }
    case Kind::Subscript: {
      auto& s = as<Subscript>(e);
      expr(s.value, kAtom);
      put("[");
      slice(s.slice);
      return put("]");
    }
    case Kind::Starred:
      put("*");
      return expr(as<Starred>(e).value, kBitOr);
    case Kind::Slice:
      return slice(e);
    default:
      return;
  }
}

}  // namespace

std::string unparse(const ExprNode* e) {
  Unparser u;
  u.expr(e, kTest);
  return u.out;
}

}  // namespace ouro::frontend
