#include "backends/device/node_values.h"

#include <algorithm>
#include <bit>

#include "support/diag.h"

namespace ouro::backends::device {
using namespace ir::loops;
using ir::Leaf;

namespace {
uint64_t constant_bits(const Node& n) {
  if (n.type != DType::f32) return static_cast<uint64_t>(n.bits);
  return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(n.bits)));
}
}  // namespace

NodeValues::NodeValues(const Kernel& k, KernelWriter& w)
    : k_(k),
      w_(w),
      values_(k.nodes.size(), Value::none),
      vars_(k.vars, Value::none),
      results_(k.results, Value::none) {}

NodeValues::Value NodeValues::of(NodeId id) {
  if (values_[index(id)] != Value::none) return values_[index(id)];
  const Node& n = k_.node(id);
  switch (n.kind) {
    case Node::Kind::constant:
      return w_.constant(n.type, constant_bits(n));
    case Node::Kind::size:
      return w_.size(n.id);
    case Node::Kind::scalar:
      return w_.scalar(n.id);
    case Node::Kind::var:
      return vars_[n.id];
    case Node::Kind::result:
      return results_[n.id];
    default:
      break;
  }
  Value args[3] = {};
  for (int a = 0; a < n.nargs; ++a) args[a] = of(n.args[a]);
  Value v;
  if (n.kind == Node::Kind::index)
    v = w_.index(n.leaf, args[0], args[1]);
  else if (n.kind == Node::Kind::load)
    v = n.nargs == 1 ? w_.load(n.id, args[0]) : w_.load_if(n.id, args[0], args[1], args[2]);
  else
    v = w_.leaf(n.leaf, n.type, k_.node(n.args[n.leaf == Leaf::select ? 1 : 0]).type, args);
  values_[index(id)] = v;
  said_.push_back(id);
  return v;
}

bool is_known(const Kernel& k, NodeId id) {
  const Node& n = k.node(id);
  if (n.kind == Node::Kind::constant || n.kind == Node::Kind::size) return true;
  if (n.kind != Node::Kind::index) return false;
  for (int a = 0; a < n.nargs; ++a)
    if (!is_known(k, n.args[a])) return false;
  return true;
}

int64_t known(const Kernel& k, NodeId id, const int64_t* sizes) {
  const Node& n = k.node(id);
  if (n.kind == Node::Kind::constant) return n.bits;
  if (n.kind == Node::Kind::size) return sizes[n.id];
  int64_t a = known(k, n.args[0], sizes), b = known(k, n.args[1], sizes);
  switch (n.leaf) {
    case Leaf::add:
      return a + b;
    case Leaf::sub:
      return a - b;
    case Leaf::mul:
      return a * b;
    case Leaf::idiv:
      return b ? a / b : 0;
    case Leaf::irem:
      return b ? a % b : 0;
    case Leaf::min:
      return std::min(a, b);
    case Leaf::max:
      return std::max(a, b);
    default:
      ouro_bug("no such index operation");
  }
}

}  // namespace ouro::backends::device
