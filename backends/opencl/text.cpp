#include "backends/opencl/text.h"

#include <fmt/format.h>

namespace ouro::backends::opencl {

std::string_view register_type(DType t) {
  switch (t) {
    case DType::boolean:
      return "bool";
    case DType::u8:
      return "uchar";
    case DType::i8:
      return "char";
    case DType::i16:
      return "short";
    case DType::f16:
    case DType::bf16:
      return "ushort";
    case DType::i32:
      return "int";
    case DType::i64:
      return "long";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
  }
  return {};
}

std::string_view memory_type(DType t) { return is_bool(t) ? "uchar" : register_type(t); }

std::string literal(DType t, uint64_t bits) {
  switch (t) {
    case DType::boolean:
      return bits & 1 ? "true" : "false";
    case DType::f32:
      return fmt::format("as_float({:#x}u)", static_cast<uint32_t>(bits));
    case DType::f64:
      return fmt::format("as_double({:#x}ul)", bits);
    case DType::i64: {
      auto v = static_cast<int64_t>(bits);
      return v == INT64_MIN ? "((long)0x8000000000000000ul)" : v < 0 ? fmt::format("({}l)", v) : fmt::format("{}l", v);
    }
    case DType::i32:
      return fmt::format("((int){:#x}u)", static_cast<uint32_t>(bits));
    default:
      return fmt::format("(({}){:#x}u)", register_type(t),
                         static_cast<uint32_t>(bits) & (size_of(t) == 1 ? 0xffu : 0xffffu));
  }
}

}  // namespace ouro::backends::opencl
