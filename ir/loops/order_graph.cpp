#include "ir/loops/order_graph.h"

#include <algorithm>
#include <numeric>

#include "support/diag.h"

namespace ouro::ir::loops {

OrderGraph::OrderGraph(size_t nodes)
    : needs_(nodes), part_of_(nodes), label_(nodes + 1), before_(nodes + 1), behind_(nodes + 1), seen_(nodes, 0) {
  std::iota(part_of_.begin(), part_of_.end(), 0);
}

// Depth first: what a node needs, then the node.
void OrderGraph::seal() {
  const int n = static_cast<int>(needs_.size());
  enum : char { fresh, open, done };
  std::vector<char> state(needs_.size(), fresh);
  std::vector<int> order;
  std::vector<std::pair<int, size_t>> work;
  for (int root = 0; root < n; ++root) {
    if (state[at(root)] != fresh) continue;
    state[at(root)] = open;
    work.emplace_back(root, 0);
    while (!work.empty()) {
      auto& [node, next] = work.back();
      if (next < needs_[at(node)].size()) {
        const int need = needs_[at(node)][next++];
        if (state[at(need)] == open) ouro_bug("nodes of a program need each other");
        if (state[at(need)] == done) continue;
        state[at(need)] = open;
        work.emplace_back(need, 0);
      } else {
        state[at(node)] = done;
        order.push_back(node);
        work.pop_back();
      }
    }
  }
  before_[at(-1)] = behind_[at(-1)] = -1;
  for (int node : order) insert_before(node, -1);
  renumber();
}

int OrderGraph::find(int node) {
  while (part_of_[at(node)] != node) node = part_of_[at(node)] = part_of_[at(part_of_[at(node)])];
  return node;
}

void OrderGraph::renumber() {
  int64_t label = 0;
  for (int node = behind_[at(-1)]; node != -1; node = behind_[at(node)]) label_[at(node)] = label += kGap;
  label_[at(-1)] = label + kGap;
}

void OrderGraph::unlink(int node) {
  behind_[at(before_[at(node)])] = behind_[at(node)];
  before_[at(behind_[at(node)])] = before_[at(node)];
}

void OrderGraph::insert_before(int node, int place) {
  const int previous = before_[at(place)];
  before_[at(node)] = previous;
  behind_[at(node)] = place;
  behind_[at(previous)] = before_[at(place)] = node;
}

// Finds what `later` needs and stands behind `earlier`. False: something of that needs `earlier`.
bool OrderGraph::between(int earlier, int later) {
  found_.clear();
  ++walk_;
  size_t looked = 0;
  std::vector<int> work{later};
  while (!work.empty()) {
    const int node = work.back();
    work.pop_back();
    for (int need : needs_[at(node)]) {
      need = find(need);
      if (++looked > kSearch) return false;
      if (need == earlier && node != later) return false;
      if (label_[at(need)] <= label_[at(earlier)] || seen_[at(need)] == walk_ || need == later) continue;
      seen_[at(need)] = walk_;
      found_.push_back(need);
      work.push_back(need);
    }
  }
  return true;
}

bool OrderGraph::join(int a, int b) {
  const bool a_first = label_[at(a)] < label_[at(b)];
  const int earlier = a_first ? a : b, later = a_first ? b : a;
  if (!between(earlier, later)) return false;
  std::sort(found_.begin(), found_.end(), [&](int x, int y) { return label_[at(x)] < label_[at(y)]; });
  for (int node : found_) {
    unlink(node);
    insert_before(node, earlier);
  }
  unlink(later);
  if (earlier != a) {  // the node that is left takes the place of the earlier one
    insert_before(a, earlier);
    unlink(earlier);
    label_[at(a)] = label_[at(earlier)];
  }
  const int first = found_.empty() ? a : found_.front();
  const int previous = before_[at(first)];
  const int64_t low = previous == -1 ? 0 : label_[at(previous)];
  const int64_t step = (label_[at(a)] - low) / static_cast<int64_t>(found_.size() + 1);
  if (step == 0) {
    renumber();
  } else {
    int64_t label = low;
    for (int node : found_) label_[at(node)] = label += step;
  }
  part_of_[at(b)] = a;
  auto& needs = needs_[at(a)];
  needs.insert(needs.end(), needs_[at(b)].begin(), needs_[at(b)].end());
  for (int& need : needs) need = find(need);
  std::sort(needs.begin(), needs.end());
  needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
  std::erase(needs, a);
  needs_[at(b)].clear();
  return true;
}

}  // namespace ouro::ir::loops
