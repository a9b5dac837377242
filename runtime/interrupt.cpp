#include "runtime/interrupt.h"

#include "runtime/collect.h"
#include "runtime/exception.h"
#include "runtime/ops.h"

namespace ouro::runtime {

void poll_interrupt() {
  if (const Session* s = current_session()) poll_interrupt(*s);
}

Value raise_interrupt(Session& s) {
  if (!s.stopping.load(std::memory_order_relaxed)) s.poll.fetch_and(~static_cast<uint32_t>(Session::kInterrupt));
  if (s.poll.load(std::memory_order_relaxed) & Session::kCollect) put_off_collection(s);
  MemoryUnlimited unlimited(s.memory);
  return set_pending(s, make_exception(s, exception_type(s, ExcKind::KeyboardInterrupt), Value()));
}

bool interrupt_pending(Session& s) {
  return s.has_error() && type_of(s, s.pending) == s.exceptions[static_cast<int>(ExcKind::KeyboardInterrupt)];
}

}  // namespace ouro::runtime
