// Scalar leaves: the only scalar instructions a backend knows. Rows of tensor operations (op.h) are expressions over
// them (expr.h), so a new backend implements this table and nothing more.
//
// Two tables. *Basic* leaves are single machine operations whose result is defined for every input, the same bits
// everywhere: IEEE 754 round-to-nearest-even, no contraction of a*b+c, no flush to zero; integers wrap. *Leaf
// functions* (exp, sin, erf, ...) are fixed sequences over the basic leaves, written once for every builder in
// leaf_math.h with fused multiply-adds where it says so (emulated where there are none); a backend instantiates that
// template and never calls a mathematical library. So a result has the same bits in eager, fused and compiled code.
//
// Definitions that differ between machines, settled here:
//   min, max    NaN wins: max(a,b) = (a > b || a != a) ? a : b, min(a,b) = (a < b || a != a) ? a : b (of two zeros: b)
//   round       half to even;  floor, ceil, trunc keep the sign of zero
//   div         of floats only; idiv and irem truncate; a zero divisor gives 0 (rows that must raise check before);
//               lowest / -1 wraps, lowest % -1 is 0
//   shl, shr    shr is arithmetic for signed types; a count outside [0, bits) gives 0 (shr of a negative: -1)
//   cast        float -> integer truncates; NaN and values outside i64 give the lowest i64; narrower integers wrap from
//               i64; any -> bool is (x != 0); anything -> f16/bf16 goes by way of f32, each step to nearest even
//   compares    give bool; NaN compares unequal to everything
//   and or xor not   bitwise on integers, logical on bool
//   select      c ? a : b, both sides evaluated
#pragma once

#include <cstdint>
#include <string_view>

#include "support/dtype.h"

namespace ouro::ir {

enum class LeafResult : uint8_t {
  same,
  boolean,
  target
};  // same: type of the last operand; target: the type that the node names

// id, operands, result type, meaning
// clang-format off
#define OURO_LEAVES(X) \
  X(add,     2, same,    "a + b") \
  X(sub,     2, same,    "a - b") \
  X(mul,     2, same,    "a * b") \
  X(div,     2, same,    "a / b, floats") \
  X(idiv,    2, same,    "a / b truncated, integers") \
  X(irem,    2, same,    "a - idiv(a, b) * b, integers") \
  X(neg,     1, same,    "-a") \
  X(abs,     1, same,    "|a|") \
  X(min,     2, same,    "the smaller; NaN wins") \
  X(max,     2, same,    "the larger; NaN wins") \
  X(floor,   1, same,    "towards -inf, floats") \
  X(ceil,    1, same,    "towards +inf, floats") \
  X(trunc,   1, same,    "towards 0, floats") \
  X(round,   1, same,    "nearest, half to even, floats") \
  X(sqrt,    1, same,    "square root, correctly rounded") \
  X(eq,      2, boolean, "a == b") \
  X(ne,      2, boolean, "a != b") \
  X(lt,      2, boolean, "a < b") \
  X(le,      2, boolean, "a <= b") \
  X(gt,      2, boolean, "a > b") \
  X(ge,      2, boolean, "a >= b") \
  X(and_,    2, same,    "a & b") \
  X(or_,     2, same,    "a | b") \
  X(xor_,    2, same,    "a ^ b") \
  X(not_,    1, same,    "~a; of a bool: logical") \
  X(shl,     2, same,    "a << b") \
  X(shr,     2, same,    "a >> b") \
  X(select,  3, same,    "a ? b : c") \
  X(cast,    1, target,  "a as the node's type") \
  X(bitcast, 1, target,  "a's bits as the node's type of equal size")

// id, operands, bound on the error in ulp for f32 and f64 (0: exact), meaning. Tested against the C library over the
// whole range.
#define OURO_LEAF_FUNCTIONS(X) \
  X(exp,     1, 1.5, 1.0, "e^a") \
  X(exp2,    1, 1.0, 1.0, "2^a") \
  X(expm1,   1, 2.0, 2.0, "e^a - 1") \
  X(sigmoid, 1, 2.5, 2.0, "1 / (1 + e^-a)") \
  X(log,     1, 1.0, 1.0, "natural logarithm") \
  X(log2,    1, 1.0, 2.0, "binary logarithm") \
  X(log10,   1, 1.0, 2.0, "decimal logarithm") \
  X(log1p,   1, 1.0, 2.0, "log(1 + a)") \
  X(sin,     1, 1.0, 1.5, "sine; |a| up to 2^30, beyond it only bounded") \
  X(cos,     1, 1.0, 1.5, "cosine; as sin") \
  X(tan,     1, 1.0, 3.0, "tangent; as sin") \
  X(asin,    1, 1.0, 3.0, "inverse sine") \
  X(acos,    1, 1.0, 3.0, "inverse cosine") \
  X(atan,    1, 1.0, 2.0, "inverse tangent") \
  X(sinh,    1, 1.0, 3.0, "hyperbolic sine") \
  X(cosh,    1, 1.0, 2.0, "hyperbolic cosine") \
  X(tanh,    1, 2.5, 3.0, "hyperbolic tangent") \
  X(asinh,   1, 1.0, 4.0, "inverse hyperbolic sine") \
  X(acosh,   1, 1.0, 4.0, "inverse hyperbolic cosine") \
  X(atanh,   1, 1.0, 4.0, "inverse hyperbolic tangent") \
  X(erf,     1, 2.0, 2.0, "error function") \
  X(erfc,    1, 1.0, 5.0, "1 - erf(a)") \
  X(erfinv,  1, 2.0, 8.0, "inverse of erf") \
  X(lgamma,  1, 1.0, 8.0, "log |gamma(a)|; relative to max(1, |y|) near its zeros") \
  X(digamma, 1, 1.0, 16., "derivative of lgamma; relative to max(1, |y|)") \
  X(pow,     2, 1.0, 2.0, "a^b as C's pow") \
  X(atan2,   2, 1.0, 2.5, "angle of (b, a)") \
  X(fmod,    2, 0.0, 0.0, "a - trunc(a/b) * b, exact for |a/b| < 2^52; sign of a")
// clang-format on

enum class Leaf : uint8_t {
  arg,       // input `index` of the row
  param,     // scalar parameter `index` of the row, as the compute type
  constant,  // `imm`
#define X(id, ...) id,
  OURO_LEAVES(X)
#undef X
#define X(id, ...) fn_##id,
      OURO_LEAF_FUNCTIONS(X)
#undef X
};

struct LeafDef {
  Leaf leaf;
  std::string_view name;
  uint8_t operands;
  LeafResult result;
  bool function;            // of leaf_math.h
  double ulp_f32, ulp_f64;  // of a function
  std::string_view doc;
};
inline constexpr LeafDef kLeaves[] = {{Leaf::arg, "arg", 0, LeafResult::target, false, 0, 0, "an input"},
                                      {Leaf::param, "param", 0, LeafResult::target, false, 0, 0, "a scalar parameter"},
                                      {Leaf::constant, "const", 0, LeafResult::target, false, 0, 0, "a number"},
#define X(id, n, res, doc) {Leaf::id, #id, n, LeafResult::res, false, 0, 0, doc},
                                      OURO_LEAVES(X)
#undef X
#define X(id, n, u32, u64, doc) {Leaf::fn_##id, #id, n, LeafResult::same, true, u32, u64, doc},
                                          OURO_LEAF_FUNCTIONS(X)
#undef X
};
inline constexpr int kLeafCount = sizeof(kLeaves) / sizeof(kLeaves[0]);
constexpr const LeafDef& info(Leaf l) { return kLeaves[static_cast<int>(l)]; }
inline constexpr Leaf kFirstLeafFunction = Leaf::fn_exp;
constexpr bool is_function(Leaf l) { return l >= kFirstLeafFunction; }

// The type a value of dtype t is computed in: half floats in f32, everything else in itself.
constexpr DType compute_type(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

}  // namespace ouro::ir
