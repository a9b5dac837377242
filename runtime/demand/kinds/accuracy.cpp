#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind accuracy_kind;
const DemandKind accuracy_kind{
    .name = "accuracy",
    .values = "a number, of what `demand.metric(\"accuracy\", value)` tells",
    .changes = "a floor: what was reported last is not to fall under it",
    .relation = DemandKind::Relation::at_least,
    .takes = [](std::string_view v) { return read_number(v).has_value(); },
    .target = [](std::string_view v, const Measures&) { return *read_number(v); },
    .measured = reported_metric,
    .show = number_text,
    .unmeasured = "the script has not told it: demand.metric(\"accuracy\", value)",
};

}  // namespace ouro::runtime
