// ouro.native.prefetch   begin(tensors, index) -> token, end(token) -> tuple of tensors, drop(token), workers(most) ->
// int
//
// Rows of tensors gathered by threads of their own, ahead of the step that needs them (stdlib/data/ahead.ouro). A job
// holds the tensors that it reads, so that nobody writes them in place meanwhile, and writes memory that the script's
// thread has made; the threads see bytes and indices only.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/demand/cores.h"
#include "runtime/demand/sensor.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/tensor/tensor.h"
#include "stdlib/native/tables.h"
#include "support/signals.h"

namespace ouro::stdlib {
namespace {

using namespace runtime;

struct Job {
  struct Rows {
    const char* from;
    char* to;
    size_t bytes;  // of a row
  };
  std::vector<Value> sources, results;  // the script's thread's
  std::vector<Rows> rows;
  std::vector<int64_t> index;
  bool begun = false, done = false;  // with the lock held

  void gather() const {
    for (const Rows& r : rows)
      for (size_t i = 0; i < index.size(); ++i)
        std::memcpy(r.to + i * r.bytes, r.from + static_cast<size_t>(index[i]) * r.bytes, r.bytes);
  }
};

// Of one session.
class Gatherers {
 public:
  ~Gatherers() {
    {
      std::lock_guard guard(lock_);
      ends_ = true;
    }
    work_.notify_all();
    for (std::thread& t : threads_) t.join();
  }
  int64_t begin(std::shared_ptr<Job> job, size_t workers) {
    while (threads_.size() < workers) threads_.push_back(support::start_thread([this] { serve(); }));
    jobs_[++next_] = job;
    {
      std::lock_guard guard(lock_);
      queue_.push_back(std::move(job));
    }
    work_.notify_one();
    return next_;
  }
  std::shared_ptr<Job> find(int64_t token) const {
    const auto at = jobs_.find(token);
    return at == jobs_.end() ? nullptr : at->second;
  }
  // Until the job is done; the caller does it where no thread has begun. False: an interrupt came.
  bool wait(Session& s, Job& job) {
    std::unique_lock guard(lock_);
    if (!job.begun) {
      job.begun = true;
      guard.unlock();
      job.gather();
      return true;
    }
    while (!job.done) {
      done_.wait_for(guard, std::chrono::milliseconds(20));
      if (!job.done && interrupt_pending(s)) return false;
    }
    return true;
  }
  void drop(int64_t token) {
    const auto at = jobs_.find(token);
    if (at == jobs_.end()) return;
    std::unique_lock guard(lock_);
    std::shared_ptr<Job> job = std::move(at->second);
    jobs_.erase(at);
    std::erase(queue_, job);
    if (job->begun)  // the thread reads what it holds
      done_.wait(guard, [&] { return job->done; });
  }
  void end(int64_t token) {
    std::lock_guard guard(lock_);
    std::erase(queue_, jobs_[token]);
    jobs_.erase(token);
  }

 private:
  void serve() {
    std::unique_lock guard(lock_);
    for (;;) {
      work_.wait(guard, [this] { return ends_ || !queue_.empty(); });
      if (ends_) return;
      Job* job = queue_.front().get();
      queue_.pop_front();  // the session's map keeps it until it is done
      if (job->begun) continue;
      job->begun = true;
      guard.unlock();
      job->gather();
      guard.lock();
      job->done = true;
      done_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable work_, done_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
  std::map<int64_t, std::shared_ptr<Job>> jobs_;  // the script's thread's
  int64_t next_ = 0;
};

bool index_of(Session& s, const Value& v, int64_t n, std::vector<int64_t>& out) {
  const Tensor* t = cast_exact<Tensor>(v);
  if (!t || t->rank != 1 || t->dtype != DType::i64)
    return raise_type_error(s, "prefetch: a tensor of int64 indices is expected"), false;
  out.assign(t->data<int64_t>(), t->data<int64_t>() + t->size);
  for (int64_t& i : out) {
    if (i < 0) i += n;
    if (i < 0 || i >= n) return raise_error(s, ExcKind::IndexError, "prefetch: index out of range"), false;
  }
  return true;
}

Value n_begin(Session& s, const Args& a) {
  const Tuple* tensors = cast<Tuple>(a[0]);
  if (!tensors || tensors->size == 0 || !a[2].is_int())
    return raise_type_error(s, "prefetch: a tuple of tensors is expected");
  auto job = std::make_shared<Job>();
  for (size_t i = 0; i < tensors->size; ++i) {
    Tensor* from = cast_exact<Tensor>((*tensors)[i]);
    if (!from || from->rank == 0) return raise_type_error(s, "prefetch: a tuple of tensors with rows is expected");
    if (from->place != 0 || from->buffer->device) return Value::none();
    if (i == 0 && !index_of(s, a[1], from->dim(0), job->index)) return Value::error();
    std::vector<int64_t> shape(from->shape().begin(), from->shape().end());
    shape[0] = static_cast<int64_t>(job->index.size());
    OURO_TRY(to, make_tensor(s, from->dtype, shape));
    const size_t rows = static_cast<size_t>(from->dim(0));
    job->rows.push_back({from->bytes(), to.as<Tensor>()->bytes(), rows ? from->nbytes() / rows : 0});
    job->sources.push_back((*tensors)[i]);
    job->results.push_back(std::move(to));
  }
  const auto workers = static_cast<size_t>(std::clamp<int64_t>(a[2].as_int(), 0, 64));
  return Value::integer(s.state<Gatherers>().begin(std::move(job), workers));
}

Value n_end(Session& s, const Args& a) {
  Gatherers& all = s.state<Gatherers>();
  const std::shared_ptr<Job> job = a[0].is_int() ? all.find(a[0].as_int()) : nullptr;
  if (!job) return raise_value_error(s, "no such batch is being prepared");
  if (!all.wait(s, *job)) return raise_interrupt(s);
  all.end(a[0].as_int());
  Value out = alloc_tuple(job->results.size());
  for (size_t i = 0; i < job->results.size(); ++i) (*out.as<Tuple>())[i] = job->results[i];
  return out;
}

Value n_drop(Session& s, const Args& a) {
  if (a[0].is_int()) s.state<Gatherers>().drop(a[0].as_int());
  return Value::none();
}

// None where the process has one core, or where others wait for the machine's cores already.
Value n_idle_workers(Session& s, const Args&) {
  struct Seen {
    std::chrono::steady_clock::time_point at{};
    int64_t workers = 0;
  };
  constexpr auto kPeriod = std::chrono::milliseconds(250);
  Seen& seen = s.state<Seen>();
  const auto now = std::chrono::steady_clock::now();
  if (now - seen.at > kPeriod) {
    const int cores = available_cores();
    const double load = number_in("/proc/loadavg", "");
    seen = {now, cores > 1 && !(load > 2.0 * std::thread::hardware_concurrency()) ? 1 : 0};
  }
  return Value::integer(seen.workers);
}

constexpr NativeDef kFunctions[] = {
    {"begin", "tensors, index, workers, /", n_begin,
     "Has the rows at `index` of each tensor gathered by one of so many threads; a token. None: they are on a device."},
    {"end", "token, /", n_end, "The tuple of those rows."},
    {"drop", "token, /", n_drop, "They are not wanted any more."},
    {"idle_workers", "", n_idle_workers, "How many threads the machine has to spare for that: none or one."},
};
}  // namespace

const NativeModule kPrefetchModule{.name = "ouro.native.prefetch", .functions = kFunctions};

}  // namespace ouro::stdlib
