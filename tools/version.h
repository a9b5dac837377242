// The version of the program, as `ouro version` and the prompt tell it.
#pragma once

#include <string_view>

namespace ouro::tools {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace ouro::tools
