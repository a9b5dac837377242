// `ouro ctl PID get | set NAME=VALUE...`: the demands of a running program.
#pragma once

#include <string>
#include <vector>

namespace ouro::tools {

/// Exit status: 0, 1 when the program refused or does not answer, 2 for a wrong command line.
int ctl_command(const std::vector<std::string>& args);

}  // namespace ouro::tools
