// Outputs of modules of smaller magnitude are zero. The library carries it out (stdlib/nn/outputs.ouro), for the
// modules that the script has wrapped with nn.utils.threshold_outputs.
#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind output_threshold_kind;
const DemandKind output_threshold_kind{
    .name = "output_threshold",
    .values = "a magnitude from 0 on",
    .changes = "outputs of smaller magnitude, of modules that nn.utils.threshold_outputs has wrapped, are zero",
    .takes =
        [](std::string_view v) {
          const std::optional<double> x = read_number(v);
          return x && *x >= 0;
        },
};

}  // namespace ouro::runtime
