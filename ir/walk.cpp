#include "ir/walk.h"

#include <algorithm>

namespace ouro::ir {

std::vector<std::vector<BlockId>> predecessors(const Function& f) {
  std::vector<std::vector<BlockId>> preds(f.blocks.size());
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    const Block& b = f.blocks[i];
    for_each_handover(f, b, [&](uint32_t, const Handover& h) { preds[index(h.handler)].push_back(BlockId{i}); });
    for (const Target& t : b.term.targets) preds[index(t.block)].push_back(BlockId{i});
  }
  return preds;
}

// Postorder of any graph given by successor lists, iteratively.
static std::vector<uint32_t> postorder(const std::vector<std::vector<uint32_t>>& successors) {
  std::vector<uint32_t> order;
  if (successors.empty()) return order;
  std::vector<bool> seen(successors.size(), false);
  std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    auto [n, next] = stack.back();
    if (next == successors[n].size()) {
      order.push_back(n);
      stack.pop_back();
      continue;
    }
    ++stack.back().second;
    uint32_t s = successors[n][next];
    if (seen[s]) continue;
    seen[s] = true;
    stack.push_back({s, 0});
  }
  return order;
}

std::vector<BlockId> reverse_postorder(const Function& f) {
  std::vector<std::vector<uint32_t>> successors(f.blocks.size());
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    const Block& b = f.blocks[i];
    for_each_handover(f, b, [&](uint32_t, const Handover& h) { successors[i].push_back(index(h.handler)); });
    for (const Target& t : b.term.targets) successors[i].push_back(index(t.block));
  }
  std::vector<uint32_t> order = postorder(successors);
  std::vector<BlockId> result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) result.push_back(BlockId{*it});
  return result;
}

std::vector<Binding> bindings(const Function& f) {
  std::vector<Binding> result(f.names.size());
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    for (NameId p : f.blocks[i].params) result[index(p)] = {BlockId{i}, Binding::kParam};
    for (uint32_t k = 0; k < f.blocks[i].lets.size(); ++k)
      result[index(f.blocks[i].lets[k].result)] = {BlockId{i}, static_cast<int32_t>(k)};
  }
  return result;
}

Dominators::Dominators(const Function& f) : first_(f.blocks.size()), cuts_(f.blocks.size()) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    first_[i] = count++;
    for (uint32_t k = 0; k < f.blocks[i].lets.size(); ++k)
      if (f.blocks[i].lets[k].handover != Let::kNoHandover) cuts_[i].push_back(k), ++count;
  }
  node_.resize(count);
  std::vector<std::vector<uint32_t>> successors(count), preds(count);
  auto edge = [&](uint32_t from, uint32_t to) {
    successors[from].push_back(to);
    preds[to].push_back(from);
  };
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    const Block& b = f.blocks[i];
    for (uint32_t k = 0; k < cuts_[i].size(); ++k) {
      uint32_t n = first_[i] + k;
      edge(n, first_[index(f.handovers[b.lets[cuts_[i][k]].handover].handler)]);
      edge(n, n + 1);
    }
    uint32_t last = first_[i] + static_cast<uint32_t>(cuts_[i].size());
    if (b.term.handover != Let::kNoHandover) edge(last, first_[index(f.handovers[b.term.handover].handler)]);
    for (const Target& t : b.term.targets) edge(last, first_[index(t.block)]);
  }
  std::vector<uint32_t> order = postorder(successors);
  std::reverse(order.begin(), order.end());
  for (uint32_t i = 0; i < order.size(); ++i) node_[order[i]].order = i;
  if (order.empty()) return;
  node_[0].idom = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < order.size(); ++i) {
      uint32_t n = order[i], idom = UINT32_MAX;
      for (uint32_t p : preds[n]) {
        if (node_[p].idom == UINT32_MAX) continue;
        if (idom == UINT32_MAX) {
          idom = p;
          continue;
        }
        uint32_t a = idom, b = p;
        while (a != b) {
          while (node_[a].order > node_[b].order) a = node_[a].idom;
          while (node_[b].order > node_[a].order) b = node_[b].idom;
        }
        idom = a;
      }
      if (node_[n].idom != idom) node_[n].idom = idom, changed = true;
    }
  }
  std::vector<std::vector<uint32_t>> children(count);
  for (uint32_t i = 1; i < order.size(); ++i) children[node_[order[i]].idom].push_back(order[i]);
  uint32_t clock = 0;
  std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
  node_[0].enter = clock++;
  while (!stack.empty()) {
    auto [n, next] = stack.back();
    if (next == children[n].size()) {
      node_[n].leave = clock++;
      stack.pop_back();
      continue;
    }
    ++stack.back().second;
    node_[children[n][next]].enter = clock++;
    stack.push_back({children[n][next], 0});
  }
}

uint32_t Dominators::segment(BlockId b, uint32_t pos) const {
  const auto& cuts = cuts_[index(b)];
  return first_[index(b)] + static_cast<uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), pos) - cuts.begin());
}

bool Dominators::dominates(BlockId a, BlockId b) const { return node_dominates(first_[index(a)], first_[index(b)]); }

bool Dominators::available(Binding def, BlockId b, uint32_t pos) const {
  if (def.block == BlockId::none) return false;
  if (def.block == b && def.position < static_cast<int32_t>(pos)) return true;
  // A let that hands over is bound behind its cut.
  uint32_t from =
      def.position < 0 ? first_[index(def.block)] : segment(def.block, static_cast<uint32_t>(def.position) + 1);
  uint32_t to = segment(b, pos);
  return from != to && node_dominates(from, to);
}

Liveness::Liveness(const Function& f) : live_in(f.blocks.size()) {
  auto preds = predecessors(f);
  auto defs = bindings(f);
  std::vector<std::vector<uint32_t>> uses(f.names.size());  // blocks, each once
  for (uint32_t i = 0; i < f.blocks.size(); ++i)
    for_each_use(f, f.blocks[i], [&](uint32_t, NameId n) {
      auto& u = uses[index(n)];
      if (u.empty() || u.back() != i) u.push_back(i);
    });
  std::vector<uint32_t> stamp(f.blocks.size(), UINT32_MAX), work;
  for (uint32_t n = 0; n < f.names.size(); ++n) {
    work = uses[n];
    while (!work.empty()) {
      uint32_t b = work.back();
      work.pop_back();
      if (index(defs[n].block) == b || stamp[b] == n) continue;
      stamp[b] = n;
      live_in[b].push_back(NameId{n});
      for (BlockId p : preds[b]) work.push_back(index(p));
    }
  }
}

std::vector<NameId> Liveness::live_out(const Function& f, BlockId b) const {
  std::vector<NameId> out;
  for (const Target& t : f.block(b).term.targets)
    out.insert(out.end(), live_in[index(t.block)].begin(), live_in[index(t.block)].end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace ouro::ir
