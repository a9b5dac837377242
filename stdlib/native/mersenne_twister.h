// The Mersenne twister MT19937 (Matsumoto & Nishimura 1998, with the initialisation of 2002): 624 words of state, and
// the sequences that Python's random has for the same seed.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ouro::stdlib {

class MersenneTwister {
 public:
  static constexpr size_t kWords = 624;

  void seed(std::span<const uint32_t> key);  // at least one word
  uint32_t next();
  double next_double() {  // in [0, 1), of 53 bits
    const uint32_t a = next() >> 5, b = next() >> 6;
    return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
  }
  // As much as Python's getstate shows.
  const std::array<uint32_t, kWords>& words() const { return words_; }
  size_t index() const { return index_; }
  void set_state(const std::array<uint32_t, kWords>& words, size_t index) {  // index <= kWords
    words_ = words;
    index_ = index;
  }

 private:
  void refill();
  std::array<uint32_t, kWords> words_{};
  size_t index_ = kWords;  // the next word to give; kWords: all are used up
};

}  // namespace ouro::stdlib
