#include "ir/grad/flow.h"

#include <algorithm>

#include "ir/walk.h"

namespace ouro::ir::grad {

Flow::Flow(const Function& f) : order_(reverse_postorder(f)), first_(f.blocks.size()), in_(f.blocks.size()) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    first_[b] = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({.block = BlockId{b}, .first = true});
    for (const Let& l : f.blocks[b].lets) {
      if (l.handover == Let::kNoHandover) continue;
      nodes_.back().splits = true;
      nodes_.push_back({.block = BlockId{b}});
    }
  }
  position_.resize(nodes_.size());
  uint32_t next = 0;
  for (BlockId b : order_)
    for (uint32_t n = first_node(b); n < nodes_.size() && nodes_[n].block == b; ++n) position_[n] = next++;
  handover_number_.resize(f.handovers.size());
  successors_.resize(nodes_.size());
  connect(f);
  find_loops();
  find_returns(f);
}

void Flow::connect(const Function& f) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    const Block& block = f.blocks[b];
    uint32_t node = first_[b];
    auto unwind = [&](uint32_t h) {
      const Handover& ho = f.handovers[h];
      auto& edges = in_[index(ho.handler)];
      handover_number_[h] = static_cast<uint32_t>(edges.size());
      edges.push_back({node, ho.handler, true, ho.args_begin, ho.nargs});
      successors_[node].push_back(first_node(ho.handler));
    };
    for (const Let& l : block.lets) {
      if (l.handover == Let::kNoHandover) continue;
      unwind(l.handover);
      successors_[node].push_back(node + 1);
      ++node;
    }
    if (block.term.handover != Let::kNoHandover) unwind(block.term.handover);
    for (size_t i = 0; i < block.term.targets.size(); ++i) {
      const Target& t = block.term.targets[i];
      auto& edges = in_[index(t.block)];
      target_number_[{&block.term, i}] = static_cast<uint32_t>(edges.size());
      edges.push_back({node, t.block, false, t.args_begin, t.nargs});
      successors_[node].push_back(first_node(t.block));
    }
  }
}

// Tarjan's strongly connected components, iteratively: a node is in a loop if its component has another node or an edge
// to itself.
void Flow::find_loops() {
  size_t n = nodes_.size();
  std::vector<uint32_t> number(n, 0), low(n, 0), stack;
  std::vector<bool> on_stack(n, false);
  uint32_t clock = 0;
  struct Visit {
    uint32_t node;
    size_t next;
  };
  std::vector<Visit> visits;
  for (uint32_t root = 0; root < n; ++root) {
    if (number[root]) continue;
    visits.push_back({root, 0});
    while (!visits.empty()) {
      auto& [v, next] = visits.back();
      if (next == 0) {
        number[v] = low[v] = ++clock;
        stack.push_back(v);
        on_stack[v] = true;
      }
      bool descended = false;
      while (next < successors_[v].size()) {
        uint32_t w = successors_[v][next++];
        if (w == v) nodes_[v].in_loop = true;
        if (!number[w]) {
          visits.push_back({w, 0});
          descended = true;
          break;
        }
        if (on_stack[w]) low[v] = std::min(low[v], number[w]);
      }
      if (descended) continue;
      uint32_t done = v;
      visits.pop_back();
      if (!visits.empty()) low[visits.back().node] = std::min(low[visits.back().node], low[done]);
      if (low[done] != number[done]) continue;
      bool several = stack.back() != done;
      for (uint32_t w = UINT32_MAX; w != done;) {
        w = stack.back();
        stack.pop_back();
        on_stack[w] = false;
        if (several) nodes_[w].in_loop = true;
      }
    }
  }
}

void Flow::find_returns(const Function& f) {
  std::vector<std::vector<uint32_t>> preds(nodes_.size());
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    for (uint32_t s : successors_[n]) preds[s].push_back(n);
  std::vector<uint32_t> work;
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    if (f.block(nodes_[n].block).term.kind == Terminator::Kind::return_ &&
        (n + 1 == nodes_.size() || nodes_[n + 1].first))
      work.push_back(n), nodes_[n].returns = true;
  while (!work.empty()) {
    uint32_t n = work.back();
    work.pop_back();
    for (uint32_t p : preds[n])
      if (!nodes_[p].returns) nodes_[p].returns = true, work.push_back(p);
  }
}

}  // namespace ouro::ir::grad
