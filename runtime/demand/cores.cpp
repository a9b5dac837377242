#include "runtime/demand/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <string>
#include <thread>

#include "runtime/machine/control_groups.h"

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

int quota_cores() {
  int least = INT_MAX;
  each_control_group("cpu", [&](const std::string& folder) { least = std::min(least, quota_of(folder)); });
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
