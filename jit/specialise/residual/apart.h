// Calls that are no part of the program: recursion over data (apart.cpp).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "jit/specialise/abstract/value.h"

namespace ouro::jit {

class Specialiser;

class Apart {
 public:
  explicit Apart(Specialiser& s) : s_(s) {}

  /// A form is called. The pair of the call, where it stands apart; unbound: it is a part of the program.
  AVal call(const AVal& form, const std::vector<AVal>& args, const std::vector<std::pair<Symbol, AVal>>& keywords);
  /// `call_apart` and `pull_apart` of the rules (stdlib/grad_rules/calls.ouro).
  AVal emit_call(const AVal& form, const AVal& args, const AVal& pattern);
  void emit_pull(const AVal& pullback, const AVal& dy, const AVal& env);

  /// The function that is specialised gives this; it must be what its own inner calls were taken to give.
  void check(const AVal& value) const;
  /// Of a probe: what the function gives.
  void found(const AVal& value) { gives_ = result_of(value); }

  /// Is there such a call in the program?
  bool any() const { return any_; }
  /// Behind ad.wait: the name of the run-time shadow map.
  void set_map(ir::Atom map) { map_ = map; }

 private:
  // What a call gives: a value like it (runtime/autodiff/apart.h), and the types of its parts in order.
  struct Result {
    Value pattern;
    std::vector<const ir::Type*> types;
  };
  std::optional<Result> result_of(const AVal& v) const;
  std::optional<Value> pattern_of(const AVal& v, std::vector<const ir::Type*>& types) const;
  std::optional<Value> value_in_call(const AVal& v) const;
  bool has_no_cotangent(const AVal& v) const;
  bool may_stand_apart(const AVal& form, const std::vector<AVal>& args) const;
  AVal call_of_probe(const AVal& form, const std::vector<AVal>& args);
  std::optional<Result> probe(const Value& form, const std::vector<AVal>& args) const;
  AVal taken_apart(ir::Atom value, const Value& pattern, const ir::Type* const*& type);

  Specialiser& s_;
  std::map<const ir::Function*, std::optional<Result>> results_;  // by form; none: such a call is a part of the program
  std::optional<Result> gives_;
  bool any_ = false;
  ir::Atom map_{};
};

}  // namespace ouro::jit
