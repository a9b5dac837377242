#include "runtime/demand/kind.h"

namespace ouro::runtime {

extern const DemandKind latency_kind;
constexpr DemandKind latency_kind = duration_goal<&Measures::latency>(
    "latency", "a time ('10ms', '2s', '500us', or seconds)", "none of the last steps is to take longer");

}  // namespace ouro::runtime
