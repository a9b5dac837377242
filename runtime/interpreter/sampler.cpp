#include "runtime/interpreter/sampler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>

namespace ouro::runtime {

constinit thread_local CompiledPlace compiled_place{};

namespace {
Sampler* volatile g_sampler = nullptr;
}

void Sampler::on_signal(int) {
  const int error = errno;
  if (Sampler* s = g_sampler) s->take();
  errno = error;
}

Sampler::Sampler(Session& s) : s_(s), slots_(std::make_unique<Slot[]>(kSlots)) {
  g_sampler = this;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  runs_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;  // else: as many as the user may have, or none allowed
  if (!runs_) return;
  const timespec every{.tv_sec = 0, .tv_nsec = 1'000'000'000 / kPerSecond};
  const itimerspec when{.it_interval = every, .it_value = every};
  timer_settime(timer_, 0, &when, nullptr);
}

Sampler::~Sampler() {
  if (runs_) timer_delete(timer_);
  g_sampler = nullptr;  // one that is under way finds nothing
}

// The instruction that a frame executes: its own, where the frame is on top, else the call that it waits for. What is
// quick does not note where it is; the frame then stands where it was noted last.
static Span place_in(const Frame& f) {
  const Code& code = *f.code;
  const auto at = static_cast<size_t>(f.pc - code.instrs.data());
  return at < code.spans.size() ? code.spans[at] : Span{};
}

void Sampler::take() {
  ++samples_;
  const Frame* top = s_.interpreter->top;
  if (const CompiledPlace c = compiled_place; c.at && c.top == top) return count(*c.at, true);
  while (top && top->code->of_library && top->caller) top = top->caller;
  count(top ? place_in(*top) : Span{}, false);
}

void Sampler::count(Span span, bool compiled) {
  const size_t hash = (size_t{span.file} * 0x9e3779b1u) ^ (size_t{span.begin} * 0x85ebca6bu);
  for (size_t probe = 0; probe < 32; ++probe) {
    Slot& slot = slots_[(hash + probe) % kSlots];
    const bool free = !slot.interpreted && !slot.compiled;
    if (!free && !(slot.span == span)) continue;
    slot.span = span;
    ++(compiled ? slot.compiled : slot.interpreted);
    return;
  }
  ++nobody_.interpreted;
}

std::vector<Sampler::Line> Sampler::lines() const {
  std::map<std::pair<uint32_t, uint32_t>, Line> by_line;
  const auto add = [&](const Slot& slot) {
    if (!slot.interpreted && !slot.compiled) return;
    const SourceFile* file = slot.span.known() ? s_.sources.file(slot.span.file) : nullptr;
    const uint32_t line = file ? static_cast<uint32_t>(file->line_col(slot.span.begin).line) : 0;
    Line& l = by_line.try_emplace({file ? slot.span.file : 0, line}, Line{file ? slot.span : Span{}}).first->second;
    l.interpreted += slot.interpreted;
    l.compiled += slot.compiled;
  };
  std::for_each(slots_.get(), slots_.get() + kSlots, add);
  add(nobody_);
  std::vector<Line> out;
  for (const auto& [at, line] : by_line) out.push_back(line);
  std::ranges::stable_sort(out, std::greater{}, [](const Line& l) { return l.interpreted + l.compiled; });
  return out;
}

}  // namespace ouro::runtime
