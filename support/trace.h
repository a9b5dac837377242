// Timers and the event log: what the program did.
//
// Events are short facts ("compiled step in 14 ms", "fallback: ..."). They go to the log always, to
// stderr only when stderr is a terminal or --verbose was given, and never to stdout (docs/design/rules.md F).
// Timers add up time per named stage; a Timer on the stack measures its scope. Safe from any
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ouro {
inline namespace support {

struct Event {
  uint64_t ns = 0;  // since the process started
  std::string topic;
  std::string text;
};

enum class NoticeMode : uint8_t { terminal_only, always, never };

/// When notices reach stderr; `always` is --verbose.
void set_notice_mode(NoticeMode mode);

/// Records an event silently. The log keeps the last 4096.
void log_event(std::string_view topic, std::string text);
/// Records an event and shows it as one line on stderr where the mode allows.
void notice(std::string_view topic, std::string text);
/// A copy of the log, oldest first.
std::vector<Event> event_log();
void clear_event_log();

/// Nanoseconds on the monotonic clock.
inline uint64_t now_ns() {
  using namespace std::chrono;
  return static_cast<uint64_t>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

struct StageTime {
  std::string name;
  uint64_t ns = 0;
  uint64_t calls = 0;
};
void add_stage_time(std::string_view name, uint64_t ns);
/// Totals so far, in order of first use.
std::vector<StageTime> stage_times();

/// Adds the time of its scope to stage `name`. The name must outlive the timer.
class Timer {
 public:
  explicit Timer(std::string_view name) : name_(name), start_(now_ns()) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { add_stage_time(name_, now_ns() - start_); }

 private:
  std::string_view name_;
  uint64_t start_;
};

}  // namespace support
}  // namespace ouro
