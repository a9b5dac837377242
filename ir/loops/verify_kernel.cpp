// The loop IR's invariants.
#include <fmt/format.h>

#include "ir/loops/loop_ir.h"

namespace ouro::ir::loops {
namespace {

struct Verifier {
  const Kernel& k;
  Dependence dependence;
  uint64_t defined_vars = 0, defined_results = 0;
  std::string wrong;

  explicit Verifier(const Kernel& kernel) : k(kernel), dependence(kernel) {}

  void fail(std::string text) {
    if (wrong.empty()) wrong = std::move(text);
  }

  void check_node(size_t i) {
    const Node& n = k.nodes[i];
    for (int a = 0; a < n.nargs; ++a)
      if (n.args[a] == NodeId::none || index(n.args[a]) >= i) return fail(fmt::format("node {} uses a later node", i));
    switch (n.kind) {
      case Node::Kind::size:
        if (n.id >= k.sizes) fail(fmt::format("n{} is not a parameter", n.id));
        break;
      case Node::Kind::scalar:
        if (n.id >= k.scalars.size()) fail(fmt::format("s{} is not a parameter", n.id));
        break;
      case Node::Kind::load:
        if (n.id >= k.buffers.size()) return fail(fmt::format("b{} is not a parameter", n.id));
        if (n.type != loaded_type(k.buffers[n.id].type)) fail(fmt::format("b{} is loaded as another type", n.id));
        if (k.node(n.args[0]).type != DType::i64) fail("an index is not i64");
        if (n.nargs == 3 && (k.node(n.args[1]).type != DType::boolean || k.node(n.args[2]).type != n.type))
          fail("a conditional load's operands have the wrong types");
        break;
      case Node::Kind::leaf:
        check_leaf(n);
        break;
      case Node::Kind::index:
        for (int a = 0; a < 2; ++a)
          if (n.nargs != 2 || k.node(n.args[a]).type != DType::i64) fail("index arithmetic on another type than i64");
        break;
      default:
        break;
    }
    if ((n.type == DType::f16 || n.type == DType::bf16) && !(n.kind == Node::Kind::leaf && n.leaf == Leaf::cast))
      fail("half floats exist in buffers only");
  }

  void check_leaf(const Node& n) {
    const LeafDef& def = info(n.leaf);
    if (n.nargs != def.operands) return fail(fmt::format("{} takes {} operands", def.name, def.operands));
    int first = n.leaf == Leaf::select ? 1 : 0;
    if (first && k.node(n.args[0]).type != DType::boolean) fail("select on something else than a bool");
    for (int a = first + 1; a < n.nargs; ++a)
      if (k.node(n.args[a]).type != k.node(n.args[first]).type)
        fail(fmt::format("operands of {} have different types", def.name));
    if (def.result == LeafResult::boolean && n.type != DType::boolean) fail(fmt::format("{} gives a bool", def.name));
    if (def.result == LeafResult::same && n.nargs && n.type != k.node(n.args[n.nargs - 1]).type)
      fail(fmt::format("{} gives its operands' type", def.name));
  }

  void check_use(NodeId n, uint64_t vars, uint64_t results, const char* what) {
    if (n == NodeId::none || index(n) >= k.nodes.size()) return fail(fmt::format("no {}", what));
    const Dependence::Of& d = dependence.of(n);
    if (d.vars & ~vars) fail(fmt::format("{} uses a variable out of scope", what));
    if (d.results & ~results) fail(fmt::format("{} uses a result out of scope", what));
  }

  void check_body(const std::vector<Stmt>& body, uint64_t vars, uint64_t results, bool in_parallel) {
    for (const Stmt& s : body) {
      uint64_t inner = vars;
      for (size_t i = 0; i < s.vars.size(); ++i) {
        check_use(s.extents[i], vars, results, "an extent");
        uint64_t bit = uint64_t{1} << s.vars[i];
        if (s.vars[i] >= 64 || (defined_vars & bit)) fail("a variable is defined twice");
        defined_vars |= bit;
        inner |= bit;
      }
      switch (s.kind) {
        case Stmt::Kind::parallel:
          if (!in_parallel) fail("a parallel loop inside of another statement");
          if (body.size() != 1) fail("parallel loops are perfectly nested");
          [[fallthrough]];
        case Stmt::Kind::loop:
          if (s.vars.size() != 1) fail("a loop has one variable");
          check_body(s.body, inner, results, s.kind == Stmt::Kind::parallel);
          break;
        case Stmt::Kind::reduce:
          results |= check_reduce(s, inner, results);
          break;
        case Stmt::Kind::store:
          check_store(s, vars, results);
          break;
      }
    }
  }

  uint64_t check_reduce(const Stmt& s, uint64_t inner, uint64_t results) {
    uint64_t added = 0;
    if (s.values.empty() || s.values.size() != s.results.size() || s.values.size() != s.combine.size())
      fail("a reduction without values");
    for (size_t i = 0; i < s.values.size(); ++i) {
      check_use(s.values[i], inner, results, "a reduced value");
      uint64_t bit = uint64_t{1} << s.results[i];
      if (s.results[i] >= 64 || (defined_results & bit)) fail("a result is defined twice");
      defined_results |= bit;
      added |= bit;
    }
    return added;
  }

  void check_store(const Stmt& s, uint64_t vars, uint64_t results) {
    check_use(s.at, vars, results, "a store's index");
    check_use(s.value, vars, results, "a stored value");
    if (s.buffer >= k.buffers.size() || k.buffers[s.buffer].access == Access::in) return fail("a store to an input");
    if (wrong.empty() && k.node(s.value).type != loaded_type(k.buffers[s.buffer].type))
      fail(fmt::format("b{} is stored as another type", s.buffer));
  }
};

}  // namespace

std::string verify(const Kernel& k) {
  Verifier v(k);
  if (k.vars > 64 || k.results > 64) return "too many variables or results";
  for (size_t i = 0; i < k.nodes.size() && v.wrong.empty(); ++i) v.check_node(i);
  if (v.wrong.empty()) v.check_body(k.body, 0, 0, true);
  return v.wrong;
}

}  // namespace ouro::ir::loops
