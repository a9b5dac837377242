// The first line of a prompt: what it is, what it runs on, and how to get help.
#pragma once

#include <string>

namespace ouro::runtime {
class Session;
}

namespace ouro::tools {

std::string banner(runtime::Session& s);

}  // namespace ouro::tools
