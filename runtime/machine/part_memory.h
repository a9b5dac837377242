// Memory that the parts of a job work in (runtime/machine/threads.h): a block for each thread that may be at one, taken
// and counted before the job starts by the thread that serves the client, so that no part asks for memory. Where there
// is no room for a block for each, fewer threads have to do.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "runtime/machine/buffer.h"

namespace ouro::runtime {

// Elements in a buffer: counted, and kept for the next use as those of tensors are. Throws std::bad_alloc.
template <class T>
class WorkMemory {
 public:
  explicit WorkMemory(int64_t n) : buffer_(allocate_buffer(static_cast<size_t>(std::max<int64_t>(n, 0)) * sizeof(T))) {
    if (!buffer_) throw std::bad_alloc();
  }
  ~WorkMemory() {
    if (buffer_) release_buffer(buffer_);
  }
  WorkMemory(WorkMemory&& o) noexcept : buffer_(std::exchange(o.buffer_, nullptr)) {}
  WorkMemory& operator=(WorkMemory&&) = delete;
  T* data() const { return static_cast<T*>(buffer_->data); }

 private:
  Buffer* buffer_;
};

template <class T>
class PartMemory {
 public:
  // For at most `threads` threads at `parts` parts, n elements each. Throws std::bad_alloc if there is no room for one.
  PartMemory(int threads, int64_t parts, int64_t n) {
    const int64_t most = std::clamp<int64_t>(std::min<int64_t>(threads, parts), 1, INT32_MAX);
    blocks_.reserve(static_cast<size_t>(most));
    while (static_cast<int64_t>(blocks_.size()) < most) {
      try {
        blocks_.emplace_back(n);
      } catch (const std::bad_alloc&) {
        if (blocks_.empty()) throw;
        break;
      }
    }
    taken_ = std::make_unique<std::atomic<bool>[]>(blocks_.size());
  }

  // So many may be at parts at once.
  int threads() const { return static_cast<int>(blocks_.size()); }

  // A part's block, while this lives.
  class Block {
   public:
    explicit Block(PartMemory& m) : memory_(m) {
      while (m.taken_[at_].exchange(true, std::memory_order_acquire)) at_ = at_ + 1 == m.blocks_.size() ? 0 : at_ + 1;
    }
    ~Block() { memory_.taken_[at_].store(false, std::memory_order_release); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    T* data() const { return memory_.blocks_[at_].data(); }

   private:
    PartMemory& memory_;
    size_t at_ = 0;
  };

 private:
  std::vector<WorkMemory<T>> blocks_;
  std::unique_ptr<std::atomic<bool>[]> taken_;
};

}  // namespace ouro::runtime
