#include "backends/reference/leaf_value.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "backends/reference/leaf_function.h"
#include "backends/reference/typed_bits.h"
#include "support/diag.h"

namespace ouro::backends {
namespace {
using ir::Leaf;

float round_bf16(float f) {
  uint32_t bits = static_cast<uint32_t>(to_bits(f));
  if (f != f) return from_bits<float>((bits | 0x400000u) & 0xffff0000u);
  return from_bits<float>((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

float half_to_float(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = h >> 10 & 31u, fraction = h & 0x3ffu;
  if (exponent == 31) return from_bits<float>(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0));
  if (exponent == 0)
    return from_bits<float>(sign | static_cast<uint32_t>(to_bits(std::ldexp(static_cast<float>(fraction), -24))));
  return from_bits<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t float_to_half(float f) {
  uint32_t bits = static_cast<uint32_t>(to_bits(f));
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  float a = std::fabs(f);
  if (f != f) return static_cast<uint16_t>(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
  if (a >= 65520.0f) return sign | 0x7c00u;
  if (a < 0x1p-14f) return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24))));
  uint32_t b = static_cast<uint32_t>(to_bits(a));
  b += 0xfffu + (b >> 13 & 1u);
  return static_cast<uint16_t>(sign | (b - (112u << 23)) >> 13);
}

template <class T>
int64_t to_i64(T v) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!(v >= T(-0x1p63) && v < T(0x1p63))) return INT64_MIN;
  }
  return static_cast<int64_t>(v);
}

uint64_t cast_value(DType from, DType to, uint64_t bits) {
  return with_type(from, [&](auto tag) {
    using F = decltype(tag);
    F v = from_bits<F>(bits);
    if (to == DType::boolean) return to_bits<bool>(v != F(0));
    if (to == DType::bf16) return to_bits(round_bf16(static_cast<float>(v)));
    if (to == DType::f16) return to_bits(half_to_float(float_to_half(static_cast<float>(v))));
    if (to == DType::f32) return to_bits(static_cast<float>(v));
    if (to == DType::f64) return to_bits(static_cast<double>(v));
    return with_type(to, [&](auto target) { return to_bits(static_cast<decltype(target)>(to_i64(v))); });
  });
}

template <class T>
uint64_t integer_leaf(Leaf leaf, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr T lowest = std::numeric_limits<T>::lowest();
  constexpr unsigned kBits = sizeof(T) * 8;
  bool wraps = std::is_signed_v<T> && b == static_cast<T>(-1);
  bool in_range = b >= 0 && static_cast<uint64_t>(b) < kBits;
  (void)lowest;
  switch (leaf) {
    case Leaf::add:
      return to_bits(static_cast<T>(static_cast<U>(a) + static_cast<U>(b)));
    case Leaf::sub:
      return to_bits(static_cast<T>(static_cast<U>(a) - static_cast<U>(b)));
    case Leaf::mul:
      return to_bits(static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)));
    case Leaf::idiv:
      return to_bits(b == 0 ? T(0) : wraps ? static_cast<T>(U(0) - static_cast<U>(a)) : static_cast<T>(a / b));
    case Leaf::irem:
      return to_bits(b == 0 || wraps ? T(0) : static_cast<T>(a % b));
    case Leaf::neg:
      return to_bits(static_cast<T>(U(0) - static_cast<U>(a)));
    case Leaf::abs:
      return to_bits(a < 0 ? static_cast<T>(U(0) - static_cast<U>(a)) : a);
    case Leaf::and_:
      return to_bits(static_cast<T>(a & b));
    case Leaf::or_:
      return to_bits(static_cast<T>(a | b));
    case Leaf::xor_:
      return to_bits(static_cast<T>(a ^ b));
    case Leaf::not_:
      return to_bits(static_cast<T>(~a));
    case Leaf::shl:
      return to_bits(in_range ? static_cast<T>(static_cast<U>(a) << b) : T(0));
    case Leaf::shr:
      return to_bits(in_range ? static_cast<T>(a >> b) : static_cast<T>(a < 0 ? -1 : 0));
    default:
      ouro_bug("leaf %s of integers", std::string(ir::info(leaf).name).c_str());
  }
}

uint64_t bool_leaf(Leaf leaf, bool a, bool b) {
  switch (leaf) {
    case Leaf::add:
    case Leaf::or_:
      return a | b;
    case Leaf::mul:
    case Leaf::and_:
      return a & b;
    case Leaf::xor_:
    case Leaf::sub:
      return a ^ b;
    case Leaf::not_:
      return !a;
    case Leaf::abs:
      return a;
    default:
      ouro_bug("leaf %s of bools", std::string(ir::info(leaf).name).c_str());
  }
}

template <class T>
uint64_t float_leaf(Leaf leaf, T a, T b) {
  switch (leaf) {
    case Leaf::add:
      return to_bits(a + b);
    case Leaf::sub:
      return to_bits(a - b);
    case Leaf::mul:
      return to_bits(a * b);
    case Leaf::div:
      return to_bits(a / b);
    case Leaf::neg:
      return to_bits(-a);
    case Leaf::abs:
      return to_bits(std::fabs(a));
    case Leaf::floor:
      return to_bits(std::floor(a));
    case Leaf::ceil:
      return to_bits(std::ceil(a));
    case Leaf::trunc:
      return to_bits(std::trunc(a));
    case Leaf::round:
      return to_bits(std::nearbyint(a));
    case Leaf::sqrt:
      return to_bits(std::sqrt(a));
    default:
      return to_bits(leaf_function(leaf, a, b));
  }
}

template <class T>
uint64_t typed_leaf(Leaf leaf, const uint64_t* args) {
  T a = from_bits<T>(args[0]), b = ir::info(leaf).operands > 1 ? from_bits<T>(args[1]) : T{};
  switch (leaf) {
    case Leaf::eq:
      return a == b;
    case Leaf::ne:
      return a != b;
    case Leaf::lt:
      return a < b;
    case Leaf::le:
      return a <= b;
    case Leaf::gt:
      return a > b;
    case Leaf::ge:
      return a >= b;
    case Leaf::min:
      return to_bits<T>(a < b || a != a ? a : b);
    case Leaf::max:
      return to_bits<T>(a > b || a != a ? a : b);
    default:
      break;
  }
  if constexpr (std::is_same_v<T, bool>)
    return bool_leaf(leaf, a, b);
  else if constexpr (std::is_integral_v<T>)
    return integer_leaf<T>(leaf, a, b);
  else
    return float_leaf<T>(leaf, a, b);
}

}  // namespace

uint64_t leaf_value(Leaf leaf, DType type, DType operand, const uint64_t* args) {
  if (leaf == Leaf::select) return args[0] & 1 ? args[1] : args[2];
  if (leaf == Leaf::cast) return cast_value(operand, type, args[0]);
  if (leaf == Leaf::bitcast) return args[0];
  return with_type(operand, [&](auto tag) { return typed_leaf<decltype(tag)>(leaf, args); });
}

uint64_t load_element(DType type, const void* base, int64_t at) {
  if (type == DType::f16) return to_bits(half_to_float(static_cast<const uint16_t*>(base)[at]));
  if (type == DType::bf16) return static_cast<uint64_t>(static_cast<const uint16_t*>(base)[at]) << 16;
  if (type == DType::boolean) return static_cast<const uint8_t*>(base)[at] != 0;
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(base) + at * static_cast<int64_t>(size_of(type)), size_of(type));
  return bits;
}

void store_element(DType type, void* base, int64_t at, uint64_t value) {
  if (type == DType::f16) {
    static_cast<uint16_t*>(base)[at] = float_to_half(from_bits<float>(value));
  } else if (type == DType::bf16) {
    static_cast<uint16_t*>(base)[at] = static_cast<uint16_t>(to_bits(round_bf16(from_bits<float>(value))) >> 16);
  } else {
    std::memcpy(static_cast<char*>(base) + at * static_cast<int64_t>(size_of(type)), &value, size_of(type));
  }
}

}  // namespace ouro::backends
