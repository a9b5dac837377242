// Blocks for objects: per-thread free lists by size (blocks of 16 bytes up to 512, else malloc), because objects belong
// to one thread. Blocks of the lists are cut from chunks, which are charged to the session that the thread serves
// (runtime/machine/memory.h), larger ones each by itself. A chunk goes back to the system when its session reaches its
// limit or ends, if no block of it is in use.
#pragma once

#include <cstddef>

namespace ouro::runtime {

struct FreeBlock {
  FreeBlock* next;
};
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kPooled = 0;
#else
constexpr size_t kPooled = 512;
#endif
// This thread's free lists, by size in blocks of 16 bytes.
struct FreeLists {
  FreeBlock* heads[kPooled / 16 + 1];
};
extern constinit thread_local FreeLists t_free;

// More than is pooled, or the free list is empty. Throw std::bad_alloc.
void* allocate_elsewhere(size_t bytes);
void* reallocate_elsewhere(void* p, size_t old_bytes, size_t bytes);  // of more than is pooled
void* allocate_cleared(size_t bytes);                                 // more than is pooled
void free_elsewhere(void* p, size_t bytes);

// A block larger than this gives its pages back from its end, piece by piece: `resident` bytes of it are left, and the
// result says how many are after one piece. An interrupt leaves what is left for later (runtime/object/leftovers.h).
constexpr size_t kLargeBlock = size_t{32} << 20;
size_t give_back_pages(void* p, size_t resident);
void free_at_once(void* p, size_t bytes);

inline void* allocate_memory(size_t bytes) {
  if (bytes <= kPooled) [[likely]] {
    FreeBlock*& head = t_free.heads[(bytes + 15) / 16];
    if (FreeBlock* b = head) [[likely]] {
      head = b->next;
      return b;
    }
  }
  return allocate_elsewhere(bytes);
}
inline void free_memory(void* p, size_t bytes) {
  if (bytes > kPooled) return free_elsewhere(p, bytes);
  FreeBlock*& head = t_free.heads[(bytes + 15) / 16];
  auto* b = static_cast<FreeBlock*>(p);
  b->next = head;
  head = b;
}

// Gives back this thread's chunks of which no block is in use.
void release_free_chunks();

}  // namespace ouro::runtime
