// What ran when: spans of time, kept for a trace that a viewer draws (`ouro run --profile`). Off until somebody asks.
// Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "support/intern.h"

namespace ouro {
inline namespace support {

enum class Track : uint8_t { script, compiler };  // threads, as the viewer draws them

struct TimeSpan {
  Symbol name;
  const char* category;         // a literal
  uint64_t begin = 0, end = 0;  // now_ns()
  Track track = Track::script;
};

/// From now on; at most so many spans are kept.
void record_timeline(size_t most);
bool timeline_on();
void add_time_span(const TimeSpan& span);
/// Those kept so far, in the order of their ends, and how many were not.
std::vector<TimeSpan> timeline(uint64_t& dropped);

}  // namespace support
}  // namespace ouro
