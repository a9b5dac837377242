#include "runtime/object/leftovers.h"

#include <chrono>
#include <vector>

#include "runtime/object/exception.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

struct Leftovers {
  std::vector<Leftover> waiting;
};

}  // namespace

bool interrupt_waits() {
  Session* s = current_session();
  if (!s) return false;
  return (s->poll.load(std::memory_order_relaxed) & Session::kInterrupt) ||
         (s->has_error() && pending_is(*s, ExcKind::KeyboardInterrupt));
}

bool leave_over(const Leftover& what) noexcept {
  Session* s = current_session();
  if (!s || !s->gc_objects) return false;
  try {
    s->state<Leftovers>().waiting.push_back(what);
  } catch (const std::bad_alloc&) {
    return false;
  }
  s->ask(Session::kLeftovers);
  return true;
}

// A piece of the last one.
static void drop_piece(std::vector<Leftover>& waiting) {
  constexpr size_t kPiece = 1 << 16;
  Leftover x = waiting.back();
  waiting.pop_back();
  for (size_t n = std::min(x.end - x.begin, kPiece); n; --n) x.drop(x.items + --x.end * x.stride);
  const bool empty = x.begin == x.end;
  if (empty && x.resident > kLargeBlock) x.resident = give_back_pages(x.block, x.resident);
  if (!empty || x.resident > kLargeBlock)
    waiting.push_back(x);
  else if (x.bytes > kLargeBlock)
    free_at_once(x.block, x.bytes);
  else if (x.block)
    free_memory(x.block, x.bytes);
}

void drop_leftovers(Session& s) {
  constexpr auto kMost = std::chrono::milliseconds(15);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Leftover>& waiting = s.state<Leftovers>().waiting;
  while (!waiting.empty()) {
    drop_piece(waiting);
    if (s.poll.load(std::memory_order_relaxed) & Session::kInterrupt) break;
    if (std::chrono::steady_clock::now() - start > kMost) break;
  }
  if (waiting.empty()) s.poll.fetch_and(~static_cast<uint32_t>(Session::kLeftovers));
}

void drop_all_leftovers(Session& s) {
  std::vector<Leftover>& waiting = s.state<Leftovers>().waiting;
  while (!waiting.empty()) {
    Leftover x = waiting.back();
    waiting.pop_back();
    while (x.begin != x.end) x.drop(x.items + --x.end * x.stride);
    if (x.bytes > kPooled)
      free_at_once(x.block, x.bytes);
    else if (x.block)
      free_memory(x.block, x.bytes);
  }
  s.poll.fetch_and(~static_cast<uint32_t>(Session::kLeftovers));
}

}  // namespace ouro::runtime
