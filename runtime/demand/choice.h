// Choices: one thing done in several ways, from the most exact to the cheapest (how many neighbours are
// looked at, what part of the data is sampled). The script asks which way is in force; the response `choice` moves it,
// and keeps the measured cost and result of each way.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace ouro::runtime {

struct Choice {
  std::string name;
  std::vector<std::string> ways;  // as text, the most exact first
  size_t way = 0;                 // in force
  uint64_t since = 0;             // the step at which it was chosen
  // What was measured of a way, when it was last in force.
  struct Seen {
    double step_time = std::numeric_limits<double>::quiet_NaN();
    double memory = std::numeric_limits<double>::quiet_NaN();
    std::map<std::string, double, std::less<>> metrics;
  };
  std::vector<Seen> seen;  // by way
  // The library's, and not the script's: it serves a demand of this name whose value is "auto"
  // (stdlib/nn/pruning.ouro), and the library is told when the way changes.
  bool of_library = false;
  bool saves_memory = false;  // a cheaper way also takes less memory
  std::vector<double> holds;  // bytes of each way, where they are known from the beginning
};

}  // namespace ouro::runtime
