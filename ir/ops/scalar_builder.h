// The builder of leaf_math.h for plain C++ numbers, one element at a time; loops over it vectorise. Also the meaning of the basic leaves in
// C++, for every element type: `basic::add(a, b)` etc.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ir/ops/leaf_math.h"

namespace ouro::ir {

struct ScalarBuilder {
  using Kind = leaf_math::Kind;
  template <Kind K>
  using Value = std::conditional_t<
      K == Kind::f32, float,
      std::conditional_t<K == Kind::f64, double, std::conditional_t<K == Kind::i32, int32_t, std::conditional_t<K == Kind::i64, int64_t, bool>>>>;

  static float f32(float x) { return x; }
  static double f64(double x) { return x; }
  static int32_t i32(int32_t x) { return x; }
  static int64_t i64(int64_t x) { return x; }

#define OURO_WRAP(fn, op)                                                                                                         \
  static float fn(float a, float b) { return a op b; }                                                                            \
  static double fn(double a, double b) { return a op b; }                                                                         \
  static int32_t fn(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) op static_cast<uint32_t>(b)); }  \
  static int64_t fn(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) op static_cast<uint64_t>(b)); }
  OURO_WRAP(add, +) OURO_WRAP(sub, -) OURO_WRAP(mul, *)
#undef OURO_WRAP
  static float div(float a, float b) { return a / b; }
  static double div(double a, double b) { return a / b; }
  static float neg(float a) { return -a; }
  static double neg(double a) { return -a; }
  static int32_t neg(int32_t a) { return sub(0, a); }
  static int64_t neg(int64_t a) { return sub(static_cast<int64_t>(0), a); }
  static float abs(float a) { return __builtin_fabsf(a); }
  static double abs(double a) { return __builtin_fabs(a); }
  static float floor(float a) { return __builtin_floorf(a); }
  static double floor(double a) { return __builtin_floor(a); }
  static float trunc(float a) { return __builtin_truncf(a); }
  static double trunc(double a) { return __builtin_trunc(a); }
  static float round(float a) { return __builtin_rintf(a); }  // the rounding mode is never changed
  static double round(double a) { return __builtin_rint(a); }
  static float sqrt(float a) { return __builtin_sqrtf(a); }
  static double sqrt(double a) { return __builtin_sqrt(a); }
  template <class T> static bool eq(T a, T b) { return a == b; }
  template <class T> static bool ne(T a, T b) { return a != b; }
  template <class T> static bool lt(T a, T b) { return a < b; }
  template <class T> static bool le(T a, T b) { return a <= b; }
  template <class T> static bool gt(T a, T b) { return a > b; }
  template <class T> static bool ge(T a, T b) { return a >= b; }
  static bool and_(bool a, bool b) { return a & b; }
  static bool or_(bool a, bool b) { return a | b; }
  static bool not_(bool a) { return !a; }
  template <class T> static T and_(T a, T b) { return a & b; }
  template <class T> static T or_(T a, T b) { return a | b; }
  template <class T> static T select(bool c, T a, T b) { return c ? a : b; }
  static int32_t shl(int32_t a, int32_t n) { return static_cast<int32_t>(static_cast<uint32_t>(a) << n); }
  static int64_t shl(int64_t a, int64_t n) { return static_cast<int64_t>(static_cast<uint64_t>(a) << n); }
  static int32_t shr(int32_t a, int32_t n) { return a >> n; }
  static int64_t shr(int64_t a, int64_t n) { return a >> n; }
  static float to_f32(double a) { return static_cast<float>(a); }
  static float to_f32(int32_t a) { return static_cast<float>(a); }
  static double to_f64(float a) { return a; }
  static int32_t as_i32(float a) { return __builtin_bit_cast(int32_t, a); }
  static float as_f32(int32_t a) { return __builtin_bit_cast(float, a); }
  static int64_t as_i64(double a) { return __builtin_bit_cast(int64_t, a); }
  static double as_f64(int64_t a) { return __builtin_bit_cast(double, a); }
};

}  // namespace ouro::ir
