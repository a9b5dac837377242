#include "frontend/ast.h"

namespace ouro::ast {
namespace {

constexpr const char* kKindNames[] = {
#define X(name) #name,
    OURO_AST_STMTS(X) OURO_AST_EXPRS(X) OURO_AST_PATTERNS(X)
#undef X
        "Module",
    "arguments",
    "arg",
    "keyword",
    "alias",
    "withitem",
    "match_case",
    "comprehension",
    "ExceptHandler",
};

struct OperatorRow {
  const char* name;
  const char* token;
};
constexpr OperatorRow kOperators[] = {{"Add", "+"},      {"Sub", "-"},   {"Mult", "*"},   {"MatMult", "@"},
                                      {"Div", "/"},      {"Mod", "%"},   {"Pow", "**"},   {"LShift", "<<"},
                                      {"RShift", ">>"},  {"BitOr", "|"}, {"BitXor", "^"}, {"BitAnd", "&"},
                                      {"FloorDiv", "//"}};
constexpr OperatorRow kUnary[] = {{"Invert", "~"}, {"Not", "not"}, {"UAdd", "+"}, {"USub", "-"}};
constexpr OperatorRow kBool[] = {{"And", "and"}, {"Or", "or"}};
constexpr OperatorRow kCmp[] = {{"Eq", "=="}, {"NotEq", "!="},    {"Lt", "<"},  {"LtE", "<="},
                                {"Gt", ">"},  {"GtE", ">="},      {"Is", "is"}, {"IsNot", "is not"},
                                {"In", "in"}, {"NotIn", "not in"}};

}  // namespace

const char* kind_name(Kind k) { return kKindNames[static_cast<int>(k)]; }
const char* operator_name(Operator op) { return kOperators[static_cast<int>(op)].name; }
const char* operator_name(UnaryOperator op) { return kUnary[static_cast<int>(op)].name; }
const char* operator_name(BoolOperator op) { return kBool[static_cast<int>(op)].name; }
const char* operator_name(CmpOperator op) { return kCmp[static_cast<int>(op)].name; }
const char* operator_token(Operator op) { return kOperators[static_cast<int>(op)].token; }
const char* operator_token(UnaryOperator op) { return kUnary[static_cast<int>(op)].token; }
const char* operator_token(BoolOperator op) { return kBool[static_cast<int>(op)].token; }
const char* operator_token(CmpOperator op) { return kCmp[static_cast<int>(op)].token; }

}  // namespace ouro::ast
