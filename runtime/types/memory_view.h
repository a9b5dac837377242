// memoryview: items of a bytes or bytearray object, seen in place.
#pragma once

#include <string>
#include <string_view>

#include "runtime/object.h"

namespace ouro::runtime {

// One-dimensional; the object looked at is values[0] of the Opaque. It may have shrunk since: `bytes` clips.
struct MemoryView {
  int64_t offset = 0, length = 0, stride = 1;  // of the first item, in items, in bytes
  char format = 'B';
  int64_t itemsize = 1;
  bool readonly = false, released = false;
  std::string packed;  // the items side by side, where they are not so in memory
};

MemoryView* cast_memory_view(const Value& v);
// The bytes of its items in order, valid until the object changes; false if v is no memoryview, or a released one.
bool memory_view_bytes(const Value& v, std::string_view& out);

}  // namespace ouro::runtime
