// How many cores this process may use: its affinity, and the CPU quota of its control group.
#pragma once

namespace ouro::runtime {

/// Now, of the process's first thread; at least 1. Reads some small files: not for every operation.
int available_cores();

}  // namespace ouro::runtime
