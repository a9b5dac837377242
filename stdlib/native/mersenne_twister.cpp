#include "stdlib/native/mersenne_twister.h"

#include <algorithm>

namespace ouro::stdlib {

namespace {
constexpr size_t kShift = 397;
}

void MersenneTwister::refill() {
  auto twist = [](uint32_t high, uint32_t low) {
    const uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0u);
  };
  size_t i = 0;
  for (; i < kWords - kShift; ++i) words_[i] = words_[i + kShift] ^ twist(words_[i], words_[i + 1]);
  for (; i < kWords - 1; ++i) words_[i] = words_[i + kShift - kWords] ^ twist(words_[i], words_[i + 1]);
  words_[i] = words_[kShift - 1] ^ twist(words_[i], words_[0]);
  index_ = 0;
}

uint32_t MersenneTwister::next() {
  if (index_ >= kWords) refill();
  uint32_t y = words_[index_++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

// init_by_array
void MersenneTwister::seed(std::span<const uint32_t> key) {
  auto& w = words_;
  w[0] = 19650218u;
  for (uint32_t i = 1; i < kWords; ++i) w[i] = 1812433253u * (w[i - 1] ^ w[i - 1] >> 30) + i;
  size_t i = 1, j = 0;
  auto onward = [&] {
    if (++i < kWords) return;
    w[0] = w[kWords - 1];
    i = 1;
  };
  for (size_t k = std::max(kWords, key.size()); k; --k) {
    w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * 1664525u) + key[j] + static_cast<uint32_t>(j);
    onward();
    if (++j == key.size()) j = 0;
  }
  for (size_t k = kWords - 1; k; --k) {
    w[i] = (w[i] ^ (w[i - 1] ^ w[i - 1] >> 30) * 1566083941u) - static_cast<uint32_t>(i);
    onward();
  }
  w[0] = 0x80000000u;
  index_ = kWords;
}

}  // namespace ouro::stdlib
