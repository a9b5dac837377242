#include "runtime/demand/visits.h"

#include <utility>

namespace ouro::runtime {

std::shared_ptr<Visit> Visits::leave(std::string text) {
  auto visit = std::make_shared<Visit>();
  visit->text = std::move(text);
  std::lock_guard guard(lock_);
  queue_.push_back(visit);
  waiting_.store(true, std::memory_order_release);
  return visit;
}

void Visits::receive(Session& s) {
  if (busy_ || !host_) return;
  for (;;) {
    std::shared_ptr<Visit> next;
    {
      std::lock_guard guard(lock_);
      if (queue_.empty()) {
        waiting_.store(false, std::memory_order_release);
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    if (next->given_up.load(std::memory_order_acquire)) continue;
    struct Busy {
      bool& busy;
      explicit Busy(bool& b) : busy(b) { busy = true; }
      ~Busy() { busy = false; }
    } busy(busy_);
    next->answer = host_(s, next->text);
    next->done.store(true, std::memory_order_release);
  }
}

}  // namespace ouro::runtime
