// The rows as ir/effect.h wants them: names and effects of tensor operations.
#include "ir/effect.h"
#include "ir/ops/registry.h"

namespace ouro::ir {

TensorOpTable rows_table() {
  TensorOpTable table;
  table.count = UINT16_MAX - kFirstTensorOp;  // derived rows come when first asked for
  table.facts = [](uint32_t row) {
    const OpInfo& op = op_info(static_cast<Op>(kFirstTensorOp + row));
    uint32_t effects = kAlloc | kRaises | (op.def->effect == OpEffect::rng ? uint32_t{kRng} : 0);
    return OpFacts{op.name, -1, AttrKind::constant, effects};
  };
  table.find = [](std::string_view name) -> std::optional<uint32_t> {
    const OpInfo* op = find_op(name);
    if (!op) return std::nullopt;
    return static_cast<uint32_t>(op->op) - kFirstTensorOp;
  };
  return table;
}

}  // namespace ouro::ir
