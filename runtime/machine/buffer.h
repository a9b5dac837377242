// Memory of tensors' elements, on the host, on a device, or both. Counted; the counts are not atomic (one client, one
// thread), kernel threads see raw memory only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ouro::runtime {

struct DeviceMemory;  // runtime/machine/device.h

// 64-byte aligned memory. Freed blocks are kept per thread and reused, so that steady work makes no system call.
struct Buffer {
  uint32_t refs = 1;
  uint32_t bin = 0;  // of the size; kUnbinned: freed, not kept
  size_t bytes = 0;
  void* data = nullptr;                // on the host; null: on a device only
  DeviceMemory* device = nullptr;      // the same elements on a device
  void (*release)(Buffer*) = nullptr;  // of foreign memory (an arena of compiled code, a host's); null: our own
  void* owner = nullptr;
  bool read_only = false;  // a host's: never written, however few share it
};
constexpr uint32_t kUnbinned = UINT32_MAX;
Buffer* allocate_buffer(size_t bytes);  // null: not enough memory
void drop_host_copy(Buffer* b);         // of a buffer that has its elements on a device
void release_buffer(Buffer* b);
void trim_buffer_cache();  // gives kept memory back to the system

}  // namespace ouro::runtime
