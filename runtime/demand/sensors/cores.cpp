#include "runtime/demand/sensor.h"

#include "runtime/demand/cores.h"

namespace ouro::runtime {

extern const Sensor cores_sensor;
const Sensor cores_sensor{
    .name = "cores",
    .unit = "cores",
    .what = "that the process may use: its affinity and the CPU quota of its control group",
    .read = [] { return static_cast<double>(available_cores()); },
};

}  // namespace ouro::runtime
