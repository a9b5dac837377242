#include "runtime/demand/sensor.h"

namespace ouro::runtime {

extern const Sensor load_sensor;
const Sensor load_sensor{
    .name = "load",
    .unit = "processes",
    .what = "that have run or waited to run on the machine in the last minute",
    .read = [] { return number_in("/proc/loadavg", ""); },
};

}  // namespace ouro::runtime
