// Calls of built-in operations in differentiated code record the pullbacks of what scripts do meanwhile
// (runtime/autodiff/recording.h).
#pragma once

#include <utility>
#include <vector>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

// Another recording for a while, or none: what is called then has no derivative.
struct Specialiser::RecordingSet {
  RecordingSet(Specialiser& s, Recording* during) : s(s), before(std::exchange(s.recording_, during)) {}
  ~RecordingSet() { s.recording_ = before; }
  RecordingSet(const RecordingSet&) = delete;
  RecordingSet& operator=(const RecordingSet&) = delete;
  Specialiser& s;
  Recording* before;
};

struct Specialiser::Recording {
  explicit Recording(Specialiser& s) : set(s, this) {}
  RecordingSet set;
  std::vector<AVal> pullbacks{};
};

}  // namespace ouro::jit
