// `ouro attach PID`: a prompt beside a running program. Each statement runs there between two of its steps, in the
// module of its script, and what it prints is printed here.
#pragma once

#include <string>
#include <vector>

namespace ouro::tools {

int attach_command(const std::vector<std::string>& args);

}  // namespace ouro::tools
