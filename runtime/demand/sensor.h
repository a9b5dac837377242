// Sensors: what is known of the machine and the process. One row each, in a file of its own in sensors/. They are read
// when somebody asks (reports, `ouro top`); what the loop measures of the steps is in measures.h.
#pragma once

#include <span>
#include <string_view>

namespace ouro::runtime {

struct Sensor {
  std::string_view name;
  std::string_view unit;
  std::string_view what;
  double (*read)() = nullptr;  // NaN: this machine does not tell
};

/// All rows, in the order of their names.
std::span<const Sensor* const> sensors();

// For the rows.
/// The number behind a word in a file of /proc or /sys, as in "MemAvailable: 123 kB"; behind nothing where `word` is
/// empty: the first number of the file.
double number_in(const char* path, std::string_view word);

}  // namespace ouro::runtime
