// Scalar expressions: what the lambdas of an operation's row build. An expression is a DAG of leaves, polymorphic in
// its type; `typed` turns it into a straight-line program for given input types, which eager blocks, the loop evaluator
// and code emitters all run.
//
//   S y = 1 - tanh(x) * tanh(x);          // nodes live for the process; equal subtrees are one node
//
// Nodes are hash-consed in one table under a lock: building is rare (once per row), reading needs no lock.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/ops/leaf.h"

namespace ouro::ir {

struct ExprNode;
using ExprRef = const ExprNode*;

// A handle on a node. Numbers convert to constants of the type of their neighbour.
struct S {
  ExprRef node = nullptr;
  S() = default;
  S(ExprRef n) : node(n) {}
  S(double constant);
  S(int constant) : S(static_cast<double>(constant)) {}
  explicit operator bool() const { return node != nullptr; }
};

// Which type a `cast` or `bitcast` node goes to: a fixed one, or that of the row's result or of an input.
struct CastTarget {
  enum class Kind : uint8_t { fixed, compute } kind = Kind::fixed;
  DType type = DType::f32;
  bool operator==(const CastTarget&) const = default;
};

struct ExprNode {
  Leaf leaf;
  uint8_t index = 0;  // of arg, param
  CastTarget target;  // of cast, bitcast
  double imm = 0;     // of constant
  S kid[3];
  uint32_t id = 0;  // creation order: kids come before parents

  bool operator==(const ExprNode& o) const {
    return leaf == o.leaf && index == o.index && target == o.target && bits(imm) == bits(o.imm) &&
           kid[0].node == o.kid[0].node && kid[1].node == o.kid[1].node && kid[2].node == o.kid[2].node;
  }
  static uint64_t bits(double d) { return std::bit_cast<uint64_t>(d); }
};

S make_leaf(Leaf leaf, S a = {}, S b = {}, S c = {});
S make_arg(int index);
S make_param(int index);
S make_cast(S a, CastTarget target);
inline S cast(S a, DType t) { return make_cast(a, {CastTarget::Kind::fixed, t}); }

inline S operator+(S a, S b) { return make_leaf(Leaf::add, a, b); }
inline S operator-(S a, S b) { return make_leaf(Leaf::sub, a, b); }
inline S operator*(S a, S b) { return make_leaf(Leaf::mul, a, b); }
inline S operator/(S a, S b) { return make_leaf(Leaf::div, a, b); }
inline S operator-(S a) { return make_leaf(Leaf::neg, a); }
inline S operator<(S a, S b) { return make_leaf(Leaf::lt, a, b); }
inline S operator<=(S a, S b) { return make_leaf(Leaf::le, a, b); }
inline S operator>(S a, S b) { return make_leaf(Leaf::gt, a, b); }
inline S operator>=(S a, S b) { return make_leaf(Leaf::ge, a, b); }
inline S operator==(S a, S b) { return make_leaf(Leaf::eq, a, b); }
inline S operator!=(S a, S b) { return make_leaf(Leaf::ne, a, b); }
inline S operator&(S a, S b) { return make_leaf(Leaf::and_, a, b); }
inline S operator|(S a, S b) { return make_leaf(Leaf::or_, a, b); }
inline S operator^(S a, S b) { return make_leaf(Leaf::xor_, a, b); }
inline S operator~(S a) { return make_leaf(Leaf::not_, a); }
inline S select(S c, S a, S b) { return make_leaf(Leaf::select, c, a, b); }
#define OURO_UNARY(id) \
  inline S id(S a) { return make_leaf(Leaf::id, a); }
// clang-format off
OURO_UNARY(abs)
OURO_UNARY(floor)
OURO_UNARY(ceil)
OURO_UNARY(trunc)
OURO_UNARY(round) OURO_UNARY(sqrt)
// clang-format on
#undef OURO_UNARY
#define OURO_BINARY(id) \
  inline S id(S a, S b) { return make_leaf(Leaf::id, a, b); }
    OURO_BINARY(min) OURO_BINARY(max) OURO_BINARY(idiv) OURO_BINARY(irem) OURO_BINARY(shl) OURO_BINARY(shr)
#undef OURO_BINARY
#define OURO_FUNCTION(id) \
  inline S id(S a) { return make_leaf(Leaf::fn_##id, a); }
        OURO_FUNCTION(exp) OURO_FUNCTION(exp2) OURO_FUNCTION(expm1) OURO_FUNCTION(log) OURO_FUNCTION(log2)
            OURO_FUNCTION(log10) OURO_FUNCTION(log1p) OURO_FUNCTION(sin) OURO_FUNCTION(cos) OURO_FUNCTION(tan)
                OURO_FUNCTION(asin) OURO_FUNCTION(acos) OURO_FUNCTION(atan) OURO_FUNCTION(sinh) OURO_FUNCTION(cosh)
                    OURO_FUNCTION(tanh) OURO_FUNCTION(asinh) OURO_FUNCTION(acosh) OURO_FUNCTION(atanh)
                        OURO_FUNCTION(erf) OURO_FUNCTION(erfc) OURO_FUNCTION(erfinv) OURO_FUNCTION(sigmoid)
                            OURO_FUNCTION(lgamma) OURO_FUNCTION(digamma)
#undef OURO_FUNCTION
                                inline S pow(S a, S b) {
  return make_leaf(Leaf::fn_pow, a, b);
}
inline S atan2(S a, S b) { return make_leaf(Leaf::fn_atan2, a, b); }
inline S fmod(S a, S b) { return make_leaf(Leaf::fn_fmod, a, b); }

// d e / d arg[i], simplified; compares, floor, round, ... have derivative 0. Used for orders above the one a row
// states.
S derivative(S e, int arg);
// The derivative of digamma, as an expression.
S trigamma(S x);
// e with arg[i] replaced by args[i].
S substitute(S e, std::span<const S> args);
std::string to_text(S e);  // "(1 - (tanh(x0) * tanh(x0)))"

// One step of a typed program; operands are indices of earlier steps (-1: none).
struct ExprStep {
  Leaf leaf;
  DType type;          // of the result
  DType operand_type;  // of operands (of select: of b and c; of cast: of a)
  int16_t a = -1, b = -1, c = -1;
  uint8_t index = 0;  // of arg, param
  double imm = 0;     // of constant
};
struct ExprProgram {
  std::vector<ExprStep> steps;  // in order; each result is computed once
  int16_t result = -1;
};

// The program of `e`. Argument i arrives in stored[i] and takes part as compute_type(promoted[i]) (a `cast` step when
// they differ). Constants and parameters have the type of their neighbour, else `compute`; a bool that meets a number
// becomes a number. The result is cast to `result`.
ExprProgram typed(S e, std::span<const DType> stored, std::span<const DType> promoted, DType compute, DType result);

}  // namespace ouro::ir
