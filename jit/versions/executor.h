// The compiler as the interpreter sees it: which functions are compiled when, which version serves a call, and what
// happens when none does.
//
// Tiers.
//   eager   nothing is compiled
//   graph   a function that works on tensors is compiled at its first call, which waits
//   auto    a function under `@jit` is specialised at its first call. Other functions of tensors are specialised once
//           they have run for a tenth of a second and the pause is worth it (jit/versions/pauses.h), or at once where
//           that was so in the program's last run (jit/versions/experience.h). They are interpreted until the
//           background thread has the code, and nobody waits for that
// Functions made by `grad` and `value_and_grad` wait a little longer: mostly they are a part of a step that is compiled
// as a whole. Forward forms are parts of them; where such a function stays interpreted, its forms are compiled by
// themselves, each with its pullback (jit/versions/pullback.h). If no version fits a call, the interpreter does it.
// Results have the same bits.
//
// Demands: versions are keyed by the execution plan too (runtime/demand/demand.h). When it changes, what has run is
// compiled for the new one in the background, from the same typed program, in every tier (follow_demands.cpp). Until
// then the versions of the old plan serve, if both give the same bits, else the interpreter does. They stay, so that
// going back compiles nothing.
//
// Devices: a version's kernels run on its plan's device. Calls of tensors that were placed on another one than the
// demand says (runtime/machine/device.h) have versions of their own, and no other serves them.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <unordered_map>

#include "jit/cache/code_cache.h"
#include "jit/versions/compile_queue.h"
#include "jit/versions/experience.h"
#include "jit/versions/plain_tier.h"
#include "jit/versions/pullback.h"
#include "jit/versions/version.h"
#include "runtime/object/executor.h"
#include "runtime/object/session.h"
#include "support/trace.h"

namespace ouro::jit {

class JitExecutor final : public runtime::Executor {
 public:
  explicit JitExecutor(Session& s);
  ~JitExecutor() override;

  runtime::Outcome hot_function(Session& s, runtime::Frame& frame, Value& result) override;
  runtime::Outcome hot_loop(Session& s, runtime::Frame& frame, Value& result) override;
  bool follow_demands(Session& s) override;
  bool ready_to_move(Session& s) override;
  void call_ended(const runtime::Frame& frame) override;
  void make_room(Session& s) override;
  void let_go(Session& s) override;
  void program_ended() override;
  runtime::PlanMemory memory_of_plans(Session& s) override;
  void estimate_chunks(Session& s, Version& v, runtime::PlanMemory& out) const;
  void drop_idle(Session& s) override;
  void drop_old_plans(Session& s, FunctionVersions& f, const SpecialiseResult& made);
  // The version for another plan, compiled beside the running one; null if there is one already.
  std::shared_ptr<Version> derive(Session& s, FunctionVersions& f, const Version& from, runtime::ExecutionPlan plan,
                                  bool placed = false, bool wait = false);

  /// Marks a function's code as `@jit` does; `fixed` says by parameter which are `static`,
  /// beside those that were said before.
  void mark(const ir::FunctionRef& code, std::vector<bool> fixed);
  /// All functions that were looked at, in order (explain).
  const std::deque<std::unique_ptr<FunctionVersions>>& functions() const { return order_; }
  /// What became of plain code: functions and loops without tensors.
  std::vector<plain::Tier::Told> plain_code() const { return plain_.report(); }
  bool is_compiling() { return queue_ && queue_->busy(); }
  /// Until nothing is being compiled.
  void wait() {
    if (queue_) queue_->wait();
  }
  /// Where the kernels of a plan run; null and `error` set when the device cannot be opened.
  std::shared_ptr<runtime::Backend> backend(Session& s, runtime::DeviceId device, std::string& error);
  CodeCache& cache() { return *cache_; }
  void use(std::shared_ptr<CodeCache> cache) { cache_ = std::move(cache); }
  void learn_in(std::unique_ptr<runtime::RememberedStore> store) { experience_ = Experience(std::move(store)); }
  /// Where the version's plan is to go on that waits.
  bool stresses_exits() const { return stress_exits_; }
  /// `may_leave`: the interpreter can do the form again (stress mode leaves where it likes).
  PlanExit run_on(Session& s, const Version& v, WaitingRun& run, Value cotangents, uint8_t place, bool may_leave,
                  std::vector<Value>& outputs);
  const uint64_t begun_ns = now_ns();
  bool times_all = false;        // interpreted calls and each instruction, too: for reports
  uint64_t compile_wait_ns = 0;  // how long calls waited for compilation
  /// In `auto`, a function that nobody marked is compiled when it has been called again and again for so long: what
  /// ends before that is not made slower by its compilation.
  std::chrono::milliseconds compile_after{kCompileAfter};

 private:
  CodeVersions& versions_of(const ir::FunctionRef& code);
  FunctionVersions& function_of(CodeVersions& c, const runtime::Function* closure);
  bool serves_forms() const;
  static runtime::Outcome enter(Session& s, runtime::Frame& frame, void* data, Value& result);
  runtime::Outcome entered(Session& s, runtime::Frame& frame, CodeVersions& code, Value& result, bool apart);
  // One call of a function that has versions, or might.
  struct Call {
    runtime::Frame& frame;
    FunctionVersions& function;
    std::chrono::steady_clock::time_point start;
    uint64_t compiler_ns = 0;            // that the script had waited for the compiler then
    std::shared_ptr<Version> fitting{};  // null: none, or the compiler did not get there
    bool left = false;                   // it left in the middle, and the interpreter does the call
    bool apart = false;                  // of a compiled program: the interpreter must not do it
  };
  runtime::Outcome call(Session& s, runtime::Frame& frame, FunctionVersions& f, Value& result, bool apart);
  runtime::Outcome serve(Session& s, Call& c, Value& result);
  // How many versions a function has (jit/versions/how_many.cpp).
  static size_t count_versions(Session& s, FunctionVersions& f);
  static size_t most_versions(const FunctionVersions& f);
  bool has_room(Session& s, FunctionVersions& f);
  void replace_oldest(Session& s, FunctionVersions& f);
  bool backs_off(Session& s, const FunctionVersions& f) const;
  bool is_part_of_walk(const runtime::Frame& frame) const;
  // In the mode auto a function that nobody marked waits until its specialisation is worth the pause
  // (jit/versions/pauses.h).
  bool is_limited(const Session& s, const FunctionVersions& f) const;
  // Then it is done in slices, but where the script has changed again and again between two what was read.
  bool is_sliced(const Session& s, const FunctionVersions& f) const;
  double run_ms() const { return static_cast<double>(now_ns() - begun_ns) / 1e6; }
  bool must_wait(const Session& s, const FunctionVersions& f, uint64_t calls) const;
  // Is it compared with the interpreter? On another device that would wait until its own kernels are built there.
  bool is_tried(const Version& v) const;
  // The fitting version is ready. True: the interpreter does this call nonetheless, for comparison or because it is
  // quicker (jit/versions/trial.h).
  bool on_trial(Session& s, Call& c);
  // Where no version of the code serves, the interpreter gets the next calls directly: looking at the guards may take
  // longer than a short call. Some calls later the versions are looked at again.
  void step_aside(Session& s, const Call& c);
  // The interpreter does the call; how long it takes is learned where somebody wants to know.
  void interpret(Call& c);
  // Which function has called it, so that time is counted once (jit/versions/untried.h).
  void note_time_under(FunctionVersions& f, const runtime::Frame& frame, uint64_t ns);
  uint64_t call_took(const Call& c, Version& v, bool whole = true);
  void judge(Version& v, uint64_t ns, bool interpreted);
  // The device on which a call's tensors are placed goes into the plan, and into `place`. False: not all are placed
  // alike, or the function makes tensors of its own, which nobody placed; the interpreter knows where each result is.
  bool settle_place(Session& s, const Version& fitting, runtime::ExecutionPlan& plan, uint8_t& place);
  runtime::Outcome run_version(Session& s, Call& c, std::shared_ptr<Version> version, uint8_t place, Value& result);
  // A run was left because of an inner call (jit/specialise/residual/apart.cpp): the next ones are the interpreter's,
  // twice as many each time.
  static void note_left_apart(const Call& c, const Version& v);
  std::shared_ptr<Version> make_version(Session& s, runtime::Frame& frame, FunctionVersions& f,
                                        const std::vector<Value>& args, const std::string& why);
  // Of the attempt that was begun; null: it has not ended, or came to nothing.
  std::shared_ptr<Version> next_slice(Session& s, runtime::Frame& frame, FunctionVersions& f,
                                      const std::vector<Value>& args);
  struct Specialised {
    std::shared_ptr<SpecialiseResult> made;
    const SpecialiseRequest& request;
    const std::vector<Value>& args;  // of the call that has it now
    std::string why;
    double ms;
  };
  std::shared_ptr<Version> add_version(Session& s, runtime::Frame& frame, FunctionVersions& f, const Specialised& done);
  struct PauseStart {
    std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
    double processor = processor_ms();  // time of this thread
    static double processor_ms();
  };
  void note_pause(const Session& s, const FunctionVersions& f, const PauseStart& start, bool allowed);
  static void learn_differences(Session& s, FunctionVersions& f, SpecialiseRequest& request);
  void start_compile(Session& s, const std::shared_ptr<Version>& v, bool wait);
  // The same step in the other precision, from the same state; nothing of it is kept but what it returns
  // (jit/versions/shadow.cpp).
  struct Shadow {
    bool ran = false;
    std::vector<Value> outputs;
  };
  Shadow run_shadow(Session& s, Call& c, const Version& v, int threads);
  static double difference(const SpecialiseResult& made, std::span<const Value> outputs, std::span<const Value> shadow,
                           runtime::Precision precision);
  // Will no step call it soon? It is for another plan than that which runs, or no step has called it lately.
  static bool is_idle(Session& s, const Version& v);
  void refuse(Session& s, runtime::Frame& frame, FunctionVersions& f, const std::string& why);
  // Does a call work on tensors? Only such functions are compiled if nobody asks for it.
  bool wants(runtime::Frame& frame, bool objects) const;

  Session& session_;
  bool stress_exits_ = false;   // OURO_STRESS_EXITS: see docs/testing.md
  bool stress_slices_ = false;  // OURO_STRESS_SLICES: likewise
  bool everything_ = false;     // OURO_COMPILE=everything: functions without tensors, and the library's, too
  std::unordered_map<const ir::Function*, std::unique_ptr<CodeVersions>> index_;
  std::deque<std::unique_ptr<FunctionVersions>> order_;
  // Scratch of one call, reused: no allocation in the steady state. One per depth of nested compiled calls.
  struct Scratch {
    std::vector<Value> args, nodes, inputs, outputs;
  };
  std::deque<Scratch> scratch_;
  size_t depth_ = 0;
  uint16_t temporaries_ = 0;  // of the last version that ran: their level, and the rows of a chunk
  uint32_t micro_batch_ = 0;
  runtime::Precision precision_ = runtime::Precision::f32;
  // Calls that the interpreter is doing and that are timed, the innermost last.
  struct Timed {
    const runtime::Frame* frame;
    FunctionVersions* function;
    std::shared_ptr<Version> version;
    std::chrono::steady_clock::time_point start;
    uint64_t compiler_ns, frames;  // as of then
    bool left;
  };
  std::vector<Timed> timed_;
  uint64_t compiler_ns_ = 0;  // that the script has waited for the compiler
  plain::Tier plain_;
  Pauses pauses_;
  Experience experience_;
  std::shared_ptr<runtime::Backend> host_;
  std::shared_ptr<CodeCache> cache_ = std::make_shared<CodeCache>(0);
  std::unique_ptr<CompileQueue> queue_;
  bool in_slice_ = false;
  bool parts_wanted_ = false;  // some derivative is interpreted: its functions' forms are compiled by themselves
  static constexpr int64_t kMostStressed = 64;
  int64_t stress_exit_of_pullbacks_ = 0;  // the instruction behind ad.wait at which stress mode leaves next
};

/// Gives a session its compiler (modes graph and auto).
void install(Session& s);
/// Changes the mode between two statements, from any to any: what is compiled stays, and rests in the mode eager. A
/// session that has begun in the mode eager has code that is never compiled: what ran before.
void set_mode(Session& s, runtime::Mode mode);
/// The session's compiler, or null (mode eager).
JitExecutor* executor_of(Session& s);

}  // namespace ouro::jit
