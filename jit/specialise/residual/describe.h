// Abstract values as recipes: how the real value is made, when a version ends or for an operation of the interpreter.
#pragma once

#include <map>
#include <vector>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

class Describer {
 public:
  enum class For : uint8_t {
    exit,     // what exists outside is found by its access node
    operand,  // ... and is an operand like others
  };
  Describer(Specialiser& s, For purpose) : s_(s), for_(purpose) {}

  OutputTree tree(const AVal& a);
  /// Has the program itself made an object of `made` meanwhile? Describing a value that differs between branches may do
  /// that. The caller then describes everything again.
  bool is_outdated() const;
  /// When all trees are there: only what occurs again is to be found again.
  void settle(OutputTree& t) const;
  /// The share of an object of `made`.
  static uint32_t share_of(HeapId id) { return id; }

  std::vector<ir::Atom> outputs;  // what the trees' outputs are
  std::vector<HeapId> made;       // objects that the trees make

 private:
  OutputTree object(HeapId id);
  OutputTree closure(const AVal& a);
  OutputTree extension(const AVal& a);  // an object of a class that extends tuple
  OutputTree output(ir::Atom a);
  OutputTree outside(uint32_t node);
  // A value without a place in the heap is the same one where its parts are. False: it was described before.
  bool first(const AVal& a, OutputTree& t);

  Specialiser& s_;
  For for_;
  std::map<uint32_t, int> seen_;  // by OutputTree::share
  std::map<std::shared_ptr<const AParts>, uint32_t> shares_;
  std::map<std::pair<bool, uint32_t>, size_t> places_;  // among the outputs
};

}  // namespace ouro::jit
