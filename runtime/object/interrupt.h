// Interrupts (Ctrl-C, Session::interrupt) inside natives that work for long without running script code. The
// interpreter looks at Session::poll itself, at back edges and calls.
#pragma once

#include <string>
#include <string_view>

#include "runtime/object/session.h"

namespace ouro::runtime {

// poll_interrupt() throws Interrupted; call_native() and run() make it a KeyboardInterrupt.

// While one lives, interrupts wait: for writes to what the script holds, which must not be left half done.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;
};
bool interrupts_held();

// While one lives, an interrupt waits for a tenth of a second: for updates in place of what the script holds. Most end
// before; of one that does not, each element has its old value or its new one, and is all that is lost by unwinding.
class InterruptGrace {
 public:
  explicit InterruptGrace(Session& s) : client_(s), before_(s.grace) {
    if (!before_) s.grace = &own_;
  }
  ~InterruptGrace() { client_.grace = before_; }
  InterruptGrace(const InterruptGrace&) = delete;
  InterruptGrace& operator=(const InterruptGrace&) = delete;

 private:
  Client& client_;
  StopGrace* before_;
  StopGrace own_;
};

// For loops of natives: at each item, or every few thousand of them where an item takes a nanosecond. Must not stand
// where unwinding would lose values.
void poll_slowly(const Session& s);
inline void poll_interrupt(const Session& s) {
  if (s.poll.load(std::memory_order_relaxed) & (Session::kInterrupt | Session::kCountSteps)) [[unlikely]]
    poll_slowly(s);
}
// For what waits outside of the session (runtime/machine/backend.h): what it looks at, or null where an interrupt has
// to wait.
const std::atomic<uint32_t>* poll_word(const Session& s);
// Every 65,536th time; `count` is the loop's.
inline void poll_interrupt(const Session& s, uint32_t& count) {
  if ((++count & 0xffff) == 0) poll_interrupt(s);
}
// In leaves that know no session.
void poll_interrupt();

// memcpy, and n times a character or a text behind another, of sizes that take long.
void copy_in_pieces(void* to, const void* from, size_t bytes);
void append_fill(std::string& out, size_t n, char c);
void append_repeated(std::string& out, size_t n, std::string_view piece);

// Waits until `fd` is ready for `events` (poll(2)), in short pieces, so that an interrupt is seen that comes without a
// signal, from another thread.
void wait_ready(const Session& s, int fd, short events);

// Takes the request up: KeyboardInterrupt is pending, or what ends the call (runtime/object/limits.h).
Value raise_interrupt(Session& s);
// Is KeyboardInterrupt pending?
bool interrupt_pending(Session& s);

}  // namespace ouro::runtime
