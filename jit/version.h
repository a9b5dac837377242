// A version: one function, specialised for one key, and everything a call of it needs. The key is the abstract
// arguments (of which `made` is the result, shared by versions that differ in the plan only) and the execution plan.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "jit/pins.h"
#include "jit/plan/plan.h"
#include "jit/specialise.h"

namespace ouro::jit {

struct Version {
  enum class State : uint8_t { compiling, ready, failed, retired };
  std::atomic<State> state{State::compiling};
  std::shared_ptr<SpecialiseResult> made;  // typed program, access program, outputs
  runtime::ExecutionPlan demands;          // what it is compiled for
  PlanRef plan;                            // set before `state` becomes ready
  std::string error;                       // of a failed compilation
  // What explain tells.
  double specialise_ms = 0, compile_ms = 0;
  std::atomic<uint64_t> calls{0}, nanoseconds{0}, exits{0};
  bool placed = false;      // made for tensors placed on its plan's device; serves no others
  bool superseded = false;  // it holds constants that are dynamic in those made after it (Pins): it serves, uncounted
  std::string why;          // which guard of the versions before it failed
  bool symbolic = false;
  int64_t stress_exit = 0;  // the instruction at which stress mode leaves next
};

// All versions of one function.
struct FunctionVersions {
  ir::FunctionRef code;
  bool marked = false;                             // @jit, or --mode=graph: as soon as possible
  std::vector<bool> fixed;                         // by parameter: `jit(static=)`
  std::vector<std::shared_ptr<Version>> versions;  // newest first
  Pins pins;
  std::vector<SpecialiseNote> failures;
  std::vector<SpecialiseNote> before_failure;  // what the last failed attempt had left to the interpreter by then
  std::string refused;                         // why it stays interpreted, once decided
  std::string full;                            // why there will be no more versions, once decided
  uint64_t interpreted_calls = 0;
};

constexpr size_t kMaxVersions = 8;
constexpr size_t kMaxFailures = 3;

}  // namespace ouro::jit
