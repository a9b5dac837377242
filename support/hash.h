// The hashes of CPython with PYTHONHASHSEED=0: they decide the order of sets, so they are part of the language.
//
// Numbers: x mod the Mersenne prime 2^61 - 1, so that equal numbers of any type hash alike. Text: SipHash-1-3 (Aumasson
// & Bernstein 2012) with key zero over CPython's in-memory form: one, two or four bytes a character, by the largest.
// Tuples: xxHash's rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ouro {
inline namespace support {

inline constexpr uint64_t kHashModulus = (uint64_t{1} << 61) - 1;

int64_t hash_bytes(const void* data, size_t size);
// Of text by its code points; what is ASCII hashes as its bytes, and the empty text as 0.
int64_t hash_points(const std::vector<uint32_t>& points);
inline int64_t hash_int(int64_t i) {
  uint64_t m = i < 0 ? uint64_t{0} - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
  m = (m & kHashModulus) + (m >> 61);
  if (m >= kHashModulus) m -= kHashModulus;
  int64_t h = i < 0 ? -static_cast<int64_t>(m) : static_cast<int64_t>(m);
  return h == -1 ? -2 : h;
}
// Of a finite or infinite float; a NaN hashes by identity (the caller's).
int64_t hash_float(double x);
// Tuples: feed every item's hash in order, then finish.
class TupleHash {
 public:
  void add(int64_t item) {
    acc_ += static_cast<uint64_t>(item) * 14029467366897019727ull;
    acc_ = acc_ << 31 | acc_ >> 33;
    acc_ *= 11400714785074694791ull;
  }
  int64_t finish(size_t length) const {
    uint64_t a = acc_ + (length ^ (2870177450012600261ull ^ 3527539ull));
    return a == ~uint64_t{0} ? 1546275796 : static_cast<int64_t>(a);
  }

 private:
  uint64_t acc_ = 2870177450012600261ull;
};

// Frozensets: order does not matter.
class SetHash {
 public:
  void add(int64_t item) {
    uint64_t h = static_cast<uint64_t>(item);
    acc_ ^= ((h ^ 89869747ull) ^ (h << 16)) * 3644798167ull;
  }
  // `used` items; `slots` is CPython's table size, whose empty slots count too when their number is odd (each as hash
  // 0), and so do dummies (hash -1). Only the parity matters.
  int64_t finish(size_t used) const {
    uint64_t h = acc_ ^ (used + 1) * 1927868237ull;
    h ^= (h >> 11) ^ (h >> 25);
    h = h * 69069ull + 907133923ull;
    return h == ~uint64_t{0} ? 590923713 : static_cast<int64_t>(h);
  }

 private:
  uint64_t acc_ = 0;
};

}  // namespace support
}  // namespace ouro
