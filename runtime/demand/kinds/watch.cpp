// What the program is watched for that costs a little: the library computes it while somebody asks
// (stdlib/optim/watched.ouro), and a sensor of that name shows it.
#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind watch_kind;
const DemandKind watch_kind{
    .name = "watch",
    .values = "'gradient_norm'",
    .changes = "optimizers keep the norm of the gradient that their last update got, for the sensor `gradient_norm`",
    .takes = [](std::string_view v) { return v == "gradient_norm"; },
};

}  // namespace ouro::runtime
