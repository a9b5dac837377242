#include "runtime/machine/control_groups.h"

#include <fstream>

#include "runtime/machine/machine_files.h"

namespace ouro::runtime {

void each_control_group(std::string_view controller, const std::function<void(const std::string& folder)>& see) {
  auto up_from = [&](const std::string& mount, std::string group) {
    for (;;) {
      see(machine_file(mount + group));
      const size_t slash = group.rfind('/');
      if (slash == group.npos || group.empty()) return;
      group.resize(slash);
    }
  };
  std::ifstream groups(machine_file("/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty()) {
      up_from("/sys/fs/cgroup", group);
      up_from("/sys/fs/cgroup/unified", group);
    } else if (("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos) {
      up_from("/sys/fs/cgroup/" + controllers, group);
    }
  }
}

}  // namespace ouro::runtime
