// What the running program is seen to do: its steps, what they take of time and memory, and what it reports of itself.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace ouro::runtime {

struct Measures {
  uint64_t steps = 0;
  double step_time = 0;        // seconds: the median of the last steps; 0: none has ended
  double latency = 0;          // seconds: the longest of them
  double energy = 0;           // core-seconds a step, of all threads: the median; 0: not known yet
  int64_t memory = 0;          // bytes that the session's values and compiled steps hold, as of the last step
  int64_t highest_memory = 0;  // the most of them after any step
  // Bytes that values and compiled steps may hold by what the machine has left (memory_watch.h); NaN: nobody has asked.
  double allowance = std::numeric_limits<double>::quiet_NaN();
  // The relative difference that bf16 makes in what a step returns, of samples since the precision changed.
  struct Lowered {
    double worst = std::numeric_limits<double>::quiet_NaN();  // of the last ones
    uint64_t samples = 0;
    uint64_t needed = 3;  // samples, before bf16 comes back
    bool runs = false;    // bf16
    /// What the precision that runs makes of the results.
    double running() const { return runs ? worst : 0; }
  } lowered;
  std::map<std::string, double, std::less<>> metrics;  // what the script has reported last
};

}  // namespace ouro::runtime
