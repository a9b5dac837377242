#include "runtime/demand/kind.h"
#include "runtime/demand/whole_number.h"

namespace ouro::runtime {

extern const DemandKind prefetch_kind;
const DemandKind prefetch_kind{
    .name = "prefetch",
    .values = "a number from 0 to 64",
    .changes = "batches that loaders have ready ahead of the step",
    .takes = [](std::string_view v) { return whole_number_in(v, 0, 64); },
};

}  // namespace ouro::runtime
