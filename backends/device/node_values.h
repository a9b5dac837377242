// Nodes of a kernel as values of a writer: each is said once in the scope in which it is first wanted.
#pragma once

#include <vector>

#include "backends/device/kernel_writer.h"

namespace ouro::backends::device {

class NodeValues {
 public:
  using NodeId = ir::loops::NodeId;
  using Value = KernelWriter::Value;

  NodeValues(const ir::loops::Kernel& k, KernelWriter& w);

  /// Precondition: the variables and results that it depends on are set.
  Value of(NodeId id);
  void set_var(uint32_t var, Value v) { vars_[var] = v; }
  Value var(uint32_t var) const { return vars_[var]; }
  void set_result(uint32_t result, Value v) { results_[result] = v; }

  /// What `fn` computes is in its scope only.
  template <class Fn>
  void scoped(Fn&& fn) {
    size_t mark = said_.size();
    fn();
    for (; said_.size() > mark; said_.pop_back()) values_[index(said_.back())] = Value::none;
  }

 private:
  const ir::loops::Kernel& k_;
  KernelWriter& w_;
  std::vector<Value> values_, vars_, results_;
  std::vector<NodeId> said_;
};

/// Only sizes and index arithmetic on them: known before a launch.
bool is_known(const ir::loops::Kernel& k, ir::loops::NodeId id);
/// The number that such a node is.
int64_t known(const ir::loops::Kernel& k, ir::loops::NodeId id, const int64_t* sizes);

}  // namespace ouro::backends::device
