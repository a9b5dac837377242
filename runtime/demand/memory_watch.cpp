#include "runtime/demand/memory_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ouro::runtime {

namespace {

constexpr double kShare = 1.0 / 8, kLeastMargin = 16 << 20, kMostMargin = 512 << 20;
constexpr double kPressure = 10;      // percent, at which the margin is twice as large
constexpr double kShort = 2;          // margins left: less than that is short
constexpr double kBand = 0.25;        // of the margin, without pressure
constexpr double kHold = 3;           // seconds that it has to stay higher
constexpr int kSeen = 3;              // looks that have to find it higher
constexpr double kPeriod = 10;        // seconds over which the least overhead counts
constexpr double kNothing = 1 << 20;  // bytes; the least allowance

double calm_margin(const MemoryLeft& left) {
  return std::clamp(kShare * static_cast<double>(left.limit), kLeastMargin, kMostMargin);
}

}  // namespace

double memory_margin(const MemoryLeft& left) {
  return calm_margin(left) * (1 + std::min(1.0, left.pressure / kPressure));
}

bool memory_is_short(const MemoryLeft& left) {
  return left.available != MemoryLeft::kUnknown && static_cast<double>(left.available) < kShort * memory_margin(left);
}

bool MemoryWatch::see(double at, const MemoryLeft& left, size_t resident, int64_t used) {
  if (left.available == MemoryLeft::kUnknown || resident == 0) return false;
  const double overhead = static_cast<double>(resident) - static_cast<double>(used);
  if (at - period_ >= kPeriod) {
    period_ = at;
    least_[1] = std::exchange(least_[0], std::numeric_limits<double>::infinity());
  }
  least_[0] = std::min(least_[0], overhead);
  const double seen = std::max(kNothing, static_cast<double>(resident) + static_cast<double>(left.available) -
                                             memory_margin(left) - std::min(least_[0], least_[1]));
  const double band = kBand * calm_margin(left);
  if (std::isnan(allowance_) || seen < allowance_ - band) {
    allowance_ = seen;
    higher_ = 0;
    return true;
  }
  if (seen <= allowance_ + band) {
    higher_ = 0;
    return false;
  }
  if (higher_++ == 0) {
    higher_since_ = at;
    least_higher_ = seen;
  }
  least_higher_ = std::min(least_higher_, seen);
  if (higher_ < kSeen || at - higher_since_ < kHold) return false;
  allowance_ = least_higher_;
  higher_ = 0;
  return true;
}

}  // namespace ouro::runtime
