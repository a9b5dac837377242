#include "support/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <utility>

#include "support/diag.h"

#if defined(__SANITIZE_ADDRESS__)
#define OURO_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OURO_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define OURO_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OURO_THREAD_SANITIZER 1
#endif
#endif

#ifdef OURO_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef OURO_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace ouro {
inline namespace support {

namespace {

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// What the C++ runtime keeps for a thread: the exceptions being handled, and how many fly (Itanium ABI, 2.2.2).
struct Exceptions {
  void* handled = nullptr;
  unsigned flying = 0;
};
void exchange_exceptions(Exceptions& other) {
  void* of_thread = abi::__cxa_get_globals();
  Exceptions mine;
  std::memcpy(&mine, of_thread, sizeof mine);
  std::memcpy(of_thread, &other, sizeof other);
  other = mine;
}

}  // namespace

struct Fiber::Context {
  ucontext_t body{}, caller{};
  Exceptions other;  // of the one that does not run
#ifdef OURO_ADDRESS_SANITIZER
  void* fake_of_body = nullptr;
  const void* callers_stack = nullptr;
  size_t callers_size = 0;
#endif
#ifdef OURO_THREAD_SANITIZER
  void *body_fiber = nullptr, *caller_fiber = nullptr;
#endif
};

Fiber::Fiber(size_t stack_bytes, std::function<void()> body) : body_(std::move(body)) {
  const size_t page = page_size();
  size_ = (stack_bytes + page - 1) / page * page + page;
  void* memory =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page, PROT_NONE);
  stack_ = static_cast<char*>(memory) + page;
  size_ -= page;
#ifdef OURO_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(stack_, size_);  // another one may have ended in the middle of its frames there
#endif
  context_ = new Context;
#ifdef OURO_THREAD_SANITIZER
  context_->body_fiber = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  OURO_CHECK(ended_ || !begun_);
#ifdef OURO_THREAD_SANITIZER
  __tsan_destroy_fiber(context_->body_fiber);
#endif
  delete context_;
  const size_t page = page_size();
  munmap(static_cast<char*>(stack_) - page, size_ + page);
}

// makecontext passes ints.
void Fiber::begin(unsigned high, unsigned low) {
  const auto address = static_cast<uintptr_t>(high) << 32 | low;
  reinterpret_cast<Fiber*>(address)->run_body();
}

void Fiber::run_body() {
#ifdef OURO_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &context_->callers_stack, &context_->callers_size);
#endif
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  ended_ = true;
  switch_stacks(/*into_body=*/false);
}

void Fiber::switch_stacks(bool into_body) {
  exchange_exceptions(context_->other);
#ifdef OURO_ADDRESS_SANITIZER
  void* fake_of_caller = nullptr;
  if (into_body)
    __sanitizer_start_switch_fiber(&fake_of_caller, stack_, size_);
  else  // null: this stack is not entered again
    __sanitizer_start_switch_fiber(ended_ ? nullptr : &context_->fake_of_body, context_->callers_stack,
                                   context_->callers_size);
#endif
#ifdef OURO_THREAD_SANITIZER
  if (into_body) context_->caller_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(into_body ? context_->body_fiber : context_->caller_fiber, 0);
#endif
  swapcontext(into_body ? &context_->caller : &context_->body, into_body ? &context_->body : &context_->caller);
#ifdef OURO_ADDRESS_SANITIZER
  if (into_body)
    __sanitizer_finish_switch_fiber(fake_of_caller, nullptr, nullptr);
  else
    __sanitizer_finish_switch_fiber(context_->fake_of_body, &context_->callers_stack, &context_->callers_size);
#endif
}

void Fiber::resume() {
  OURO_CHECK(!ended_);
  if (!begun_) {
    begun_ = true;
    getcontext(&context_->body);
    context_->body.uc_stack.ss_sp = stack_;
    context_->body.uc_stack.ss_size = size_;
    context_->body.uc_link = nullptr;
    const auto address = reinterpret_cast<uintptr_t>(this);
    makecontext(&context_->body, reinterpret_cast<void (*)()>(&Fiber::begin), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
  }
  switch_stacks(/*into_body=*/true);
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Fiber::suspend() { switch_stacks(/*into_body=*/false); }

}  // namespace support
}  // namespace ouro
