// Control flow facts of a function, for the specialiser: post-dominators (Cooper, Harvey, Kennedy 2001, on the reversed
// graph), liveness, natural loops. Edges to exception handlers are left out: the specialiser follows only the way
// without exceptions.
#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <numeric>

#include "jit/specialise/specialiser.h"

namespace ouro::jit {

using ir::BlockId;
using ir::index;

namespace {

std::vector<BlockId> post_dominators(const ir::Function& f) {
  size_t n = f.blocks.size(), exit = n;
  std::vector<std::vector<size_t>> succ(n + 1), pred(n + 1);
  for (size_t i = 0; i < n; ++i) {
    for (const ir::Target& t : f.blocks[i].term.targets) succ[i].push_back(index(t.block));
    if (f.blocks[i].term.targets.empty()) succ[i].push_back(exit);
    for (size_t s : succ[i]) pred[s].push_back(i);
  }
  // Postorder of the reversed graph from the exit.
  std::vector<size_t> order, number(n + 1, SIZE_MAX);
  std::vector<std::pair<size_t, size_t>> stack{{exit, 0}};
  std::vector<bool> seen(n + 1, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    if (i < pred[b].size()) {
      size_t p = pred[b][i++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
    } else {
      number[b] = order.size();
      order.push_back(b);
      stack.pop_back();
    }
  }
  std::vector<size_t> idom(n + 1, SIZE_MAX);
  idom[exit] = exit;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = order.size(); k-- > 0;) {
      size_t b = order[k];
      if (b == exit) continue;
      size_t best = SIZE_MAX;
      for (size_t s : succ[b]) {
        if (idom[s] == SIZE_MAX) continue;
        if (best == SIZE_MAX) {
          best = s;
          continue;
        }
        size_t x = s;
        while (x != best) {
          while (number[x] < number[best]) x = idom[x];
          while (number[best] < number[x]) best = idom[best];
        }
      }
      if (best != idom[b]) {
        idom[b] = best;
        changed = true;
      }
    }
  }
  std::vector<BlockId> out(n, BlockId::none);
  for (size_t i = 0; i < n; ++i)
    if (idom[i] != SIZE_MAX && idom[i] != exit) out[i] = BlockId{static_cast<uint32_t>(idom[i])};
  return out;
}

// Which names are live at the entry of each block, its own parameters among them: backward data flow over sets of bits,
// a word at a time, until no block changes (Kildall 1973).
std::vector<std::vector<bool>> liveness(const ir::Function& f) {
  const size_t n = f.blocks.size(), words = (f.names.size() + 63) / 64;
  using Set = std::vector<uint64_t>;
  const auto put = [](Set& s, ir::NameId name) { s[index(name) / 64] |= uint64_t{1} << index(name) % 64; };
  const auto take = [](Set& s, ir::NameId name) { s[index(name) / 64] &= ~(uint64_t{1} << index(name) % 64); };
  // What a block reads of what it does not bind, and all that it binds.
  std::vector<Set> live(n, Set(words)), bound(n, Set(words));
  std::vector<std::vector<size_t>> predecessors(n);
  for (size_t i = 0; i < n; ++i) {
    const ir::Block& b = f.blocks[i];
    auto use = [&](ir::Atom a) {
      if (a.is_name()) put(live[i], a.name());
    };
    for (const ir::Target& t : b.term.targets) {
      predecessors[index(t.block)].push_back(i);
      for (uint32_t k = 0; k < t.nargs; ++k) use(f.args(t)[k]);
    }
    if (!b.term.a.is_none()) use(b.term.a);
    if (!b.term.b.is_none()) use(b.term.b);
    for (size_t k = b.lets.size(); k-- > 0;) {
      put(bound[i], b.lets[k].result);
      take(live[i], b.lets[k].result);
      for (uint32_t j = 0; j < b.lets[k].nargs; ++j) use(f.args(b.lets[k])[j]);
    }
    for (ir::NameId p : b.params) put(bound[i], p), take(live[i], p);
  }
  std::vector<size_t> changed(n);
  std::vector<bool> waits(n, true);
  std::iota(changed.begin(), changed.end(), size_t{0});
  while (!changed.empty()) {
    const size_t at = changed.back();
    changed.pop_back();
    waits[at] = false;
    for (const size_t p : predecessors[at]) {
      uint64_t fresh = 0;
      for (size_t w = 0; w < words; ++w) {
        const uint64_t more = live[at][w] & ~bound[p][w] & ~live[p][w];
        live[p][w] |= more;
        fresh |= more;
      }
      if (fresh && !waits[p]) changed.push_back(p), waits[p] = true;
    }
  }
  std::vector<std::vector<bool>> out(n, std::vector<bool>(f.names.size(), false));
  for (size_t i = 0; i < n; ++i) {
    for (size_t w = 0; w < words; ++w)
      for (uint64_t left = live[i][w]; left; left &= left - 1) out[i][w * 64 + std::countr_zero(left)] = true;
    for (ir::NameId p : f.blocks[i].params) out[i][index(p)] = true;
  }
  return out;
}

std::vector<std::vector<BlockId>> loops_of(const ir::Function& f) {
  size_t n = f.blocks.size();
  std::vector<std::vector<size_t>> pred(n);
  for (size_t i = 0; i < n; ++i)
    for (const ir::Target& t : f.blocks[i].term.targets) pred[index(t.block)].push_back(i);
  // Back edges: targets on the depth-first stack.
  std::map<size_t, std::vector<size_t>> latches;
  std::vector<int> color(n, 0);
  std::vector<std::pair<size_t, size_t>> stack{{0, 0}};
  color[0] = 1;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    const auto& targets = f.blocks[b].term.targets;
    if (i < targets.size()) {
      size_t t = index(targets[i++].block), from = b;
      if (color[t] == 1) latches[t].push_back(from);
      if (color[t] == 0) {
        color[t] = 1;
        stack.push_back({t, 0});
      }
    } else {
      color[b] = 2;
      stack.pop_back();
    }
  }
  std::vector<std::pair<size_t, std::vector<size_t>>> bodies;
  for (auto& [head, from] : latches) {
    std::vector<bool> in(n, false);
    in[head] = true;
    std::vector<size_t> work = from, body{head};
    while (!work.empty()) {
      size_t b = work.back();
      work.pop_back();
      if (in[b]) continue;
      in[b] = true;
      body.push_back(b);
      for (size_t p : pred[b]) work.push_back(p);
    }
    bodies.push_back({head, body});
  }
  std::sort(bodies.begin(), bodies.end(), [](auto& a, auto& b) { return a.second.size() > b.second.size(); });
  std::vector<std::vector<BlockId>> out(n);
  for (auto& [head, body] : bodies)
    for (size_t b : body) out[b].push_back(BlockId{static_cast<uint32_t>(head)});
  return out;
}

// Of each loop's head: the block where all ways out of the loop meet. (A head's own post-dominator may be a further
// test of the loop's condition, inside of it.)
std::vector<BlockId> loop_exits(const FlowInfo& flow) {
  std::vector<BlockId> out = flow.post_dominator;
  for (size_t head = 0; head < out.size(); ++head) {
    auto inside = [&](BlockId b) {
      const auto& loops = flow.loops[index(b)];
      return std::ranges::find(loops, BlockId{static_cast<uint32_t>(head)}) != loops.end();
    };
    while (out[head] != BlockId::none && inside(out[head])) out[head] = flow.post_dominator[index(out[head])];
  }
  return out;
}

std::vector<Symbol> written_by(const ir::Function& f) {
  namespace prim = ir::prim;
  std::vector<Symbol> out;
  if (const std::string_view name = f.name.text(); name == "__init__" || name == "__new__") return out;
  for (const ir::Block& b : f.blocks)
    for (const ir::Let& l : b.lets) {
      if (l.op == prim::attr_set || l.op == prim::global_set) out.push_back(Symbol::from_id(l.attr));
      if (l.op != prim::update) continue;
      const ir::PlacePath& path = f.paths[l.attr];
      if (path.root == ir::PlacePath::Root::global) out.push_back(path.name);
      for (const ir::PlacePath::Step& step : path.steps)
        if (!step.is_item) out.push_back(step.attr);
    }
  return out;
}

}  // namespace

const FlowInfo& flow_of(const ir::FunctionRef& f) {
  // Immutable facts of immutable functions: shared by all sessions.
  struct Table {
    std::mutex lock;
    std::map<const ir::Function*, std::pair<std::weak_ptr<const ir::Function>, std::unique_ptr<FlowInfo>>> rows;
    size_t sweep_at = 256;
  };
  static Table& table = *new Table;  // never destroyed, as what compiles is not
  std::scoped_lock hold(table.lock);
  if (table.rows.size() >= table.sweep_at) {
    std::erase_if(table.rows, [](const auto& row) { return row.second.first.expired(); });
    table.sweep_at = 2 * table.rows.size() + 256;
  }
  auto& slot = table.rows[f.get()];
  if (!slot.second || slot.first.lock() != f) {
    auto info = std::make_unique<FlowInfo>();
    info->post_dominator = post_dominators(*f);
    info->live_in = liveness(*f);
    info->loops = loops_of(*f);
    info->loop_exit = loop_exits(*info);
    info->written = written_by(*f);
    slot = {f, std::move(info)};
  }
  return *slot.second;
}

}  // namespace ouro::jit
