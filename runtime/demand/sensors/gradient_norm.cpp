#include "runtime/demand/kind.h"
#include "runtime/demand/sensor.h"

namespace ouro::runtime {

extern const Sensor gradient_norm_sensor;
const Sensor gradient_norm_sensor{
    .name = "gradient_norm",
    .unit = "number",
    .what =
        "of the gradients of the optimizers' last updates, over all parameters "
        "(`demand.set(watch=\"gradient_norm\")`), "
        "or that the script has told",
    .seen = [](const Measures& m) { return reported_metric("gradient_norm", m); },
};

}  // namespace ouro::runtime
