// Moving elements between strided places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ouro::runtime {

// A place in a buffer: start and steps in elements.
struct Strided {
  int64_t offset = 0;
  std::vector<int64_t> dims, strides;
  int64_t count() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
};
std::vector<int64_t> row_major(std::span<const int64_t> dims);

// to[...] = from[...] over dims; strides in elements of `element` bytes (1, 2, 4, 8). The places must not overlap.
void copy_nd(std::span<const int64_t> dims, char* to, const int64_t* to_strides, const char* from,
             const int64_t* from_strides, size_t element, int threads = 1);

}  // namespace ouro::runtime
