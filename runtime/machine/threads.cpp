#include "runtime/machine/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/machine/client.h"
#include "support/signals.h"

namespace ouro::runtime {

namespace {

struct Job {
  PartFn fn;
  void* context;
  int64_t parts;
  int helpers;     // how many workers may still join
  int inside = 0;  // workers at it
  std::atomic<int64_t> next{0};
  PollWord poll = nullptr;     // what ends it early
  StopGrace* grace = nullptr;  // not before this is over
  Job* link = nullptr;
  std::atomic<bool> failed{false};  // a part found no memory
  bool stopped() const {
    return (runtime::stop_asked(poll) && (!grace || grace->over())) || failed.load(std::memory_order_relaxed);
  }
  void work();
  void throw_failure() const {
    if (failed.load(std::memory_order_relaxed)) throw std::bad_alloc();
  }
};

thread_local const Job* t_job = nullptr;  // this thread is at

void Job::work() {
  struct At {
    const Job* before;
    ~At() { t_job = before; }
  } at{std::exchange(t_job, this)};
  try {
    for (int64_t p; !stopped() && (p = next.fetch_add(1, std::memory_order_relaxed)) < parts;) fn(context, p);
  } catch (const std::bad_alloc&) {
    failed.store(true, std::memory_order_relaxed);
  }
}

class Pool {
 public:
  void run(int threads, Job& job) {
    const int helpers = job.helpers;  // workers count it down
    {
      std::lock_guard guard(lock_);
      try {
        for (; workers_ < threads - 1; ++workers_) support::start_thread([this] { serve(); }).detach();
      } catch (const std::system_error&) {  // the system gives no more: those that there are do the work
      }
      job.link = jobs_;
      jobs_ = &job;
      pending_.fetch_add(1, std::memory_order_release);
    }
    for (int i = 0; i < helpers; ++i) wake_.notify_one();
    job.work();
    std::unique_lock guard(lock_);
    for (Job** j = &jobs_; *j; j = &(*j)->link)
      if (*j == &job) {
        *j = job.link;
        pending_.fetch_sub(1, std::memory_order_relaxed);
        break;
      }
    done_.wait(guard, [&] { return job.inside == 0; });
  }

 private:
  Job* take() {  // with the lock held
    for (Job* j = jobs_; j; j = j->link)
      if (j->helpers > 0 && j->next.load(std::memory_order_relaxed) < j->parts) {
        --j->helpers;
        ++j->inside;
        return j;
      }
    return nullptr;
  }

  void serve() {
    for (;;) {
      Job* job = nullptr;
      // Jobs of one step follow each other closely: look a moment before sleeping.
      for (int i = 0; i < 2000 && pending_.load(std::memory_order_acquire) == 0; ++i) __builtin_ia32_pause();
      {
        std::unique_lock guard(lock_);
        wake_.wait(guard, [&] { return (job = take()) != nullptr; });
      }
      job->work();
      std::lock_guard guard(lock_);
      if (--job->inside == 0) done_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable wake_, done_;
  int workers_ = 0;
  Job* jobs_ = nullptr;
  std::atomic<int> pending_{0};
};

Pool& pool() {
  static Pool* p = new Pool;  // never destroyed, and its threads end with the process: a client may end at exit
  return *p;
}

}  // namespace

bool stop_asked() { return t_job && t_job->stopped(); }
bool in_part() { return t_job != nullptr; }

void run_parts(int threads, int64_t parts, PartFn fn, void* context) {
  Job job{
      .fn = fn, .context = context, .parts = parts, .helpers = static_cast<int>(std::min<int64_t>(threads, parts)) - 1};
  if (job.helpers <= 0)
    job.work();
  else
    pool().run(job.helpers + 1, job);
  job.throw_failure();
}

void run_parts_or_stop(int threads, int64_t parts, PartFn fn, void* context) {
  const Client* c = current_client();
  if (!c || !c->may_stop()) return run_parts(threads, parts, fn, context);
  Job job{.fn = fn,
          .context = context,
          .parts = parts,
          .helpers = static_cast<int>(std::min<int64_t>(threads, parts)) - 1,
          .poll = &c->poll,
          .grace = c->grace};
  if (job.helpers <= 0)
    job.work();
  else
    pool().run(job.helpers + 1, job);
  job.throw_failure();
  c->look();
}

}  // namespace ouro::runtime
