#include "runtime/machine/memory_left.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "runtime/machine/control_groups.h"
#include "runtime/machine/machine_files.h"
#include "runtime/machine/memory.h"

namespace ouro::runtime {

namespace {

constexpr size_t kNone = MemoryLeft::kUnknown;
constexpr size_t kUnlimited = size_t{1} << 60;  // what version 1 tells where there is no limit is more

// The number in a file that has one; "max", or no file: kNone.
size_t number_in(const std::string& path) {
  size_t n;
  return std::ifstream(path) >> n ? n : kNone;
}

// The number behind a word in a file of lines "word number".
size_t number_of(const std::string& path, std::string_view word) {
  std::ifstream file(path);
  for (std::string name, rest; file >> name && std::getline(file, rest);)
    if (name == word) return std::strtoull(rest.c_str(), nullptr, 10);
  return kNone;
}

// "some avg10=0.12 avg60=..."
double pressure_in(const std::string& path) {
  std::ifstream file(path);
  std::string some, average;
  if (!(file >> some >> average) || !average.starts_with("avg10=")) return 0;
  return std::max(0.0, std::strtod(average.c_str() + 6, nullptr));
}

// Files that decide come first: most groups have no limit.
MemoryLeft left_in_group(const std::string& folder) {
  size_t used = number_in(folder + "/memory.current");
  const bool first_version = used == kNone;
  if (first_version) used = number_in(folder + "/memory.usage_in_bytes");
  if (used == kNone) return {};
  MemoryLeft out{.limit = first_version
                              ? number_in(folder + "/memory.limit_in_bytes")
                              : std::min(number_in(folder + "/memory.max"), number_in(folder + "/memory.high"))};
  if (out.limit >= kUnlimited) return {};
  auto give_back = [&](std::string_view word) {
    if (const size_t n = number_of(folder + "/memory.stat", word); n != kNone) used -= std::min(used, n);
  };
  if (first_version) {
    give_back("total_inactive_file");
  } else {
    give_back("inactive_file");
    give_back("slab_reclaimable");
  }
  out.available = out.limit - std::min(out.limit, used);
  out.pressure = pressure_in(folder + "/memory.pressure");
  return out;
}

}  // namespace

MemoryLeft memory_left() {
  const std::string file = machine_file("/proc/meminfo");
  const size_t free = number_of(file, "MemAvailable:"), all = number_of(file, "MemTotal:");
  MemoryLeft least;
  if (free != kNone && all != kNone) least = {.available = free * 1024, .limit = all * 1024};
  each_control_group("memory", [&](const std::string& folder) {
    const MemoryLeft in = left_in_group(folder);
    if (in.available < least.available) least = in;
  });
  least.pressure = std::max(least.pressure, pressure_in(machine_file("/proc/pressure/memory")));
  return least;
}

size_t available_memory() { return memory_left().available; }

size_t resident_memory() {
  size_t all = 0, resident = 0;
  if (!(std::ifstream(machine_file("/proc/self/statm")) >> all >> resident)) return 0;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace ouro::runtime
