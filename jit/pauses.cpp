#include "jit/pauses.h"

#include <algorithm>

namespace ouro::jit {

double Pauses::expected_ms(const Function& f) const {
  const double by_frames = ms_per_frame_ * static_cast<double>(f.frames);
  return std::max({by_frames, f.least_ms, f.last_ms});
}

bool Pauses::may_begin(const Function& f, double run_ms, uint64_t calls) const {
  const double expected = expected_ms(f);
  return total_ms_ + expected <= kShare * run_ms + kGraceMs &&
         f.call_ms * static_cast<double>(calls) >= kWorth * expected;
}

void Pauses::ended(Function& f, double ms, bool given_up) {
  constexpr double kLeast = 5e-3, kMost = 0.5, kUp = 0.5, kDown = 0.1;
  total_ms_ += ms;
  if (given_up) {
    f.least_ms = kOverrun * std::max(ms, f.least_ms);
    return;
  }
  f.last_ms = ms;
  if (f.frames < 100) return;  // too few to tell
  const double seen = std::clamp(ms / static_cast<double>(f.frames), kLeast, kMost);
  ms_per_frame_ += (seen > ms_per_frame_ ? kUp : kDown) * (seen - ms_per_frame_);
}

}  // namespace ouro::jit
