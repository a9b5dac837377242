#include "support/trace.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <deque>
#include <mutex>

namespace ouro {
inline namespace support {
namespace {

constexpr size_t kMaxEvents = 4096;

struct Log {
  std::mutex mutex;
  std::deque<Event> events;
  std::vector<StageTime> stages;
  std::atomic<NoticeMode> mode{NoticeMode::terminal_only};
  uint64_t start = now_ns();
};

Log& log() {
  static Log* l = new Log;  // never destroyed: worker threads may still report at exit
  return *l;
}

bool notices_shown() {
  NoticeMode m = log().mode.load(std::memory_order_relaxed);
  return m == NoticeMode::always || (m == NoticeMode::terminal_only && isatty(STDERR_FILENO));
}

}  // namespace

void set_notice_mode(NoticeMode mode) { log().mode.store(mode, std::memory_order_relaxed); }
void log_event(std::string_view topic, std::string text) {
  Log& l = log();
  std::lock_guard lock(l.mutex);
  if (l.events.size() == kMaxEvents) l.events.pop_front();
  l.events.push_back({now_ns() - l.start, std::string(topic), std::move(text)});
}

void notice(std::string_view topic, std::string text) {
  if (notices_shown()) {
    std::string line = "ouro: " + std::string(topic) + ": " + text + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  log_event(topic, std::move(text));
}

std::vector<Event> event_log() {
  Log& l = log();
  std::lock_guard lock(l.mutex);
  return {l.events.begin(), l.events.end()};
}

void clear_event_log() {
  Log& l = log();
  std::lock_guard lock(l.mutex);
  l.events.clear();
}

void add_stage_time(std::string_view name, uint64_t ns) {
  Log& l = log();
  std::lock_guard lock(l.mutex);
  for (StageTime& s : l.stages)
    if (s.name == name) {
      s.ns += ns;
      ++s.calls;
      return;
    }
  l.stages.push_back({std::string(name), ns, 1});
}

std::vector<StageTime> stage_times() {
  Log& l = log();
  std::lock_guard lock(l.mutex);
  return l.stages;
}

}  // namespace support
}  // namespace ouro
