// The abstract syntax tree: Python's own, node for node.
//
// Names of nodes and fields are those of CPython 3.11's `ast` module, so
// https://docs.python.org/3.11/library/ast.html is the documentation of this file, and dump_ast.h
// prints what `ast.dump` prints. Differences in spelling only:
//   - the bases `expr`, `stmt`, `pattern` are ExprNode, StmtNode, PatternNode; helper nodes are
//   Arguments, Arg, Keyword,
//     Alias, WithItem, MatchCase, Comprehension, ExceptHandler;
//   - a Constant's value is the fields value_kind, int_value, float_value, text;
//   - type comments do not exist; names are Symbols (mangling of `__x` in classes is left to
//   resolve).
//
// Ownership: plain structs in an Arena, which the caller keeps as long as the tree. Optional
// children are null, optional names are the default Symbol. Lists are spans of pointers; an element
// is null only where said.
//
// Spans are byte ranges of the source; a def or class begins at its keyword, not at its decorators
// (as lineno does). A value inside an f-string has its true place in the file.
//
// Guaranteed by build_ast, so that later stages need not check:
//   - targets are assignable and carry Store or Del; everything else carries Load; at most one
//   Starred per target list;
//   - argument names of one function are distinct, defaults in order; keywords in a call are not
//   repeated;
//   - capture names in patterns are bound once, alternatives of MatchOr bind the same names,
//   irrefutable cases are last;
//   - names are in NFKC; `from __future__` stands first and names known features; literals are in
//   range;
//   - none of the refused constructs (grammar/refused.h) occurs;
//   - no path from the Module is longer than kMaxDepth nodes, so recursive walks are safe.
// Left to resolve, because they need scopes: 'return' outside function, 'yield' outside function,
// 'break' outside loop and 'continue' not properly in loop, global and nonlocal rules (used before,
// also a parameter, at module level, no binding found), `:=` against comprehension targets, `import
// *` outside module level.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "support/arena.h"
#include "support/diag.h"
#include "support/intern.h"
#include "support/source.h"

namespace ouro::ast {

/// Longest path from the root; deeper source is RecursionError, as in CPython.
inline constexpr int kMaxDepth = 2995;

// clang-format off
#define OURO_AST_STMTS(X) \
  X(FunctionDef) X(ClassDef) X(Return) X(Delete) X(Assign) X(AugAssign) X(AnnAssign) X(For) X(While) X(If) X(With) \
  X(Match) X(Raise) X(Try) X(Assert) X(Import) X(ImportFrom) X(Global) X(Nonlocal) X(Expr) X(Pass) X(Break) X(Continue)
#define OURO_AST_EXPRS(X) \
  X(BoolOp) X(NamedExpr) X(BinOp) X(UnaryOp) X(Lambda) X(IfExp) X(Dict) X(Set) X(ListComp) X(SetComp) X(DictComp) \
  X(GeneratorExp) X(Yield) X(YieldFrom) X(Compare) X(Call) X(FormattedValue) X(JoinedStr) X(Constant) X(Attribute) \
  X(Subscript) X(Starred) X(Name) X(List) X(Tuple) X(Slice)
#define OURO_AST_PATTERNS(X) \
  X(MatchValue) X(MatchSingleton) X(MatchSequence) X(MatchMapping) X(MatchClass) X(MatchStar) X(MatchAs) X(MatchOr)
#define OURO_AST_HELPERS(X) \
  X(Module) X(Arguments) X(Arg) X(Keyword) X(Alias) X(WithItem) X(MatchCase) X(Comprehension) X(ExceptHandler)
#define OURO_AST_NODES(X) OURO_AST_STMTS(X) OURO_AST_EXPRS(X) OURO_AST_PATTERNS(X) OURO_AST_HELPERS(X)
// clang-format on

enum class Kind : uint8_t {
#define X(name) name,
  OURO_AST_NODES(X)
#undef X
};

/// The node's name as in Python's ast ("FunctionDef", "arguments").
const char* kind_name(Kind k);

struct Node {
  Kind kind;
  uint16_t height;  // nodes on the longest path down from here, this one included; at most kMaxDepth
  Span span;
};
struct StmtNode : Node {};
struct ExprNode : Node {};
struct PatternNode : Node {};

template <class T>
using Seq = std::span<T* const>;
using Exprs = Seq<ExprNode>;
using Stmts = Seq<StmtNode>;
using Names = std::span<const Symbol>;

enum class Context : uint8_t { Load, Store, Del };
enum class Operator : uint8_t {
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd,
  FloorDiv,
};
enum class UnaryOperator : uint8_t { Invert, Not, UAdd, USub };
enum class BoolOperator : uint8_t { And, Or };
enum class CmpOperator : uint8_t { Eq, NotEq, Lt, LtE, Gt, GtE, Is, IsNot, In, NotIn };
enum class ConstantKind : uint8_t {
  None,
  True,
  False,
  Ellipsis,
  Int,     // int_value
  BigInt,  // does not fit int64: digits without sign in text: decimal, or 0x and hexadecimal of more than 4300
  Float,   // float_value
  Str,     // text in UTF-8; lone surrogates in their three-byte form (WTF-8); may hold NUL
  Bytes,   // text
};

const char* operator_name(Operator op);        // "Add"
const char* operator_name(UnaryOperator op);   // "USub"
const char* operator_name(BoolOperator op);    // "And"
const char* operator_name(CmpOperator op);     // "NotEq"
const char* operator_token(Operator op);       // "+"
const char* operator_token(UnaryOperator op);  // "-", "not"
const char* operator_token(BoolOperator op);   // "and"
const char* operator_token(CmpOperator op);    // "!="

// ---- helpers
// ----------------------------------------------------------------------------------------------------------

struct Arg : Node {
  static constexpr Kind kKind = Kind::Arg;
  Symbol arg;
  ExprNode* annotation;
};

struct Arguments : Node {  // span is unknown, as in Python
  static constexpr Kind kKind = Kind::Arguments;
  Seq<Arg> posonlyargs;
  Seq<Arg> args;
  Arg* vararg;
  Seq<Arg> kwonlyargs;
  Exprs kw_defaults;  // one per kwonlyargs; null = none
  Arg* kwarg;
  Exprs defaults;  // of the last posonlyargs + args
};

struct Keyword : Node {
  static constexpr Kind kKind = Kind::Keyword;
  Symbol arg;  // none for **value
  ExprNode* value;
};

struct Alias : Node {
  static constexpr Kind kKind = Kind::Alias;
  Symbol name;  // dotted in `import a.b`; "*" in `from m import *`
  Symbol asname;
};

struct WithItem : Node {
  static constexpr Kind kKind = Kind::WithItem;
  ExprNode* context_expr;
  ExprNode* optional_vars;
};

struct Comprehension : Node {
  static constexpr Kind kKind = Kind::Comprehension;
  ExprNode* target;
  ExprNode* iter;
  Exprs ifs;
};

struct ExceptHandler : Node {
  static constexpr Kind kKind = Kind::ExceptHandler;
  ExprNode* type;  // null for a bare except
  Symbol name;
  Stmts body;
};

struct MatchCase : Node {
  static constexpr Kind kKind = Kind::MatchCase;
  PatternNode* pattern;
  ExprNode* guard;
  Stmts body;
};

struct Module : Node {
  static constexpr Kind kKind = Kind::Module;
  Stmts body;
};

// ---- statements
// -------------------------------------------------------------------------------------------------------

struct FunctionDef : StmtNode {
  static constexpr Kind kKind = Kind::FunctionDef;
  Symbol name;
  Arguments* args;
  Stmts body;
  Exprs decorator_list;
  ExprNode* returns;
};

struct ClassDef : StmtNode {
  static constexpr Kind kKind = Kind::ClassDef;
  Symbol name;
  Exprs bases;
  Seq<Keyword> keywords;
  Stmts body;
  Exprs decorator_list;
};

struct Return : StmtNode {
  static constexpr Kind kKind = Kind::Return;
  ExprNode* value;
};

struct Delete : StmtNode {
  static constexpr Kind kKind = Kind::Delete;
  Exprs targets;
};

struct Assign : StmtNode {
  static constexpr Kind kKind = Kind::Assign;
  Exprs targets;
  ExprNode* value;
};

struct AugAssign : StmtNode {
  static constexpr Kind kKind = Kind::AugAssign;
  ExprNode* target;  // Name, Attribute or Subscript
  Operator op;
  ExprNode* value;
};

struct AnnAssign : StmtNode {
  static constexpr Kind kKind = Kind::AnnAssign;
  ExprNode* target;  // Name, Attribute or Subscript
  ExprNode* annotation;
  ExprNode* value;
  bool simple;  // a bare name without parentheses
};

struct For : StmtNode {
  static constexpr Kind kKind = Kind::For;
  ExprNode* target;
  ExprNode* iter;
  Stmts body;
  Stmts orelse;
};

struct While : StmtNode {
  static constexpr Kind kKind = Kind::While;
  ExprNode* test;
  Stmts body;
  Stmts orelse;
};

struct If : StmtNode {
  static constexpr Kind kKind = Kind::If;
  ExprNode* test;
  Stmts body;
  Stmts orelse;  // an elif is an If alone in here
};

struct With : StmtNode {
  static constexpr Kind kKind = Kind::With;
  Seq<WithItem> items;
  Stmts body;
};

struct Match : StmtNode {
  static constexpr Kind kKind = Kind::Match;
  ExprNode* subject;
  Seq<MatchCase> cases;
};

struct Raise : StmtNode {
  static constexpr Kind kKind = Kind::Raise;
  ExprNode* exc;
  ExprNode* cause;
};

struct Try : StmtNode {
  static constexpr Kind kKind = Kind::Try;
  Stmts body;
  Seq<ExceptHandler> handlers;
  Stmts orelse;
  Stmts finalbody;
};

struct Assert : StmtNode {
  static constexpr Kind kKind = Kind::Assert;
  ExprNode* test;
  ExprNode* msg;
};

struct Import : StmtNode {
  static constexpr Kind kKind = Kind::Import;
  Seq<Alias> names;
};

struct ImportFrom : StmtNode {
  static constexpr Kind kKind = Kind::ImportFrom;
  Symbol module;  // none in `from . import x`
  Seq<Alias> names;
  int level;  // number of leading dots
};

struct Global : StmtNode {
  static constexpr Kind kKind = Kind::Global;
  Names names;
};

struct Nonlocal : StmtNode {
  static constexpr Kind kKind = Kind::Nonlocal;
  Names names;
};

struct Expr : StmtNode {
  static constexpr Kind kKind = Kind::Expr;
  ExprNode* value;
};

struct Pass : StmtNode {
  static constexpr Kind kKind = Kind::Pass;
};
struct Break : StmtNode {
  static constexpr Kind kKind = Kind::Break;
};
struct Continue : StmtNode {
  static constexpr Kind kKind = Kind::Continue;
};

// ---- expressions
// ------------------------------------------------------------------------------------------------------

struct BoolOp : ExprNode {
  static constexpr Kind kKind = Kind::BoolOp;
  BoolOperator op;
  Exprs values;  // two or more
};

struct NamedExpr : ExprNode {
  static constexpr Kind kKind = Kind::NamedExpr;
  ExprNode* target;  // a Name
  ExprNode* value;
};

struct BinOp : ExprNode {  // long chains lean left: walk `left` in a loop where depth matters
  static constexpr Kind kKind = Kind::BinOp;
  ExprNode* left;
  Operator op;
  ExprNode* right;
};

struct UnaryOp : ExprNode {
  static constexpr Kind kKind = Kind::UnaryOp;
  UnaryOperator op;
  ExprNode* operand;
};

struct Lambda : ExprNode {
  static constexpr Kind kKind = Kind::Lambda;
  Arguments* args;
  ExprNode* body;
};

struct IfExp : ExprNode {
  static constexpr Kind kKind = Kind::IfExp;
  ExprNode* test;
  ExprNode* body;
  ExprNode* orelse;
};

struct Dict : ExprNode {
  static constexpr Kind kKind = Kind::Dict;
  Exprs keys;  // null for **value
  Exprs values;
};

struct Set : ExprNode {
  static constexpr Kind kKind = Kind::Set;
  Exprs elts;
};

struct ListComp : ExprNode {
  static constexpr Kind kKind = Kind::ListComp;
  ExprNode* elt;
  Seq<Comprehension> generators;
};

struct SetComp : ExprNode {
  static constexpr Kind kKind = Kind::SetComp;
  ExprNode* elt;
  Seq<Comprehension> generators;
};

struct DictComp : ExprNode {
  static constexpr Kind kKind = Kind::DictComp;
  ExprNode* key;
  ExprNode* value;
  Seq<Comprehension> generators;
};

struct GeneratorExp : ExprNode {
  static constexpr Kind kKind = Kind::GeneratorExp;
  ExprNode* elt;
  Seq<Comprehension> generators;
};

struct Yield : ExprNode {
  static constexpr Kind kKind = Kind::Yield;
  ExprNode* value;
};

struct YieldFrom : ExprNode {
  static constexpr Kind kKind = Kind::YieldFrom;
  ExprNode* value;
};

struct Compare : ExprNode {
  static constexpr Kind kKind = Kind::Compare;
  ExprNode* left;
  std::span<const CmpOperator> ops;
  Exprs comparators;
};

struct Call : ExprNode {
  static constexpr Kind kKind = Kind::Call;
  ExprNode* func;
  Exprs args;  // may hold Starred
  Seq<Keyword> keywords;
};

struct FormattedValue : ExprNode {  // only inside a JoinedStr
  static constexpr Kind kKind = Kind::FormattedValue;
  ExprNode* value;
  int conversion;         // -1, 's', 'r' or 'a'
  ExprNode* format_spec;  // a JoinedStr or null
};

struct JoinedStr : ExprNode {
  static constexpr Kind kKind = Kind::JoinedStr;
  Exprs values;  // Constant (str) and FormattedValue
};

struct Constant : ExprNode {
  static constexpr Kind kKind = Kind::Constant;
  ConstantKind value_kind;
  bool u_prefix;  // written u"..." (Python's field `kind`)
  int64_t int_value;
  double float_value;
  std::string_view text;
};

struct Attribute : ExprNode {
  static constexpr Kind kKind = Kind::Attribute;
  ExprNode* value;
  Symbol attr;
  Context ctx;
};

struct Subscript : ExprNode {
  static constexpr Kind kKind = Kind::Subscript;
  ExprNode* value;
  ExprNode* slice;  // a Slice, or a Tuple that may hold Slices and Starred
  Context ctx;
};

struct Starred : ExprNode {
  static constexpr Kind kKind = Kind::Starred;
  ExprNode* value;
  Context ctx;
};

struct Name : ExprNode {
  static constexpr Kind kKind = Kind::Name;
  Symbol id;
  Context ctx;
};

struct List : ExprNode {
  static constexpr Kind kKind = Kind::List;
  Exprs elts;
  Context ctx;
};

struct Tuple : ExprNode {
  static constexpr Kind kKind = Kind::Tuple;
  Exprs elts;
  Context ctx;
};

struct Slice : ExprNode {  // only inside a Subscript
  static constexpr Kind kKind = Kind::Slice;
  ExprNode* lower;
  ExprNode* upper;
  ExprNode* step;
};

// ---- patterns
// ---------------------------------------------------------------------------------------------------------

struct MatchValue : PatternNode {
  static constexpr Kind kKind = Kind::MatchValue;
  ExprNode* value;  // Constant, UnaryOp(USub, Constant), JoinedStr never, or a dotted Attribute
};

struct MatchSingleton : PatternNode {
  static constexpr Kind kKind = Kind::MatchSingleton;
  ConstantKind value;  // None, True or False
};

struct MatchSequence : PatternNode {
  static constexpr Kind kKind = Kind::MatchSequence;
  Seq<PatternNode> patterns;  // at most one MatchStar
};

struct MatchMapping : PatternNode {
  static constexpr Kind kKind = Kind::MatchMapping;
  Exprs keys;
  Seq<PatternNode> patterns;
  Symbol rest;
};

struct MatchClass : PatternNode {
  static constexpr Kind kKind = Kind::MatchClass;
  ExprNode* cls;
  Seq<PatternNode> patterns;
  Names kwd_attrs;
  Seq<PatternNode> kwd_patterns;
};

struct MatchStar : PatternNode {
  static constexpr Kind kKind = Kind::MatchStar;
  Symbol name;  // none for *_
};

struct MatchAs : PatternNode {
  static constexpr Kind kKind = Kind::MatchAs;
  PatternNode* pattern;  // null: a capture, or the wildcard if there is no name either
  Symbol name;
};

struct MatchOr : PatternNode {
  static constexpr Kind kKind = Kind::MatchOr;
  Seq<PatternNode> patterns;
};

// ---- access
// -----------------------------------------------------------------------------------------------------------

/// The node as a T, or null if it is null or of another kind.
template <class T>
T* dyn(Node* n) {
  return n && n->kind == T::kKind ? static_cast<T*>(n) : nullptr;
}
template <class T>
const T* dyn(const Node* n) {
  return n && n->kind == T::kKind ? static_cast<const T*>(n) : nullptr;
}
template <class T>
bool is(const Node* n) {
  return n && n->kind == T::kKind;
}
/// The node as a T; it must be one.
template <class T>
T& as(Node* n) {
  if (!n || n->kind != T::kKind) ouro_bug("not a %s but a %s", kind_name(T::kKind), n ? kind_name(n->kind) : "null");
  return *static_cast<T*>(n);
}
template <class T>
const T& as(const Node* n) {
  if (!n || n->kind != T::kKind) ouro_bug("not a %s but a %s", kind_name(T::kKind), n ? kind_name(n->kind) : "null");
  return *static_cast<const T*>(n);
}

/// A zeroed node of kind T with this span: optional fields null, lists empty, contexts Load.
template <class T>
T* make(Arena& arena, Span span) {
  T* n = new (arena.allocate(sizeof(T), alignof(T))) T();
  n->kind = T::kKind;
  n->span = span;
  return n;
}

}  // namespace ouro::ast
