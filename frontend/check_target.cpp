// Which expressions may be assigned to, looped over into or deleted, and how CPython names those
// that may not.
#include "frontend/builder.h"

namespace ouro::frontend {

using namespace ast;

const char* expression_name(const ExprNode* e) {
  switch (e->kind) {
    case Kind::Attribute:
      return "attribute";
    case Kind::Subscript:
      return "subscript";
    case Kind::Starred:
      return "starred";
    case Kind::Name:
      return "name";
    case Kind::List:
      return "list";
    case Kind::Tuple:
      return "tuple";
    case Kind::Lambda:
      return "lambda";
    case Kind::Call:
      return "function call";
    case Kind::BoolOp:
    case Kind::BinOp:
    case Kind::UnaryOp:
      return "expression";
    case Kind::GeneratorExp:
      return "generator expression";
    case Kind::Yield:
    case Kind::YieldFrom:
      return "yield expression";
    case Kind::ListComp:
      return "list comprehension";
    case Kind::SetComp:
      return "set comprehension";
    case Kind::DictComp:
      return "dict comprehension";
    case Kind::Dict:
      return "dict literal";
    case Kind::Set:
      return "set display";
    case Kind::JoinedStr:
    case Kind::FormattedValue:
      return "f-string expression";
    case Kind::Compare:
      return "comparison";
    case Kind::IfExp:
      return "conditional expression";
    case Kind::NamedExpr:
      return "named expression";
    case Kind::Constant:
      switch (as<Constant>(e).value_kind) {
        case ConstantKind::None:
          return "None";
        case ConstantKind::True:
          return "True";
        case ConstantKind::False:
          return "False";
        case ConstantKind::Ellipsis:
          return "ellipsis";
        default:
          return "literal";
      }
    default:
      return "expression";
  }
}

ExprNode* invalid_target(ExprNode* e, TargetKind kind) {
  switch (e->kind) {
    case Kind::List:
    case Kind::Tuple: {
      Exprs elts = e->kind == Kind::List ? as<List>(e).elts : as<Tuple>(e).elts;
      for (ExprNode* x : elts)
        if (ExprNode* bad = invalid_target(x, kind)) return bad;
      return nullptr;
    }
    case Kind::Starred:
      return kind == TargetKind::del ? e : invalid_target(as<Starred>(e).value, kind);
    case Kind::Name:
    case Kind::Subscript:
    case Kind::Attribute:
      return nullptr;
    default:
      return e;
  }
}

void Builder::set_context(ExprNode* e, Context ctx) {
  auto elements = [&](Exprs elts) {
    int stars = 0;
    for (ExprNode* x : elts) {
      if (is<Starred>(x) && ++stars == 2)
        fail(e->span, "syntax.two_stars", "multiple starred expressions in assignment");
      if (is<Starred>(x)) as<Starred>(x).ctx = ctx;
      set_context(is<Starred>(x) ? as<Starred>(x).value : x, ctx);
    }
  };
  switch (e->kind) {
    case Kind::Name:
      if (as<Name>(e).id == intern("__debug__"))
        fail(e->span, "syntax.debug",
             std::string("cannot ") + (ctx == Context::Del ? "delete" : "assign to") + " __debug__");
      as<Name>(e).ctx = ctx;
      return;
    case Kind::Attribute:
      as<Attribute>(e).ctx = ctx;
      return;
    case Kind::Subscript:
      as<Subscript>(e).ctx = ctx;
      return;
    case Kind::Starred:
      fail(e->span, "syntax.lone_star", "starred assignment target must be in a list or tuple");
    case Kind::List:
      as<List>(e).ctx = ctx;
      return elements(as<List>(e).elts);
    case Kind::Tuple:
      as<Tuple>(e).ctx = ctx;
      return elements(as<Tuple>(e).elts);
    default:
      return;
  }
}

void Builder::assign_to(ExprNode* e, TargetKind kind) {
  if (ExprNode* bad = invalid_target(e, kind))
    fail(bad->span, "syntax.target",
         std::string(kind == TargetKind::del ? "cannot delete " : "cannot assign to ") + expression_name(bad));
  set_context(e, kind == TargetKind::del ? Context::Del : Context::Store);
}

}  // namespace ouro::frontend
