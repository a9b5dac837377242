// Memory that is kept for the next allocation goes back to the system.
#pragma once

namespace ouro::runtime {

/// What this thread keeps of freed buffers, and what malloc() keeps. Takes a millisecond or more: for moments at which
/// memory was asked for.
void give_back_memory();

}  // namespace ouro::runtime
