#include "runtime/demand/kind.h"
#include "runtime/demand/whole_number.h"

namespace ouro::runtime {

extern const DemandKind batch_kind;
const DemandKind batch_kind{
    .name = "batch",
    .values = "a number of items from 1 on",
    .changes = "the size of batches that the script makes with `demand.batch(size)`",
    .takes = [](std::string_view v) { return whole_number_in(v, 1, INT32_MAX); },
};

}  // namespace ouro::runtime
