// The execution plan: the discrete part of what demands come to. Versions of compiled code are keyed by it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/machine/contract.h"
#include "runtime/machine/device_id.h"

namespace ouro::runtime {

struct ExecutionPlan {
  Precision precision = Precision::f32;
  DeviceId device = DeviceId::cpu;
  // How much a compiled step may hold of temporaries: a level (temporaries_at); 0: as much as is quickest.
  uint16_t temporaries = 0;
  // Rows of the batch that a compiled step works on at a time; 0: on all of them. It changes the order of sums.
  uint32_t micro_batch = 0;
  bool operator==(const ExecutionPlan&) const = default;
  /// Do both give the same results? How much is kept changes none.
  bool same_bits(const ExecutionPlan& o) const {
    return precision == o.precision && device == o.device && micro_batch == o.micro_batch;
  }
};
std::string plan_text(
    ExecutionPlan plan);  // "precision=f32 device=cpu", and "temporaries=12.5M", "micro_batch=16" where asked for

/// Levels of bytes, sixteen in each doubling: a few versions serve all budgets. The bytes of a level, from 1 on, and
/// the highest level within some bytes.
int64_t temporaries_at(uint16_t level);
uint16_t temporaries_within(int64_t bytes);

}  // namespace ouro::runtime
