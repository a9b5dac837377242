#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind precision_kind;
const DemandKind precision_kind{
    .name = "precision",
    .values = "'f32' or 'bf16'",
    .changes = "bf16: matrix products and convolutions of f32 tensors round their operands to bf16",
    .takes = [](std::string_view v) { return v == "f32" || v == "bf16"; },
    .put = [](std::string_view v, Draft& d) { d.plan.precision = v == "bf16" ? Precision::bf16 : Precision::f32; },
};

}  // namespace ouro::runtime
