#include "support/process_end.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace ouro {
inline namespace support {

namespace {

std::atomic<bool> ends{false};
std::atomic<void (*)()> at_end{nullptr};

void end() {
  ends = true;
  if (auto* f = at_end.load()) f();
}

// exit() destroys the objects of its thread first, then static ones and what atexit() was given, the last one first:
// the main thread's object comes before whatever became a static object since.
struct OfThread {
  ~OfThread() {
    if (getpid() == gettid()) end();
  }
};

}  // namespace

bool process_ends() { return ends.load(std::memory_order_relaxed); }

void watch_process_end() {
  static thread_local OfThread of_thread;
  static const int known = std::atexit(end);
  (void)of_thread, (void)known;
}

void at_process_end(void (*f)()) {
  at_end = f;
  watch_process_end();
}

}  // namespace support
}  // namespace ouro
