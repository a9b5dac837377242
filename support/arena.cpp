#include "support/arena.h"

#include <algorithm>

namespace ouro {
inline namespace support {

Arena::~Arena() {
  for (void* b : blocks_) ::operator delete(b, std::align_val_t(64));
}

void* Arena::allocate_slow(size_t bytes, size_t align) {
  size_t block =
      std::max<size_t>(std::min<size_t>(size_t{4096} << std::min<size_t>(blocks_.size(), 8), 1 << 20), bytes);
  blocks_.reserve(blocks_.size() + 1);
  void* p = ::operator new(block, std::align_val_t(64));
  blocks_.push_back(p);
  capacity_ += block;
  if (end_ - next_ > block - bytes) return p;  // a large object: go on filling the block we had
  next_ = reinterpret_cast<uintptr_t>(p) + bytes;
  end_ = reinterpret_cast<uintptr_t>(p) + block;
  (void)align;  // blocks are aligned to 64
  return p;
}

std::string_view Arena::copy_text(std::string_view text) {
  char* p = static_cast<char*>(allocate(text.size() + 1, 1));
  if (!text.empty()) std::memcpy(p, text.data(), text.size());
  p[text.size()] = '\0';
  return {p, text.size()};
}

void Arena::swap(Arena& o) noexcept {
  std::swap(next_, o.next_);
  std::swap(end_, o.end_);
  std::swap(capacity_, o.capacity_);
  blocks_.swap(o.blocks_);
}

}  // namespace support
}  // namespace ouro
