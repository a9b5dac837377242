#include "ir/effect.h"

#include <unordered_map>

#include "support/diag.h"
#include "support/forever.h"

namespace ouro::ir {
namespace {

TensorOpTable& tensor_ops() {
  static TensorOpTable& table = support::forever(TensorOpTable{});
  return table;
}

const std::unordered_map<std::string_view, Op>& prim_names() {
  static const auto* map = [] {
    auto* m = new std::unordered_map<std::string_view, Op>;
    for (const PrimDef& d : kPrims) m->emplace(d.name, d.op);
    return m;
  }();
  return *map;
}

constexpr Location kLocations[] = {
#define PRIM(id, text, n, attr, effects, location, ...) Location::location,
#include "ir/prims.inc"
};

bool disjoint(const EffectSet& a, const EffectSet& b) {
  if (a.location == Location::none || b.location == Location::none) return true;
  if (a.location == Location::any || b.location == Location::any) return false;
  if (a.location != b.location) return true;
  return a.name && b.name && a.name != b.name;
}

}  // namespace

void install_tensor_ops(const TensorOpTable& table) { tensor_ops() = table; }

OpFacts op_facts(Op op) {
  uint16_t i = static_cast<uint16_t>(op);
  if (!is_tensor_op(op)) {
    if (i >= prim::count_) ouro_bug("no primitive %u", i);
    const PrimDef& d = kPrims[i];
    return {d.name, d.nargs, d.attr, d.effects};
  }
  const TensorOpTable& t = tensor_ops();
  uint32_t row = i - kFirstTensorOp;
  if (!t.facts || row >= t.count) ouro_bug("no tensor operation %u", row);
  return t.facts(row);
}

std::optional<Op> op_by_name(std::string_view name) {
  auto it = prim_names().find(name);
  if (it != prim_names().end()) return it->second;
  const TensorOpTable& t = tensor_ops();
  if (t.find)
    if (auto row = t.find(name)) return static_cast<Op>(kFirstTensorOp + *row);
  return std::nullopt;
}

EffectSet effects_of(const Function& f, const Let& let) {
  (void)f;
  EffectSet e{op_effects(let.op), Location::none, {}};
  if (e.bits & (kReads | kWrites)) e.location = Location::any;
  if (is_tensor_op(let.op)) return e;
  const Location l = kLocations[static_cast<size_t>(let.op)];
  if (l != Location::any) e.location = l;
  if (l == Location::global) e.name = Symbol::from_id(let.attr);  // the let's attribute is the global's name
  return e;
}

bool commute(const EffectSet& a, const EffectSet& b) {
  constexpr uint32_t kOrdered = (kUnknown & ~(kRaises | kAlloc | kReads | kWrites | kRng | kIo)) | kIo | kRng;
  if ((a.bits & kRaises) && (b.bits & kRaises)) return false;
  if ((a.bits & kOrdered) && (b.bits & kOrdered)) return false;
  auto visible = [](const EffectSet& e) { return (e.bits & (kWrites | kOrdered)) != 0; };
  if ((a.bits & kRaises) && visible(b)) return false;
  if ((b.bits & kRaises) && visible(a)) return false;
  bool conflict =
      ((a.bits & kWrites) && (b.bits & (kReads | kWrites))) || ((b.bits & kWrites) && (a.bits & (kReads | kWrites)));
  return !conflict || disjoint(a, b);
}

}  // namespace ouro::ir
