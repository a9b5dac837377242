#include <charconv>

#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind batch_kind;
const DemandKind batch_kind{
    .name = "batch",
    .values = "a number of items from 1 on",
    .changes = "the size of batches that the script makes with `demand.batch(size)`",
    .takes =
        [](std::string_view v) {
          int32_t n = 0;
          const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), n);
          return error == std::errc() && end == v.data() + v.size() && n > 0;
        },
};

}  // namespace ouro::runtime
