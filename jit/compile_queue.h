// Compilation beside the running program: jobs read only immutable IR, never a heap (RULES D20). It stops when the
// process ends.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ouro::jit {

class CompileQueue {
 public:
  CompileQueue();
  /// Unstarted jobs are dropped; the running one is waited for.
  ~CompileQueue();
  void push(std::function<void()> job);
  /// Until everything pushed so far is done.
  void wait();
  /// Drops what has not begun, and waits for what has.
  void give_up();

 private:
  void work();
  std::mutex lock_;
  std::condition_variable wake_, idle_;
  std::deque<std::function<void()>> jobs_;
  std::thread worker_;
  bool stop_ = false, busy_ = false;
};

}  // namespace ouro::jit
