#include "runtime/demand/kind.h"
#include "runtime/demand/sensor.h"

namespace ouro::runtime {

extern const Sensor loss_sensor;
const Sensor loss_sensor{
    .name = "loss",
    .unit = "number",
    .what = "that the last compiled step returned, or that the script has told (`demand.metric(\"loss\", value)`)",
    .seen = [](const Measures& m) { return reported_metric("loss", m); },
};

}  // namespace ouro::runtime
