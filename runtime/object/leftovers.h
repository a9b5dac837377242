// The rest of a large container, or of a large block, that was being freed when an interrupt came. It is freed at the
// safe points that follow, so that the KeyboardInterrupt does not wait for it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/object/pool.h"

namespace ouro::runtime {

class Session;

struct Leftover {
  void* block;
  size_t bytes;           // of the block
  size_t resident = 0;    // of them still to be given back, if it is large
  char* items = nullptr;  // what is in it still to be dropped: [begin, end)
  size_t begin = 0, end = 0, stride = 0;
  void (*drop)(void* item) = nullptr;
};

// Has the session that this thread serves been interrupted, or is its KeyboardInterrupt on its way to a handler?
bool interrupt_waits();
// Keeps it for later; false: there is no session or no memory for that, and it is to be dropped now.
bool leave_over(const Leftover& what) noexcept;
// Drops of what was left over as much as 15 ms allow, or until the next interrupt; the safe points come back until
// nothing is. (A piece at each would not do: a program that is interrupted again and again passes few of them, and what
// is left over grows by gigabytes.)
void drop_leftovers(Session& s);
void drop_all_leftovers(Session& s);

// Drops n items, the last one first or the first one first, and frees their block.
template <bool kLastFirst, class T>
void drop_items(T* items, size_t n, void* block, size_t bytes) {
  constexpr size_t kPiece = 1 << 16, kFew = 1 << 12;
  size_t begin = 0, end = n;
  while (begin != end) {
    if (n >= kFew && interrupt_waits() &&
        leave_over({block, bytes, bytes, reinterpret_cast<char*>(items), begin, end, sizeof(T),
                    [](void* item) { static_cast<T*>(item)->~T(); }}))
      return;
    size_t piece = std::min(end - begin, kPiece);
    if constexpr (kLastFirst)
      for (; piece; --piece) items[--end].~T();
    else
      for (; piece; --piece) items[begin++].~T();
  }
  if (block) free_memory(block, bytes);
}

}  // namespace ouro::runtime
