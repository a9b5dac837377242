#include "jit/versions/compile_queue.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "support/give_up.h"
#include "support/process_end.h"
#include "support/signals.h"

namespace ouro::jit {

namespace {

struct Queues {
  std::mutex lock;
  std::vector<CompileQueue*> all;
};
Queues& queues() {
  static Queues* q = new Queues;  // never destroyed: sessions may end after static destructors
  return *q;
}

void give_up_all() {
  std::scoped_lock hold(queues().lock);
  for (CompileQueue* q : queues().all) q->give_up();
}

}  // namespace

CompileQueue::CompileQueue(bool yields) : yields_(yields) {
  at_process_end(give_up_all);
  std::scoped_lock hold(queues().lock);
  queues().all.push_back(this);
}

CompileQueue::~CompileQueue() {
  {
    std::scoped_lock hold(queues().lock);
    std::erase(queues().all, this);
  }
  given_up_ = kAll;
  {
    std::scoped_lock hold(lock_);
    stop_ = true;
    jobs_.clear();
  }
  wake_.notify_all();
  if (worker_.joinable()) worker_.join();
}

void CompileQueue::leave(std::unique_ptr<CompileQueue> queue) {
  queue->given_up_ = kAll;
  {
    std::scoped_lock hold(queue->lock_);
    queue->jobs_.clear();
  }
  if (queue->busy()) queue.release()->left_ = true;  // it is among all of them still
}

bool CompileQueue::left_at_work() {
  std::scoped_lock hold(queues().lock);
  return std::ranges::any_of(queues().all, [](CompileQueue* q) { return q->left_ && q->busy(); });
}

void CompileQueue::push(std::function<void()> job, const void* token) {
  {
    std::scoped_lock hold(lock_);
    jobs_.push_back({std::move(job), token});
  }
  start();
}

void CompileQueue::push_first(std::function<void()> job) {
  {
    std::scoped_lock hold(lock_);
    jobs_.push_front({std::move(job)});
  }
  start();
}

bool CompileQueue::drop(const void* token) {
  std::scoped_lock hold(lock_);
  if (busy_ && current_ == token) given_up_.fetch_or(kThisOne);
  return std::erase_if(jobs_, [&](const Job& j) { return j.token == token; }) > 0;
}

void CompileQueue::start() {
  std::scoped_lock hold(lock_);
  if (!worker_.joinable()) worker_ = support::start_thread([this] { work(); });
  wake_.notify_one();
}

void CompileQueue::give_up() {
  given_up_ = kAll;
  {
    std::scoped_lock hold(lock_);
    jobs_.clear();
  }
  wait();
}

void CompileQueue::wait_for_one(std::chrono::milliseconds most) {
  std::unique_lock hold(lock_);
  if (busy_ || !jobs_.empty()) idle_.wait_for(hold, most);
}

bool CompileQueue::busy() {
  std::scoped_lock hold(lock_);
  return busy_ || !jobs_.empty();
}

void CompileQueue::wait() {
  std::unique_lock hold(lock_);
  idle_.wait(hold, [this] { return jobs_.empty() && !busy_; });
}

// This thread, and those that it starts, get a tenth of a processor that others want, too: a kernel waits for the
// slowest of its threads.
static void give_way() {
  constexpr int kNice = 10;
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice);
}

void CompileQueue::work() {
  if (yields_) give_way();
  std::unique_lock hold(lock_);
  for (;;) {
    wake_.wait(hold, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    current_ = job.token;
    given_up_.fetch_and(~kThisOne);
    hold.unlock();
    if (!process_ends()) {
      GiveUpWhen scope({&given_up_, kAll | kThisOne});
      job.work();
    }
    job.work = nullptr;
    hold.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

}  // namespace ouro::jit
