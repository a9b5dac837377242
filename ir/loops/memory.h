// Where temporaries live: lifetimes to offsets in one arena. Which output may take the place of an input: overlap.h.
//
// Offsets are first-fit in order of size among the items whose lifetimes overlap (the usual greedy for dynamic storage
// allocation, within a few percent of the largest live set in practice; Pisarchyk and Lee 2020). Sizes are numbers
// here: a plan asks again when they change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ouro::ir::loops {

struct ArenaItem {
  uint32_t first = 0, last = 0;  // steps between which it holds a value, both included
  int64_t bytes = 0;
  int32_t in_place_of =
      -1;  // an item whose lifetime ends at `first` and whose bytes this one may overwrite as it is computed
  int64_t offset = 0;  // result
};

/// Sets the offsets (multiples of 64); the bytes that the arena needs.
int64_t plan_arena(std::span<ArenaItem> items);

}  // namespace ouro::ir::loops
