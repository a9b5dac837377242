// One block of threads at work: registers, shared memory, and the order in which threads run.
//
// Threads of a warp that stand at the same instruction do it together; of several groups the one furthest back goes
// first, so that the ways of a branch meet again behind it (as in a GPU's reconvergence). A barrier holds a thread
// until all that have not ended are at it; at two different barriers at once is an error. One warp runs until it waits,
// then the next: where a barrier is missing, it reads what the other has not written yet. Every access to memory must
// lie inside of one allocation (global) or of the block's own (shared).
#pragma once

#include <functional>
#include <vector>

#include "program.h"

namespace gpu {

/// A kernel did what would be undefined on a GPU.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Allocations of global memory: where a device address stands on the host.
class Memory {
 public:
  /// 0 when there is not enough.
  uint64_t allocate(size_t bytes);
  bool release(uint64_t address);
  /// Null when the bytes are not all inside of one allocation.
  char* at(uint64_t address, size_t bytes);
  size_t limit = size_t{1} << 30;

 private:
  struct Piece {
    char* host;
    size_t bytes;
  };
  std::map<uint64_t, Piece> pieces_;
  size_t used_ = 0;
  uint64_t last_ = 0, last_end_ = 0;  // the allocation found last
  char* last_host_ = nullptr;
};

struct Block {
  Block(const Function& f, Memory& global, const char* parameters, uint32_t blocks, uint32_t threads);
  /// Runs the block of that number to its end; throws Fault.
  void run(uint32_t number);

  char* address(const Instruction& i, int lane, size_t bytes);
  Slot& slot(int32_t r) { return registers[static_cast<size_t>(r)]; }

  const Function& f;
  Memory& global;
  const char* parameters;
  uint32_t threads;
  std::vector<Slot> registers;
  std::vector<char> shared;

 private:
  struct Group {
    uint32_t at;
    Mask who;
    int warp;
    bool waits;
  };
  size_t next();
  void step(size_t group);
  std::vector<Group> groups_;
};

}  // namespace gpu
