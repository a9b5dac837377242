// The executor's part in making versions: what is asked of the specialiser, and what becomes of the typed program.
#include <time.h>

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "backends/host/host_backend.h"
#include "ir/grad/reverse.h"
#include "jit/cache/code_cache.h"
#include "jit/specialise/spans.h"
#include "jit/versions/executor.h"
#include "runtime/interpreter/code.h"
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/machine/threads.h"
#include "runtime/tensor/tensor.h"
#include "support/diag.h"
#include "support/give_up.h"
#include "support/process_end.h"

namespace ouro::jit {

using runtime::Frame;
using runtime::Session;
using Clock = std::chrono::steady_clock;

// What the call has otherwise than the version that is nearest to it: sizes that are to be symbols, numbers that are no
// constants from now on.
void JitExecutor::learn_differences(Session& s, FunctionVersions& f, SpecialiseRequest& request) {
  Differences nearest;
  const Version* of = nullptr;
  for (const auto& v : f.versions) {
    Differences d = differences(s, v->made->access, request.function, request.args);
    const auto far = [](const Differences& d) { return std::tuple(d.structure, d.pins.size(), d.dims.size()); };
    if (of && far(d) >= far(nearest)) continue;
    nearest = std::move(d);
    of = v.get();
  }
  if (!of) return;
  request.symbolic = std::move(nearest.dims);
  f.pins.changed(of->made->access, nearest.pins);
}

std::shared_ptr<Version> JitExecutor::make_version(Session& s, Frame& frame, FunctionVersions& f,
                                                   const std::vector<Value>& args, const std::string& why) {
  SpecialiseRequest request;
  request.function = Value::share(runtime::frame_closure(frame));
  request.args = args;
  request.fixed = f.fixed;
  request.any_holes = everything_;
  request.waits = ir::grad::is_forward_form(*f.code);
  const Pins pins = f.pins;
  learn_differences(s, f, request);
  if (f.misses > 0 && f.missed) f.pins.missed(f.missed->access, f.missed_node);
  if (const size_t n = count_versions(s, f); n >= most_versions(f)) {
    f.full = fmt::format("{} versions; last: {}", n, why);
    return nullptr;
  }
  if (is_sliced(s, f) && may_be_kept(request)) {
    f.attempt = std::make_unique<Attempt>(s, std::move(request), f.pins, why);
    return next_slice(s, frame, f, args);
  }
  const PauseStart start;
  auto made = std::make_shared<SpecialiseResult>();
  bool given_up = false;
  try {
    GiveUpWhen interrupted({&s.poll, Session::kInterrupt});
    *made = specialise_pinned(s, request, f.pins);
  } catch (const GivenUp&) {  // a later call asks again; the interpreter sees an interrupt at once
    s.pending = Value();
    f.pins = pins;
    given_up = true;
  }
  const bool allowed = std::exchange(f.allowance_ms, 0) > 0;
  f.tried = f.tried || allowed;
  note_pause(s, f, start, allowed);
  if (given_up) return nullptr;
  return add_version(s, frame, f, {std::move(made), request, args, why, ms_since(start.at)});
}

// The script has waited for the specialiser since then.
void JitExecutor::note_pause(const Session& s, const FunctionVersions& f, const PauseStart& start, bool allowed) {
  note_time(f.code->qualname, "specialise", start.at);
  compiler_ns_ += static_cast<uint64_t>(ms_since(start.at) * 1e6);
  if (is_limited(s, f) && !allowed) pauses_.paused(PauseStart::processor_ms() - start.processor);
}

double JitExecutor::PauseStart::processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

std::shared_ptr<Version> JitExecutor::next_slice(Session& s, Frame& frame, FunctionVersions& f,
                                                 const std::vector<Value>& args) {
  constexpr uint32_t kStressed = 64;  // slices of a call
  const double allowance = std::exchange(f.allowance_ms, 0);
  const double ms = allowance > 0 ? allowance : is_limited(s, f) ? pauses_.slice_ms(run_ms()) : Pauses::kSliceMs;
  if (ms == 0) return nullptr;
  const auto slice = std::chrono::microseconds(static_cast<int64_t>(1e3 * ms));
  if (!may_be_kept(f.attempt->request())) {
    f.attempt = nullptr;
    f.changed = kMostChanged;
    return nullptr;
  }
  const PauseStart start;
  Attempt::State state{};
  {
    struct InSlice {
      bool& here;
      explicit InSlice(bool& here) : here(here) { here = true; }
      ~InSlice() { here = false; }
    } in_slice(in_slice_);
    GiveUpWhen interrupted({&s.poll, Session::kInterrupt});
    state = stress_slices_ ? f.attempt->go_on(slice, 1) : f.attempt->go_on(slice);
    for (uint32_t i = 1; stress_slices_ && i < kStressed && state == Attempt::State::paused; ++i)
      state = f.attempt->go_on(slice, 1);
  }
  f.tried = f.tried || allowance > 0;
  note_pause(s, f, start, allowance > 0);
  if (state == Attempt::State::paused) {  // (it may have paused by itself)
    f.allowance_ms = std::max(0.0, allowance - ms_since(start.at));
    return nullptr;
  }
  const std::unique_ptr<Attempt> ended = std::move(f.attempt);
  if (state == Attempt::State::given_up) return nullptr;
  if (state == Attempt::State::failed) return refuse(s, frame, f, "internal error"), nullptr;
  f.pins = std::move(ended->pins());
  if (state == Attempt::State::changed) {
    ++f.changed;
    return nullptr;
  }
  auto made = std::make_shared<SpecialiseResult>(std::move(ended->result()));
  return add_version(s, frame, f, {std::move(made), ended->request(), args, ended->why(), ended->ms()});
}

std::shared_ptr<Version> JitExecutor::add_version(Session& s, Frame& frame, FunctionVersions& f,
                                                  const Specialised& done) {
  auto v = std::make_shared<Version>();
  v->made = done.made;
  v->demands = s.demands.plan();
  v->made_at = Clock::now();
  v->specialise_ms = done.ms;
  v->why = done.why;
  if (is_limited(s, f)) pauses_.made(f.cost, done.ms);
  if (v->made->ok && s.devices.used()) {
    uint8_t place = 0;
    Scratch& x = scratch_[depth_];
    if (v->made->access.load(s, done.request.function, done.args, x.nodes, x.inputs, nullptr))
      (void)settle_place(s, *v, v->demands, place);
    v->placed = place != 0;
  }
  v->symbolic = !done.request.symbolic.empty();
  if (!v->made->ok) {
    f.failures.push_back(v->made->failure);
    f.before_failure = v->made->fallbacks;
    if (f.failures.size() >= kMaxFailures) refuse(s, frame, f, v->made->failure.why.text);
    return nullptr;
  }
  for (const auto& old : f.versions) {
    // Numbers that it takes for constants have changed. The new version serves its calls, too.
    if (!old->superseded || old->state != Version::State::compiling) continue;
    if (!queue_->drop(old.get())) continue;
    old->error = "nobody waits for it any more";
    old->state = Version::State::failed;
  }
  f.misses = 0;
  f.changed = 0;
  f.versions.insert(f.versions.begin(), v);
  start_compile(s, v, s.options.mode == runtime::Mode::graph);
  return v;
}

std::shared_ptr<runtime::Backend> JitExecutor::backend(Session& s, runtime::DeviceId device, std::string& error) {
  if (device != runtime::DeviceId::cpu) {
    std::shared_ptr<runtime::Device> d = s.devices.open(device, error);
    return d ? d->backend : nullptr;
  }
  if (host_) return host_;
  backends::HostOptions options;
  options.target = backends::detect_target(s.options.cpu);
  options.split = [](void*, int parts, void (*fn)(void*, int), void* context) {
    struct Job {
      void (*fn)(void*, int);
      void* context;
    } job{fn, context};
    runtime::run_parts(
        parts, parts,
        [](void* j, int64_t part) { static_cast<Job*>(j)->fn(static_cast<Job*>(j)->context, static_cast<int>(part)); },
        &job);
  };
  host_ = backends::HostBackend::create(std::move(options), error);
  return host_;
}

void JitExecutor::start_compile(Session& s, const std::shared_ptr<Version>& v, bool wait) {
  std::string error;
  if (process_ends()) {
    v->error = "the process ends";
    v->state.store(Version::State::failed, std::memory_order_release);
    return;
  }
  std::shared_ptr<runtime::Device> device;
  // What nobody waits for leaves the script a core of its threads'.
  const int threads = runtime::session_threads(s);
  PlanOptions made_for{.backend = backend(s, v->demands.device, error),
                       .cache = cache_,
                       .plan = v->demands,
                       .beside = !wait,
                       .threads = wait ? threads : std::max(1, threads - 1),
                       .sizes = v->sizes,
                       .like = v->like};
  v->like = nullptr;
  if (v->demands.device != runtime::DeviceId::cpu) device = s.devices.at(v->demands.device);
  auto job = [v, options = std::move(made_for), device, error]() mutable {
    auto start = Clock::now();
    PlanRef plan;
    try {
      ContainBugs contain;
      if (options.beside && options.cache->known_slower(*v->made->typed, runtime::plan_text(v->demands)))
        error = "it was slower than the interpreter in an earlier run";
      else if (options.backend)
        plan = build_plan(v->made->typed, options, error);
    } catch (const InternalError& bug) {
      error = "internal error: " + bug.text;
    } catch (const GivenUp&) {
      v->error = "nobody waits for it any more";
      v->state.store(Version::State::failed, std::memory_order_release);
      return;
    }
    v->compile_ms = ms_since(start);
    note_time(v->made->typed->qualname, "compile", start, Track::compiler);
    if (!plan) {
      v->error = error;
      notice("compiler", fmt::format("{} is interpreted: {}", v->made->typed->qualname.text(), error));
      if (device) device->cannot_build(error);
      v->state.store(Version::State::failed, std::memory_order_release);
      return;
    }
    v->compiled = std::move(plan);
    v->state.store(Version::State::ready, std::memory_order_release);
  };
  if (!queue_) queue_ = std::make_unique<CompileQueue>(/*yields=*/s.options.mode == runtime::Mode::auto_);
  if (!wait) return queue_->push(std::move(job), v.get());
  // On the queue's thread here, too: an interrupt ends the waiting, and a later call finds the version.
  auto start = Clock::now();
  queue_->push_first(std::move(job));
  while (v->state.load(std::memory_order_acquire) == Version::State::compiling &&
         !(s.poll.load(std::memory_order_relaxed) & Session::kInterrupt))
    queue_->wait_for_one(std::chrono::milliseconds(20));
  compile_wait_ns += static_cast<uint64_t>(ms_since(start) * 1e6);
}

}  // namespace ouro::jit
