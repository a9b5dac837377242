#include "runtime/demand/sensor.h"

#include <ctime>

namespace ouro::runtime {

extern const Sensor processor_time_sensor;
const Sensor processor_time_sensor{
    .name = "processor_time",
    .unit = "seconds",
    .what = "that all threads of the process have worked",
    .read = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; },
};

}  // namespace ouro::runtime
