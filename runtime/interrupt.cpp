#include "runtime/interrupt.h"

#include "runtime/collect.h"
#include "runtime/exception.h"
#include "runtime/limits.h"

namespace ouro::runtime {

void poll_interrupt() {
  if (const Session* s = current_session()) poll_interrupt(*s);
}

void poll_slowly(const Session& s) {
  if (!s.memory.in_script()) return;
  if (s.poll.load(std::memory_order_relaxed) & Session::kInterrupt) throw Interrupted();
  // The count is the session's own business, natives only look at it.
  if (!count_step(const_cast<Session&>(s))) throw Interrupted();
}

Value raise_interrupt(Session& s) {
  if (s.ending())
    s.met_end = true;
  else
    s.poll.fetch_and(~static_cast<uint32_t>(Session::kInterrupt));
  if (s.poll.load(std::memory_order_relaxed) & Session::kCollect) put_off_collection(s);
  MemoryUnlimited unlimited(s.memory);
  Value e = end_exception(s);
  if (!s.met_end) return set_pending(s, std::move(e));
  s.pending = std::move(e);  // no handler will see it: it has no context
  return Value::error();
}

}  // namespace ouro::runtime
