// Sensors: what is known of the machine, the process and its tensors. One row each, in a file of its own in sensors/.
// They are read when somebody asks (reports, `ouro top`); what the loop measures of the steps is in measures.h.
#pragma once

#include <span>
#include <string_view>

#include "runtime/demand/measures.h"

namespace ouro::runtime {

struct Sensor {
  std::string_view name;
  std::string_view unit;
  std::string_view what;
  // One of both. NaN: nobody tells.
  double (*read)() = nullptr;
  double (*seen)(const Measures& m) = nullptr;  // of what the program is seen to do

  double value(const Measures& m) const { return read ? read() : seen(m); }
};

/// All rows, in the order of their names.
std::span<const Sensor* const> sensors();

// For the rows.
/// The number behind a word in a file of /proc or /sys, as in "MemAvailable: 123 kB"; behind nothing where `word` is
/// empty: the first number of the file.
double number_in(const char* path, std::string_view word);

}  // namespace ouro::runtime
