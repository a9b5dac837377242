// Values of the C++ type in which an element type is computed, and the 64 bits of a register that hold them.
#pragma once

#include <cstdint>
#include <cstring>

#include "support/diag.h"
#include "support/dtype.h"

namespace ouro::backends {

template <class T>
inline T from_bits(uint64_t bits) {
  T v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T>
inline uint64_t to_bits(T v) {
  uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}

/// fn with a value of that type.
template <class Fn>
auto with_type(DType t, Fn&& fn) {
  switch (t) {
    case DType::boolean:
      return fn(bool{});
    case DType::u8:
      return fn(uint8_t{});
    case DType::i8:
      return fn(int8_t{});
    case DType::i16:
      return fn(int16_t{});
    case DType::i32:
      return fn(int32_t{});
    case DType::i64:
      return fn(int64_t{});
    case DType::f16:
    case DType::bf16:
    case DType::f32:
      return fn(float{});
    case DType::f64:
      return fn(double{});
  }
  ouro_bug("no such element type");
}

}  // namespace ouro::backends
