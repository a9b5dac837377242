// What a run of a plan works on: registers, sizes, the arena. One for each call in progress, kept for the next one.
// Internal to jit/plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/machine/backend.h"
#include "runtime/machine/memory.h"
#include "runtime/object/value.h"

namespace ouro::jit {

struct Activation {
  std::vector<runtime::Value> regs, caches, constants;
  std::vector<int64_t> symbols, sizes, offsets;
  bool sized = false;
  bool endless = false;  // for these sizes some loop or buffer is beyond any memory
  char* arena = nullptr;
  int64_t arena_bytes = 0;
  std::shared_ptr<runtime::Backend> backend;  // that gave the arena
  runtime::HeldMemory held;                   // counts it
  // Scratch of one instruction.
  std::vector<void*> pointers;
  std::vector<int64_t> numbers;
  std::vector<runtime::ScalarArg> scalars;

  ~Activation() { drop_arena(); }
  void drop_arena() {
    if (arena) backend->release(arena, static_cast<size_t>(arena_bytes));
    arena = nullptr;
    arena_bytes = 0;
    held = runtime::HeldMemory();
  }
  // The arena, and tensors that nobody else holds.
  int64_t held_bytes() const;
  // Gives back what it keeps for the next run.
  void make_room() {
    drop_arena();
    sized = false;
    for (runtime::Value& v : caches) v = runtime::Value();
  }
};

// The activations of all plans in one session; those of plans that are gone are dropped now and then.
struct SessionActivations {
  struct Entry {
    std::weak_ptr<void> plan;
    std::vector<std::unique_ptr<Activation>> idle;
  };
  std::map<uint64_t, Entry> plans;
  uint32_t until_sweep = 64;

  Entry& of(uint64_t id, const std::shared_ptr<void>& token) {
    if (--until_sweep == 0) {
      until_sweep = 64;
      std::erase_if(plans, [](const auto& e) { return e.second.plan.expired(); });
    }
    Entry& e = plans[id];
    if (e.plan.expired()) e.plan = token;
    return e;
  }
};

}  // namespace ouro::jit
