// `ouro top PID`: what a running program is asked for, what it does about it, and what comes of it, second by second.
#pragma once

#include <string>
#include <vector>

namespace ouro::tools {

/// Exit status: 0 with --once, 1 when the program does not answer (any more), 2 for a wrong command line.
int top_command(const std::vector<std::string>& args);

}  // namespace ouro::tools
