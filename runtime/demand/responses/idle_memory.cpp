#include "runtime/demand/response.h"
#include "runtime/machine/give_back.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

constexpr int64_t kWorth = 256 * 1024;

std::optional<Proposal> propose(const Situation& now) {
  if (now.memory_over() <= 0 || now.plans.idle < kWorth) return std::nullopt;
  Proposal p;
  p.text = "drop what waits for another run";
  p.predicted["memory"] = static_cast<double>(now.measures.memory - now.plans.idle);
  p.apply = [](Session& s) {
    if (s.executor) s.executor->drop_idle(s);
    give_back_memory();
  };
  return p;
}

}  // namespace

extern const Response idle_memory_response;
const Response idle_memory_response{
    .name = "idle_memory",
    .moves = "memory",
    .what =
        "gives back the memory that compiled functions keep for their next run, of those that no step has called "
        "lately and of versions for other plans",
    .propose = propose,
    .memory_of_plans = true,
};

}  // namespace ouro::runtime
