// An operand as bf16 holds it, in f32, for contractions of that precision (runtime/machine/contract.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/machine/part_memory.h"
#include "runtime/machine/threads.h"

namespace ouro::runtime {

class RoundedOperand {
 public:
  RoundedOperand(const void* from, int64_t n, int threads) : values_(n) {
    const auto* x = static_cast<const float*>(from);
    constexpr int64_t kPart = 65536;
    parallel_for_or_stop(n > kPart ? threads : 1, (n + kPart - 1) / kPart, [&](int64_t p) {
      for (int64_t i = p * kPart; i < std::min(n, (p + 1) * kPart); ++i) values_.data()[i] = round(x[i]);
    });
  }
  const float* data() const { return values_.data(); }

 private:
  static float round(float x) {  // to nearest even; NaN stays NaN
    uint32_t u = std::bit_cast<uint32_t>(x);
    uint32_t r = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
    return x == x ? std::bit_cast<float>(r) : x;
  }
  WorkMemory<float> values_;
};

}  // namespace ouro::runtime
