// Element types of tensors: names, sizes, and PyTorch's promotion of dtypes (torch.result_type),
// 0-d tensors and Python scalars included. Everything is constexpr, so rows of operations can use
// it in their own constexpr tables.
//
// Promotion works by category (bool < integer < float) and by kind of operand: tensors with
// dimensions outrank 0-d tensors, which outrank Python scalars. An operand of lower kind changes
// the result only if its category is higher. Source: aten/src/ATen/native/TypeProperties.cpp,
// c10/core/ScalarType.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ouro {

enum class DType : uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr int kDTypeCount = 10;
inline constexpr DType kDefaultFloat = DType::f32;  // of tensors made from Python floats
inline constexpr DType kDefaultInt = DType::i64;    // of tensors made from Python ints

struct DTypeInfo {
  std::string_view name;       // as printed and written: f32
  std::string_view long_name;  // the alias: float32
  uint8_t size;                // bytes per element
  uint8_t category;            // 0 bool, 1 integer, 2 float
  bool is_signed;
};
inline constexpr DTypeInfo kDTypes[kDTypeCount] = {
    {"bool", "bool", 1, 0, false},  {"u8", "uint8", 1, 1, false},     {"i8", "int8", 1, 1, true},
    {"i16", "int16", 2, 1, true},   {"i32", "int32", 4, 1, true},     {"i64", "int64", 8, 1, true},
    {"f16", "float16", 2, 2, true}, {"bf16", "bfloat16", 2, 2, true}, {"f32", "float32", 4, 2, true},
    {"f64", "float64", 8, 2, true},
};

constexpr const DTypeInfo& info(DType t) { return kDTypes[static_cast<int>(t)]; }
constexpr std::string_view name(DType t) { return info(t).name; }
constexpr size_t size_of(DType t) { return info(t).size; }
constexpr bool is_float(DType t) { return info(t).category == 2; }
constexpr bool is_integer(DType t) { return info(t).category == 1; }  // without bool
constexpr bool is_bool(DType t) { return t == DType::boolean; }

// The dtype of a name in either form ("f32", "float32", also PyTorch's "double", "float", "half",
// "long", "int", "short").
constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (text == kDTypes[i].name || text == kDTypes[i].long_name) return static_cast<DType>(i);
  constexpr struct {
    std::string_view name;
    DType type;
  } kAliases[] = {{"double", DType::f64}, {"float", DType::f32}, {"half", DType::f16},
                  {"long", DType::i64},   {"int", DType::i32},   {"short", DType::i16}};
  for (const auto& a : kAliases)
    if (text == a.name) return a.type;
  return std::nullopt;
}

// torch.promote_types: the smallest dtype that both convert to.
constexpr DType promote(DType a, DType b) {
  if (a == b) return a;
  const DTypeInfo &x = info(a), &y = info(b);
  if (x.category != y.category) return x.category > y.category ? a : b;
  if (x.category == 2) {
    if (x.size == y.size) return DType::f32;  // f16 with bf16
    return x.size > y.size ? a : b;
  }
  if (x.is_signed == y.is_signed) return x.size > y.size ? a : b;
  DType wide = x.is_signed ? a : b;  // the other is u8
  return wide == DType::i8 ? DType::i16 : wide;
}

// How an operand takes part in promotion.
enum class OperandKind : uint8_t { tensor, zero_dim, scalar };
struct Operand {
  DType dtype;
  OperandKind kind;
};
// The operand that a Python scalar is: bool, int and float as PyTorch's wrapped numbers.
inline constexpr Operand kBoolScalar{DType::boolean, OperandKind::scalar};
inline constexpr Operand kIntScalar{kDefaultInt, OperandKind::scalar};
inline constexpr Operand kFloatScalar{kDefaultFloat, OperandKind::scalar};

// torch.result_type of any number of operands; fold with `add`, then ask `dtype`.
class Promotion {
 public:
  constexpr void add(Operand o) {
    std::optional<DType>& slot = best_[static_cast<int>(o.kind)];
    slot = slot ? promote(*slot, o.dtype) : o.dtype;
  }
  // Precondition: at least one operand was added.
  constexpr DType dtype() const { return *combine(best_[0], combine(best_[1], best_[2])); }

 private:
  static constexpr std::optional<DType> combine(std::optional<DType> high, std::optional<DType> low) {
    if (!high) return low;
    if (!low || is_float(*high)) return high;
    if (is_bool(*high) || is_float(*low)) return promote(*high, *low);
    return high;
  }
  std::optional<DType> best_[3];
};

constexpr DType result_type(Operand a, Operand b) {
  Promotion p;
  p.add(a);
  p.add(b);
  return p.dtype();
}

}  // namespace ouro
