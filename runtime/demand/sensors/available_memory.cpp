#include "runtime/demand/sensor.h"

#include "runtime/machine/memory_left.h"

namespace ouro::runtime {

extern const Sensor available_memory_sensor;
const Sensor available_memory_sensor{
    .name = "available_memory",
    .unit = "bytes",
    .what = "that the machine or the control group could still give",
    .read = [] { return static_cast<double>(memory_left().available); },
};

}  // namespace ouro::runtime
