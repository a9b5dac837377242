// Signals are taken by the threads that the program or the host started: those that Ouro starts take none, and code
// that moves the stack pointer elsewhere holds them off, for a handler's frame is put where that points.
#pragma once

#include <signal.h>

#include <thread>
#include <utility>

namespace ouro::support {

// True on threads from start_thread().
inline thread_local bool t_takes_no_signals = false;

// All but those that a fault of the thread itself raises.
inline sigset_t asynchronous_signals() {
  sigset_t set;
  sigfillset(&set);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&set, fault);
  return set;
}

// While it lives, the calling thread takes no signals; they wait.
class SignalsHeld {
 public:
  SignalsHeld() {
    if (t_takes_no_signals) return;
    static const sigset_t all = asynchronous_signals();
    held_ = pthread_sigmask(SIG_BLOCK, &all, &before_) == 0;
  }
  ~SignalsHeld() {
    if (held_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
  bool held_ = false;
};

// A thread that takes no signals.
template <class F>
std::thread start_thread(F&& f) {
  SignalsHeld held;
  return std::thread([f = std::forward<F>(f)]() mutable {
    t_takes_no_signals = true;
    f();
  });
}

}  // namespace ouro::support
