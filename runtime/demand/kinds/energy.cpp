#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind energy_kind;
constexpr DemandKind energy_kind =
    duration_goal<&Measures::energy>("energy", "core-seconds ('200ms', '2s'): the processor time of all threads",
                                     "what a step takes of them, as a measure of its energy");

}  // namespace ouro::runtime
