// Types of names: immutable, interned, compared by pointer; nullptr is Any (boxed).
//
// A dim is `c + m * s`: a number (m = 0), or affine in one symbol s; equal symbols are equal sizes. A class or function
// type names its class or code by an identity that the runtime gives out; ir never looks behind it. Types live for the
// process; making one is safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/intern.h"

namespace ouro::ir {

struct SymDim {
  int64_t c = 0;
  int64_t m = 0;
  uint32_t symbol = 0;  // 0 if m is 0
  bool known() const { return m == 0; }
  bool operator==(const SymDim&) const = default;
  static SymDim number(int64_t n) { return {n, 0, 0}; }
  static SymDim of(uint32_t symbol) { return {0, 1, symbol}; }
};
/// A symbol not used before in this process.
uint32_t fresh_symbol();
/// What an axis' size, a sum of sizes or a product of them stops at; no tensor is as large.
inline constexpr int64_t kTooLarge = int64_t{1} << 62;
/// Sums and multiples stay affine where they can; otherwise the result is a fresh symbol.
SymDim add(SymDim a, SymDim b);
SymDim multiply(SymDim a, SymDim b);

enum class TypeKind : uint8_t {
  none,
  boolean,
  integer,
  floating,
  string,
  bytes,
  dtype,
  ellipsis,
  slice,
  range,
  tensor,    // dtype, dims
  tuple,     // items
  list,      // items[0]
  dict,      // items[0] -> items[1]
  object,    // identity of the class, name, fields with items
  function,  // identity of the code, name, items: types of the captures
  native,    // identity, name
  class_,    // identity, name
};

struct Type {
  TypeKind kind = TypeKind::none;
  DType dtype = DType::f32;
  std::vector<SymDim> dims;
  std::vector<const Type*> items;
  std::vector<Symbol> fields;
  uint64_t identity = 0;
  Symbol name{};
  bool operator==(const Type&) const = default;
  bool is_tensor() const { return kind == TypeKind::tensor; }
  size_t rank() const { return dims.size(); }
};

/// The one Type equal to `t`.
const Type* intern_type(Type t);

namespace types {
const Type* simple(TypeKind kind);
inline const Type* none() { return simple(TypeKind::none); }
inline const Type* boolean() { return simple(TypeKind::boolean); }
inline const Type* integer() { return simple(TypeKind::integer); }
inline const Type* floating() { return simple(TypeKind::floating); }
inline const Type* string() { return simple(TypeKind::string); }
const Type* tensor(DType dtype, std::span<const SymDim> dims);
const Type* tuple(std::span<const Type* const> items);
const Type* list(const Type* item);
const Type* dict(const Type* key, const Type* value);
const Type* object(uint64_t identity, Symbol name, std::span<const Symbol> fields, std::span<const Type* const> items);
const Type* function(uint64_t identity, Symbol name, std::span<const Type* const> captures);
}  // namespace types

/// `f32[3, 2*s1+1]`, `tuple(int, any)`, `object(Net#7, w: f32[3])`, `function(f#9, int)`.
std::string to_string(const Type* t);

}  // namespace ouro::ir
