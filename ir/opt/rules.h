// Simplification rules as data: an operation, a condition, and what the let becomes. One table per kind of head
// operation (rules_*.cpp).
//
// The float policy, which every rule keeps: the result has the same bits for every input, NaN, infinities, signed zeros
// and denormals included (a NaN's sign and payload excepted). So:
//   x * 1, x / 1, x - 0.0, x + (-0.0), -(-x)          are x
//   x + 0.0      is not x       (-0.0 + 0.0 is 0.0)
//   x * 0        is not 0       (infinities, NaN, -x)
//   x - x        is not 0, x / x is not 1
//   x / c        is not x * (1/c), unless c is a power of two whose reciprocal is a normal number
//   a*b + c      is never one operation
// Integers wrap, so that ring laws hold for them.
// "Same" below means the same type: dtype and dims; a rule never changes a let's type.
#pragma once

#include <span>

#include "ir/opt/edit.h"

namespace ouro::ir::opt {

/// A let under the eyes of a rule.
struct Match {
  Edit& e;
  const Function& f;
  const Let& let;
  BlockId block;
  uint32_t at;
  const std::vector<struct Made>& made;  // by name: the let that binds it

  Atom arg(size_t i) const;
  size_t nargs() const { return let.nargs; }
  const struct Type* type(Atom a) const;
  const struct Type* result_type() const;
  /// Has the operand the result's type?
  bool same(Atom a) const { return a.is_name() && type(a) && type(a) == result_type(); }
  /// The operand is this number (a constant, or a tensor filled with it).
  bool is_number(Atom a, double v, bool negative_zero = false) const;
  /// The let that made a name, if it is a tensor row of that name; else null.
  const Let* row(Atom a, std::string_view name) const;
  /// The let that made a name, if it is a view (ir/ops/view.h); else null.
  const Let* view(Atom a) const;
  /// Is every let that `a` stands for typed float?
  bool is_float(Atom a) const;

  bool become(Atom a) const;  // replaces the let; true
};

struct Made {
  BlockId block = BlockId::none;
  uint32_t at = 0;
};

struct Rule {
  std::string_view head;          // the row's name; several separated by spaces
  std::string_view what;          // the law, for readers and for dumps
  bool (*apply)(const Match& m);  // true: the let was replaced or rewritten
};

std::span<const Rule> arithmetic_rules();
std::span<const Rule> shape_rules_of_simplify();

}  // namespace ouro::ir::opt
