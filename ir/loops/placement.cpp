#include "ir/loops/placement.h"

namespace ouro::ir::loops {

Placement::Placement(const Kernel& k)
    : k_(k), dependence_(k), volatile_(k.nodes.size()), placed_(k.nodes.size()), seen_(k.nodes.size()) {
  for (size_t i = 0; i < k.nodes.size(); ++i) {
    const Node& n = k.nodes[i];
    bool v = n.kind == Node::Kind::load && k.buffers[n.id].access != Access::in;
    for (int a = 0; a < n.nargs; ++a) v = v || volatile_[index(n.args[a])];
    volatile_[i] = v;
  }
}

void Placement::forget(size_t mark) {
  for (size_t i = mark; i < order_.size(); ++i) placed_[index(order_[i])] = false;
  order_.resize(mark);
}

bool Placement::available(NodeId n, const Scope& scope) const {
  const Dependence::Of& d = dependence_.of(n);
  return !(d.vars & ~scope.vars) && !(d.results & ~scope.results);
}

void Placement::visit(NodeId n, const Scope& scope, bool all, std::vector<NodeId>& out) {
  const Node& node = k_.node(n);
  if (placed_[index(n)] || seen_[index(n)] == walk_) return;
  seen_[index(n)] = walk_;
  for (int a = 0; a < node.nargs; ++a) visit(node.args[a], scope, all, out);
  if (node.nargs == 0 || !available(n, scope) || (!all && volatile_[index(n)])) return;
  placed_[index(n)] = true;
  order_.push_back(n);
  out.push_back(n);
}

void Placement::visit_uses(const Stmt& s, const Scope& scope, std::vector<NodeId>& out) {
  for (NodeId e : s.extents) visit(e, scope, false, out);
  for (NodeId v : s.values) visit(v, scope, false, out);
  for (const Stmt& b : s.body) visit_uses(b, scope, out);
  if (s.kind == Stmt::Kind::store) {
    visit(s.at, scope, false, out);
    visit(s.value, scope, false, out);
  }
}

std::vector<NodeId> Placement::before(const Stmt& s, const Scope& scope) {
  std::vector<NodeId> out;
  ++walk_;
  visit_uses(s, scope, out);
  ++walk_;
  if (s.kind == Stmt::Kind::store) {
    visit(s.at, scope, true, out);
    visit(s.value, scope, true, out);
  }
  return out;
}

std::vector<NodeId> Placement::inside_reduce(const Stmt& s, const Scope& scope) {
  std::vector<NodeId> out;
  ++walk_;
  for (NodeId v : s.values) visit(v, scope, true, out);
  return out;
}

}  // namespace ouro::ir::loops
