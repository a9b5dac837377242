#include "runtime/demand/sensor.h"

#include "runtime/machine/memory_left.h"

namespace ouro::runtime {

extern const Sensor memory_limit_sensor;
const Sensor memory_limit_sensor{
    .name = "memory_limit",
    .unit = "bytes",
    .what = "that there are for all processes where least is left: the limit of a control group, or the whole machine",
    .read = [] { return static_cast<double>(memory_left().limit); },
};

}  // namespace ouro::runtime
