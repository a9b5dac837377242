// Compilation beside the running program: jobs read only immutable IR, never a heap (docs/design/rules.md D20). It
// stops when the process ends, and so does the job that runs then (support/give_up.h).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ouro::jit {

class CompileQueue {
 public:
  /// `yields`: its thread gives way to the script's, which does not wait for it.
  explicit CompileQueue(bool yields);
  /// As give_up().
  ~CompileQueue();
  /// `token`: by which it can be dropped.
  void push(std::function<void()> job, const void* token = nullptr);
  /// The same, before what waits already.
  void push_first(std::function<void()> job);
  /// Nobody wants this job any more. True: it does not begin. False: it is given up soon, or is done.
  bool drop(const void* token);
  /// Until a job is done, or so long.
  void wait_for_one(std::chrono::milliseconds most);
  /// Is anything pushed that is not done?
  bool busy();
  /// Until everything pushed so far is done.
  void wait();
  /// Lets go of a queue whose job may run on for a while. It runs until it ends, or the process does.
  static void leave(std::unique_ptr<CompileQueue> queue);
  /// Does a job run that was left so?
  static bool left_at_work();
  /// Drops what has not begun, and waits until what has is given up. For good.
  void give_up();

 private:
  void start();
  void work();
  std::mutex lock_;
  std::condition_variable wake_, idle_;
  struct Job {
    std::function<void()> work;
    const void* token = nullptr;
  };
  std::deque<Job> jobs_;
  const void* current_ = nullptr;  // the token of the job that runs
  std::thread worker_;
  const bool yields_;
  bool stop_ = false, busy_ = false;
  std::atomic<bool> left_{false};
  static constexpr uint32_t kAll = 1, kThisOne = 2;
  std::atomic<uint32_t> given_up_{0};  // what a job looks at
};

}  // namespace ouro::jit
