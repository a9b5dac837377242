#include "runtime/demand/kind.h"
#include "runtime/demand/whole_number.h"

namespace ouro::runtime {

extern const DemandKind workers_kind;
const DemandKind workers_kind{
    .name = "workers",
    .values = "a number from 0 to 64",
    .changes =
        "threads that gather the batches of loaders ahead of the step; without this demand one, where a core is idle",
    .takes = [](std::string_view v) { return whole_number_in(v, 0, 64); },
};

}  // namespace ouro::runtime
