#include "support/hash.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace ouro {
inline namespace support {
namespace {

inline uint64_t rotl(uint64_t x, int b) { return x << b | x >> (64 - b); }

struct SipState {
  // Key (0, 0).
  uint64_t v0 = 0x736f6d6570736575ull, v1 = 0x646f72616e646f6dull, v2 = 0x6c7967656e657261ull,
           v3 = 0x7465646279746573ull;
  void round() {
    v0 += v1;
    v2 += v3;
    v1 = rotl(v1, 13) ^ v0;
    v3 = rotl(v3, 16) ^ v2;
    v0 = rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = rotl(v1, 17) ^ v2;
    v3 = rotl(v3, 21) ^ v0;
    v2 = rotl(v2, 32);
  }
};

}  // namespace

int64_t hash_bytes(const void* data, size_t size) {
  if (size == 0) return 0;
  SipState s;
  auto p = static_cast<const unsigned char*>(data);
  uint64_t last = static_cast<uint64_t>(size) << 56;
  size_t n = size;
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t m;
    std::memcpy(&m, p, 8);
    s.v3 ^= m;
    s.round();
    s.v0 ^= m;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, p, n);
  last |= tail;
  s.v3 ^= last;
  s.round();
  s.v0 ^= last;
  s.v2 ^= 0xff;
  s.round();
  s.round();
  s.round();
  int64_t h = static_cast<int64_t>((s.v0 ^ s.v1) ^ (s.v2 ^ s.v3));
  return h == -1 ? -2 : h;
}

int64_t hash_points(const std::vector<uint32_t>& points) {
  uint32_t largest = 0;
  for (uint32_t c : points) largest |= c;
  if (largest < 0x100) {
    std::vector<uint8_t> narrow(points.begin(), points.end());
    return hash_bytes(narrow.data(), narrow.size());
  }
  if (largest < 0x10000) {
    std::vector<uint16_t> narrow(points.begin(), points.end());
    return hash_bytes(narrow.data(), narrow.size() * 2);
  }
  return hash_bytes(points.data(), points.size() * 4);
}

int64_t hash_float(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? 0 : x > 0 ? 314159 : -314159;
  int e;
  double m = std::frexp(std::fabs(x), &e);
  uint64_t h = 0;
  while (m != 0) {  // 28 bits at a time
    h = ((h << 28) & kHashModulus) | h >> (61 - 28);
    m *= 268435456.0;
    e -= 28;
    auto y = static_cast<uint64_t>(m);
    m -= static_cast<double>(y);
    h += y;
    if (h >= kHashModulus) h -= kHashModulus;
  }
  e = e >= 0 ? e % 61 : 61 - 1 - ((-1 - e) % 61);
  h = ((h << e) & kHashModulus) | h >> (61 - e);
  int64_t r = x < 0 ? -static_cast<int64_t>(h) : static_cast<int64_t>(h);
  return r == -1 ? -2 : r;
}

}  // namespace support
}  // namespace ouro
