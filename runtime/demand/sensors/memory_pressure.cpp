#include "runtime/demand/sensor.h"

#include "runtime/machine/memory_left.h"

namespace ouro::runtime {

extern const Sensor memory_pressure_sensor;
const Sensor memory_pressure_sensor{
    .name = "memory_pressure",
    .unit = "percent",
    .what =
        "of the last ten seconds in which something waited for memory, in the control group or on the machine (PSI)",
    .read = [] { return memory_left().pressure; },
};

}  // namespace ouro::runtime
