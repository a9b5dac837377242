#include "runtime/demand/plan.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "support/byte_size.h"

namespace ouro::runtime {

namespace {
constexpr double kFirstLevel = 65536, kLevelsPerDoubling = 16, kMostLevels = 1000;
}

std::string plan_text(ExecutionPlan plan) {
  std::string text = fmt::format("precision={} device={}", plan.precision == Precision::bf16 ? "bf16" : "f32",
                                 device_name(plan.device));
  if (plan.temporaries) text += " temporaries=" + byte_size_text(temporaries_at(plan.temporaries));
  if (plan.micro_batch) text += fmt::format(" micro_batch={}", plan.micro_batch);
  return text;
}

int64_t temporaries_at(uint16_t level) {
  return static_cast<int64_t>(kFirstLevel * std::exp2((level - 1) / kLevelsPerDoubling));
}

uint16_t temporaries_within(int64_t bytes) {
  if (bytes < static_cast<int64_t>(kFirstLevel)) return 1;
  const double level = 1 + std::floor(std::log2(static_cast<double>(bytes) / kFirstLevel) * kLevelsPerDoubling);
  return static_cast<uint16_t>(std::min(level, kMostLevels));
}

}  // namespace ouro::runtime
