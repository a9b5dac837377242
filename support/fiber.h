// A function that stops in the middle and goes on later, on a stack of its own (a stackful coroutine). Work that was
// written as one piece is done in slices in this way, between which its caller does other things.
//
// Both run on the caller's thread, one at a time. What C++ keeps for a thread of the exceptions that are being handled
// is kept for each of the two. State of the program that belongs to a thread (a scope that sets a thread_local) is the
// business of who suspends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>

namespace ouro {
inline namespace support {

class Fiber {
 public:
  /// `stack_bytes` of addresses; memory is taken as it is used. Throws std::bad_alloc.
  Fiber(size_t stack_bytes, std::function<void()> body);
  /// The body has ended, or was never begun: what it holds could not be released.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it suspends or ends. What it throws comes out here.
  void resume();
  /// Of the body: back to who resumed it.
  void suspend();
  bool ended() const { return ended_; }
  /// The lowest address that frames of the body may use; there is a page behind it that nobody may touch.
  uintptr_t lowest_address() const { return reinterpret_cast<uintptr_t>(stack_); }

 private:
  struct Context;
  static void begin(unsigned high, unsigned low);
  void run_body();
  void switch_stacks(bool into_body);

  std::function<void()> body_;
  Context* context_ = nullptr;
  void* stack_ = nullptr;
  size_t size_ = 0;
  bool begun_ = false, ended_ = false;
  std::exception_ptr thrown_;
};

}  // namespace support
}  // namespace ouro
