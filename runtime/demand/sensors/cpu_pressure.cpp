#include "runtime/demand/sensor.h"

namespace ouro::runtime {

extern const Sensor cpu_pressure_sensor;
const Sensor cpu_pressure_sensor{
    .name = "cpu_pressure",
    .unit = "percent",
    .what = "of the last ten seconds in which something waited for a core (PSI)",
    .read = [] { return number_in("/proc/pressure/cpu", "some avg10="); },
};

}  // namespace ouro::runtime
