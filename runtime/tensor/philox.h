// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) and how draws use it.
//
// The key is the session's seed; the counter of block b of a draw is (b low, b high, draw low, draw high ^ lane *
// 0x9E3779B9). Element i takes
//   rand f32       word i % 4 of block i / 4: (w >> 8) 2^-24
//   rand f64       words 2 (i % 2) and the next of block i / 2 as a 64-bit number: (w >> 11) 2^-53
//   randn f32      words 2 (i % 2) = u and the next = v of block i / 2: sqrt(-2 log((u >> 8) 2^-24 + 2^-25)) cos(2 pi
//   (v >> 8) 2^-24), each operation a leaf randn f64      words 0, 1 = u and 2, 3 = v of block i, as rand f64 makes
//   them, u + 2^-54 random_int     words as rand f64: low + high half of w * (high - low) randperm       Fisher and
//   Yates from the end; place i swaps with the high half of w_i * (i + 1), w_i as random_int
#pragma once

#include <array>
#include <cstdint>

namespace ouro::runtime {

struct PhiloxKey {
  uint64_t seed = 0, draw = 0;
  uint32_t lane = 0;
};

inline std::array<uint32_t, 4> philox(const PhiloxKey& key, uint64_t block) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32),
           c2 = static_cast<uint32_t>(key.draw);
  uint32_t c3 = static_cast<uint32_t>(key.draw >> 32) ^ (key.lane * 0x9E3779B9u);
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1, c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}
inline uint64_t philox_word64(const PhiloxKey& key, uint64_t i) {
  auto w = philox(key, i / 2);
  return static_cast<uint64_t>(w[2 * (i % 2)]) << 32 | w[2 * (i % 2) + 1];
}
inline float philox_f32(uint32_t w) { return static_cast<float>(w >> 8) * 0x1p-24f; }
inline double philox_f64(uint64_t w) { return static_cast<double>(w >> 11) * 0x1p-53; }

// A session's generator.
struct RandomState {
  uint64_t seed = 0, counter = 0;
  uint32_t lane = 0;
  PhiloxKey next() { return {seed, counter++, lane}; }
};

}  // namespace ouro::runtime
