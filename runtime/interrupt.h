// Interrupts (Ctrl-C, Session::interrupt) inside natives that work for long without running script code. The
// interpreter looks at Session::poll itself, at back edges and calls.
#pragma once

#include "runtime/session.h"

namespace ouro::runtime {

// Thrown by poll_interrupt(); call_native() and run() make it a KeyboardInterrupt.
struct Interrupted {};

// For loops of natives: at each item, or every few thousand of them where an item takes a nanosecond. Must not stand
// where unwinding would lose values.
inline void poll_interrupt(const Session& s) {
  if (s.poll.load(std::memory_order_relaxed) & Session::kInterrupt) [[unlikely]]
    if (s.memory.in_script()) throw Interrupted();
}
// Every 65,536th time; `count` is the loop's.
inline void poll_interrupt(const Session& s, uint32_t& count) {
  if ((++count & 0xffff) == 0) poll_interrupt(s);
}
// In leaves that know no session.
void poll_interrupt();

// Takes the request up: KeyboardInterrupt is pending.
Value raise_interrupt(Session& s);
// Is KeyboardInterrupt pending?
bool interrupt_pending(Session& s);

}  // namespace ouro::runtime
