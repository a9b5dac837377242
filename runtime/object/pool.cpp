#include "runtime/object/pool.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "runtime/object/leftovers.h"
#include "runtime/object/session.h"
#include "support/per_thread.h"

namespace ouro::runtime {

namespace {

constexpr size_t kChunk = 64 * 1024;

struct ThreadPool;

// The head of a chunk, which is aligned to its size: every block tells its chunk.
struct alignas(16) Chunk {
  std::atomic<ThreadPool*> pool;  // null: the thread has ended, and the chunk stays
  uint64_t account;               // serial of the account it is charged to
  uint32_t cut = 0;               // bytes in blocks that were cut
  uint32_t idle = 0;              // bytes in free lists, while they are counted
};
Chunk* chunk_of(void* block) {
  return reinterpret_cast<Chunk*>(reinterpret_cast<uintptr_t>(block) & ~uintptr_t{kChunk - 1});
}

// Free lists of threads that ended, for those that run out: a host may start a thread for each session.
struct Legacy {
  std::mutex lock;
  std::vector<FreeBlock*> lists[kPooled / 16 + 1];
  std::atomic<bool> any{false};
};
Legacy& legacy() {
  static auto* l = new Legacy;  // never destroyed: threads may end after static destructors
  return *l;
}

struct ThreadPool {
  ~ThreadPool();
  void* cut(size_t bytes);
  void release_free();

  std::vector<Chunk*> chunks;  // the last one is being cut
};
using Pool = support::PerThread<ThreadPool>;

ThreadPool::~ThreadPool() {
  release_free();
  for (Chunk* c : chunks) c->pool = nullptr;
  Legacy& l = legacy();
  std::lock_guard hold(l.lock);
  for (size_t slot = 1; slot < std::size(t_free.heads); ++slot)
    if (FreeBlock* head = std::exchange(t_free.heads[slot], nullptr)) l.lists[slot].push_back(head);
  l.any.store(true, std::memory_order_relaxed);
}

void* inherit(size_t slot) {
  Legacy& l = legacy();
  if (!l.any.load(std::memory_order_relaxed)) return nullptr;
  std::lock_guard hold(l.lock);
  if (l.lists[slot].empty()) return nullptr;
  FreeBlock* head = l.lists[slot].back();
  l.lists[slot].pop_back();
  t_free.heads[slot] = head->next;
  return head;
}

void* ThreadPool::cut(size_t bytes) {
  if (void* p = inherit(bytes / 16)) return p;
  if (chunks.empty() || kChunk - sizeof(Chunk) - chunks.back()->cut < bytes) {
    Session* s = current_session();
    if (s) {
      s->memory.charge(kChunk);
      // Making room may have filled the list.
      if (FreeBlock*& head = t_free.heads[bytes / 16]) {
        s->memory.release(kChunk);
        return std::exchange(head, head->next);
      }
    }
    chunks.reserve(chunks.size() + 1);
    void* fresh = std::aligned_alloc(kChunk, kChunk);
    if (!fresh) {
      if (s) s->memory.release(kChunk);
      throw std::bad_alloc();
    }
    chunks.push_back(new (fresh) Chunk{.pool = this, .account = s ? s->memory.serial() : 0});
  }
  Chunk* c = chunks.back();
  void* p = reinterpret_cast<char*>(c + 1) + c->cut;
  c->cut += static_cast<uint32_t>(bytes);
  return p;
}

void ThreadPool::release_free() {
  if (chunks.empty()) return;
  for (Chunk* c : chunks) c->idle = 0;
  for (size_t slot = 1; slot < std::size(t_free.heads); ++slot)
    for (FreeBlock* b = t_free.heads[slot]; b; b = b->next)
      if (Chunk* c = chunk_of(b); c->pool == this) c->idle += static_cast<uint32_t>(slot * 16);
  auto unused = [this](const Chunk* c) { return c->pool == this && c->idle == c->cut; };
  for (size_t slot = 1; slot < std::size(t_free.heads); ++slot)
    for (FreeBlock** at = &t_free.heads[slot]; *at;)
      if (unused(chunk_of(*at)))
        *at = (*at)->next;
      else
        at = &(*at)->next;
  Session* s = current_session();
  std::erase_if(chunks, [&](Chunk* c) {
    if (!unused(c)) return false;
    if (s && c->account == s->memory.serial()) s->memory.release(kChunk);
    std::free(c);
    return true;
  });
}

MemoryAccount* account() {
  Session* s = current_session();
  return s ? &s->memory : nullptr;
}

// What malloc gave, or the charge is taken back.
void* charged(void* p, MemoryAccount* a, size_t bytes) {
  if (p) return p;
  if (a) a->release(bytes);
  throw std::bad_alloc();
}

}  // namespace

constinit thread_local FreeLists t_free{};

void* allocate_elsewhere(size_t bytes) {
  if (bytes <= kPooled) return Pool::get().cut((bytes + 15) / 16 * 16);
  MemoryAccount* a = account();
  if (a) a->charge(bytes);
  return charged(std::malloc(bytes), a, bytes);
}
void* allocate_cleared(size_t bytes) {
  MemoryAccount* a = account();
  if (a) a->charge(bytes);
  return charged(std::calloc(1, bytes), a, bytes);
}
void* reallocate_elsewhere(void* p, size_t old_bytes, size_t bytes) {
  MemoryAccount* a = account();
  if (a) a->charge(bytes);
  p = charged(std::realloc(p, bytes), a, bytes);
  if (a) a->release(old_bytes);
  return p;
}
void free_elsewhere(void* p, size_t bytes) {
  if (bytes > kLargeBlock)
    for (size_t resident = bytes; resident > kLargeBlock; resident = give_back_pages(p, resident))
      if (interrupt_waits() && leave_over({.block = p, .bytes = bytes, .resident = resident})) return;
  free_at_once(p, bytes);
}
void free_at_once(void* p, size_t bytes) {
  if (MemoryAccount* a = account()) a->release(bytes);
  std::free(p);
}
size_t give_back_pages(void* p, size_t resident) {
  constexpr uintptr_t kPage = 4096, kPiece = uintptr_t{16} << 20;
  const uintptr_t from = reinterpret_cast<uintptr_t>(p) + resident - kPiece, to = from + kPiece;
#if !defined(__SANITIZE_ADDRESS__)
  const uintptr_t first = (from + kPage - 1) & ~(kPage - 1), end = to & ~(kPage - 1);
  madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#else
  (void)to, (void)kPage;
#endif
  return resident - kPiece;
}

void release_free_chunks() { Pool::get().release_free(); }

}  // namespace ouro::runtime
