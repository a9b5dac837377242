// Where nodes are computed: each as far out as its operands allow, just before the first statement that needs it there.
//
// Text, evaluator and emitters walk the statements in order and ask, before each statement, which nodes to compute; so
// an expression that does not depend on an inner loop's variable stands outside of it, once. Loads of buffers that the
// kernel also writes stay in the statement that uses them.
#pragma once

#include <vector>

#include "ir/loops/loop_ir.h"

namespace ouro::ir::loops {

class Placement {
 public:
  explicit Placement(const Kernel& k);

  /// Variables and results that are in scope.
  struct Scope {
    uint64_t vars = 0, results = 0;
  };
  /// Nodes to compute before statement `s` in `scope`, operands first; parameters, variables, results and constants are
  /// never listed. For a store these are all it needs.
  std::vector<NodeId> before(const Stmt& s, const Scope& scope);
  /// Nodes to compute in the body of reduction `s`; `scope` includes its variables.
  std::vector<NodeId> inside_reduce(const Stmt& s, const Scope& scope);
  /// Forgets what was computed inside a loop that has ended: those nodes are not in scope behind it.
  size_t mark() const { return order_.size(); }
  void forget(size_t mark);

  const Dependence& dependence() const { return dependence_; }

 private:
  void visit(NodeId n, const Scope& scope, bool all, std::vector<NodeId>& out);
  void visit_uses(const Stmt& s, const Scope& scope, std::vector<NodeId>& out);
  bool available(NodeId n, const Scope& scope) const;

  const Kernel& k_;
  Dependence dependence_;
  std::vector<bool> volatile_;  // holds a load of a written buffer
  std::vector<bool> placed_;
  std::vector<uint32_t>
      seen_;  // the walk that last came by: a node that has to wait is met on many ways, and looked at once
  uint32_t walk_ = 0;
  std::vector<NodeId> order_;
};

}  // namespace ouro::ir::loops
