// The paths of the files in which the machine describes itself: /proc and /sys.
//
// OURO_MACHINE=FOLDER puts others in their place, for tests: FOLDER/proc/meminfo is read instead of /proc/meminfo where
// it is there, and of /sys nothing but what stands in FOLDER/sys.
#pragma once

#include <string>
#include <string_view>

namespace ouro::runtime {

/// The file to be read for one of /proc or /sys.
std::string machine_file(std::string_view path);

}  // namespace ouro::runtime
