// How much memory the machine and the control groups leave to this process.
//
// A group leaves its limit (version 2: the lower of memory.max and memory.high; version 1: memory.limit_in_bytes) less
// its use, of which caches of files that nobody has used lately, and slabs that can be given back, do not count. The
// machine leaves what it tells as MemAvailable. The least of them counts: a group around the process's own may be the
// tighter one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ouro::runtime {

struct MemoryLeft {
  static constexpr size_t kUnknown = SIZE_MAX;
  size_t available = kUnknown;  // bytes
  size_t limit = kUnknown;      // bytes that there are where least is left, in use or not
  double pressure =
      0;  // percent of the last ten seconds in which something there, or on the machine, waited for memory
};

/// Now. Reads some small files.
MemoryLeft memory_left();

/// Bytes of this process that are in memory; 0: nobody tells.
size_t resident_memory();

}  // namespace ouro::runtime
