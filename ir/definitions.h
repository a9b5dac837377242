// What each variable is at the end of each block, for the construction of SSA (build.cpp).
//
// A large function asks for millions of pairs, mostly along chains of blocks that were made one after the other. So
// this is one open table without nodes, in which four neighbouring blocks of a variable share a cache line.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "ir/anf.h"

namespace ouro::ir {

class Definitions {
 public:
  /// Null where nothing was set. Good until the next set().
  Atom* find(uint32_t variable, uint32_t block) {
    if (slots_.empty()) return nullptr;
    Slot& s = slots_[place(key(variable, block))];
    return s.key == kEmpty ? nullptr : &s.value;
  }

  void set(uint32_t variable, uint32_t block, Atom value) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& s = slots_[place(key(variable, block))];
    used_ += s.key == kEmpty;
    s = {key(variable, block), value};
  }

 private:
  struct Slot {
    uint64_t key = kEmpty;
    Atom value;
  };
  static constexpr uint64_t kEmpty = UINT64_MAX;  // no variable has this number
  static constexpr uint64_t kGroup = 4;           // slots of a cache line

  static uint64_t key(uint32_t variable, uint32_t block) { return uint64_t{variable} << 32 | block; }

  /// Where the key is, or would be put.
  size_t place(uint64_t key) const {
    // The upper bits of the product: all bits of variable and block are in them.
    const uint64_t group = (key / kGroup) * 0x9E3779B97F4A7C15 >> (64 - group_bits_);
    size_t at = group * kGroup + key % kGroup;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  void grow() {
    std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size());
    before.swap(slots_);
    group_bits_ = std::countr_zero(slots_.size() / kGroup);
    for (const Slot& s : before)
      if (s.key != kEmpty) slots_[place(s.key)] = s;
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  int group_bits_ = 0;
  size_t used_ = 0;
};

}  // namespace ouro::ir
