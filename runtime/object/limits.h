// The limits of one call by the host, and how it is ended: by the host (Session::stop), when its time is over
// (Options::time), or when its steps are spent (Options::steps).
//
// All three set the interrupt's bit in Session::poll and beside it the reason. Unlike an interrupt an end is no
// exception that a script could handle: as long as the reason is set, no handler is entered and every polling point
// raises it again, until the call is left; the call's outcome is the end, whatever the script made of it.
//
// A step is one visit of a polling point: a loop's iteration and a call in interpreted code, an item (or a few thousand
// short ones) of a native's loop, a polling point of compiled code. Counting them is the slow side of the same test:
// where there is a limit Session::kCountSteps is always set, where there is none nothing is counted.
#pragma once

#include <cstdint>

#include "runtime/object/session.h"

namespace ouro::runtime {

// While one lives, a call of the host is served. Begins and leaves without a trace of an earlier end.
class CallScope {
 public:
  // `seconds`: what it may take where the session's own limit is not shorter; 0: that alone.
  explicit CallScope(Session& s, double seconds = 0);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  Session& session_;
  uint64_t deadline_ = 0;  // its key among the deadlines; 0: none
  Value handled_;
  int depth_;
};

// A visit of a polling point while Session::kCountSteps is set. False: the steps are spent, and the end is asked for.
bool count_step(Session& s);
// The exception of the end that was asked for; KeyboardInterrupt when there is none.
Value end_exception(Session& s);
/// How often a request to stop was taken up (runtime/object/interrupt.h).
uint64_t interrupts_taken(Session& s);
// What a call came to: the pending exception, taken out, or the end if it has met one; unbound when there is neither.
// The bit of Session::kEnding that says which end, or 0.
uint32_t take_outcome(Session& s, Value& exception);

}  // namespace ouro::runtime
