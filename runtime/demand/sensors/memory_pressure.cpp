#include "runtime/demand/sensor.h"

namespace ouro::runtime {

extern const Sensor memory_pressure_sensor;
const Sensor memory_pressure_sensor{
    .name = "memory_pressure",
    .unit = "percent",
    .what = "of the last ten seconds in which something waited for memory (PSI)",
    .read = [] { return number_in("/proc/pressure/memory", "some avg10="); },
};

}  // namespace ouro::runtime
