#include "runtime/demand/response.h"

namespace ouro::runtime {

// One for each file of responses/ (runtime/CMakeLists.txt makes the list).
#define OURO_ROW(name) extern const Response name##_response;
#include "demand_responses.inc"
#undef OURO_ROW

std::span<const Response* const> responses() {
  static constexpr const Response* kRows[] = {
#define OURO_ROW(name) &name##_response,
#include "demand_responses.inc"
#undef OURO_ROW
  };
  return kRows;
}

}  // namespace ouro::runtime
