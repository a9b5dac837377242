#include "runtime/demand/demand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/demand/control.h"
#include "runtime/demand/cores.h"
#include "runtime/demand/loop.h"
#include "runtime/demand/memory_watch.h"
#include "runtime/machine/device.h"
#include "runtime/text/foreign.h"
#include "support/byte_size.h"
#include "support/trace.h"

namespace ouro::runtime {

namespace {

constexpr size_t kLogged = 64;
constexpr size_t kMostOwn = 64;
constexpr uint64_t kLast = ~uint64_t{0};    // a sensor's goal is the main one where nobody has another
constexpr std::string_view kAuto = "auto";  // what nobody has asked for
constexpr std::string_view kNone = "none";  // takes a demand back

bool takes_back(const DemandKind& k, std::string_view value) {
  return value == kNone || (value == kAuto && !k.leaves_choice);
}
constexpr std::string_view kPrecision = "precision", kError = "error", kMemory = "memory", kAvailable = "available";

constexpr std::string_view kOrigins[] = {"default", "option", "script", "host", "ctl", "sensor"};

bool is_word(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

const DemandKind* Demands::find_kind(std::string_view name) const {
  for (const DemandRow& r : rows_)
    if (r.name == name) return r.kind;
  return nullptr;
}

std::string Demands::add_kind(std::string_view name, bool metric) {
  std::lock_guard guard(lock_);
  if (const DemandKind* k = find_kind(name)) {
    const bool own = std::ranges::any_of(own_kinds_, [&](const OwnKind& o) { return &o.kind == k; });
    if (metric ? k->measured == reported_metric : own && !k->is_goal()) return {};
    return fmt::format("'{}' is another demand", name);
  }
  if (!is_word(name)) return fmt::format("'{}' is no name", text::shown_text(name));
  if (own_kinds_.size() == kMostOwn) return fmt::format("{} demands of one's own are the most", kMostOwn);
  OwnKind& own = own_kinds_.emplace_back();
  own.name = name;
  own.kind.name = own.name;
  own.kind.takes = [](std::string_view) { return true; };
  own.kind.values = "any number or text";
  if (metric) {
    own.kind.relation = DemandKind::Relation::at_least;
    own.kind.values = "a number";
    own.kind.takes = [](std::string_view v) { return read_number(v).has_value(); };
    own.kind.target = [](std::string_view v, const Measures&) { return *read_number(v); };
    own.kind.measured = reported_metric;
    own.kind.show = number_text;
  }
  rows_.push_back({&own.kind, own.name, std::string(kAuto), DemandOrigin::standard, 0});
  return {};
}

std::string Demands::asked(std::string_view name) {
  std::lock_guard guard(lock_);
  for (const DemandRow& r : rows_)
    if (r.name == name) return r.value;
  return std::string(kAuto);
}

void Demands::bound_temporaries(uint16_t level) {
  std::lock_guard guard(lock_);
  if (std::exchange(temporaries_, level) != level) apply();
}

void Demands::choose_micro_batch(uint32_t rows) {
  std::lock_guard guard(lock_);
  if (std::exchange(micro_batch_, rows) != rows) apply();
}

bool Demands::leaves_choice(std::string_view name) {
  std::lock_guard guard(lock_);
  return std::ranges::any_of(rows_, [&](const DemandRow& r) {
    return r.name == name && r.value == kAuto && r.origin != DemandOrigin::standard;
  });
}

void Demands::choose_precision(Precision precision) {
  std::lock_guard guard(lock_);
  if (std::exchange(chosen_precision_, precision) != precision) apply();
}

std::optional<Precision> Demands::asked_precision() {
  std::lock_guard guard(lock_);
  return precision_in_rows();
}

std::optional<Precision> Demands::precision_in_rows() const {
  for (const DemandRow& r : rows_)
    if (r.name == kPrecision && r.value != kAuto) {
      Draft draft;
      r.kind->put(r.value, draft);
      return draft.plan.precision;
    }
  return std::nullopt;
}

std::string Demands::problem(const Wish& w) {
  const DemandKind* k = nullptr;
  {
    std::lock_guard guard(lock_);
    k = find_kind(w.name);
    if (!k) {
      std::vector<std::string_view> names;
      for (const DemandRow& known : rows_) names.push_back(known.name);
      return fmt::format("there is no demand '{}'; there are: {}", w.name, fmt::join(names, ", "));
    }
  }
  if (w.value == kAuto || w.value == kNone) return {};
  if (!k->takes(w.value)) return fmt::format("{} is {}, or 'auto', not '{}'", k->name, k->values, w.value);
  if (k->names_way) return loop_->no_way(w.name, w.value);
  return k->refusal ? k->refusal(w.value, devices_) : std::string();
}

std::string_view origin_name(DemandOrigin origin) { return kOrigins[static_cast<size_t>(origin)]; }

Demands::Demands(const FirstDemands& first, Devices& devices, std::atomic<uint32_t>& poll, uint32_t bit)
    : devices_(devices),
      poll_(poll),
      bit_(bit),
      sense_(first.sense),
      listen_(first.listen),
      start_(Clock::now()),
      since_(start_) {
  for (const DemandKind* k : demand_kinds())
    rows_.push_back({k, std::string(k->name), std::string(kAuto), DemandOrigin::standard, 0});
  loop_ = std::make_unique<Loop>(*this);
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
  loop_->store_measures();
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
  const int chosen = loop_->chosen_threads();
  Draft draft{.threads = chosen ? std::min(chosen, cores_) : cores_,
              .plan = {.temporaries = temporaries_},
              .chosen_micro_batch = micro_batch_};
  std::vector<Loop::Asked> goals;
  for (const DemandRow& r : rows_) {
    if (r.origin == DemandOrigin::standard) continue;
    if (r.kind->put) r.kind->put(r.value, draft);
    if (r.kind->is_goal() && r.value != kAuto)
      goals.push_back({r.kind, r.value, r.origin == DemandOrigin::sensor ? kLast : r.serial});
  }
  const bool contract = std::ranges::any_of(goals, [](const Loop::Asked& a) { return a.kind->name == kError; });
  if (!contract)
    chosen_precision_.reset();
  else if (chosen_precision_ && precision_in_rows() != Precision::f32)
    draft.plan.precision = *chosen_precision_;
  loop_->ask(std::move(goals));
  if (cores_ > 0 || draft.threads > 0) threads_.store(draft.threads, std::memory_order_relaxed);
  if (wanted_.exchange(pack(draft.plan), std::memory_order_acq_rel) != pack(draft.plan)) poll_.fetch_or(bit_);
}

void Demands::changed(const DemandRow& r) {
  if (r.kind->put) return;
  if (std::ranges::find(changed_, r.name) == changed_.end()) changed_.push_back(r.name);
  news_.store(true, std::memory_order_release);
  poll_.fetch_or(bit_);
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
  for (const Wish& w : wishes) {
    ++serial_;  // the first goal that is named is the main one (loop.h)
    for (DemandRow& r : rows_) {
      if (r.name != w.name) continue;
      before.push_back(r);
      before.back().replaced_by = serial_;
      if (takes_back(*r.kind, w.value))
        r = {r.kind, w.name, std::string(kAuto), DemandOrigin::standard, serial_};
      else
        r = {r.kind, w.name, w.value, origin, serial_};
      changed(r);
      note(fmt::format("{} asked for {}={}", origin_name(origin), w.name, text::shown_text(w.value)));
    }
  }
  if (cores_ == 0) cores_ = available_cores();
  apply();
  return {};
}

void Demands::put_back(const std::vector<DemandRow>& before) {
  std::lock_guard guard(lock_);
  for (const DemandRow& old : before)
    for (DemandRow& r : rows_) {
      if (r.name != old.name || r.serial != old.replaced_by) continue;
      r = old;  // with its serial: who asked for it may take it back
      changed(r);
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

void Demands::sense_memory(const MemoryLeft& left) {
  if (!memory_is_short(left)) return;
  std::lock_guard guard(lock_);
  const auto r = std::ranges::find(rows_, kMemory, &DemandRow::name);
  if (r == rows_.end() || r->origin != DemandOrigin::standard) return;
  *r = {r->kind, r->name, std::string(kAvailable), DemandOrigin::sensor, ++serial_};
  note(fmt::format("sensor: {} of {} are left, memory={}", byte_size_text(static_cast<int64_t>(left.available)),
                   byte_size_text(static_cast<int64_t>(left.limit)), kAvailable));
  apply();
}

void Demands::tell_changes(Session& s) {
  std::vector<std::string> changed;
  {
    std::lock_guard guard(lock_);
    changed.swap(changed_);
    news_.store(false, std::memory_order_release);
  }
  if (told_)
    for (const std::string& name : changed) told_(s, name);
}

std::shared_ptr<Visit> Demands::visit(std::string text) {
  std::shared_ptr<Visit> visit = visits_.leave(std::move(text));
  poll_.fetch_or(bit_);
  return visit;
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
