#include "runtime/demand/sensor.h"

#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const Sensor zeros_sensor;
const Sensor zeros_sensor{
    .name = "zeros",
    .unit = "share",
    .what = "of the weights that the demand `sparsity` names which are 0",
    .seen = [](const Measures& m) { return reported_metric("sparsity", m); },
};

}  // namespace ouro::runtime
