#include "support/timeline.h"

#include <atomic>
#include <mutex>

namespace ouro {
inline namespace support {
namespace {

struct Spans {
  std::mutex mutex;
  std::vector<TimeSpan> kept;
  std::atomic<size_t> most{0};
  uint64_t dropped = 0;
};

Spans& spans() {
  static Spans* s = new Spans;  // never destroyed: worker threads may still report at exit
  return *s;
}

}  // namespace

void record_timeline(size_t most) { spans().most.store(most, std::memory_order_relaxed); }
bool timeline_on() { return spans().most.load(std::memory_order_relaxed) != 0; }

void add_time_span(const TimeSpan& span) {
  Spans& s = spans();
  std::lock_guard lock(s.mutex);
  if (s.kept.size() < s.most.load(std::memory_order_relaxed))
    s.kept.push_back(span);
  else
    ++s.dropped;
}

std::vector<TimeSpan> timeline(uint64_t& dropped) {
  Spans& s = spans();
  std::lock_guard lock(s.mutex);
  dropped = s.dropped;
  return s.kept;
}

}  // namespace support
}  // namespace ouro
