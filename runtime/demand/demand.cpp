#include "runtime/demand/demand.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "runtime/demand/control.h"
#include "runtime/demand/cores.h"
#include "runtime/machine/device.h"
#include "support/trace.h"

namespace ouro::runtime {

namespace {

constexpr size_t kLogged = 64;
constexpr int kMostThreads = 1024;
constexpr std::string_view kAuto = "auto";

int to_threads(std::string_view text) {
  int n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n <= kMostThreads ? n : 0;
}

// The demands there are. `takes` tells whether a value other than "auto" is one of its values.
struct Kind {
  std::string_view name, values;
  bool (*takes)(std::string_view value);
};
constexpr Kind kKinds[] = {
    {"threads", "a number from 1 to 1024", [](std::string_view v) { return to_threads(v) > 0; }},
    {"precision", "'f32' or 'bf16'", [](std::string_view v) { return v == "f32" || v == "bf16"; }},
    {"device", "'cpu', 'opencl' or 'cuda'", [](std::string_view v) { return find_device(v).has_value(); }},
};
constexpr std::string_view kOrigins[] = {"default", "option", "script", "host", "ctl", "sensor"};

const Kind* find_kind(std::string_view name) {
  for (const Kind& k : kKinds)
    if (k.name == name) return &k;
  return nullptr;
}

}  // namespace

std::string Demands::problem(const Wish& w) {
  const Kind* k = find_kind(w.name);
  if (!k) {
    std::vector<std::string_view> names;
    for (const Kind& known : kKinds) names.push_back(known.name);
    return fmt::format("there is no demand '{}'; there are: {}", w.name, fmt::join(names, ", "));
  }
  if (w.value == kAuto) return {};
  if (!k->takes(w.value)) return fmt::format("{} is {}, or 'auto', not '{}'", k->name, k->values, w.value);
  std::string error;
  if (w.name == "device" && find_device(w.value) != DeviceId::cpu) (void)devices_.open(*find_device(w.value), error);
  return error;
}

std::string_view origin_name(DemandOrigin origin) { return kOrigins[static_cast<size_t>(origin)]; }

std::string plan_text(ExecutionPlan plan) {
  return fmt::format("precision={} device={}", plan.precision == Precision::bf16 ? "bf16" : "f32",
                     device_name(plan.device));
}

Demands::Demands(const FirstDemands& first, Devices& devices, std::atomic<uint32_t>& poll, uint32_t bit)
    : devices_(devices),
      poll_(poll),
      bit_(bit),
      sense_(first.sense),
      listen_(first.listen),
      start_(Clock::now()),
      since_(start_) {
  for (const Kind& k : kKinds) rows_.push_back({std::string(k.name), std::string(kAuto), DemandOrigin::standard, 0});
  auto option = [&](std::string_view name, std::string value) {
    for (DemandRow& r : rows_)
      if (r.name == name) r.value = std::move(value), r.origin = DemandOrigin::option;
  };
  if (first.threads > 0) option("threads", std::to_string(first.threads));
  if (!first.device.empty()) option("device", first.device);
  if (std::optional<DeviceId> id = find_device(first.device)) current_.device = running_.device = *id;
  wanted_.store(pack(current_), std::memory_order_relaxed);
}
Demands::~Demands() { close(); }

void Demands::close() {
  std::unique_ptr<Control> gone;
  {
    std::lock_guard guard(lock_);
    gone = std::move(control_);
  }  // its thread may be waiting for the lock
}

int Demands::first_threads() {
  std::lock_guard guard(lock_);
  if (threads_.load(std::memory_order_relaxed) > 0) return threads_.load(std::memory_order_relaxed);
  cores_ = available_cores();
  apply();
  if ((sense_ || listen_) && !control_) {
    control_ = std::make_unique<Control>(*this, sense_, listen_);
    if (!control_->problem().empty()) {
      note("no control socket: " + control_->problem());
      notice("control", "no control socket: " + control_->problem());
    }
  }
  return threads_.load(std::memory_order_relaxed);
}

void Demands::apply() {
  ExecutionPlan plan;
  int threads = cores_;
  for (const DemandRow& r : rows_) {
    if (r.value == kAuto) continue;
    if (r.name == "threads") threads = to_threads(r.value);
    if (r.name == "device") plan.device = *find_device(r.value);
    if (r.name == "precision") plan.precision = r.value == "bf16" ? Precision::bf16 : Precision::f32;
  }
  if (cores_ > 0 || threads > 0) threads_.store(threads, std::memory_order_relaxed);
  if (wanted_.exchange(pack(plan), std::memory_order_acq_rel) != pack(plan)) poll_.fetch_or(bit_);
}

void Demands::note(std::string event) {
  if (log_.size() == kLogged) log_.pop_front();
  log_.push_back(
      fmt::format("{:.3f} s: {}", std::chrono::duration<double>(Clock::now() - start_).count(), std::move(event)));
}
void Demands::log(std::string event) {
  std::lock_guard guard(lock_);
  note(std::move(event));
}

std::string Demands::set(std::span<const Wish> wishes, DemandOrigin origin) {
  std::vector<DemandRow> before;
  return set(wishes, origin, before);
}

std::string Demands::set(std::span<const Wish> wishes, DemandOrigin origin, std::vector<DemandRow>& before) {
  for (const Wish& w : wishes)
    if (std::string wrong = problem(w); !wrong.empty()) return wrong;
  std::lock_guard guard(lock_);
  ++serial_;
  for (const Wish& w : wishes)
    for (DemandRow& r : rows_) {
      if (r.name != w.name) continue;
      before.push_back(r);
      before.back().serial = serial_;  // of the change that put_back() may undo
      r = {w.name, w.value, w.value == kAuto ? DemandOrigin::standard : origin, serial_};
      note(fmt::format("{} asked for {}={}", origin_name(origin), w.name, w.value));
    }
  if (cores_ == 0) cores_ = available_cores();
  apply();
  return {};
}

void Demands::put_back(const std::vector<DemandRow>& before) {
  std::lock_guard guard(lock_);
  ++serial_;
  for (const DemandRow& old : before)
    for (DemandRow& r : rows_) {
      if (r.name != old.name || r.serial != old.serial) continue;
      r = old;
      r.serial = serial_;
      note(fmt::format("back to {}={}", r.name, r.value));
    }
  apply();
}

void Demands::sense_cores(int cores) {
  std::lock_guard guard(lock_);
  if (cores == cores_ || cores < 1) return;
  cores_ = cores;
  int before = threads_.load(std::memory_order_relaxed);
  apply();
  if (int now = threads_.load(std::memory_order_relaxed); now != before)
    note(fmt::format("sensor: {} cores to be used, threads={}", cores, now));
}

void Demands::adopt(bool compiled_code_follows) {
  current_ = unpack(wanted_.load(std::memory_order_acquire));
  if (!compiled_code_follows) running(current_);
}

void Demands::now_running(ExecutionPlan plan) {
  std::lock_guard guard(lock_);
  running_ = plan;
  since_ = Clock::now();
  note("running with " + plan_text(plan));
}

Demands::State Demands::state() {
  int threads = this->threads();
  std::lock_guard guard(lock_);
  State s{rows_, threads, unpack(wanted_.load(std::memory_order_relaxed)), running_, 0, {}};
  s.since = std::chrono::duration<double>(Clock::now() - since_).count();
  s.log.assign(log_.begin(), log_.end());
  return s;
}

std::string Demands::text() {
  State s = state();
  std::string out;
  for (const DemandRow& r : s.asked) out += fmt::format("{}={} ({})\n", r.name, r.value, origin_name(r.origin));
  out += fmt::format("running: threads={} {} for {:.1f} s\n", s.threads, plan_text(s.running), s.since);
  if (!(s.running == s.wanted)) out += fmt::format("to come: {}\n", plan_text(s.wanted));
  for (const std::string& line : s.log) out += "  " + line + "\n";
  return out;
}

}  // namespace ouro::runtime
