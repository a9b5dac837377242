#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind energy_kind;
const DemandKind energy_kind{
    .name = "energy",
    .values = "core-seconds ('200ms', '2s'): the processor time of all threads",
    .changes = "what a step takes of them, as a measure of its energy",
    .relation = DemandKind::Relation::at_most,
    .takes = [](std::string_view v) { return read_duration(v).has_value(); },
    .target = [](std::string_view v, const Measures&) { return *read_duration(v); },
    .measured = [](std::string_view, const Measures& m) { return m.steps ? m.energy : kUnknownAmount; },
    .show = duration_text,
};

}  // namespace ouro::runtime
