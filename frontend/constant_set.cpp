#include "frontend/constant_set.h"

#include <algorithm>
#include <vector>

#include "frontend/unparse.h"

namespace ouro::frontend {
using namespace ast;

namespace {

bool is_number(const ExprNode* e) {
  auto* c = dyn<Constant>(e);
  if (!c) return false;
  const ConstantKind k = c->value_kind;
  return k == ConstantKind::Int || k == ConstantKind::BigInt || k == ConstantKind::Float;
}

bool is_constant(const ExprNode* e) {
  if (is<Constant>(e)) return true;
  if (auto* u = dyn<UnaryOp>(e)) return u->op == UnaryOperator::USub && is_number(u->operand);
  auto* t = dyn<Tuple>(e);
  return t && std::all_of(t->elts.begin(), t->elts.end(), is_constant);
}

// Is it equal to no constant that is written otherwise? 1, 1.0 and True are equal to each other.
bool is_equal_to_its_text(const ExprNode* e) {
  if (auto* t = dyn<Tuple>(e)) return std::all_of(t->elts.begin(), t->elts.end(), is_equal_to_its_text);
  if (auto* u = dyn<UnaryOp>(e)) {
    auto* c = dyn<Constant>(u->operand);
    return c && c->value_kind == ConstantKind::Int && c->int_value != 0;
  }
  const ConstantKind k = as<Constant>(e).value_kind;
  return k != ConstantKind::True && k != ConstantKind::False && k != ConstantKind::Float;
}

}  // namespace

bool is_constant_set(const Set& s) {
  return std::all_of(s.elts.begin(), s.elts.end(), [](const ExprNode* e) { return is_constant(e); });
}

std::string constant_set_key(const Set& s) {
  std::vector<std::string> texts;
  for (const ExprNode* e : s.elts) texts.push_back(unparse(e));
  // Of equal items of several types the first stays: there the order matters.
  if (std::all_of(s.elts.begin(), s.elts.end(), is_equal_to_its_text)) std::sort(texts.begin(), texts.end());
  std::string key;
  for (const std::string& t : texts) key += t + '\n';
  return key;
}

}  // namespace ouro::frontend
