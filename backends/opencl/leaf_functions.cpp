// Leaf functions as OpenCL C: the builder of ir/ops/leaf_math.h whose values are names of constants.
#include <bit>

#include <fmt/format.h>

#include "backends/opencl/text.h"
#include "ir/ops/leaf_apply.h"

namespace ouro::backends::opencl {
using ir::Leaf;
using ir::leaf_math::Kind;

namespace {

template <Kind K>
struct Term {
  std::string text;
};

struct TextBuilder {
  template <Kind K>
  using Value = Term<K>;
  using F32 = Term<Kind::f32>;
  using F64 = Term<Kind::f64>;
  using I32 = Term<Kind::i32>;
  using I64 = Term<Kind::i64>;
  using Mask = Term<Kind::mask>;

  std::string out;
  int next = 0;

  template <Kind K>
  Term<K> let(const std::string& expression) {
    constexpr std::string_view kTypes[] = {"float", "double", "int", "long", "bool"};
    std::string n = "t" + std::to_string(next++);
    out += fmt::format("  const {} {} = {};\n", kTypes[static_cast<int>(K)], n, expression);
    return {n};
  }
  template <Kind K>
  static constexpr bool is_real = K == Kind::f32 || K == Kind::f64;

  F32 f32(float x) { return {literal(DType::f32, std::bit_cast<uint32_t>(x))}; }
  F64 f64(double x) { return {literal(DType::f64, std::bit_cast<uint64_t>(x))}; }
  I32 i32(int32_t x) { return {literal(DType::i32, static_cast<uint32_t>(x))}; }
  I64 i64(int64_t x) { return {literal(DType::i64, static_cast<uint64_t>(x))}; }

  template <Kind K>
  Term<K> arithmetic(std::string_view op, const Term<K>& a, const Term<K>& b) {
    if constexpr (is_real<K>) return let<K>(fmt::format("{} {} {}", a.text, op, b.text));
    constexpr std::string_view own = K == Kind::i64 ? "long" : "int", wide = K == Kind::i64 ? "ulong" : "uint";
    return let<K>(fmt::format("({0})(({1}){2} {3} ({1}){4})", own, wide, a.text, op, b.text));
  }
  template <Kind K>
  Term<K> add(Term<K> a, Term<K> b) {
    return arithmetic("+", a, b);
  }
  template <Kind K>
  Term<K> sub(Term<K> a, Term<K> b) {
    return arithmetic("-", a, b);
  }
  template <Kind K>
  Term<K> mul(Term<K> a, Term<K> b) {
    return arithmetic("*", a, b);
  }
  template <Kind K>
  Term<K> div(Term<K> a, Term<K> b) {
    return let<K>(a.text + " / " + b.text);
  }
  template <Kind K>
  Term<K> fma(Term<K> a, Term<K> b, Term<K> c) {
    return let<K>(fmt::format("fma({}, {}, {})", a.text, b.text, c.text));
  }
  template <Kind K>
  Term<K> neg(Term<K> a) {
    if constexpr (is_real<K>) return let<K>("-" + a.text);
    return sub(Term<K>{"0"}, a);
  }
#define OURO_CALL(name, spelling)               \
  template <Kind K>                             \
  Term<K> name(Term<K> a) {                     \
    return let<K>(spelling "(" + a.text + ")"); \
  }
  OURO_CALL(abs, "fabs")
  OURO_CALL(floor, "floor")
  OURO_CALL(trunc, "trunc")
  OURO_CALL(round, "rint")
  OURO_CALL(sqrt, "sqrt")
#undef OURO_CALL
#define OURO_COMPARE(name, op)                            \
  template <Kind K>                                       \
  Mask name(Term<K> a, Term<K> b) {                       \
    return let<Kind::mask>(a.text + " " op " " + b.text); \
  }
  OURO_COMPARE(eq, "==")
  OURO_COMPARE(ne, "!=")
  OURO_COMPARE(lt, "<")
  OURO_COMPARE(le, "<=")
  OURO_COMPARE(gt, ">")
  OURO_COMPARE(ge, ">=")
#undef OURO_COMPARE
  template <Kind K>
  Term<K> and_(Term<K> a, Term<K> b) {
    return let<K>(a.text + " & " + b.text);
  }
  template <Kind K>
  Term<K> or_(Term<K> a, Term<K> b) {
    return let<K>(a.text + " | " + b.text);
  }
  template <Kind K>
  Term<K> xor_(Term<K> a, Term<K> b) {
    return let<K>(a.text + " ^ " + b.text);
  }
  Mask not_(Mask a) { return let<Kind::mask>("!" + a.text); }
  template <Kind K>
  Term<K> select(Mask c, Term<K> a, Term<K> b) {
    return let<K>(fmt::format("{} ? {} : {}", c.text, a.text, b.text));
  }
  I32 shl(I32 a, I32 n) { return let<Kind::i32>(fmt::format("(int)((uint){} << {})", a.text, n.text)); }
  I64 shl(I64 a, I64 n) { return let<Kind::i64>(fmt::format("(long)((ulong){} << {})", a.text, n.text)); }
  template <Kind K>
  Term<K> shr(Term<K> a, Term<K> n) {
    return let<K>(a.text + " >> " + n.text);
  }
  F32 to_f32(F64 a) { return let<Kind::f32>("(float)" + a.text); }
  F32 to_f32(I32 a) { return let<Kind::f32>("(float)" + a.text); }
  F64 to_f64(F32 a) { return let<Kind::f64>("(double)" + a.text); }
  I32 as_i32(F32 a) { return let<Kind::i32>("as_int(" + a.text + ")"); }
  F32 as_f32(I32 a) { return let<Kind::f32>("as_float(" + a.text + ")"); }
  I64 as_i64(F64 a) { return let<Kind::i64>("as_long(" + a.text + ")"); }
  F64 as_f64(I64 a) { return let<Kind::f64>("as_double(" + a.text + ")"); }
};

}  // namespace

std::string function_body(Leaf leaf, DType t) {
  TextBuilder b;
  std::string result = t == DType::f64 ? ir::leaf_math::apply<Kind::f64>(leaf, b, {"a"}, {"b"}).text
                                       : ir::leaf_math::apply<Kind::f32>(leaf, b, {"a"}, {"b"}).text;
  return b.out + "  return " + result + ";\n";
}

}  // namespace ouro::backends::opencl
