// The words in which the leaf functions (leaf_math.h) are written: a value with its builder, so that formulas read as
// formulas. What a formula does is the builder's: compute, emit LLVM code, write text.
//
// A builder B has, for a kind K in {f32, f64, i32, i64, mask}, a value type `template <Kind K> using Value`, and
//   constants   f32(float) f64(double) i32(int32_t) i64(int64_t)
//   arithmetic  add sub mul div neg abs floor round sqrt trunc; add sub mul neg and_ or_ xor_ shl shr also of i32, i64
//               fma(a, b, c): a b + c rounded once
//   compares    eq ne lt le gt ge -> mask;  and_ or_ not_ of masks;  select(mask, a, b)
//   casts       to_f32(f64 or i32), to_f64(f32 or i64), to_i32(f32), bitcasts as_i32 as_f32 as_i64 as_f64
// as (static or not) functions of such values; the C++ overload or the value itself tells the type.
#pragma once

#include <cstdint>

namespace ouro::ir::leaf_math {

enum class Kind : uint8_t { f32, f64, i32, i64, mask };

// A value with its builder, so that formulas read as formulas.
template <class B, Kind K>
struct Num {
  B* b;
  typename B::template Value<K> v;
};
template <class B, Kind K>
Num<B, K> constant(B* b, double x) {
  if constexpr (K == Kind::f32)
    return {b, b->f32(static_cast<float>(x))};
  else if constexpr (K == Kind::f64)
    return {b, b->f64(x)};
  else if constexpr (K == Kind::i32)
    return {b, b->i32(static_cast<int32_t>(x))};
  else
    return {b, b->i64(static_cast<int64_t>(x))};
}
#define OURO_OP(op, fn)                                   \
  template <class B, Kind K>                              \
  Num<B, K> operator op(Num<B, K> x, Num<B, K> y) {       \
    return {x.b, x.b->fn(x.v, y.v)};                      \
  }                                                       \
  template <class B, Kind K>                              \
  Num<B, K> operator op(Num<B, K> x, double y) {          \
    return {x.b, x.b->fn(x.v, constant<B, K>(x.b, y).v)}; \
  }                                                       \
  template <class B, Kind K>                              \
  Num<B, K> operator op(double x, Num<B, K> y) {          \
    return {y.b, y.b->fn(constant<B, K>(y.b, x).v, y.v)}; \
  }
// clang-format off
OURO_OP(+, add)
OURO_OP(-, sub)
OURO_OP(*, mul)
OURO_OP(/, div)
// clang-format on
#undef OURO_OP
#define OURO_OP(op, fn)                                      \
  template <class B, Kind K>                                 \
  Num<B, Kind::mask> operator op(Num<B, K> x, Num<B, K> y) { \
    return {x.b, x.b->fn(x.v, y.v)};                         \
  }                                                          \
  template <class B, Kind K>                                 \
  Num<B, Kind::mask> operator op(Num<B, K> x, double y) {    \
    return {x.b, x.b->fn(x.v, constant<B, K>(x.b, y).v)};    \
  }
// clang-format off
OURO_OP(<, lt)
OURO_OP(<=, le) OURO_OP(>, gt) OURO_OP(>=, ge) OURO_OP(==, eq) OURO_OP(!=, ne)
// clang-format on
#undef OURO_OP
    template <class B, Kind K>
    Num<B, K> operator-(Num<B, K> x) {
  return {x.b, x.b->neg(x.v)};
}
template <class B, Kind K>
Num<B, K> operator&(Num<B, K> x, Num<B, K> y) {
  return {x.b, x.b->and_(x.v, y.v)};
}
template <class B, Kind K>
Num<B, K> operator|(Num<B, K> x, Num<B, K> y) {
  return {x.b, x.b->or_(x.v, y.v)};
}
template <class B>
Num<B, Kind::mask> operator!(Num<B, Kind::mask> x) {
  return {x.b, x.b->not_(x.v)};
}
template <class B, Kind K>
Num<B, K> sel(Num<B, Kind::mask> c, Num<B, K> x, Num<B, K> y) {
  return {x.b, x.b->select(c.v, x.v, y.v)};
}
template <class B, Kind K>
Num<B, K> sel(Num<B, Kind::mask> c, Num<B, K> x, double y) {
  return sel(c, x, constant<B, K>(x.b, y));
}
template <class B, Kind K>
Num<B, K> sel(Num<B, Kind::mask> c, double x, Num<B, K> y) {
  return sel(c, constant<B, K>(y.b, x), y);
}
template <class B, Kind K>
Num<B, K> fabs(Num<B, K> x) {
  return {x.b, x.b->abs(x.v)};
}
template <class B, Kind K>
Num<B, K> fround(Num<B, K> x) {
  return {x.b, x.b->round(x.v)};
}
template <class B, Kind K>
Num<B, K> ffloor(Num<B, K> x) {
  return {x.b, x.b->floor(x.v)};
}
template <class B, Kind K>
Num<B, K> ftrunc(Num<B, K> x) {
  return {x.b, x.b->trunc(x.v)};
}
template <class B, Kind K>
Num<B, K> fsqrt(Num<B, K> x) {
  return {x.b, x.b->sqrt(x.v)};
}
// x y + z with one rounding.
template <class B, Kind K>
Num<B, K> fma(Num<B, K> x, Num<B, K> y, Num<B, K> z) {
  return {x.b, x.b->fma(x.v, y.v, z.v)};
}
template <class B, Kind K>
Num<B, K> fma(Num<B, K> x, double y, Num<B, K> z) {
  return fma(x, constant<B, K>(x.b, y), z);
}
template <class B, Kind K>
Num<B, K> fma(Num<B, K> x, Num<B, K> y, double z) {
  return fma(x, y, constant<B, K>(x.b, z));
}
template <class B, Kind K>
Num<B, K> fma(Num<B, K> x, double y, double z) {
  return fma(x, constant<B, K>(x.b, y), constant<B, K>(x.b, z));
}

template <class B>
using F32 = Num<B, Kind::f32>;
template <class B>
using F64 = Num<B, Kind::f64>;
template <class B>
using I32 = Num<B, Kind::i32>;
template <class B>
using I64 = Num<B, Kind::i64>;
template <class B>
using Mask = Num<B, Kind::mask>;

template <class B>
F64<B> widen(F32<B> x) {
  return {x.b, x.b->to_f64(x.v)};
}
template <class B>
F32<B> narrow(F64<B> x) {
  return {x.b, x.b->to_f32(x.v)};
}
template <class B>
I32<B> bits(F32<B> x) {
  return {x.b, x.b->as_i32(x.v)};
}
template <class B>
I64<B> bits(F64<B> x) {
  return {x.b, x.b->as_i64(x.v)};
}
template <class B>
F32<B> from_bits(I32<B> x) {
  return {x.b, x.b->as_f32(x.v)};
}
template <class B>
F64<B> from_bits(I64<B> x) {
  return {x.b, x.b->as_f64(x.v)};
}
template <class B>
I32<B> lit(I32<B> x, int64_t c) {
  return {x.b, x.b->i32(static_cast<int32_t>(c))};
}
template <class B>
I64<B> lit(I64<B> x, int64_t c) {
  return {x.b, x.b->i64(c)};
}
template <class B, Kind K>
Num<B, K> shl(Num<B, K> x, int n) {
  return {x.b, x.b->shl(x.v, lit(x, n).v)};
}
template <class B, Kind K>
Num<B, K> shr(Num<B, K> x, int n) {
  return {x.b, x.b->shr(x.v, lit(x, n).v)};
}

}  // namespace ouro::ir::leaf_math
