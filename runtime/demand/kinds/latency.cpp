#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind latency_kind;
const DemandKind latency_kind{
    .name = "latency",
    .values = "a time ('10ms', '2s', '500us', or seconds)",
    .changes = "none of the last steps is to take longer",
    .relation = DemandKind::Relation::at_most,
    .takes = [](std::string_view v) { return read_duration(v).has_value(); },
    .target = [](std::string_view v, const Measures&) { return *read_duration(v); },
    .measured = [](std::string_view, const Measures& m) { return m.steps ? m.latency : kUnknownAmount; },
    .show = duration_text,
};

}  // namespace ouro::runtime
