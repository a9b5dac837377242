// Places of a script, as messages name them.
#pragma once

#include <cstdint>
#include <string>

#include "jit/plan/plan.h"
#include "runtime/object/session.h"

namespace ouro::jit {

/// A place of a script.
struct Place {
  std::string file;
  uint32_t line = 0;  // from 1; 0: not known
  std::string text;   // the line's, without its indentation
  std::string name() const;
};

Place place_of(runtime::Session& s, Span span);
/// What came of the demand for micro-batches in a version: "16 of 64 rows of the batch at a time", or why there are
/// none.
std::string micro_batch_text(runtime::Session& s, const Plan::MicroBatching& m);

}  // namespace ouro::jit
