// Per-session caches of reverse mode.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "runtime/autodiff/autodiff.h"

namespace ouro::runtime::autodiff {

struct State {
  struct Pair {
    ir::FunctionRef source, forward, flat;  // null: not made yet
    ir::FunctionRef catching;               // the variant that returns what it raises (ir/grad/raising.h)
    std::string error;                      // why there is none
  };
  std::unordered_map<const ir::Function*, Pair> pairs;
  std::unordered_map<const NativeDef*, Value> natives;  // forward forms in grad_rules
  std::unordered_map<const Type*, Value> classes;
  std::unordered_map<const void*, Value> catching;      // of those whose form is no function's: what they do, catching
  bool classes_hold = false;                            // differentiated code wrote to a class, or made one
  std::unordered_set<const Object*> opaque_generators;  // made in differentiated code, not differentiated themselves
  std::vector<Value> guarded;                           // generators with a yield inside of a try
  int reusable_pullbacks = 0;  // pullbacks that are made now may be asked for again and again: the interpreter's can be
  Value rules;                 // module grad_rules
  Value table;                 // its RULES
  std::unordered_map<std::string, Value> found;  // rules and functions by name
  std::unordered_set<const ir::Function*>
      transforms;  // what grad and value_and_grad give: compiled as a script's function
};

inline State& state(Session& s);
// While pullbacks are made that somebody keeps.
class ReusablePullbacks {
 public:
  explicit ReusablePullbacks(Session& s) : s_(s) { ++state(s_).reusable_pullbacks; }
  ~ReusablePullbacks() { --state(s_).reusable_pullbacks; }
  ReusablePullbacks(const ReusablePullbacks&) = delete;
  ReusablePullbacks& operator=(const ReusablePullbacks&) = delete;

 private:
  Session& s_;
};

inline State& state(Session& s) { return s.state<State>(); }

// The module grad_rules, imported at first use; error with an exception set.
const Value& rules_module(Session& s);

}  // namespace ouro::runtime::autodiff
