// Demands: what a running program must meet, whoever asks for it — the script (`demand.set`), the command line, `ouro
// ctl`, the embedding host, a sensor. The last one who asked counts; a sensor speaks only where nobody did.
//
// Demands come to two things (docs/design/rules.md D22). The thread count is an argument of every launch: it changes no
// bit, so it changes at once. Everything else is the *execution plan*, the discrete part that results depend on:
// versions of compiled code are keyed by it. A plan is latched by the outermost compiled call or transform; a new one
// is adopted at the next safe point outside of those, and compiled code follows when its version is ready, beside the
// running one, so that nobody waits.
//
// `set`, `text`, `threads` may be called from any thread; what is marked so belongs to the session's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/demand/kind.h"
#include "runtime/demand/plan.h"
#include "runtime/demand/visits.h"

namespace ouro::runtime {

class Control;  // runtime/demand/control.h
class Loop;     // runtime/demand/loop.h
class Session;
struct MemoryLeft;

enum class DemandOrigin : uint8_t { standard, option, script, host, ctl, sensor };

struct Wish {
  std::string name, value;  // "none" takes the demand back, and so does "auto" where the program chooses anyhow
};

struct DemandRow {
  const DemandKind* kind = nullptr;
  std::string name, value;
  DemandOrigin origin = DemandOrigin::standard;
  uint64_t serial = 0;  // of the change that made it so
  // Of what was before a change: the serial of that. While it is in force it can be undone.
  uint64_t replaced_by = 0;
};

// What a session starts with.
struct FirstDemands {
  int threads = 0;      // 0: nobody asks for any
  std::string device;   // empty: the host
  bool sense = false;   // the thread count follows the cores that the process may use
  bool listen = false;  // `ouro ctl` reaches it (runtime/demand/control.h)
};

class Demands {
 public:
  // `poll` is the session's word: `bit` is set there when a plan waits for a safe point.
  // A device that is asked for is opened in `devices` at once, so that it can be refused.
  Demands(const FirstDemands& first, Devices& devices, std::atomic<uint32_t>& poll, uint32_t bit);
  ~Demands();
  Demands(const Demands&) = delete;
  Demands& operator=(const Demands&) = delete;

  /// All of them or none. Empty, or what is wrong.
  std::string set(std::span<const Wish> wishes, DemandOrigin origin);
  /// As set(), and `before` gets what put_back() needs.
  std::string set(std::span<const Wish> wishes, DemandOrigin origin, std::vector<DemandRow>& before);
  /// Undoes a set(), except what somebody else has asked for since.
  void put_back(const std::vector<DemandRow>& before);

  /// Threads of kernels, from the next launch on. The first call starts what listens and senses.
  int threads() {
    int n = threads_.load(std::memory_order_relaxed);
    return n > 0 ? n : first_threads();
  }
  /// What a sensor found; counts only where nobody asked for threads.
  void sense_cores(int cores);
  /// Likewise: where little memory is left the sensor asks for memory="available", unless somebody asks for `memory`.
  void sense_memory(const MemoryLeft& left);
  /// A demand of the script's own: any text is a value, unless it is a metric, whose demands are floors. Its text is
  /// empty, or why there can be none of that name.
  std::string add_kind(std::string_view name, bool metric);
  /// What is asked for; "auto" where nobody has asked, or where the choice is the program's.
  std::string asked(std::string_view name);
  /// The loop's part of the plan: a level of temporaries, or 0.
  void bound_temporaries(uint16_t level);
  /// Likewise: rows of a chunk, or 0. It counts while the demand `micro_batch` leaves the choice to the program.
  void choose_micro_batch(uint32_t rows);
  /// May results differ in their last bits from those of the whole batch?
  bool may_choose_micro_batch() { return leaves_choice("micro_batch"); }
  /// Does somebody ask the program to choose ("auto")?
  bool leaves_choice(std::string_view name);
  /// Likewise a precision, which counts while somebody asks for `error` and nobody for f32.
  void choose_precision(Precision precision);
  /// The precision that somebody asks for.
  std::optional<Precision> asked_precision();
  Loop& loop() { return *loop_; }
  /// Called at a safe point with the name of each demand that has changed and does not go into the plan.
  using Told = void (*)(Session& s, const std::string& name);
  void tell_of_changes(Told told) { told_ = told; }
  /// At a safe point.
  void tell_changes(Session& s);
  /// Does tell_changes() have something to do, or does a visit wait?
  bool news() const { return news_.load(std::memory_order_acquire) || visits_.waiting(); }
  Visits& visits() { return visits_; }
  /// Has the text run at a safe point. Any thread.
  std::shared_ptr<Visit> visit(std::string text);

  // ---- the session's thread
  /// The plan of what is running now.
  ExecutionPlan plan() const { return current_; }
  /// The plan that demands come to.
  ExecutionPlan wanted() const { return unpack(wanted_.load(std::memory_order_acquire)); }
  bool waiting() const { return wanted_.load(std::memory_order_acquire) != pack(current_); }
  bool latched() const { return latches_ > 0; }
  /// Takes the wanted plan over. Compiled code may follow later: then say so, and running() tells when it did.
  void adopt(bool compiled_code_follows);
  /// The plan that code runs with now; behind plan() as long as none is compiled for that.
  ExecutionPlan running_plan() const { return running_; }
  /// Code of that plan runs now.
  void running(ExecutionPlan plan) {
    if (!(plan == running_)) now_running(plan);
  }
  /// What the outermost latch holds goes on with this plan.
  void latched_goes_on(ExecutionPlan plan) {
    current_ = plan;
    running(plan);
  }
  bool latched_once() const { return latches_ == 1; }
  // While it lives, `plan` is the plan and no other is adopted, but where its holder can go on with another.
  class Latch {
   public:
    Latch(Demands& d, ExecutionPlan plan) : d_(d), before_(d.current_) {
      d.current_ = plan;
      ++d.latches_;
    }
    ~Latch() {
      --d_.latches_;
      d_.current_ = before_;
    }
    Latch(const Latch&) = delete;
    Latch& operator=(const Latch&) = delete;

   private:
    Demands& d_;
    ExecutionPlan before_;
  };

  // ---- telling
  struct State {
    std::vector<DemandRow> asked;  // of all kinds
    int threads = 0;
    ExecutionPlan wanted, running;
    double since = 0;  // seconds that `running` is so
    std::vector<std::string> log;
  };
  State state();
  /// What `ouro ctl PID get` prints.
  std::string text();
  void log(std::string event);

  /// Stops listening; the socket is gone.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  static uint64_t pack(ExecutionPlan p) {
    return static_cast<uint64_t>(p.precision) | static_cast<uint64_t>(p.device) << 8 |
           static_cast<uint64_t>(p.temporaries) << 16 | static_cast<uint64_t>(p.micro_batch) << 32;
  }
  static ExecutionPlan unpack(uint64_t bits) {
    return {static_cast<Precision>(bits & 255), static_cast<DeviceId>(bits >> 8 & 255),
            static_cast<uint16_t>(bits >> 16), static_cast<uint32_t>(bits >> 32)};
  }
  std::string problem(const Wish& w);
  const DemandKind* find_kind(std::string_view name) const;  // with the lock held
  std::optional<Precision> precision_in_rows() const;        // with the lock held
  int first_threads();
  void apply();  // with the lock held: rows to threads_ and wanted_
  void note(std::string event);
  void changed(const DemandRow& r);
  void now_running(ExecutionPlan plan);

  std::atomic<int> threads_{0};  // 0: nobody has asked yet
  std::atomic<uint64_t> wanted_{0};
  Devices& devices_;
  std::atomic<uint32_t>& poll_;
  const uint32_t bit_;
  const bool sense_, listen_;

  std::mutex lock_;
  std::vector<DemandRow> rows_;
  struct OwnKind {
    std::string name;
    DemandKind kind;
  };
  std::deque<OwnKind> own_kinds_;
  std::vector<std::string> changed_;  // of those
  std::atomic<bool> news_{false};     // it is not empty
  Visits visits_;
  Told told_ = nullptr;
  uint16_t temporaries_ = 0;
  uint32_t micro_batch_ = 0;
  std::optional<Precision> chosen_precision_;
  std::unique_ptr<Loop> loop_;
  int cores_ = 0;  // as last sensed
  uint64_t serial_ = 0;
  std::deque<std::string> log_;
  Clock::time_point start_, since_;
  std::unique_ptr<Control> control_;

  ExecutionPlan current_, running_;  // running_ is written under the lock
  int latches_ = 0;
};

std::string_view origin_name(DemandOrigin origin);

}  // namespace ouro::runtime
