#include "runtime/machine/memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "runtime/machine/client.h"

namespace ouro::runtime {

namespace {

constexpr int64_t kUnasked = int64_t{16} << 20;     // taken without asking the machine
constexpr int64_t kUncollected = int64_t{1} << 30;  // without a limit: from here on cycles are collected
constexpr int64_t kSpared = int64_t{64} << 20;      // left to what is not counted
constexpr int64_t kReserve = int64_t{1} << 20;      // for handlers of MemoryError
constexpr size_t kSmall = 64 * 1024;                // what may come from the reserve

}  // namespace

uint64_t MemoryAccount::next_serial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

MemoryAccount::MemoryAccount(Client& client, size_t limit) : client_(client), limit_(static_cast<int64_t>(limit)) {
  const char* failing = std::getenv("OURO_FAIL_ALLOCATION");
  failing_ = failing ? std::max(std::atoll(failing), 0LL) : 0;
  set_mark();
}

MemoryAccount::~MemoryAccount() { std::free(spare_); }

void MemoryAccount::set_mark() {
  if (failing_) {
    mark_ = INT64_MIN;
    return;
  }
  if (!collect_mark_) collect_mark_ = limit_ ? limit_ / 2 : kUncollected;
  mark_ = std::min(collect_mark_, std::max(machine_limit_, kUnasked));
  if (limit_) mark_ = std::min(mark_, limit_);
}

void MemoryAccount::collected() {
  collect_mark_ =
      limit_ ? used_ + std::max((limit_ - used_) / 2, limit_ / 16) : std::max(kUncollected, used_ + used_ / 2);
  set_mark();
}

namespace {

// Has the process a limit of its own (`ulimit -v`)? Then neither the machine's free memory nor the bytes in use tell
// what is left, because freed memory is not all given back. malloc() is asked.
bool has_own_limit() {
  auto limited = [](auto resource) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  return limited(RLIMIT_AS) || limited(RLIMIT_DATA);
}
bool malloc_gives(int64_t bytes) {
  void* p = std::malloc(static_cast<size_t>(bytes));
  asm volatile("" : : "r"(p) : "memory");  // it may not be left out
  std::free(p);
  return p != nullptr;
}

}  // namespace

// The machine is asked again as the client grows, as others take and give back meanwhile.
bool MemoryAccount::fits(int64_t wanted) {
  if (limit_ && wanted > limit_) return false;
  if (wanted <= std::max(machine_limit_, kUnasked)) return true;
  constexpr int64_t kStep = int64_t{256} << 20;
  const auto left = static_cast<int64_t>(available_memory());
  const int64_t more = wanted - used_, spared = std::max(left / 16, std::min(kSpared, left / 4));
  if (more > left - spared) return false;
  int64_t ahead = std::min(kStep, (left - spared - more) / 2);
  if (has_own_limit())
    for (; !malloc_gives(more + ahead + kSpared); ahead = ahead > kSpared / 8 ? ahead / 4 : 0)
      if (ahead == 0) return false;
  machine_limit_ = wanted + ahead;
  return true;
}

void MemoryAccount::use_spare() {
  std::free(std::exchange(spare_, nullptr));
  machine_limit_ = 0;  // it gave less than was thought
  set_mark();
}

void MemoryAccount::admit(size_t bytes, bool enforced) {
  const auto more = static_cast<int64_t>(std::min(bytes, size_t{1} << 62));
  if (!spare_) spare_ = std::malloc(2 * kReserve);
  if (failing_ && enforced && --failing_ == 0) {
    set_mark();
    throw std::bad_alloc();
  }
  if (used_ + more > collect_mark_) {
    client_.collection_due();
    collect_mark_ = INT64_MAX;  // until it has ended
  }
  if (enforced && !fits(used_ + more)) {
    client_.make_room();
    if (!fits(used_ + more)) {
      const bool small = bytes <= kSmall;
      if (!(small && reserve_open_ && fits(used_ + more - kReserve))) {
        reserve_open_ = true;
        recovered_ = used_ - 2 * kReserve;
        client_.collection_due();
        throw std::bad_alloc();
      }
    }
  }
  set_mark();
}

void MemoryAccount::recover() {
  reserve_open_ = false;
  recovered_ = INT64_MIN;
}

bool MemoryAccount::try_charge(size_t bytes) noexcept {
  try {
    if (used_ + static_cast<int64_t>(bytes) > mark_) admit(bytes, true);
  } catch (const std::bad_alloc&) {
    return false;
  }
  used_ += static_cast<int64_t>(bytes);
  return true;
}

void require_memory_slow(size_t bytes) {
  if (Client* c = current_client()) c->memory.require(bytes);
}

HeldMemory::HeldMemory(size_t bytes) {
  Client* c = current_client();
  if (!c) return;
  c->memory.charge(bytes);
  bytes_ = bytes;
  serial_ = c->memory.serial();
}
bool HeldMemory::take(size_t bytes, HeldMemory& to) noexcept {
  to = HeldMemory();
  Client* c = current_client();
  if (!c) return true;
  if (!c->memory.try_charge(bytes)) return false;
  to.bytes_ = bytes;
  to.serial_ = c->memory.serial();
  return true;
}
HeldMemory::~HeldMemory() {
  Client* c = bytes_ ? current_client() : nullptr;
  if (c && c->memory.serial() == serial_) c->memory.release(bytes_);
}

void* allocate_counted(size_t bytes) {
  Client* c = current_client();
  if (c) c->memory.charge(bytes);
  if (void* p = std::malloc(bytes)) return p;
  if (c) c->memory.release(bytes);
  throw std::bad_alloc();
}
void free_counted(void* p, size_t bytes) {
  std::free(p);
  if (Client* c = current_client()) c->memory.release(bytes);
}

}  // namespace ouro::runtime
