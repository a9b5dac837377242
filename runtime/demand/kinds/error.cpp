#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind error_kind;
const DemandKind error_kind{
    .name = "error",
    .values = "a number above 0, such as 1e-2",
    .changes = "the relative error that a precision below f32 may make in what a step returns (its loss)",
    .relation = DemandKind::Relation::at_most,
    .takes = [](std::string_view v) { return read_number(v).value_or(0) > 0; },
    .target = [](std::string_view v, const Measures&) { return *read_number(v); },
    .measured = [](std::string_view, const Measures& m) { return m.lowered.running(); },
    .show = number_text,
    .unmeasured = "no compiled step has run in both precisions yet, without other effects, and returned numbers",
};

}  // namespace ouro::runtime
