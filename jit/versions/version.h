// A version: one function, specialised for one key, and everything a call of it needs. The key is the abstract
// arguments (of which `made` is the result, shared by versions that differ in the plan only) and the execution plan.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "jit/plan/plan.h"
#include "jit/specialise/attempt.h"
#include "jit/specialise/pins.h"
#include "jit/specialise/specialise.h"
#include "jit/versions/pauses.h"
#include "jit/versions/trial.h"

namespace ouro::jit {

struct Version {
  enum class State : uint8_t { compiling, ready, failed };
  std::atomic<State> state{State::compiling};
  std::shared_ptr<SpecialiseResult> made;  // typed program, access program, outputs
  runtime::ExecutionPlan demands;          // what it is compiled for
  PlanRef compiled;                        // written by the compiler's thread until `state` says ready
  std::string error;                       // of a failed compilation
  // What explain tells.
  double specialise_ms = 0, compile_ms = 0;
  std::chrono::steady_clock::time_point made_at{};
  std::atomic<uint64_t> calls{0}, nanoseconds{0}, exits{0};
  int64_t kept = 0;          // bytes that it held between its calls, as last looked at while it served
  uint64_t last_step = 0;    // of the session, when it was called last (runtime/demand/loop.h)
  SymbolSizes sizes;         // that it is likely to be called with
  PlanRef like;              // until it is being compiled: the plan of another version of `made`, on the same device
  uint64_t last_call = 0;    // that it fits, counted by the function's (FunctionVersions::fitting_calls)
  uint64_t fitted = 0;       // calls that it fits, whoever does them; the first is that for which it was made
  std::string left_because;  // the last of them
  bool placed = false;       // made for tensors placed on its plan's device; serves no others
  bool superseded = false;   // it holds constants that are dynamic in those made after it (Pins): it serves, uncounted
  std::string why;           // which guard of the versions before it failed
  bool symbolic = false;
  Trial trial;              // against the interpreter, in the mode auto
  int64_t stress_exit = 0;  // the instruction at which stress mode leaves next

  /// Null while it is being compiled, and where that failed.
  Plan* plan() const { return state.load(std::memory_order_acquire) == State::compiling ? nullptr : compiled.get(); }
};

constexpr uint64_t kMissesToReplace = 16;
constexpr int kMostInVain = 3;

struct FunctionVersions;

// How long the interpreter has taken for calls of a function that calls of `by` have made, directly or not. Null: for
// those that no function has made which may be compiled.
struct TimeUnder {
  const FunctionVersions* by;
  uint64_t ns;
};

// All versions of one function: of its code, and of the codes of the functions that it captures. So the gradients of
// two losses, which are closures of one function of the library, are two functions, and closures made anew share
// versions.
struct FunctionVersions {
  ir::FunctionRef code;
  std::vector<const void*> captured;            // of each captured function its code; of a built-in one, its definition
  std::vector<ir::FunctionRef> captured_codes;  // which are kept
  bool marked = false;                          // @jit, or --mode=graph: as soon as possible
  std::vector<bool> fixed;                      // by parameter: `jit(static=)`
  std::vector<std::shared_ptr<Version>> versions;  // newest first
  Pins pins;
  std::vector<SpecialiseNote> failures;
  std::vector<SpecialiseNote> before_failure;  // what the last failed attempt had left to the interpreter by then
  std::string refused;                         // why it stays interpreted, once decided
  // Why there are no more versions for now (jit/versions/how_many.cpp). After so many calls without one that fits, a
  // new version takes the place of the one that was not called for longest; twice as many the next time. Where three
  // versions that were made so have served nobody else, nothing comes to rest.
  std::string full;
  uint64_t misses_to_replace = kMissesToReplace;
  int replaced_in_vain = 0;
  uint64_t fitting_calls = 0;
  Pauses::Function cost;
  // What the last run of the program says (jit/versions/experience.h): how many versions were worth it, or how long the
  // first one may take at once though nothing was compared.
  size_t worth = 0;
  double allowance_ms = 0;
  bool tried = false;                // some of that was spent
  std::unique_ptr<Attempt> attempt;  // at a version, between two of its slices
  uint32_t changed = 0;  // attempts that ended since the script changed what was read, since the last version
  uint64_t interpreted_calls = 0;
  uint64_t interpreted_ns = 0;  // of those that were timed
  uint64_t timed_calls = 0;
  std::vector<TimeUnder> under;  // in the mode auto, the same time by caller (jit/versions/untried.h)
  // Calls that fit no version, since the newest one was made, and what the last of them had otherwise.
  uint64_t misses = 0;
  std::shared_ptr<SpecialiseResult> missed;
  uint32_t missed_node = 0;
  uint32_t asked = 0;  // calls of a transform's closure before it is compiled
  // Runs that were left because of an inner call of theirs, one after the other, and calls until it is tried again.
  uint32_t apart_failed = 0, apart_skips = 0;
};

// The functions of one code.
struct CodeVersions {
  ir::FunctionRef code;
  bool marked = false;
  bool transform = false;  // what `grad` and `value_and_grad` give: a root, though it is the library's
  // It calls itself with parts of what it is given, which hold tensors: it walks over a tree. Then the outermost call
  // is compiled, with all the inner ones, unless it has been found to work on no tensors (`no_tree`).
  bool walks = false, no_tree = false;
  std::vector<bool> fixed;                       // by parameter: `jit(static=)`
  std::vector<FunctionVersions*> functions;      // the one called last first
  std::chrono::steady_clock::time_point seen{};  // when it was called a second time
};

constexpr size_t kMaxVersions = 8;    // of calls that differ each time
constexpr size_t kMostVersions = 64;  // of calls that come again
constexpr uint64_t kCallsForOneMore = 4;
constexpr int64_t kUnusedInGraph = 6;    // versions that no second call has used, until the next one waits
constexpr int64_t kUnusedRecursive = 3;  // those of a function that calls itself
constexpr int64_t kUnusedForms = 2;      // and of a forward form that is compiled by itself
constexpr size_t kMaxFailures = 3;
constexpr uint32_t kMostChanged = 3;     // attempts in slices, until one is made in one piece
constexpr size_t kMaxFunctions = 64;     // of one code
constexpr uint32_t kTransformWaits = 3;  // calls before a transform's closure is compiled by itself
constexpr int kCompileAfter = 100;       // ms, from a function's second call on

}  // namespace ouro::jit
