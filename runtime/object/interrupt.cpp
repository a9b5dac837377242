#include "runtime/object/interrupt.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/object/collect.h"
#include "runtime/object/exception.h"
#include "runtime/object/limits.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {

void poll_interrupt() {
  if (const Session* s = current_session()) poll_interrupt(*s);
}

void poll_slowly(const Session& s) {
  if (!s.may_stop()) return;
  if (s.grace && (!(s.poll.load(std::memory_order_relaxed) & Session::kInterrupt) || !s.grace->over())) return;
  if (s.poll.load(std::memory_order_relaxed) & Session::kInterrupt) throw Interrupted();
  // The count is the session's own business, natives only look at it.
  if (!count_step(const_cast<Session&>(s))) throw Interrupted();
}

const std::atomic<uint32_t>* poll_word(const Session& s) { return s.may_stop() && !s.grace ? &s.poll : nullptr; }

static thread_local int t_held = 0;
InterruptsHeld::InterruptsHeld() { ++t_held; }
InterruptsHeld::~InterruptsHeld() { --t_held; }
bool interrupts_held() { return t_held > 0; }

namespace {
constexpr size_t kPiece = size_t{4} << 20;  // a millisecond of new memory
}

void copy_in_pieces(void* to, const void* from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kPiece) {
    if (at) poll_interrupt();
    std::memcpy(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, std::min(kPiece, bytes - at));
  }
}

void append_fill(std::string& out, size_t n, char c) {
  if (out.capacity() - out.size() < n) require_memory(2 * (out.size() + n));
  if (n > kPiece) out.reserve(out.size() + n);
  for (size_t done = 0; done < n; done += kPiece) {
    if (done) poll_interrupt();
    out.append(std::min(kPiece, n - done), c);
  }
}

void append_repeated(std::string& out, size_t n, std::string_view piece) {
  if (piece.size() == 1) return append_fill(out, n, piece[0]);
  require_memory(2 * (out.size() + n * piece.size()));
  out.reserve(out.size() + n * piece.size());
  constexpr size_t kBetweenLooks = size_t{1} << 20;  // bytes, and what a turn costs
  for (size_t i = 0, since = 0; i < n; ++i) {
    if ((since += piece.size() + 16) > kBetweenLooks) {
      since = 0;
      poll_interrupt();
    }
    append_text(out, piece);
  }
}

void wait_ready(const Session& s, int fd, short events) {
  constexpr int kPiece = 20;  // milliseconds
  pollfd p{fd, events, 0};
  for (int n = 0; n == 0 || (n < 0 && errno == EINTR); n = ::poll(&p, 1, kPiece)) poll_interrupt(s);
}

namespace {
struct Interrupts {
  uint64_t taken = 0;
};
}  // namespace

uint64_t interrupts_taken(Session& s) { return s.state<Interrupts>().taken; }

Value raise_interrupt(Session& s) {
  ++s.state<Interrupts>().taken;
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

bool interrupt_pending(Session& s) {
  return s.has_error() && type_of(s, s.pending) == s.exceptions[static_cast<int>(ExcKind::KeyboardInterrupt)];
}

}  // namespace ouro::runtime
