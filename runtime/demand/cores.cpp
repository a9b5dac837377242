#include "runtime/demand/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <string>
#include <thread>

namespace ouro::runtime {

namespace {

// Cores that a group's own quota comes to; INT_MAX: it has none. Version 2 has one file ("max 100000"), version 1 two.
int quota_of(const std::string& folder) {
  std::string quota;
  double period = 0;
  if (std::ifstream both(folder + "/cpu.max"); both) {
    both >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  if (period <= 0 || quota.empty() || quota.size() > 18 || quota.find_first_not_of("0123456789") != quota.npos)
    return INT_MAX;  // "max", -1
  return std::max(1, static_cast<int>(std::min(1e6, (std::stod(quota) + period - 1) / period)));
}

// The least along the way from a group to the root.
int least_quota(const std::string& mount, std::string group) {
  int least = INT_MAX;
  for (;;) {
    least = std::min(least, quota_of(mount + group));
    size_t slash = group.rfind('/');
    if (slash == group.npos || group.empty()) return least;
    group.resize(slash);
  }
}

// /proc/self/cgroup has lines "number:controllers:group"; controllers are empty in version 2. In a container the group
// may be told as the host sees it: then the mount's root is the group.
int quota_cores() {
  int least = INT_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty())
      least = std::min({least, least_quota("/sys/fs/cgroup", group), least_quota("/sys/fs/cgroup/unified", group)});
    else if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      least = std::min(least, least_quota("/sys/fs/cgroup/" + controllers, group));
  }
  return least;
}

}  // namespace

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int n = sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                             : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(n, quota_cores()));
}

}  // namespace ouro::runtime
