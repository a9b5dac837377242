// Outputs of magnitude below the threshold are zero, in modules that the script has wrapped with
// nn.utils.threshold_outputs; the library does it (stdlib/nn/outputs.ouro).
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
