// Measures how long the compiler's work takes, for its own decisions and for the trace of a profile.
#pragma once

#include <chrono>

#include "support/timeline.h"
#include "support/trace.h"

namespace ouro::jit {

inline double ms_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t).count();
}

/// From `start` to now, in the trace; nothing where none is written.
inline void note_time(Symbol name, const char* category, std::chrono::steady_clock::time_point start,
                      Track track = Track::script) {
  if (!timeline_on()) return;
  const auto begin = std::chrono::duration_cast<std::chrono::nanoseconds>(start.time_since_epoch()).count();
  add_time_span({name, category, static_cast<uint64_t>(begin), now_ns(), track});
}

}  // namespace ouro::jit
