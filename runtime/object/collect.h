// The cycle collector behind reference counting, and finalizers.
#pragma once

#include <cstddef>

namespace ouro::runtime {

class Session;

// Frees what only cycles keep alive; returns how many objects that were.
size_t collect(Session& s);
// Runs the __del__ of objects that wait for it. Errors are printed ("Exception ignored in: ..."), never raised.
// One that was asked for waits until 20,000 more objects have been made: so that an interrupt's handler runs before it.
void put_off_collection(Session& s);
void run_finalizers(Session& s);

}  // namespace ouro::runtime
