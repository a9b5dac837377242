// The host's signals: taken by the host's own threads, and only where the stack pointer points to their stack, for
// there the frame of a handler goes.
#if defined(__x86_64__)
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "fixture.h"

using namespace ouro;

namespace {

std::atomic<int> g_taken{0}, g_by_others{0}, g_off_stack{0};
pthread_t g_main;
uintptr_t g_lowest, g_highest;

void handler(int, siginfo_t*, void* context) {
  ++g_taken;
  if (!pthread_equal(pthread_self(), g_main)) return void(++g_by_others);
  auto at = static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
  if (at < g_lowest || at > g_highest) ++g_off_stack;
}

// Signals to this process without end. The handler's own stack keeps what is wrong from doing harm.
class Signals {
 public:
  Signals() : stack_(1 << 16) {
    g_main = pthread_self();
    pthread_attr_t attributes;
    void* lowest;
    size_t size;
    pthread_getattr_np(g_main, &attributes);
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    g_lowest = reinterpret_cast<uintptr_t>(lowest);
    g_highest = g_lowest + size;
    stack_t alternate{};
    alternate.ss_sp = stack_.data();
    alternate.ss_size = stack_.size();
    sigaltstack(&alternate, &stack_before_);
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGUSR1, &action, &before_);
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);  // of the sender
    sender_ = std::thread([this] {
      while (!done_) {
        kill(getpid(), SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }
  ~Signals() {
    done_ = true;
    sender_.join();
    sigaction(SIGUSR1, &before_, nullptr);
    sigaltstack(&stack_before_, nullptr);
  }

 private:
  std::atomic<bool> done_{false};
  std::vector<char> stack_;
  std::thread sender_;
  stack_t stack_before_{};
  struct sigaction before_ {};
};

}  // namespace

TEST_CASE("a host's signals while products are made", "[api][threads]") {
  Options o;
  o.threads = 2;
  Session s(o);
  Signals signals;
  Value v = after(s, R"(
from ouro import value_and_grad
w, x = randn(4, 1, 5, 5), randn(8, 1, 28, 28)
g = value_and_grad(lambda w: conv2d(x, w, padding=2).sum())
_, first = g(w)
same = True
for i in range(500):
    _, again = g(w)
    same = same and (again == first).all().item()
)",
                  "same");
  CHECK(*v.as_bool() == true);
  CHECK(g_taken > 0);
  CHECK(g_by_others == 0);
  CHECK(g_off_stack == 0);
}
#endif
