// What the writer (pack.cpp) and the reader (unpack.cpp) of ir/pack.h agree on.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/anf.h"

namespace ouro::ir::packed {

inline constexpr std::string_view kMagic = "OANF";

// How a span begins: (difference << 2) | form.
enum SpanForm : uint64_t { kNoSpan = 0, kSameFile = 1, kOtherFile = 2 };

enum FunctionBits : uint8_t { kKindBits = 7, kGenerator = 8, kMethod = 16, kVarargs = 32, kVarkw = 64 };
enum BlockBits : uint8_t { kLoopHead = 1, kHandler = 2 };
inline constexpr auto kLastFunctionKind = Function::Kind::comprehension;
inline constexpr auto kLastConstantKind = Constant::Kind::zero;
inline constexpr auto kLastTerminator = Terminator::Kind::unreachable;

constexpr uint64_t zigzag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
constexpr int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

// What the writer and the reader expect next; both go the same way.
struct Expect {
  Span span{};
  uint32_t args = 0;  // into the pool
  uint32_t result = 0;
};

}  // namespace ouro::ir::packed
