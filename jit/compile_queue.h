// Compilation beside the running program: jobs read only immutable IR, never a heap (RULES D20). It stops when the
// process ends, and so does the job that runs then (support/give_up.h).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ouro::jit {

class CompileQueue {
 public:
  CompileQueue();
  /// As give_up().
  ~CompileQueue();
  void push(std::function<void()> job);
  /// The same, before what waits already.
  void push_first(std::function<void()> job);
  /// Until a job is done, or so long.
  void wait_for_one(std::chrono::milliseconds most);
  /// Is anything pushed that is not done?
  bool busy();
  /// Until everything pushed so far is done.
  void wait();
  /// Drops what has not begun, and waits until what has is given up. For good.
  void give_up();

 private:
  void start();
  void work();
  std::mutex lock_;
  std::condition_variable wake_, idle_;
  std::deque<std::function<void()>> jobs_;
  std::thread worker_;
  bool stop_ = false, busy_ = false;
  std::atomic<uint32_t> given_up_{0};  // what a job looks at
};

}  // namespace ouro::jit
