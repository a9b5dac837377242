#include "runtime/machine/client.h"

#include <chrono>
#include <utility>

namespace ouro::runtime {

static constinit thread_local Client* t_client = nullptr;

bool StopGrace::over() {
  constexpr int64_t kGrace = 100'000'000;
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  int64_t until = 0;
  if (until_.compare_exchange_strong(until, now + kGrace, std::memory_order_relaxed)) return false;
  return now >= until;
}

Client* current_client() { return t_client; }
Client* serve_client(Client* client) { return std::exchange(t_client, client); }

}  // namespace ouro::runtime
