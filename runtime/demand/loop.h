// The loop: goals are measured step by step, responses are chosen where one is missed, and their promises are checked.
//
// Sense. A step is an outermost call of a compiled function that updates state, or a block `with demand.step()` of the
// script; once there was such a block, only blocks count. What is measured of it is in measures.h. After each step the
// target matrix is filled in: for each goal what was asked for, what is measured, what was promised.
//
// Respond. Where a goal is missed, each response (response.h) proposes what it could do. Chosen is the proposal with
// which most goals are met; of equal ones that which meets the main goal (the one asked for first), then the cheapest.
// One that meets no more than what runs already is not taken, and what serves no goal any more is taken back.
//
// Check. When the new version runs and some steps of it are measured, the promise is compared with what came of it.
// Where less than a quarter of the gain has come, the response is undone and not tried again until the goals change. A
// decision is followed by some steps in which none is taken, so that nothing thrashes.
//
// What a response was measured to take and give is remembered (remembered.h), also by the next process.
//
// With no goal a step costs two readings of the clock and a few stores. step_ended() and what is marked so belong to
// the session's thread, the rest may be called from any.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/demand/kind.h"
#include "runtime/demand/measures.h"
#include "runtime/demand/memory_watch.h"
#include "runtime/demand/remembered.h"
#include "runtime/demand/response.h"

namespace ouro::runtime {

class Demands;
class Session;

inline bool holds(DemandKind::Relation relation, double target, double amount) {
  return relation == DemandKind::Relation::at_least ? amount >= target : amount <= target;
}

class Loop {
 public:
  explicit Loop(Demands& demands) : demands_(demands) {}
  ~Loop() { store_measures(); }
  /// Writes measures that were not stored yet; called at the end of the program.
  void store_measures();
  /// Where measures are kept for the next process; to be called before the first step.
  void remember_in(std::unique_ptr<RememberedStore> store) { store_ = std::move(store); }

  struct Asked {
    const DemandKind* kind = nullptr;
    std::string value;
    uint64_t serial = 0;  // of the change that asked for it
    bool operator==(const Asked&) const = default;
  };
  /// The goals that are asked for now.
  void ask(std::vector<Asked> goals);

  // ---- the session's thread
  /// Is code being compiled that the next steps may run?
  using Compiles = std::function<bool()>;
  /// A compiled function that updates state has run for so long.
  template <class F>
  void call_ended(Session& s, uint64_t ns, F&& compiles) {
    if (!blocks_) step_ended(s, ns, has_goals_.load(std::memory_order_relaxed) ? Compiles(compiles) : Compiles());
  }
  /// A compiled call is at the head of a loop. No step has ended, but goals are looked at: a call may be long.
  void turn(Session& s, Compiles compiles);
  bool has_goals() const { return has_goals_.load(std::memory_order_relaxed); }
  /// What the compiled step returned, where it is one number: as a rule the loss.
  void call_gave(double result) { result_.store(result, std::memory_order_relaxed); }
  /// A block of the script begins. False: it is a part of another one.
  bool block_begins() { return !std::exchange(in_block_, true); }
  /// It was left by an exception.
  void block_left() { in_block_ = false; }
  void block_ended(Session& s, uint64_t ns, Compiles compiles = {}) {
    blocks_ = true;
    in_block_ = false;
    step_ended(s, ns, std::move(compiles));
  }
  /// The script tells of itself.
  void report_metric(std::string_view name, double value);
  /// The library has carried out a goal by itself: what it has reached (NaN: nothing to be measured), and why it is not
  /// more.
  void served(const std::string& goal, double reached, std::string why);
  uint64_t steps() const { return measures_.steps; }
  /// The script has several ways to do something, the most exact first. Empty, or why this is no choice.
  std::string add_choice(std::string_view name, std::vector<std::string> ways, bool of_library = false,
                         bool saves_memory = false, std::vector<double> holds = {});
  void remove_choice(std::string_view name);
  /// Tells the library that the way of its choice has changed. Returns false where code of the library is running; the
  /// loop calls again after the next step.
  using Carry = bool (*)(Session& s, const std::string& name);
  void carry_choices_with(Carry carry) { carry_ = carry; }
  /// The demand behind a choice of the library has changed. True where the change is carried out between two steps,
  /// because shapes change.
  bool carries_later(const std::string& name);
  /// Tells the library of choices whose way has changed. False: some have to wait for the next step.
  bool library_follows(Session& s);
  /// What the library measures of itself while somebody watches it; null: nothing.
  using Look = void (*)(Session& s);
  void look_with(Look look) { look_ = look; }
  /// Outside of compiled code, after a step. Looks now and then, for the sensors that others read.
  void look(Session& s) {
    if (look_) look_now(s);
  }
  /// Which is in force; nothing where there is no choice of that name.
  std::optional<size_t> way_of(std::string_view name);
  void choose_way(std::string_view name, size_t way);
  /// Threads of kernels; 0: all cores. It counts while nobody asks for `threads`.
  void choose_threads(int threads);
  int chosen_threads() const { return chosen_threads_.load(std::memory_order_relaxed); }
  /// Empty, or why the library's choice has no such way.
  std::string no_way(std::string_view name, std::string_view way);
  /// Is this step to run a second time, in the other precision, so that its error is known (responses/precision.cpp)?
  bool wants_shadow() const { return shadow_next_ <= measures_.steps; }
  /// It did: the relative difference of what both returned; NaN: they returned nothing to be compared.
  void shadow_ran(double difference);

  // ---- telling and steering
  struct Target {
    std::string goal, asked;
    double target = 0, measured = 0, predicted = 0;  // NaN: not known
    bool met = false;
    std::string why;  // it cannot be met
  };
  struct Tried {
    std::string name, text;
    std::vector<std::pair<std::string, double>> predicted, measured, remembered;
    double cost = 1;
    bool taken = false;
    std::string why;  // it was not, or it was undone
  };
  struct Decision {
    uint64_t step = 0;
    double at = 0;  // seconds since the session began
    std::string goal, response, text, outcome;
  };
  struct State {
    Measures measures;
    std::vector<Target> targets;
    std::vector<Tried> candidates;  // of the last choice
    std::vector<Decision> decisions;
    std::vector<std::string> vetoed, pinned;
    std::vector<Choice> choices;
  };
  State state();
  /// Called on the session's thread after each decision, and when it is known what came of it. Must not call the
  /// session.
  void on_decision(std::function<void(const Decision&)> told);
  enum class Order : uint8_t { allow, veto, pin, carry_out };
  /// Somebody at the controls says what is to become of a response. Empty, or why not.
  std::string order(std::string_view response, Order order);

 private:
  using Clock = std::chrono::steady_clock;
  using Amounts = std::map<std::string, double, std::less<>>;
  struct Candidate {
    const Response* response = nullptr;
    Proposal proposal;
    double met = 0;  // how many goals would be, the main one a little more
  };
  // A response that was carried out and whose promise is not checked yet.
  struct Pending {
    const Response* response = nullptr;
    Proposal proposal;
    Amounts before, all_before;
    std::string value_before;  // that the response had in force
    uint64_t since = 0;        // the tick from which on its version has run; 0: not yet
    size_t decision = 0;
    uint64_t waits = 0;                                        // steps that passed while code was compiled
    std::map<std::shared_ptr<const void>, int64_t> held = {};  // PlanMemory::held, before
  };

  struct Orders {
    std::set<std::string, std::less<>> vetoed, pinned, carry_out;
  };

  void step_ended(Session& s, uint64_t ns, Compiles compiles);
  void beat(Session& s);
  void take_goals();
  void look_now(Session& s);
  void look_at_machine();
  void measure();
  void fill_matrix();
  Target look_at(const Asked& a, double target, const std::vector<Target>& before) const;
  void see_memory(Session& s);
  std::string_view goal_served(const Candidate& c, std::string_view missed) const;
  Amounts measured() const;
  double count_met(const Amounts& amounts) const;
  bool settled(Session& s);  // false: a response is still taking effect
  void choose(Session& s, const Situation& now);
  void carry_out(Session& s, const Response& r, Proposal p, std::string_view goal);
  Situation situation(Session& s) const;
  std::string why_not(const Asked& goal, const Situation& now) const;
  void see_precision();
  void see_ways();
  void tell(Decision d);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void decide(std::string_view goal, const Response& r, std::string text, std::string outcome);
  void follow_orders(Session& s, const Situation& now);
  std::string nothing_to_give(const Response& r, const Situation& now) const;
  void plan_shadows(const Situation& now);
  Amounts all_measured() const;
  void recall();
  void foresee(const Response& r, const Situation& now, const Amounts& is, Proposal& p) const;
  double taken_by_others(Session& s, const Pending& p) const;
  void keep_measures(const Pending& p, double of_others);

  Demands& demands_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<bool> has_goals_{false};
  std::atomic<bool> goals_changed_{false};
  bool blocks_ = false, in_block_ = false;
  std::atomic<int> chosen_threads_{0};
  std::atomic<double> result_{kUnknownAmount};
  bool told_loss_ = false;  // by the script, with the lock held

  // Shadow runs: the step of the next one, and the last samples.
  static constexpr uint64_t kNever = ~uint64_t{0};
  uint64_t shadow_next_ = kNever, shadows_ = 0;
  std::array<double, 8> differences_{};

  // A goal that moves with the machine is asked for, and when the machine was looked at last.
  bool follows_ = false;
  double looked_ = 0;
  MemoryWatch watch_;

  // While plans change, two versions hold memory, which is no use of the program's own.
  ExecutionPlan plan_seen_{};
  uint64_t restless_until_ = 0;  // a tick

  // What waits for some steps counts looks at the goals: after steps, and in the middle of long ones.
  uint64_t turns_ = 0;
  uint64_t ticks() const { return measures_.steps + turns_; }
  uint64_t quiet_until_ = 0;  // a tick; before it nothing is decided
  std::optional<Pending> pending_;
  Carry carry_ = nullptr;
  Look look_ = nullptr;
  double last_look_ = 0;
  std::set<std::string> to_carry_;  // the library's choices whose way was changed
  Compiles compiles_;               // during beat()
  bool between_steps_ = true;       // likewise; else a compiled call is in a loop, and holds what it works with
  std::set<std::pair<const Response*, std::string>> failed_;
  Orders orders_;
  std::map<std::string, std::string, std::less<>> reasons_;  // of served(), by goal
  Amounts fixed_;  // targets that are a share of what was highest when they were asked for

  std::unique_ptr<RememberedStore> store_;
  bool recalled_ = false, to_be_stored_ = false;
  Remembered remembered_;
  double stored_ = 0;

  std::mutex lock_;  // what follows is read by others. Nothing of Demands that locks is called while it is held
  static constexpr size_t kLast = 9;
  std::array<double, kLast> times_{}, energies_{};
  size_t timed_ = 0, powered_ = 0;  // times and energies since the measures were begun anew
  double processor_time_ = 0;
  Measures measures_;
  std::vector<Asked> asked_next_, asked_;
  std::vector<Target> targets_;
  std::vector<Tried> candidates_;
  std::deque<Decision> decisions_;
  std::vector<Choice> choices_;
  size_t dropped_ = 0;  // decisions that are no more in the list
  Orders orders_next_;
  std::function<void(const Decision&)> told_;
};

}  // namespace ouro::runtime
