// The compiled step: a typed function as a flat program of kernel launches, library calls and scalar operations.
//
//   typed ANF ──graph, clusters, loops (ir/loops)──► kernels of one module + instructions (this)
//
// Registers hold values by name. A tensor that only kernels see lives in the arena of the activation
// (docs/design/rules.md D23); one that a library call, another block or the caller sees has a buffer of its own: that
// of a dead input which nobody else holds, where a kernel may work in place, or one kept from an earlier run, else a
// new one. What the caller sees has two of these, so that a step that replaces its arguments' tensors makes none after
// the first runs; they are kept as long as the plan.
//
// Sizes are polynomials in the symbols of the parameters' dims, evaluated when they change. The thread count is an
// argument of run().
//
// Typed ANF as build_plan() takes it (jit/specialise/specialise writes it): names are typed as tensors, int, float,
// bool, or untyped (boxed); lets are tensor rows (one atom per parameter of the row), scalar operations, tuples, and
// language primitives on boxed values, which the runtime runs; blocks end in return_ of a tuple, jump, branch, or raise
// of a string: the version is left there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/anf.h"
#include "runtime/machine/backend.h"
#include "runtime/object/session.h"
#include "runtime/object/value.h"

namespace ouro::jit {

class CodeCache;

using SymbolSizes = std::vector<std::pair<uint32_t, int64_t>>;

class Plan;
using PlanRef = std::shared_ptr<Plan>;

struct PlanOptions {
  std::shared_ptr<runtime::Backend> backend;
  std::shared_ptr<CodeCache> cache;  // null: the backend compiles
  runtime::ExecutionPlan plan;       // what demands have come to
  bool beside = false;               // nobody waits for it: its first run is to be as quick as the others
  int threads = 1;                   // that compile its kernels
  SymbolSizes sizes{};               // that symbols are likely to have: for what is chosen by cost
  PlanRef like{};                    // made of the same typed function: runs of either may go on in the other
};

/// Asked at the head of a loop of the program while a demand waits: in which plan the run is to go on from there.
class NextPlan {
 public:
  virtual ~NextPlan() = default;
  /// Null: in the one that runs.
  virtual PlanRef next() = 0;
  /// The run goes on in the plan that next() gave.
  virtual void moved() = 0;
};

class WaitingRun;

struct RunContext {
  runtime::Session& session;
  int threads = 1;
  int64_t leave_after = -1;               // instructions, then leave as if a guard had failed (stress mode); -1: never
  uint8_t place = 0;                      // of the tensors made (Tensor::place)
  bool times = false;                     // each instruction is timed, for a report
  bool effects = false;                   // set once something outside was changed, or a call made that may have
  NextPlan* next = nullptr;               // null: the run ends in the plan that it began with
  std::unique_ptr<WaitingRun> waiting{};  // the run, where it waits
  // Where it has raised or was interrupted, and in which call of the program that ran then.
  struct RaisedAt {
    Span span{};
    std::shared_ptr<const ir::InlinedCalls> calls{};
    uint32_t call = 0;
  } raised{};
};

enum class PlanExit : uint8_t {
  returned,
  raised,       // the exception is pending in the session
  interrupted,  // raised is KeyboardInterrupt: whoever would do the call again must not
  left,         // `outputs` is empty; Plan::leave_reason tells
  waits,        // at ad.wait, whose operands are the `outputs`: RunContext::waiting goes on
};

/// A run of a forward form's program that has stopped at ad.wait: it has handed out the result, and waits for its
/// cotangents. The plan must outlive it.
class WaitingRun {
 public:
  virtual ~WaitingRun() = default;
  /// Resumes the run, once: it goes to the end of the program. `cotangents`: the tuple that ad.wait gives.
  virtual PlanExit go_on(runtime::Value cotangents, std::vector<runtime::Value>& outputs, RunContext& context) = 0;
};

struct PlanCounters {
  uint64_t runs = 0, launches = 0, tensors_made = 0, donated = 0, rows = 0, boxed = 0;
};

/// Where the time of a plan's runs went (RunContext::times), an instruction at a time.
struct InstructionTime {
  std::string what;  // "kernel 3", "matmul", an operation's name
  Span span{};
  bool by_interpreter = false;  // a language primitive on boxed values
  uint64_t runs = 0, ns = 0;
};

class Plan {
 public:
  virtual ~Plan() = default;

  /// Runs the step. `inputs` are the entry parameters' values and are moved from: a tensor that only the caller's span
  /// held may be written in place. `outputs` gets the items of the returned tuple (or the one value). One thread at a
  /// time per session; the plan itself may be shared by sessions.
  virtual PlanExit run(std::span<runtime::Value> inputs, std::vector<runtime::Value>& outputs, RunContext& context) = 0;

  /// Why the last run on this thread left, and where.
  virtual std::string_view leave_reason() const = 0;
  virtual size_t inputs() const = 0;
  virtual size_t kernels() const = 0;
  /// Their loops, in the order of the launches; they live as long as the plan.
  virtual std::vector<const ir::loops::Kernel*> kernel_list() const = 0;
  /// Operations that the runtime carries out: rows without a kernel, and boxed ones.
  virtual size_t loose() const = 0;
  virtual size_t code_bytes() const = 0;
  /// Their code was compiled by an earlier process (jit/cache).
  virtual bool loaded() const = 0;
  /// For each kernel that is evaluated because the code generator does not take it, why.
  virtual std::vector<std::string> not_compiled() const = 0;
  virtual PlanCounters counters() const = 0;
  /// Bytes of temporaries at the step that needs most, for sizes of the entry parameters' symbols as of the last run.
  virtual int64_t peak_bytes() const = 0;
  /// Bytes that it keeps for its next run in a session, and nobody else holds; and gives them back.
  virtual int64_t held_bytes(runtime::Session& s) const = 0;
  virtual void drop_held(runtime::Session& s) = 0;
  /// Of the last run that had others than the one before.
  virtual SymbolSizes sizes() const = 0;
  /// What is computed a second time, where the plan bounds temporaries.
  struct Recomputing {
    size_t lets = 0;
    double work = 0;                // as a part of the work of all, by the compiler's estimate
    int64_t before = 0, after = 0;  // bytes of temporaries, likewise
  };
  virtual Recomputing recomputing() const = 0;
  /// The part of the step that it does in chunks of the batch (ir/loops/micro_batch.h).
  struct MicroBatching {
    int64_t rows = 0;     // of the batch; 0: there is none, or it is not known before the step runs
    int64_t size = 0;     // of a chunk, 0: it is not done in chunks
    int64_t sums = 0;     // bytes that the chunks are added up in
    std::string refusal;  // why there is no batch
    Span where{};         // of what refuses
  };
  /// As it is, or, where the plan asks for none, as it would be.
  virtual const MicroBatching& micro_batching() = 0;
  /// Of the instructions that ran and were timed, in their order.
  virtual std::vector<InstructionTime> times() const = 0;
  /// Instructions as text.
  virtual std::string text() const = 0;
};

/// Compiles. Reads only the function: may run on a background thread. Null and `error` set when the backend fails.
PlanRef build_plan(ir::FunctionRef typed, const PlanOptions& options, std::string& error);

/// Gives back what plans that are not running keep for their next run in this session: arenas, tensors of results.
void drop_idle_memory(runtime::Session& s);

}  // namespace ouro::jit
