#include "jit/compile_queue.h"

#include "support/signals.h"

namespace ouro::jit {

CompileQueue::~CompileQueue() {
  {
    std::scoped_lock hold(lock_);
    stop_ = true;
    jobs_.clear();
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
}

void CompileQueue::push(std::function<void()> job) {
  {
    std::scoped_lock hold(lock_);
    jobs_.push_back(std::move(job));
  }
  start();
}

void CompileQueue::push_first(std::function<void()> job) {
  {
    std::scoped_lock hold(lock_);
    jobs_.push_front(std::move(job));
  }
  start();
}

void CompileQueue::start() {
  std::scoped_lock hold(lock_);
  if (!worker_.joinable()) worker_ = support::start_thread([this] { work(); });
  wake_.notify_one();
}

void CompileQueue::wait_for_one(std::chrono::milliseconds most) {
  std::unique_lock hold(lock_);
  if (busy_ || !jobs_.empty()) idle_.wait_for(hold, most);
}

void CompileQueue::wait() {
  std::unique_lock hold(lock_);
  idle_.wait(hold, [this] { return jobs_.empty() && !busy_; });
}

void CompileQueue::work() {
  std::unique_lock hold(lock_);
  for (;;) {
    wake_.wait(hold, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    hold.unlock();
    job();
    job = nullptr;
    hold.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

}  // namespace ouro::jit
