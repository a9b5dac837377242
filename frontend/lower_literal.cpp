// Literals and displays.
#include <cmath>

#include "frontend/constant_set.h"
#include "frontend/lowerer.h"

namespace ouro::frontend {
using namespace ast;

Atom Lowerer::constant(const Constant& c) {
  switch (c.value_kind) {
    case ConstantKind::None:
      return b_.none();
    case ConstantKind::True:
      return b_.boolean(true);
    case ConstantKind::False:
      return b_.boolean(false);
    case ConstantKind::Ellipsis:
      return b_.ellipsis();
    case ConstantKind::Int:
      return b_.integer(c.int_value);
    case ConstantKind::BigInt:
      return b_.big_integer(c.text);
    case ConstantKind::Float:
      return b_.floating(c.float_value);
    case ConstantKind::Str:
      return b_.string(c.text);
    case ConstantKind::Bytes:
      return b_.bytes(c.text);
  }
  return {};
}

Atom Lowerer::negative(const Constant& c) {
  if (c.value_kind == ConstantKind::Int) return b_.integer(-c.int_value);
  if (c.value_kind == ConstantKind::Float) return b_.floating(-c.float_value);
  if (c.text == "9223372036854775808") return b_.integer(INT64_MIN);
  return b_.big_integer("-" + std::string(c.text));
}

// A tuple of constants is one constant.
bool Lowerer::constant_tuple(Exprs elts, Atom& out) {
  Atoms items;
  for (const ExprNode* e : elts) {
    Atom item;
    if (auto* c = dyn<Constant>(e))
      item = constant(*c);
    else if (is_negative_number(e))
      item = negative(as<Constant>(as<UnaryOp>(e).operand));
    else if (auto* t = dyn<Tuple>(e); !t || !constant_tuple(t->elts, item))
      return false;
    items.push_back(item);
  }
  out = b_.tuple_const(view(items));
  return true;
}

static bool has_star(Exprs elts) {
  for (const ExprNode* e : elts)
    if (is<Starred>(e)) return true;
  return false;
}

Atom Lowerer::tuple(const Tuple& e) {
  Atom known;
  if (constant_tuple(e.elts, known)) return known;
  if (has_star(e.elts) || e.elts.size() > kMaxOperands)
    return let(e.span, prim::list_to_tuple, {list_or_set(e, e.elts, false)});
  Atoms items;
  for (const ExprNode* x : e.elts) items.push_back(expr(x));
  return let(e.span, prim::tuple, items);
}

Atom Lowerer::list_or_set(const ExprNode& e, Exprs elts, bool set) {
  Atoms items;
  size_t i = 0;
  for (; i < elts.size() && i < kMaxOperands && !is<Starred>(elts[i]); ++i) items.push_back(expr(elts[i]));
  NameId result = let(e.span, set ? prim::set : prim::list, items);
  for (; i < elts.size(); ++i) {
    if (auto* s = dyn<Starred>(elts[i]))
      let(e.span, set ? prim::set_update : prim::list_extend, {result, expr(s->value)});
    else
      let(e.span, set ? prim::set_add : prim::list_append, {result, expr(elts[i])});
  }
  return result;
}

Atom Lowerer::set(const Set& e) {
  if (!is_copied_set(e)) return list_or_set(e, e.elts, true);
  Atom whole = read_only(&e);
  NameId result = let(e.span, prim::set);
  let(e.span, prim::set_update, {result, whole});
  return result;
}

Atom Lowerer::read_only(const ExprNode* e) {
  auto* s = dyn<Set>(e);
  if (!s || !is_constant_set(*s)) return expr(e);
  return list_or_set(*e, kept_order(names_.shared(*s)), true);
}

Atom Lowerer::dict(const Dict& e) {
  Atoms items;
  size_t i = 0;
  for (; i < e.keys.size() && i < kMaxOperands && e.keys[i]; ++i) {
    items.push_back(expr(e.keys[i]));
    items.push_back(expr(e.values[i]));
  }
  NameId result = let(e.span, prim::dict, items);
  for (; i < e.keys.size(); ++i) {
    if (!e.keys[i]) {
      let(e.span, prim::dict_update, {result, expr(e.values[i])});
      continue;
    }
    Atom key = expr(e.keys[i]);
    Atom value = expr(e.values[i]);
    let(e.span, prim::dict_set, {result, key, value});
  }
  return result;
}

Atom Lowerer::formatted(const FormattedValue& e) {
  Atom value = expr(e.value);
  Atom spec = e.format_spec ? expr(e.format_spec) : b_.string("");
  uint32_t conversion = e.conversion < 0 ? 0 : static_cast<uint32_t>(e.conversion);
  return let(e.span, prim::format, {value, spec}, conversion);
}

Atom Lowerer::joined_str(const JoinedStr& e) {
  if (e.values.empty()) return b_.string("");
  Atoms parts;
  for (const ExprNode* p : e.values) {
    if (parts.size() == kMaxOperands) parts = {let(e.span, prim::str_concat, parts)};
    parts.push_back(expr(p));
  }
  return parts.size() == 1 ? parts[0] : Atom(let(e.span, prim::str_concat, parts));
}

Atom Lowerer::slice(const Slice& e) {
  Atom lower = expr_or_none(e.lower);
  Atom upper = expr_or_none(e.upper);
  Atom step = expr_or_none(e.step);
  return let(e.span, prim::slice, {lower, upper, step});
}

}  // namespace ouro::frontend
