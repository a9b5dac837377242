// Responses: what the program can do to meet its goals. One row each, in a file of its own in responses/.
//
// A response looks at the situation and proposes one step towards what is missing, with what it expects of each goal
// and what it costs. The loop (loop.h) chooses among the proposals of all, carries one out, and measures whether the
// promise was kept.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/demand/choice.h"
#include "runtime/demand/measures.h"
#include "runtime/demand/plan.h"
#include "runtime/object/executor.h"

namespace ouro::runtime {

class Session;

struct Situation {
  Measures measures;
  ExecutionPlan plan;                                 // that runs
  PlanMemory plans;                                   // what compiled functions hold
  std::map<std::string, double, std::less<>> wanted;  // the targets that are known, by goal
  bool may_round = false;                             // results may differ in their last bits
  bool may_switch = false;                            // another optimizer may take over
  std::optional<Precision> asked_precision;           // that somebody asks for
  std::span<const Choice> choices;                    // of the script
  int threads = 0, most_threads = 0;                  // that run, that may be chosen (0: none may)
  bool has_floor = false;                             // a metric of the script has one
  bool floor_unknown = false;                         // such a metric was not told since the last choice

  /// How far a goal's measure is above its target; 0 where nobody asks for it.
  double memory_over() const {
    const auto target = wanted.find("memory");
    return target == wanted.end() ? 0 : static_cast<double>(measures.memory) - target->second;
  }
};

struct Proposal {
  std::string text;                                      // "temporaries=12M"
  std::map<std::string, double, std::less<>> predicted;  // by goal
  double cost = 1;                                       // the time of a step, times this
  bool new_shapes = false;  // tensors have other shapes then: the code for them is made when it has run
  std::function<void(Session&)> apply, undo;  // no undo: there is nothing to be undone
};

struct Response {
  std::string_view name;   // "recompute"
  std::string_view moves;  // the goals that it serves, with spaces between; the first is what it is for
  std::string_view what;   // for documents
  /// Null: it has nothing to give.
  std::optional<Proposal> (*propose)(const Situation& now) = nullptr;
  /// What it can take back, because a goal leaves room or nobody asks for it any more. May be null.
  std::optional<Proposal> (*relax)(const Situation& now) = nullptr;
  /// Why it has no more to give, where the goal that it is for is missed. Empty: it says nothing.
  std::string (*limit)(const Situation& now) = nullptr;
  /// Of memory it changes what compiled functions keep, and nothing else: it is judged by that.
  bool memory_of_plans = false;
  // Of a response whose effect is worth to be remembered (remembered.h); both or none.
  /// The text of what is in force now where a proposal with `text` would come.
  std::string (*in_force)(const Situation& now, std::string_view text) = nullptr;
  /// The proposal of that text. Nothing: it cannot be made now.
  std::optional<Proposal> (*again)(const Situation& now, std::string_view text) = nullptr;
};

/// All rows, in the order of their names.
std::span<const Response* const> responses();

}  // namespace ouro::runtime
