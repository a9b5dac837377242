// Joining two states, and generalising the state at a loop head.
#pragma once

#include <map>
#include <set>

#include "jit/specialiser.h"

namespace ouro::jit {

// The state behind a loop's turn is none that its head has. (Another one may be: the first turn may change types.)
struct Unlike : Abandon {
  explicit Unlike(Abandon a) : Abandon(std::move(a)) {}
};

// The residual join point that two forks jump to.
struct JoinBlock {
  ir::BlockId block{};
  Span parted{};   // the fork
  Parted place{};  // of what is being merged
  std::vector<ir::Atom> from_a, from_b;
  std::map<std::pair<HeapId, HeapId>, HeapId> identities;  // Specialiser::merged_identity
};

// A number somewhere in the abstract heap.
struct HeapLocation {
  HeapId object = 0;
  enum class Part : uint8_t { slot, item, cursor } part = Part::slot;
  uint32_t index = 0;  // symbol id, item, -
  auto operator<=>(const HeapLocation&) const = default;
};

// What a residual loop's head takes as parameters. Grows until the back edges fit.
struct LoopPlan {
  std::set<uint32_t> names;
  std::set<HeapLocation> heap;
  // Attributes that an iteration leaves to the interpreter: the head drops what it knows of them.
  std::set<HeapLocation> forgotten;
};

struct LoopHead {
  ir::BlockId block{};
  std::vector<ir::Atom> initial;
  std::set<uint32_t> params;  // names
};

}  // namespace ouro::jit
