// How much the program may hold by what the machine has left: the target of the goal memory="available".
//
// What may be held. Let R be what the process has in memory, U what the session counts as held (values and compiled
// steps), and A what the machine or a control group still has (runtime/machine/memory_left.h). Were everything left
// taken but a margin M, the process would have R + A - M. Of it R - U, at least, is what the session does not count:
// code, the compiler's tables, freed blocks. So the allowance is
//
//     R + A - M - overhead,   overhead = the least R - U of the last ten to twenty seconds
//
// It does not depend on what the program itself takes or gives back (R and A change against each other), but only on
// what others do. The least, because the compiler at work makes R - U larger for a moment: an allowance that fell by
// that would call for more compilation.
//
// The margin is an eighth of what there is at all (the group's limit, the machine's memory), from 16M to 512M: what
// others take while a response is on its way. Pressure (PSI) makes it larger, up to twice at ten percent.
//
// Hysteresis. An allowance that falls is taken at once: the process is in danger. One that rises is believed when it
// has been higher for three seconds, and then as far as the least that was seen of it. What changes it by less than a
// quarter of the margin changes nothing. So a hog that comes and goes within three seconds moves the program once, and
// noise never does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/machine/memory_left.h"

namespace ouro::runtime {

/// Bytes that are to stay free.
double memory_margin(const MemoryLeft& left);
/// Is so little left that a program should look to it?
bool memory_is_short(const MemoryLeft& left);

class MemoryWatch {
 public:
  /// What was seen at a time, in seconds. True: the allowance has changed.
  bool see(double at, const MemoryLeft& left, size_t resident, int64_t used);
  /// Bytes that values and compiled steps may hold; NaN: not known.
  double allowance() const { return allowance_; }

 private:
  double allowance_ = std::numeric_limits<double>::quiet_NaN();
  // It has been higher since then: the least that was seen, and how often.
  double higher_since_ = 0, least_higher_ = 0;
  int higher_ = 0;
  // The least overhead of this period and of the one before.
  double period_ = 0, least_[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
};

}  // namespace ouro::runtime
