#include "runtime/demand/sensor.h"

namespace ouro::runtime {

extern const Sensor resident_memory_sensor;
const Sensor resident_memory_sensor{
    .name = "resident_memory",
    .unit = "bytes",
    .what = "of the process that are in memory",
    .read = [] { return 1024 * number_in("/proc/self/status", "VmRSS:"); },
};

}  // namespace ouro::runtime
