#include "jit/versions/pauses.h"

#include <algorithm>

namespace ouro::jit {

double Pauses::expected_ms(const Function& f) const {
  return std::max(ms_per_frame_ * static_cast<double>(f.frames), f.last_ms);
}

double Pauses::most_ms(double run_ms) {
  return kShare * std::min(run_ms, kLaterMs) + kLaterShare * std::max(run_ms - kLaterMs, 0.0) + kGraceMs;
}

bool Pauses::may_begin(const Function& f, double run_ms, uint64_t calls, bool at_once) const {
  const double expected = expected_ms(f);
  return (at_once ? 1 : kAtFirst) * expected <= room_ms(run_ms) &&
         f.call_ms * static_cast<double>(calls) >= kWorth * expected;
}

double Pauses::slice_ms(double run_ms) const {
  const double room = room_ms(run_ms);
  return room < kLeastMs ? 0 : std::min(room, kSliceMs);
}

void Pauses::made(Function& f, double ms) {
  constexpr double kLeast = 5e-3, kMost = 0.5, kUp = 0.5, kDown = 0.1;
  f.last_ms = ms;
  if (f.frames < 100) return;  // too few to tell
  const double seen = std::clamp(ms / static_cast<double>(f.frames), kLeast, kMost);
  ms_per_frame_ += (seen > ms_per_frame_ ? kUp : kDown) * (seen - ms_per_frame_);
}

}  // namespace ouro::jit
