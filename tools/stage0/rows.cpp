#include "tools/stage0/rows.h"

#include <cstdio>
#include <ostream>

#include "frontend/unparse.h"

namespace ouro::stage0 {

using namespace ast;

namespace {

template <class T>
T* node_if(Node* n) {
  return n && n->kind == T::kKind ? static_cast<T*>(n) : nullptr;
}

class Reader {
 public:
  Reader(Arena& arena, Diagnostics& diags, Row& row) : arena_(arena), diags_(diags), row_(row) {}

  void read(FunctionDef& f, Call& decorator) {
    row_.name = f.name.str();
    if (decorator.args.size() != 1) wrong(decorator, "@row: the signature is its one positional argument");
    if (!decorator.args.empty()) row_.sig = text(*decorator.args[0]);
    for (Keyword* k : decorator.keywords) option(*k);
    auto* first = f.body.empty() ? nullptr : node_if<Expr>(f.body[0]);
    if (auto* doc = first ? node_if<Constant>(first->value) : nullptr; doc && doc->value_kind == ConstantKind::Str)
      row_.doc = one_line(doc->text);
    else
      wrong(f, "an operation needs a docstring");
    parameters(*f.args);
    f.decorator_list = {};
  }

 private:
  void wrong(const Node& n, std::string message) { diags_.error(n.span, "stage0.row", std::move(message)); }

  std::string text(ExprNode& e) {
    auto* c = node_if<Constant>(&e);
    if (c && c->value_kind == ConstantKind::Str) return std::string(c->text);
    wrong(e, "@row: a text expected");
    return {};
  }
  bool truth(ExprNode& e) {
    auto* c = node_if<Constant>(&e);
    if (c && (c->value_kind == ConstantKind::True || c->value_kind == ConstantKind::False))
      return c->value_kind == ConstantKind::True;
    wrong(e, "@row: True or False expected");
    return true;
  }
  // ((-2, 2), (0, 1)) as C++ writes it.
  std::string ranges(ExprNode& e) {
    auto* t = node_if<Tuple>(&e);
    if (!t) return frontend::unparse(&e);
    std::string out = "{";
    for (ExprNode* item : t->elts) out += (out.size() > 1 ? ", " : "") + ranges(*item);
    return out + "}";
  }

  void option(Keyword& k) {
    const std::string_view name = k.arg ? k.arg.text() : "";
    if (name == "alias")
      row_.alias = text(*k.value);
    else if (name == "cases")
      row_.cases = text(*k.value);
    else if (name == "tol")
      row_.tol = frontend::unparse(k.value);
    else if (name == "domain")
      row_.domain = ranges(*k.value);
    else if (name == "method")
      row_.method = truth(*k.value);
    else if (name == "function")
      row_.function = truth(*k.value);
    else if (name == "internal")
      row_.method = row_.function = !truth(*k.value);
    else
      wrong(k, "@row: no option '" + std::string(name) + "'");
  }

  static std::string one_line(std::string_view doc) {
    std::string out;
    bool blank = true;
    for (char c : doc) {
      const bool space = c == ' ' || c == '\n';
      if (!space || !blank) out += space ? ' ' : c;
      blank = space;
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }

  // `axes | None` is `axes?`, `mean | sum` is `mean|sum`.
  static std::string kind(ExprNode* annotation) {
    std::string out;
    for (char c : frontend::unparse(annotation))
      if (c != ' ') out += c;
    const std::string_view none = "|None";
    if (out.ends_with(none)) out.replace(out.size() - none.size(), none.size(), "?");
    return out;
  }
  void parameter(Arg& a, std::string_view star, ExprNode* value) {
    std::string& p = row_.params;
    p += p.empty() ? "" : ", ";
    p += star;
    p += a.annotation ? a.arg.str() + ": " + kind(a.annotation) : "@" + a.arg.str();
    if (value) p += " = " + frontend::unparse(value);
    a.annotation = nullptr;
  }
  void parameters(Arguments& a) {
    if (!a.posonlyargs.empty()) wrong(*a.posonlyargs[0], "@row: an operation has no positional-only parameters");
    if (a.kwarg) wrong(*a.kwarg, "@row: an operation has no `**`");
    const size_t required = a.args.size() - a.defaults.size();
    for (size_t i = 0; i < a.args.size(); ++i)
      parameter(*a.args[i], "", i < required ? nullptr : a.defaults[i - required]);
    if (a.vararg) parameter(*a.vararg, "*", nullptr);
    if (!a.vararg && !a.kwonlyargs.empty()) row_.params += row_.params.empty() ? "*" : ", *";
    for (size_t i = 0; i < a.kwonlyargs.size(); ++i) parameter(*a.kwonlyargs[i], "", a.kw_defaults[i]);
    if (!a.vararg) by_position(a);
  }
  // The function itself takes every parameter by position, so that rules need not know which are keyword-only.
  void by_position(Arguments& a) {
    std::vector<Arg*> args(a.args.begin(), a.args.end());
    std::vector<ExprNode*> defaults(a.defaults.begin(), a.defaults.end());
    for (size_t i = 0; i < a.kwonlyargs.size(); ++i) {
      if (!a.kw_defaults[i]) wrong(*a.kwonlyargs[i], "@row: a parameter behind `*` needs a default");
      args.push_back(a.kwonlyargs[i]);
      defaults.push_back(a.kw_defaults[i]);
    }
    a.args = arena_.copy(args);
    a.defaults = arena_.copy(defaults);
    a.kwonlyargs = {};
    a.kw_defaults = {};
  }

  Arena& arena_;
  Diagnostics& diags_;
  Row& row_;
};

}  // namespace

void take_rows(Module& module, Arena& arena, const std::string& group, std::vector<Row>& rows, Diagnostics& diags) {
  for (StmtNode* s : module.body) {
    auto* f = node_if<FunctionDef>(s);
    if (!f || f->decorator_list.empty()) continue;
    auto* decorator = node_if<Call>(f->decorator_list[0]);
    auto* name = decorator ? node_if<Name>(decorator->func) : nullptr;
    if (!name || name->id.text() != "row" || f->decorator_list.size() != 1) {
      diags.error(f->span, "stage0.row", "a function of stdlib/ops has the decorator @row(...), or none");
      continue;
    }
    rows.push_back({.group = group});
    Reader(arena, diags, rows.back()).read(*f, *decorator);
  }
}

// (Octal escapes take three digits at most, so a digit behind one is itself.)
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '\n') {
      out += "\\n\"\n\"";
    } else if (c == '"' || c == '\\' || c == '?') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || c >= 0x7f) {
      char octal[5];
      std::snprintf(octal, sizeof octal, "\\%03o", c);
      out += octal;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

void write_rows(std::ostream& out, const std::vector<Row>& rows) {
  out << "// Written by ouro_stage0 from stdlib/ops. Do not edit.\n"
         "#include \"ir/ops/registry.h\"\n"
         "namespace ouro::ir {\nnamespace {\n"
         "constexpr OpDef kRows[] = {\n";
  for (const Row& r : rows) {
    out << "{.name = " << literal(r.name) << ", .doc = " << literal(r.doc) << ", .sig = " << literal(r.sig)
        << ", .params = " << literal(r.params) << ", .source = " << literal(r.group)
        << ", .method = " << (r.method ? "true" : "false") << ", .function = " << (r.function ? "true" : "false")
        << ", .alias = " << literal(r.alias) << ",\n .test = {.domain = " << (r.domain.empty() ? "{}" : r.domain)
        << ", .tol = " << (r.tol.empty() ? "0" : r.tol) << ", .cases = " << literal(r.cases) << "}},\n";
  }
  out << "};\nstatic_assert(complete(kRows));\n}\n"
         "std::span<const OpDef> ouro_rows() { return kRows; }\n}\n";
}

}  // namespace ouro::stage0
