// What a choice (choice.h) proposes to the loop: shared by the responses that move choices.
//
// What a way takes and gives is predicted by what was measured when it was last in force, times how the way in force
// has changed since. Of a way that was never in force the metrics are taken to stay as they are and the time to fall;
// the loop measures it then. So a way that falls below a floor is known for it, and is not tried again while the floor
// is asked for.
#pragma once

#include <optional>

#include "runtime/demand/response.h"

namespace ouro::runtime {

/// To take that way.
Proposal to_way(const Situation& now, const Choice& c, size_t way);
/// Is a goal missed that a cheaper way may meet, a metric that a more exact one may?
bool cost_missed(const Situation& now, const Choice& c);
bool metric_missed(const Situation& now);
/// To take a more exact way, because there is room for it in each time that is asked for, or the first one where none
/// is; nothing where there is no room.
std::optional<Proposal> to_more_exact(const Situation& now, const Choice& c);

}  // namespace ouro::runtime
