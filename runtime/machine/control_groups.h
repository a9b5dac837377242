// The control groups that this process is in, versions 1 and 2, and those around them.
//
// /proc/self/cgroup has lines "number:controllers:group"; controllers are empty in version 2. In a container the group
// may be told as the host sees it: then the mount's root is the group.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ouro::runtime {

/// The folder of each group that has a say on what a controller ("cpu", "memory") gives to this process: from the group
/// itself up to the root. Not each of them is there.
void each_control_group(std::string_view controller, const std::function<void(const std::string& folder)>& see);

}  // namespace ouro::runtime
