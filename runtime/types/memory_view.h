// memoryview: items of a bytes or bytearray object, seen in place.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "runtime/object/object.h"

namespace ouro::runtime {

// While one lives, a bytearray that is looked at keeps its size.
class Export {
 public:
  Export() = default;
  explicit Export(const Value& owner) : owner_(owner) {
    if (ByteArray* b = cast<ByteArray>(owner_)) ++b->exports;
  }
  Export(Export&& o) noexcept : owner_(std::move(o.owner_)) { o.owner_ = Value(); }
  Export& operator=(Export&& o) noexcept {
    owner_.swap(o.owner_);
    return *this;
  }
  ~Export() {
    if (ByteArray* b = cast<ByteArray>(owner_)) --b->exports;
  }

 private:
  Value owner_;
};

// One-dimensional; the object looked at is values[0] of the Opaque.
struct MemoryView {
  int64_t offset = 0, length = 0, stride = 1;  // of the first item, in items, in bytes
  char format = 'B';
  int64_t itemsize = 1;
  bool readonly = false, released = false;
  std::string packed = {};  // the items side by side, where they are not so in memory
  Export held = {};         // until it is released
  MemoryView without_memory() const { return {offset, length, stride, format, itemsize, readonly, released}; }
};

MemoryView* cast_memory_view(const Value& v);
// The bytes of its items in order, valid until the object changes; false if v is no memoryview, or a released one.
bool memory_view_bytes(const Value& v, std::string_view& out);

}  // namespace ouro::runtime
