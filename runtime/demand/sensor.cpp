#include "runtime/demand/sensor.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "runtime/machine/machine_files.h"

namespace ouro::runtime {

// One for each file of sensors/ (runtime/CMakeLists.txt makes the list).
#define OURO_ROW(name) extern const Sensor name##_sensor;
#include "demand_sensors.inc"
#undef OURO_ROW

std::span<const Sensor* const> sensors() {
  static constexpr const Sensor* kRows[] = {
#define OURO_ROW(name) &name##_sensor,
#include "demand_sensors.inc"
#undef OURO_ROW
  };
  return kRows;
}

double number_in(const char* path, std::string_view word) {
  std::ifstream file(machine_file(path));
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = std::move(text).str();
  const size_t at = all.find(word);
  if (all.empty() || at == std::string::npos) return std::numeric_limits<double>::quiet_NaN();
  const size_t digit = all.find_first_of("0123456789", at + word.size());
  return digit == std::string::npos ? std::numeric_limits<double>::quiet_NaN()
                                    : std::strtod(all.c_str() + digit, nullptr);
}

}  // namespace ouro::runtime
