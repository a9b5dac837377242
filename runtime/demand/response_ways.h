// Proposals for choices (choice.h), shared by the responses that move them.
//
// A way is predicted by what was measured when it was last in force, times how much the way now in force has changed
// since its own measures. For a way that was never in force, metrics are predicted to stay and time to fall; the loop
// then measures it. So a way that broke a floor is predicted to break it again, and is not tried while the floor is
// asked for.
#pragma once

#include <optional>

#include "runtime/demand/response.h"

namespace ouro::runtime {

/// To take that way.
Proposal to_way(const Situation& now, const Choice& c, size_t way);
/// Is a goal missed that a cheaper way may meet, a metric that a more exact one may?
bool cost_missed(const Situation& now, const Choice& c);
bool metric_missed(const Situation& now);
/// Was a metric under its floor when that way was last in force?
bool broke_a_floor(const Situation& now, const Choice& c, size_t way);
/// To take a more exact way: the next one where each time that is asked for has room for it, the most exact one where
/// no time is asked for; nothing where there is no room.
std::optional<Proposal> to_more_exact(const Situation& now, const Choice& c);

}  // namespace ouro::runtime
