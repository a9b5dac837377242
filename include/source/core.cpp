#include "include/source/core.h"

#include <chrono>
#include <thread>

#include "include/source/options.h"
#include "jit/cache/code_cache.h"
#include "stdlib/start.h"
#include "support/trace.h"

namespace ouro {
inline namespace v0 {

namespace {

constexpr uintptr_t kLeft = 1, kDropping = 2;

uintptr_t this_thread() {
  alignas(16) static thread_local char mark;
  return reinterpret_cast<uintptr_t>(&mark);
}

// A variable that says nothing sensible says nothing.
uint64_t cache_bytes(const Options& o) {
  jit::CacheWish wish;
  std::string unread;
  jit::read_cache_environment(wish, unread);
  return jit::cache_limit(wish, o.disk_cache);
}

}  // namespace

Core::Core(const Options& options) : session(runtime_options(options)) {
  runtime::SessionScope scope(session);
  set_notice_mode(NoticeMode::never);
  stdlib::start(session);
  jit::keep_code(session, cache_bytes(options));
  session.recursion_limit = options.recursion;
  session.path = options.path;
  session.argv = options.argv;
  if (session.argv.empty()) session.argv = {""};
  main = runtime::make_main_module(session, "", true);
}

Core::~Core() {
  runtime::SessionScope scope(session);
  passing = main = runtime::Value();
}

bool Core::inside() const { return (state_.load(std::memory_order_relaxed) & ~(kLeft | kDropping)) == this_thread(); }

bool Core::try_enter(uintptr_t why) {
  for (;;) {
    uintptr_t now = 0;
    if (state_.compare_exchange_weak(now, this_thread() | why, std::memory_order_acquire)) return true;
    if (now & kDropping)
      std::this_thread::yield();
    else if (now)
      return false;
  }
}

void Core::leave() {
  for (;;) {
    if (refs == 0) {  // nobody has a handle, so nobody waits
      delete this;
      return;
    }
    uintptr_t now = state_.load(std::memory_order_relaxed);
    if (!(now & kLeft) && state_.compare_exchange_strong(now, 0, std::memory_order_release)) return;
    drop_left();
  }
}

void Core::drop(runtime::Value v) {
  for (;;) {
    if (try_enter(kDropping)) {
      {
        runtime::SessionScope scope(session);
        v = runtime::Value();
      }
      --refs;
      leave();
      return;
    }
    std::lock_guard hold(lock_);
    uintptr_t who = state_.load(std::memory_order_relaxed);
    if (!who || who & kDropping) continue;
    left_.push_back(std::move(v));
    if (state_.compare_exchange_strong(who, who | kLeft, std::memory_order_release)) return;
    v = std::move(left_.back());
    left_.pop_back();
  }
}

void Core::drop_left() {
  std::vector<runtime::Value> values;
  {
    std::lock_guard hold(lock_);
    values.swap(left_);
    state_.fetch_and(~kLeft, std::memory_order_acquire);
  }
  runtime::SessionScope scope(session);
  refs -= static_cast<uint32_t>(values.size());
  values.clear();
}

void Core::enter_stopping() {
  while (!try_enter()) {
    session.end(runtime::Session::kStop);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Entry::Entry(const Session& session) : Entry(Access::core(session)) {
  if (!core_) why_ = Access::refusal(session);
}

Entry::Entry(Core* core) : core_(core) {
  if (!core_) {
    why_.emplace("TypeError", "a number, or nothing: it belongs to no session");
    return;
  }
  if (!core_->inside()) {
    if (!core_->try_enter()) {
      why_.emplace("RuntimeError", "another thread is inside the session");
      return;
    }
    outermost_ = true;
  }
  if (!core_->ended) {
    scope_.emplace(core_->session);
    if (outermost_) call_.emplace(core_->session);
    return;
  }
  why_.emplace("RuntimeError", "the session has ended");
  if (outermost_) core_->leave();
}

Entry::~Entry() {
  if (!scope_ || !outermost_) return;
  if (core_->session.out.waiting()) (void)core_->session.out.flush();
  core_->passing = runtime::Value();
  call_.reset();
  scope_.reset();
  core_->leave();
}

Error Entry::refusal() const { return *why_; }

std::optional<Error> Access::refusal(const Session& s) {
  if (s.wrong_) return *s.wrong_;
  if (!s.core_) return Error("RuntimeError", "the session was moved to another");
  return std::nullopt;
}

}  // namespace v0
}  // namespace ouro
