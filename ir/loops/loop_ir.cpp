#include "ir/loops/loop_ir.h"

#include <cstring>

#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

size_t hash_of(const Node& n) {
  size_t h = static_cast<size_t>(n.kind) | static_cast<size_t>(n.leaf) << 8 | static_cast<size_t>(n.type) << 16 |
             static_cast<size_t>(n.id) << 24;
  auto mix = [&h](size_t v) { h = (h ^ v) * size_t{0x9E3779B97F4A7C15} ^ (h >> 29); };
  mix(static_cast<size_t>(n.bits));
  for (int i = 0; i < n.nargs; ++i) mix(index(n.args[i]));
  return h;
}

bool fold_ix(Leaf op, int64_t a, int64_t b, int64_t& out) {
  switch (op) {
    case Leaf::add:
      out = a + b;
      return true;
    case Leaf::sub:
      out = a - b;
      return true;
    case Leaf::mul:
      out = a * b;
      return true;
    case Leaf::idiv:
      out = b ? a / b : 0;
      return true;
    case Leaf::irem:
      out = b ? a % b : 0;
      return true;
    case Leaf::min:
      out = a < b ? a : b;
      return true;
    case Leaf::max:
      out = a > b ? a : b;
      return true;
    default:
      return false;
  }
}

}  // namespace

NodeId KernelBuilder::add(const Node& n) {
  auto& bucket = index_[hash_of(n)];
  for (uint32_t i : bucket)
    if (k_.nodes[i] == n) return NodeId{i};
  uint32_t id = static_cast<uint32_t>(k_.nodes.size());
  bucket.push_back(id);
  k_.nodes.push_back(n);
  return NodeId{id};
}

uint32_t KernelBuilder::buffer(DType type, Access access) {
  k_.buffers.push_back({type, access});
  return static_cast<uint32_t>(k_.buffers.size() - 1);
}

NodeId KernelBuilder::size() { return size(k_.sizes++); }

NodeId KernelBuilder::size(uint32_t id) {
  if (id >= k_.sizes) k_.sizes = id + 1;
  return add({.kind = Node::Kind::size, .type = DType::i64, .id = id});
}

NodeId KernelBuilder::scalar(DType type) {
  k_.scalars.push_back(type);
  return add({.kind = Node::Kind::scalar, .type = type, .id = static_cast<uint32_t>(k_.scalars.size() - 1)});
}

NodeId KernelBuilder::scalar_node(uint32_t id) {
  return add({.kind = Node::Kind::scalar, .type = k_.scalars[id], .id = id});
}

NodeId KernelBuilder::var_node(uint32_t id) {
  if (id >= k_.vars) k_.vars = id + 1;
  return add({.kind = Node::Kind::var, .type = DType::i64, .id = id});
}

NodeId KernelBuilder::result_node(uint32_t id, DType type) {
  if (id >= k_.results) k_.results = id + 1;
  return add({.kind = Node::Kind::result, .type = type, .id = id});
}

NodeId KernelBuilder::constant(DType type, double value) {
  if (type == DType::boolean) return integer(type, value != 0);
  if (!is_float(type)) return integer(type, static_cast<int64_t>(value));
  if (type == DType::f32) value = static_cast<float>(value);
  Node n{.kind = Node::Kind::constant, .type = type};
  std::memcpy(&n.bits, &value, 8);
  return add(n);
}

NodeId KernelBuilder::integer(DType type, int64_t value) {
  if (is_float(type)) return constant(type, static_cast<double>(value));
  return add({.kind = Node::Kind::constant, .type = type, .bits = value});
}

NodeId KernelBuilder::ix(Leaf op, NodeId a, NodeId b) {
  const Node x = node(a), y = node(b);
  bool cx = x.kind == Node::Kind::constant, cy = y.kind == Node::Kind::constant;
  int64_t folded;
  if (cx && cy && fold_ix(op, x.bits, y.bits, folded)) return ix(folded);
  bool zero_x = cx && x.bits == 0, zero_y = cy && y.bits == 0, one_x = cx && x.bits == 1, one_y = cy && y.bits == 1;
  if (op == Leaf::add && zero_x) return b;
  if ((op == Leaf::add || op == Leaf::sub) && zero_y) return a;
  if (op == Leaf::mul && (zero_x || one_y)) return a;
  if (op == Leaf::mul && (zero_y || one_x)) return b;
  if (op == Leaf::idiv && one_y) return a;
  if (op == Leaf::irem && one_y) return ix(0);
  if ((op == Leaf::idiv || op == Leaf::irem) && zero_x) return a;
  if ((op == Leaf::add || op == Leaf::mul) && index(a) > index(b)) std::swap(a, b);  // one form
  return add({.kind = Node::Kind::index, .leaf = op, .type = DType::i64, .nargs = 2, .args = {a, b, NodeId::none}});
}

NodeId KernelBuilder::leaf(Leaf op, DType type, NodeId a, NodeId b, NodeId c) {
  Node n{.kind = Node::Kind::leaf, .leaf = op, .type = type, .nargs = info(op).operands, .args = {a, b, c}};
  return add(n);
}

NodeId KernelBuilder::cast(NodeId a, DType type) { return node(a).type == type ? a : leaf(Leaf::cast, type, a); }

NodeId KernelBuilder::load(uint32_t buffer, NodeId at) {
  return add({.kind = Node::Kind::load,
              .type = loaded_type(k_.buffers[buffer].type),
              .nargs = 1,
              .id = buffer,
              .args = {at, NodeId::none, NodeId::none}});
}

NodeId KernelBuilder::load_if(uint32_t buffer, NodeId at, NodeId condition, NodeId otherwise) {
  return add({.kind = Node::Kind::load,
              .type = loaded_type(k_.buffers[buffer].type),
              .nargs = 3,
              .id = buffer,
              .args = {at, condition, otherwise}});
}

Dependence::Dependence(const Kernel& k) : nodes(k.nodes.size()) {
  for (size_t i = 0; i < k.nodes.size(); ++i) {  // arguments come before their users
    const Node& n = k.nodes[i];
    Of& d = nodes[i];
    if (n.kind == Node::Kind::var) d.vars = uint64_t{1} << n.id;
    if (n.kind == Node::Kind::result) d.results = uint64_t{1} << n.id;
    if (n.kind == Node::Kind::load) d.loads = true;
    for (int a = 0; a < n.nargs; ++a) {
      const Of& o = of(n.args[a]);
      d.vars |= o.vars;
      d.results |= o.results;
      d.loads |= o.loads;
    }
  }
}

Stride stride_along(const Kernel& k, const Dependence& d, NodeId at, uint32_t var) {
  using K = Stride::Kind;
  uint64_t bit = uint64_t{1} << var;
  if (!(d.of(at).vars & bit)) return {};
  const Node& n = k.node(at);
  if (n.kind == Node::Kind::var) return {K::constant, 1};
  if (n.kind != Node::Kind::index) return {K::other};
  Stride a = stride_along(k, d, n.args[0], var), b = stride_along(k, d, n.args[1], var);
  if (n.leaf == Leaf::add || n.leaf == Leaf::sub) {
    if (b.kind == K::none) return a;
    if (n.leaf == Leaf::add && a.kind == K::none) return b;
    if (a.kind != K::constant && a.kind != K::none) return {K::other};
    if (b.kind != K::constant) return {K::other};
    return {K::constant, n.leaf == Leaf::add ? a.value + b.value : a.value - b.value};
  }
  if (n.leaf == Leaf::mul) {
    NodeId factor = b.kind == K::none ? n.args[1] : n.args[0];
    Stride s = b.kind == K::none ? a : b;
    if (s.kind != K::constant || (a.kind != K::none && b.kind != K::none)) return {K::other};
    const Node& f = k.node(factor);
    if (f.kind == Node::Kind::constant) return {K::constant, s.value * f.bits};
    if (s.value == 1) return {K::size, 0, factor};
  }
  return {K::other};
}

}  // namespace ouro::ir::loops
