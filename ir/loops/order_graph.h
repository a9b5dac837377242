// Which of the nodes of a program need which others, while nodes are joined into one.
//
// Nodes are kept in a list in which each stands behind all that it needs. Two nodes may become one unless a third has
// to run between them. To find out, a search goes backwards from the later node over what it needs, as far as the
// earlier node. When the two join, the nodes that the search has met move in front of the earlier one. So a join costs
// in proportion to what stands between the two, not to the program (the affected region of Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", 2006, with the order as a list as in Bender et al., 2002).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ouro::ir::loops {

class OrderGraph {
 public:
  explicit OrderGraph(size_t nodes);
  size_t size() const { return needs_.size(); }
  /// Before seal().
  void add(int node, int needed) { needs_[static_cast<size_t>(node)].push_back(needed); }
  void seal();

  /// The node that `node` has become a part of; itself if none.
  int find(int node);
  /// Makes `b` a part of `a`. False, and nothing is changed: another node has to run between them, or too many nodes
  /// would have to be looked at.
  bool join(int a, int b);

 private:
  static constexpr size_t kSearch = 2000;  // edges looked at for one join
  static constexpr int64_t kGap = int64_t{1} << 32;

  void renumber();
  void unlink(int node);
  void insert_before(int node, int place);
  bool between(int earlier, int later);

  // The list is a ring through node -1, which is kept behind the others.
  size_t at(int node) const { return node < 0 ? needs_.size() : static_cast<size_t>(node); }

  std::vector<std::vector<int>> needs_;
  std::vector<int> part_of_;
  std::vector<int64_t> label_;  // grows along the list
  std::vector<int> before_, behind_;
  std::vector<uint32_t> seen_;
  uint32_t walk_ = 0;
  std::vector<int> found_;  // of `between`
};

}  // namespace ouro::ir::loops
