// What the files of big integers share: an int's digits to read, and a result's to hand over.
#pragma once

#include <bit>
#include <cstdlib>

#include "runtime/object/session.h"
#include "runtime/types/big_int.h"
#include "runtime/types/mp.h"

namespace ouro::runtime {

constexpr int kDigitBits = 60;
static_assert(MP_DIGIT_BIT == kDigitBits);
static_assert(sizeof(mp_int) <= sizeof(BigInt::mp));

inline mp_int& mp_of(const Value& v) { return *reinterpret_cast<mp_int*>(v.as<BigInt>()->mp); }

inline uint64_t magnitude(int64_t i) {
  return i < 0 ? uint64_t{0} - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
}

// Any int as an mp_int to read from; owns nothing.
struct IntDigits {
  mp_int v;
  mp_digit small[2];
  explicit IntDigits(const Value& x) {
    if (!is_word(x)) {
      v = mp_of(x);
      return;
    }
    uint64_t m = magnitude(word_of(x));
    small[0] = m & MP_MASK;
    small[1] = m >> kDigitBits;
    v.dp = small;
    v.used = m == 0 ? 0 : small[1] ? 2 : 1;
    v.alloc = 2;
    v.sign = word_of(x) < 0 ? MP_NEG : MP_ZPOS;
  }
  IntDigits(const IntDigits&) = delete;
  operator const mp_int*() const { return &v; }
  int bits() const { return v.used == 0 ? 0 : (v.used - 1) * kDigitBits + std::bit_width(v.dp[v.used - 1]); }
};

inline size_t digit_bytes(const mp_int& v) { return static_cast<size_t>(v.alloc) * sizeof(mp_digit); }

// The value of `m`, whose digits are taken.
Value int_of_digits(Mp& m);

}  // namespace ouro::runtime
