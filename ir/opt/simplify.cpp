#include <cmath>
#include <unordered_map>

#include "ir/ops/registry.h"
#include "ir/opt/passes.h"
#include "ir/opt/rules.h"
#include "ir/type.h"
#include "ir/walk.h"

namespace ouro::ir::opt {

Atom Match::arg(size_t i) const { return e.resolve(f.args(let)[i]); }
const Type* Match::type(Atom a) const { return a.is_name() ? f.name_info(a.name()).type : nullptr; }
const Type* Match::result_type() const { return f.name_info(let.result).type; }

bool Match::is_number(Atom a, double v, bool negative_zero) const {
  if (!a.is_const()) return false;
  const Constant& c = f.constant(a.constant());
  if (c.kind == Constant::Kind::integer) return static_cast<double>(c.i) == v && !negative_zero;
  return c.kind == Constant::Kind::floating && c.f == v && (v != 0 || std::signbit(c.f) == negative_zero);
}

const Let* Match::row(Atom a, std::string_view name) const {
  if (!a.is_name() || made[index(a.name())].block == BlockId::none) return nullptr;
  const Made& m = made[index(a.name())];
  const Let& l = f.block(m.block).lets[m.at];
  return is_tensor_op(l.op) && op_info(l.op).name == name ? &l : nullptr;
}

const Let* Match::view(Atom a) const {
  if (!a.is_name() || made[index(a.name())].block == BlockId::none) return nullptr;
  const Made& m = made[index(a.name())];
  const Let& l = f.block(m.block).lets[m.at];
  return is_tensor_op(l.op) && op_info(l.op).def->loop.kind == LoopKind::view ? &l : nullptr;
}

bool Match::is_float(Atom a) const {
  const Type* t = type(a);
  return t && t->is_tensor() && ouro::is_float(t->dtype);
}

bool Match::become(Atom a) const {
  e.replace(let.result, a);
  e.remove(block, at);
  return true;
}

namespace {

using RuleIndex = std::unordered_multimap<std::string_view, const Rule*>;

const RuleIndex& rules() {
  static const RuleIndex* index = [] {
    auto* m = new RuleIndex;
    for (auto table : {arithmetic_rules(), shape_rules_of_simplify()})
      for (const Rule& r : table) {
        std::string_view heads = r.head;
        while (!heads.empty()) {
          size_t space = heads.find(' ');
          m->emplace(heads.substr(0, space), &r);
          heads = space == std::string_view::npos ? "" : heads.substr(space + 1);
        }
      }
    return m;
  }();
  return *index;
}

}  // namespace

// One walk in order: operands are simple before their users are looked at, so one walk reaches what the rules can.
FunctionRef simplify(const FunctionRef& source) {
  Edit e(source);
  std::vector<Made> made(source->names.size());
  for (uint32_t b = 0; b < source->blocks.size(); ++b)
    for (uint32_t i = 0; i < source->blocks[b].lets.size(); ++i)
      made[index(source->blocks[b].lets[i].result)] = {BlockId{b}, i};
  for (BlockId b : reverse_postorder(*source)) {
    for (uint32_t i = 0; i < source->block(b).lets.size(); ++i) {
      const Let l = e.function().block(b).lets[i];
      if (!is_tensor_op(l.op) || l.nargs == 0) continue;
      Match m{e, e.function(), l, b, i, made};
      auto [first, last] = rules().equal_range(op_info(l.op).name);
      for (auto it = first; it != last; ++it)
        if (it->second->apply(m)) break;
    }
  }
  return e.finish();
}

}  // namespace ouro::ir::opt
