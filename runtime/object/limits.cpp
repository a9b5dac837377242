#include "runtime/object/limits.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "runtime/object/exception.h"
#include "runtime/object/ops.h"
#include "support/signals.h"

namespace ouro::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// The deadlines of all sessions, and the thread that looks after them, which starts with the first one.
class Deadlines {
 public:
  uint64_t add(Session& s, double seconds) {
    std::lock_guard hold(lock_);
    if (!started_) support::start_thread([this] { serve(); }).detach();
    started_ = true;
    const auto at = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    const uint64_t key = ++last_;
    const auto row = by_time_.emplace(at, Waiting{&s, key});
    rows_.emplace(key, row);
    if (row == by_time_.begin()) changed_.notify_one();
    return key;
  }
  // Afterwards the session is not touched.
  void remove(uint64_t key) {
    std::lock_guard hold(lock_);
    if (auto at = rows_.find(key); at != rows_.end()) erase(at->second);
  }

 private:
  struct Waiting {
    Session* session;
    uint64_t key;
  };
  using Rows = std::multimap<Clock::time_point, Waiting>;

  void erase(Rows::iterator row) {
    rows_.erase(row->second.key);
    by_time_.erase(row);
  }
  void serve() {
    std::unique_lock hold(lock_);
    for (;;) {
      if (by_time_.empty()) {
        changed_.wait(hold);
      } else if (const auto first = by_time_.begin(); first->first > Clock::now()) {
        const Clock::time_point until = first->first;
        changed_.wait_until(hold, until);
      } else {
        first->second.session->end(Session::kTimeOver);
        erase(first);
      }
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  Rows by_time_;
  std::map<uint64_t, Rows::iterator> rows_;
  uint64_t last_ = 0;
  bool started_ = false;
};

Deadlines& deadlines() {
  static auto* d = new Deadlines;  // never destroyed, and its thread ends with the process
  return *d;
}

void forget_end(Session& s) {
  if (s.ending()) s.poll.fetch_and(~static_cast<uint32_t>(Session::kInterrupt | Session::kEnding));
  s.met_end = false;
}

// Of several ends one, the host's own first.
uint32_t reason(const Session& s) {
  const uint32_t asked = s.poll.load(std::memory_order_relaxed) & Session::kEnding;
  return asked & -asked;
}

constexpr double kLongest = 1e8;  // seconds: three years

}  // namespace

CallScope::CallScope(Session& s, double seconds) : session_(s), handled_(s.handled), depth_(s.depth) {
  forget_end(s);
  if (s.options.steps) {
    s.steps_left = s.options.steps;
    s.ask(Session::kCountSteps);
  }
  if (s.options.time > 0) seconds = seconds > 0 ? std::min(seconds, s.options.time) : s.options.time;
  if (seconds > 0) deadline_ = deadlines().add(s, std::min(seconds, kLongest));
}

CallScope::~CallScope() {
  if (deadline_) deadlines().remove(deadline_);
  forget_end(session_);
  session_.handled = std::move(handled_);  // what handlers that were not entered would have put back
  session_.depth = depth_;
}

bool count_step(Session& s) {
  if (s.steps_left) return --s.steps_left, true;
  s.end(Session::kStepsSpent);
  return false;
}

Value end_exception(Session& s) {
  const uint32_t why = reason(s);
  if (!why || why == Session::kStop) return make_exception(s, exception_type(s, ExcKind::KeyboardInterrupt), Value());
  return make_exception(s, ExcKind::TimeoutError,
                        why == Session::kTimeOver ? fmt::format("the time limit of {} s is over", s.options.time)
                                                  : fmt::format("the limit of {} steps is reached", s.options.steps));
}

uint32_t take_outcome(Session& s, Value& exception) {
  exception = take_pending(s);
  // Of two the end is told: handlers were passed over on its account.
  if (!s.met_end && (!s.ending() || exception.is_unbound())) return 0;
  MemoryUnlimited unlimited(s.memory);
  const uint32_t why = reason(s);
  Value end = end_exception(s);
  if (Exception* e = cast<Exception>(exception)) end.as<Exception>()->traceback = e->traceback;
  exception = std::move(end);
  return why;
}

}  // namespace ouro::runtime
