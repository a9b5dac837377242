#include "backends/opencl/leaf_text.h"

#include <fmt/format.h>

#include "backends/opencl/text.h"
#include "support/diag.h"

namespace ouro::backends::opencl {
using ir::Leaf;

/// The body of one leaf function for the arguments named a and b (leaf_functions.cpp).
std::string function_body(Leaf leaf, DType t);

namespace {

// Halves by integer arithmetic, as ouro::backends::LeafEmitter has them.
constexpr std::string_view kHalves = R"(
ushort ouro_to_bf16(float x) {
  uint b = as_uint(x);
  return isnan(x) ? (ushort)((b >> 16) | 0x40u) : (ushort)((b + 0x7fffu + ((b >> 16) & 1u)) >> 16);
}
float ouro_from_bf16(ushort h) { return as_float((uint)h << 16); }
ushort ouro_to_f16(float x) {
  uint b = as_uint(x), sign = (b >> 16) & 0x8000u, a = b & 0x7fffffffu, r;
  if (a > 0x7f800000u) r = 0x7e00u | ((a >> 13) & 0x3ffu);
  else if (a >= 0x477ff000u) r = 0x7c00u;
  else if (a < 0x38800000u) r = as_uint(as_float(a) + 0.5f) - 0x3f000000u;
  else r = (a + 0xfffu + ((a >> 13) & 1u) - (112u << 23)) >> 13;
  return (ushort)(r | sign);
}
float ouro_from_f16(ushort h) {
  uint sign = ((uint)h & 0x8000u) << 16, a = ((uint)h & 0x7fffu) << 13, r;
  if (a >= (31u << 23)) r = a | 0x7f800000u | (a > (31u << 23) ? 1u << 22 : 0u);
  else if (a < (1u << 23)) r = as_uint(as_float(a + (113u << 23)) - as_float(113u << 23));
  else r = a + (112u << 23);
  return as_float(r | sign);
}
)";

// Of the same width, for arithmetic that wraps.
std::string_view wrapping(DType t) { return t == DType::i64 ? "ulong" : "uint"; }

std::string integer(Leaf leaf, DType t, const std::string& a, const std::string& b) {
  std::string_view own = register_type(t), wide = wrapping(t);
  auto bits = static_cast<int>(size_of(t) * 8);
  bool is_signed = info(t).is_signed;
  auto wrap = [&](std::string_view op) { return fmt::format("({0})(({1}){2} {3} ({1}){4})", own, wide, a, op, b); };
  switch (leaf) {
    case Leaf::add:
      return wrap("+");
    case Leaf::sub:
      return wrap("-");
    case Leaf::mul:
      return wrap("*");
    case Leaf::neg:
      return fmt::format("({})(0 - ({}){})", own, wide, a);
    case Leaf::abs:
      return is_signed ? fmt::format("{1} < 0 ? ({0})(0 - ({2}){1}) : {1}", own, a, wide) : a;
    case Leaf::idiv:
      return is_signed
                 ? fmt::format(
                       "{2} == 0 ? ({0})0 : {2} == -1 ? ({0})(0 - ({3}){1}) : ({0})({1} / ({2} == 0 ? ({0})1 : {2}))",
                       own, a, b, wide)
                 : fmt::format("{2} == 0 ? ({0})0 : ({0})({1} / ({2} == 0 ? ({0})1 : {2}))", own, a, b);
    case Leaf::irem:
      return is_signed
                 ? fmt::format("{2} == 0 || {2} == -1 ? ({0})0 : ({0})({1} % ({2} == 0 || {2} == -1 ? ({0})1 : {2}))",
                               own, a, b)
                 : fmt::format("{2} == 0 ? ({0})0 : ({0})({1} % ({2} == 0 ? ({0})1 : {2}))", own, a, b);
    case Leaf::and_:
      return fmt::format("({})({} & {})", own, a, b);
    case Leaf::or_:
      return fmt::format("({})({} | {})", own, a, b);
    case Leaf::xor_:
      return fmt::format("({})({} ^ {})", own, a, b);
    case Leaf::not_:
      return fmt::format("({})(~{})", own, a);
    case Leaf::shl:
      return fmt::format("{2} >= 0 && {2} < {3} ? ({0})(({4}){1} << {2}) : ({0})0", own, a, b, bits, wide);
    case Leaf::shr:
      return fmt::format("{2} >= 0 && {2} < {3} ? ({0})({1} >> {2}) : ({0})({1} < 0 ? -1 : 0)", own, a, b, bits);
    default:
      ouro_bug("leaf %s of integers", std::string(ir::info(leaf).name).c_str());
  }
}

std::string boolean(Leaf leaf, const std::string& a, const std::string& b) {
  switch (leaf) {
    case Leaf::add:
    case Leaf::or_:
      return fmt::format("(bool)({} | {})", a, b);
    case Leaf::mul:
    case Leaf::and_:
      return fmt::format("(bool)({} & {})", a, b);
    case Leaf::sub:
    case Leaf::xor_:
      return fmt::format("{} != {}", a, b);
    case Leaf::not_:
      return "!" + a;
    case Leaf::abs:
      return a;
    default:
      ouro_bug("leaf %s of bools", std::string(ir::info(leaf).name).c_str());
  }
}

std::string floating(Leaf leaf, const std::string& a, const std::string& b) {
  switch (leaf) {
    case Leaf::add:
      return a + " + " + b;
    case Leaf::sub:
      return a + " - " + b;
    case Leaf::mul:
      return a + " * " + b;
    case Leaf::div:
      return a + " / " + b;
    case Leaf::neg:
      return "-" + a;
    case Leaf::abs:
      return "fabs(" + a + ")";
    case Leaf::floor:
    case Leaf::ceil:
    case Leaf::trunc:
    case Leaf::sqrt:
      return fmt::format("{}({})", ir::info(leaf).name, a);
    case Leaf::round:
      return "rint(" + a + ")";
    default:
      ouro_bug("leaf %s of floats", std::string(ir::info(leaf).name).c_str());
  }
}

}  // namespace

std::string LeafText::cast(const std::string& a, DType from, DType to) {
  if (from == to) return a;
  if (from == DType::bf16) return cast("ouro_from_bf16(" + a + ")", DType::f32, to);
  if (from == DType::f16) return cast("ouro_from_f16(" + a + ")", DType::f32, to);
  if (to == DType::bf16) return "ouro_to_bf16(" + cast(a, from, DType::f32) + ")";
  if (to == DType::f16) return "ouro_to_f16(" + cast(a, from, DType::f32) + ")";
  std::string_view own = register_type(to);
  if (is_bool(to)) return fmt::format("({} != 0)", a);
  if (is_float(from) && !is_float(to))  // outside of i64, and NaN: its lowest
    return fmt::format("({0})({1} >= -0x1p63{2} && {1} < 0x1p63{2} ? (long)({1}) : (long)0x8000000000000000ul)", own, a,
                       from == DType::f32 ? "f" : "");
  return fmt::format("({})({})", own, a);
}

std::string LeafText::apply(Leaf leaf, DType type, DType operand, const std::string* args) {
  const std::string &a = args[0], &b = args[1];
  if (ir::is_function(leaf)) {
    used_.emplace(leaf, type);
    std::string call = fmt::format("ouro_{}_{}({}", ir::info(leaf).name, name(type), a);
    return ir::info(leaf).operands == 2 ? call + ", " + b + ")" : call + ")";
  }
  constexpr std::string_view kCompare[] = {"==", "!=", "<", "<=", ">", ">="};
  switch (leaf) {
    case Leaf::select:
      return fmt::format("{} ? {} : {}", a, b, args[2]);
    case Leaf::cast:
      return cast(a, operand, type);
    case Leaf::bitcast:
      return fmt::format("as_{}({})", register_type(type), a);
    case Leaf::eq:
    case Leaf::ne:
    case Leaf::lt:
    case Leaf::le:
    case Leaf::gt:
    case Leaf::ge:
      return fmt::format("{} {} {}", a, kCompare[static_cast<int>(leaf) - static_cast<int>(Leaf::eq)], b);
    case Leaf::min:
    case Leaf::max: {
      std::string_view op = leaf == Leaf::min ? "<" : ">";
      return is_float(operand) ? fmt::format("{0} {2} {1} || {0} != {0} ? {0} : {1}", a, b, op)
                               : fmt::format("{0} {2} {1} ? {0} : {1}", a, b, op);
    }
    default:
      break;
  }
  if (is_float(operand)) return floating(leaf, a, b);
  return is_bool(operand) ? boolean(leaf, a, b) : integer(leaf, operand, a, b);
}

std::string LeafText::definitions() const {
  std::string out(kHalves);
  for (auto [leaf, t] : used_)
    out += fmt::format("{0} ouro_{1}_{2}({0} a{3}) {{\n{4}}}\n", register_type(t), ir::info(leaf).name, name(t),
                       ir::info(leaf).operands == 2 ? fmt::format(", {} b", register_type(t)) : "",
                       function_body(leaf, t));
  return out;
}

}  // namespace ouro::backends::opencl
