// The abstract heap: the objects that a specialisation knows, by HeapId.
//
// A heap is copied at every call that may be undone, and for each side of a branch or loop; a model has thousands of
// objects and writes few between two copies. So copies share blocks of objects, and a block is copied when one of its
// owners writes it (a two-level persistent array; Driscoll, Sarnak, Sleator, Tarjan 1989 tell more).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "jit/abstract.h"

namespace ouro::jit {

class AHeap {
 public:
  using Ref = std::shared_ptr<AObject>;

  size_t size() const { return size_; }
  /// Null: no such object here. It may be shared with other heaps.
  const Ref& operator[](size_t id) const {
    static const Ref kNone;
    const auto& block = blocks_[id / kBlock];
    return block ? (*block)[id % kBlock] : kNone;
  }
  void put(size_t id, Ref o) {
    if (id >= size_) resize(id + 1);
    place(id) = std::move(o);
  }
  /// The object, to be written: of this heap alone.
  AObject& own(size_t id) {
    Ref& o = place(id);
    if (o.use_count() > 1) o = std::make_shared<AObject>(*o);
    return *o;
  }
  /// Without objects where it grows; never smaller.
  void resize(size_t n) {
    size_ = std::max(size_, n);
    blocks_.resize((size_ + kBlock - 1) / kBlock);
  }

 private:
  static constexpr size_t kBlock = 32;
  using Block = std::array<Ref, kBlock>;
  Ref& place(size_t id) {
    auto& block = blocks_[id / kBlock];
    if (!block)
      block = std::make_shared<Block>();
    else if (block.use_count() > 1)
      block = std::make_shared<Block>(*block);
    return (*block)[id % kBlock];
  }

  std::vector<std::shared_ptr<Block>> blocks_;
  size_t size_ = 0;
};

}  // namespace ouro::jit
