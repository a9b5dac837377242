// The builder of leaf_math.h for plain C++ numbers, one element at a time; loops over it vectorise.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ir/ops/leaf_math.h"

// Always inlined: kernels are compiled several times for several instruction sets, and must not share code.
#define OURO_BUILDER [[gnu::always_inline]] static inline

namespace ouro::ir {

struct ScalarBuilder {
  using Kind = leaf_math::Kind;
  template <Kind K>
  using Value =
      std::conditional_t<K == Kind::f32, float,
                         std::conditional_t<K == Kind::f64, double,
                                            std::conditional_t<K == Kind::i32, int32_t,
                                                               std::conditional_t<K == Kind::i64, int64_t, bool>>>>;

  OURO_BUILDER float f32(float x) { return x; }
  OURO_BUILDER double f64(double x) { return x; }
  OURO_BUILDER int32_t i32(int32_t x) { return x; }
  OURO_BUILDER int64_t i64(int64_t x) { return x; }

#define OURO_WRAP(fn, op)                                                              \
  OURO_BUILDER float fn(float a, float b) { return a op b; }                           \
  OURO_BUILDER double fn(double a, double b) { return a op b; }                        \
  OURO_BUILDER int32_t fn(int32_t a, int32_t b) {                                      \
    return static_cast<int32_t>(static_cast<uint32_t>(a) op static_cast<uint32_t>(b)); \
  }                                                                                    \
  OURO_BUILDER int64_t fn(int64_t a, int64_t b) {                                      \
    return static_cast<int64_t>(static_cast<uint64_t>(a) op static_cast<uint64_t>(b)); \
  }
  OURO_WRAP(add, +)
  OURO_WRAP(sub, -)
  OURO_WRAP(mul, *)
#undef OURO_WRAP
  OURO_BUILDER float div(float a, float b) { return a / b; }
  OURO_BUILDER double div(double a, double b) { return a / b; }
  OURO_BUILDER float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  OURO_BUILDER double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
  OURO_BUILDER float neg(float a) { return -a; }
  OURO_BUILDER double neg(double a) { return -a; }
  OURO_BUILDER int32_t neg(int32_t a) { return sub(0, a); }
  OURO_BUILDER int64_t neg(int64_t a) { return sub(static_cast<int64_t>(0), a); }
  OURO_BUILDER float abs(float a) { return __builtin_fabsf(a); }
  OURO_BUILDER double abs(double a) { return __builtin_fabs(a); }
  OURO_BUILDER float floor(float a) { return __builtin_floorf(a); }
  OURO_BUILDER double floor(double a) { return __builtin_floor(a); }
  OURO_BUILDER float trunc(float a) { return __builtin_truncf(a); }
  OURO_BUILDER double trunc(double a) { return __builtin_trunc(a); }
  OURO_BUILDER float round(float a) { return __builtin_rintf(a); }  // the rounding mode is never changed
  OURO_BUILDER double round(double a) { return __builtin_rint(a); }
  OURO_BUILDER float sqrt(float a) { return __builtin_sqrtf(a); }
  OURO_BUILDER double sqrt(double a) { return __builtin_sqrt(a); }
  template <class T>
  OURO_BUILDER bool eq(T a, T b) {
    return a == b;
  }
  template <class T>
  OURO_BUILDER bool ne(T a, T b) {
    return a != b;
  }
  template <class T>
  OURO_BUILDER bool lt(T a, T b) {
    return a < b;
  }
  template <class T>
  OURO_BUILDER bool le(T a, T b) {
    return a <= b;
  }
  template <class T>
  OURO_BUILDER bool gt(T a, T b) {
    return a > b;
  }
  template <class T>
  OURO_BUILDER bool ge(T a, T b) {
    return a >= b;
  }
  OURO_BUILDER bool and_(bool a, bool b) { return a & b; }
  OURO_BUILDER bool or_(bool a, bool b) { return a | b; }
  OURO_BUILDER bool not_(bool a) { return !a; }
  template <class T>
  OURO_BUILDER T and_(T a, T b) {
    return a & b;
  }
  template <class T>
  OURO_BUILDER T or_(T a, T b) {
    return a | b;
  }
  template <class T>
  OURO_BUILDER T select(bool c, T a, T b) {
    return c ? a : b;
  }
  OURO_BUILDER int32_t shl(int32_t a, int32_t n) { return static_cast<int32_t>(static_cast<uint32_t>(a) << n); }
  OURO_BUILDER int64_t shl(int64_t a, int64_t n) { return static_cast<int64_t>(static_cast<uint64_t>(a) << n); }
  OURO_BUILDER int32_t shr(int32_t a, int32_t n) { return a >> n; }
  // Arithmetic shift by a logical one: AVX2 has only that for 64 bits.
  OURO_BUILDER int64_t shr(int64_t a, int64_t n) {
    uint64_t sign = 1ull << (63 - n);
    return static_cast<int64_t>(((static_cast<uint64_t>(a) >> n) ^ sign) - sign);
  }
  OURO_BUILDER float to_f32(double a) { return static_cast<float>(a); }
  OURO_BUILDER float to_f32(int32_t a) { return static_cast<float>(a); }
  OURO_BUILDER double to_f64(float a) { return a; }
  OURO_BUILDER int32_t as_i32(float a) { return __builtin_bit_cast(int32_t, a); }
  OURO_BUILDER float as_f32(int32_t a) { return __builtin_bit_cast(float, a); }
  OURO_BUILDER int64_t as_i64(double a) { return __builtin_bit_cast(int64_t, a); }
  OURO_BUILDER double as_f64(int64_t a) { return __builtin_bit_cast(double, a); }
};

}  // namespace ouro::ir
#undef OURO_BUILDER
