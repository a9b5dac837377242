// The control flow of a function as reverse mode sees it: nodes, the edges into each block, what lies in a loop.
//
// A block is cut behind every let that hands over to a handler; the pieces are its nodes. A node's last let is then the
// one that may leave to the handler (`splits`), which is entered as if that let had not been.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir/anf.h"

namespace ouro::ir::grad {

struct Node {
  BlockId block{};
  bool first = false;    // of its block
  bool splits = false;   // its last let hands over
  bool in_loop = false;  // may be passed more than once
  bool returns = false;  // a return can be reached from it
};

struct InEdge {
  uint32_t node = 0;  // where it comes from
  BlockId to{};
  bool handover = false;  // from the point before the node's last let (or from a raise)
  uint32_t args_begin = 0, nargs = 0;
};

class Flow {
 public:
  explicit Flow(const Function& f);
  const std::vector<BlockId>& order() const { return order_; }  // reverse postorder
  const std::vector<Node>& nodes() const { return nodes_; }
  uint32_t first_node(BlockId b) const { return first_[index(b)]; }
  const Node& node_of(BlockId b) const { return nodes_[first_node(b)]; }
  const std::vector<InEdge>& in_edges(BlockId b) const { return in_[index(b)]; }
  uint32_t handover_number(uint32_t handover) const { return handover_number_[handover]; }
  uint32_t target_number(const Terminator* t, size_t i) const { return target_number_.at({t, i}); }
  const std::vector<uint32_t>& successors(uint32_t node) const { return successors_[node]; }
  uint32_t position(uint32_t node) const { return position_[node]; }  // in reverse postorder

 private:
  void connect(const Function& f);
  void find_loops();
  void find_returns(const Function& f);
  std::vector<BlockId> order_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> first_, position_, handover_number_;
  std::vector<std::vector<InEdge>> in_;
  std::map<std::pair<const Terminator*, size_t>, uint32_t> target_number_;
  std::vector<std::vector<uint32_t>> successors_;
};

}  // namespace ouro::ir::grad
