#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind step_time_kind;
constexpr DemandKind step_time_kind = duration_goal<&Measures::step_time>(
    "step_time", "a time ('10ms', '2s', '500us', or seconds)", "the median of the last steps is to take no longer");

}  // namespace ouro::runtime
