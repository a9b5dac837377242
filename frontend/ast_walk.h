// Children of a node, in the order of Python's fields. For passes that treat most kinds alike.
#pragma once

#include "frontend/ast.h"

namespace ouro::ast {

/// Calls f(const Node*) for every child that is there. Names and constants have none.
template <class F>
void for_each_child(const Node* n, F&& f) {
  auto one = [&](const Node* c) {
    if (c) f(c);
  };
  auto all = [&](auto list) {
    for (const Node* c : list) one(c);
  };
  switch (n->kind) {
    case Kind::Module:
      return all(as<Module>(n).body);
    case Kind::FunctionDef: {
      auto& x = as<FunctionDef>(n);
      one(x.args), all(x.body), all(x.decorator_list), one(x.returns);
      return;
    }
    case Kind::ClassDef: {
      auto& x = as<ClassDef>(n);
      all(x.bases), all(x.keywords), all(x.body), all(x.decorator_list);
      return;
    }
    case Kind::Return:
      return one(as<Return>(n).value);
    case Kind::Delete:
      return all(as<Delete>(n).targets);
    case Kind::Assign:
      return all(as<Assign>(n).targets), one(as<Assign>(n).value);
    case Kind::AugAssign:
      return one(as<AugAssign>(n).target), one(as<AugAssign>(n).value);
    case Kind::AnnAssign: {
      auto& x = as<AnnAssign>(n);
      one(x.target), one(x.annotation), one(x.value);
      return;
    }
    case Kind::For: {
      auto& x = as<For>(n);
      one(x.target), one(x.iter), all(x.body), all(x.orelse);
      return;
    }
    case Kind::While:
      return one(as<While>(n).test), all(as<While>(n).body), all(as<While>(n).orelse);
    case Kind::If:
      return one(as<If>(n).test), all(as<If>(n).body), all(as<If>(n).orelse);
    case Kind::With:
      return all(as<With>(n).items), all(as<With>(n).body);
    case Kind::Match:
      return one(as<Match>(n).subject), all(as<Match>(n).cases);
    case Kind::Raise:
      return one(as<Raise>(n).exc), one(as<Raise>(n).cause);
    case Kind::Try: {
      auto& x = as<Try>(n);
      all(x.body), all(x.handlers), all(x.orelse), all(x.finalbody);
      return;
    }
    case Kind::Assert:
      return one(as<Assert>(n).test), one(as<Assert>(n).msg);
    case Kind::Import:
      return all(as<Import>(n).names);
    case Kind::ImportFrom:
      return all(as<ImportFrom>(n).names);
    case Kind::Expr:
      return one(as<Expr>(n).value);
    case Kind::BoolOp:
      return all(as<BoolOp>(n).values);
    case Kind::NamedExpr:
      return one(as<NamedExpr>(n).target), one(as<NamedExpr>(n).value);
    case Kind::BinOp:
      return one(as<BinOp>(n).left), one(as<BinOp>(n).right);
    case Kind::UnaryOp:
      return one(as<UnaryOp>(n).operand);
    case Kind::Lambda:
      return one(as<Lambda>(n).args), one(as<Lambda>(n).body);
    case Kind::IfExp:
      return one(as<IfExp>(n).test), one(as<IfExp>(n).body), one(as<IfExp>(n).orelse);
    case Kind::Dict:
      return all(as<Dict>(n).keys), all(as<Dict>(n).values);
    case Kind::Set:
      return all(as<Set>(n).elts);
    case Kind::ListComp:
      return one(as<ListComp>(n).elt), all(as<ListComp>(n).generators);
    case Kind::SetComp:
      return one(as<SetComp>(n).elt), all(as<SetComp>(n).generators);
    case Kind::DictComp: {
      auto& x = as<DictComp>(n);
      one(x.key), one(x.value), all(x.generators);
      return;
    }
    case Kind::GeneratorExp:
      return one(as<GeneratorExp>(n).elt), all(as<GeneratorExp>(n).generators);
    case Kind::Yield:
      return one(as<Yield>(n).value);
    case Kind::YieldFrom:
      return one(as<YieldFrom>(n).value);
    case Kind::Compare:
      return one(as<Compare>(n).left), all(as<Compare>(n).comparators);
    case Kind::Call:
      return one(as<Call>(n).func), all(as<Call>(n).args), all(as<Call>(n).keywords);
    case Kind::FormattedValue:
      return one(as<FormattedValue>(n).value), one(as<FormattedValue>(n).format_spec);
    case Kind::JoinedStr:
      return all(as<JoinedStr>(n).values);
    case Kind::Attribute:
      return one(as<Attribute>(n).value);
    case Kind::Subscript:
      return one(as<Subscript>(n).value), one(as<Subscript>(n).slice);
    case Kind::Starred:
      return one(as<Starred>(n).value);
    case Kind::List:
      return all(as<List>(n).elts);
    case Kind::Tuple:
      return all(as<Tuple>(n).elts);
    case Kind::Slice:
      return one(as<Slice>(n).lower), one(as<Slice>(n).upper), one(as<Slice>(n).step);
    case Kind::MatchValue:
      return one(as<MatchValue>(n).value);
    case Kind::MatchSequence:
      return all(as<MatchSequence>(n).patterns);
    case Kind::MatchMapping:
      return all(as<MatchMapping>(n).keys), all(as<MatchMapping>(n).patterns);
    case Kind::MatchClass: {
      auto& x = as<MatchClass>(n);
      one(x.cls), all(x.patterns), all(x.kwd_patterns);
      return;
    }
    case Kind::MatchAs:
      return one(as<MatchAs>(n).pattern);
    case Kind::MatchOr:
      return all(as<MatchOr>(n).patterns);
    case Kind::Arguments: {
      auto& x = as<Arguments>(n);
      all(x.posonlyargs), all(x.args), one(x.vararg), all(x.kwonlyargs), all(x.kw_defaults), one(x.kwarg);
      all(x.defaults);
      return;
    }
    case Kind::Arg:
      return one(as<Arg>(n).annotation);
    case Kind::Keyword:
      return one(as<Keyword>(n).value);
    case Kind::WithItem:
      return one(as<WithItem>(n).context_expr), one(as<WithItem>(n).optional_vars);
    case Kind::MatchCase: {
      auto& x = as<MatchCase>(n);
      one(x.pattern), one(x.guard), all(x.body);
      return;
    }
    case Kind::Comprehension: {
      auto& x = as<Comprehension>(n);
      one(x.target), one(x.iter), all(x.ifs);
      return;
    }
    case Kind::ExceptHandler:
      return one(as<ExceptHandler>(n).type), all(as<ExceptHandler>(n).body);
    case Kind::Global:
    case Kind::Nonlocal:
    case Kind::Pass:
    case Kind::Break:
    case Kind::Continue:
    case Kind::Constant:
    case Kind::Name:
    case Kind::MatchSingleton:
    case Kind::MatchStar:
    case Kind::Alias:
      return;
  }
}

}  // namespace ouro::ast
