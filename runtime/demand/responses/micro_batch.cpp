// Micro-batches: the compiled step works on a part of the batch at a time (ir/loops/micro_batch.h).
//
// A step of which c of b rows are in work holds about c/b of its temporaries, and what the chunks are added up in. The
// number of chunks is doubled as long as the goal is missed, and halved where half as many would do. What it costs: a
// chunk's kernels are as many as the batch's, so each chunk takes its launches again, and smaller matrix products are
// slower ones. The last bits of sums over the batch depend on the chunks; so it is a response only where somebody has
// asked for micro_batch="auto".
#include <algorithm>

#include <fmt/format.h>

#include "runtime/demand/response.h"
#include "runtime/object/session.h"
#include "support/byte_size.h"

namespace ouro::runtime {

namespace {

constexpr double kCostOfAChunk = 0.02;  // of the step's time
constexpr double kMargin = 0.01;        // of the target

double chunks(const Situation& now, int64_t size) {
  return size ? static_cast<double>((now.plans.rows + size - 1) / size) : 1;
}
double cost_of(const Situation& now, int64_t size) { return 1 + kCostOfAChunk * (chunks(now, size) - 1); }

// Temporaries with chunks of that size; the arena of the whole batch is known, or the one of the chunks that run.
double temporaries_with(const Situation& now, int64_t size) {
  const PlanMemory& p = now.plans;
  const auto rows = static_cast<double>(p.rows), sums = static_cast<double>(p.sums);
  const int64_t runs = now.plan.micro_batch;
  const double held = static_cast<double>(p.temporaries);
  const double whole = p.whole ? static_cast<double>(p.whole) : runs ? held * rows / static_cast<double>(runs) : held;
  const double one = size ? whole * std::min(1.0, static_cast<double>(size) / rows) + sums : whole;
  return now.plan.temporaries ? std::min(one, static_cast<double>(temporaries_at(now.plan.temporaries))) : one;
}

Proposal to_size(const Situation& now, int64_t size) {
  const auto before = now.plan.micro_batch;
  const double held = static_cast<double>(now.plans.temporaries) + (before ? static_cast<double>(now.plans.sums) : 0);
  Proposal p;
  p.text = size ? fmt::format("micro_batch={}", size) : "micro_batch=all";
  p.cost = cost_of(now, size) / cost_of(now, before);
  p.predicted["memory"] = static_cast<double>(now.measures.memory) - held + temporaries_with(now, size);
  for (const auto& [goal, measured] :
       {std::pair{"step_time", now.measures.step_time}, {"latency", now.measures.latency}})
    p.predicted[goal] = measured * p.cost;
  auto choose = [](uint32_t to) { return [to](Session& s) { s.demands.choose_micro_batch(to); }; };
  p.apply = choose(static_cast<uint32_t>(size));
  p.undo = choose(before);
  return p;
}

bool may(const Situation& now) { return now.may_round && now.plans.rows > 1; }
int64_t half(int64_t size) { return (size + 1) / 2; }

std::optional<Proposal> propose(const Situation& now) {
  const double over = now.memory_over();
  if (!may(now) || over <= 0 || now.plans.temporaries == 0) return std::nullopt;
  const double wanted = now.wanted.at("memory") * (1 - kMargin);
  int64_t size = now.plan.micro_batch ? now.plan.micro_batch : now.plans.rows;
  if (size <= 1) return std::nullopt;
  Proposal p;
  do {
    size = half(size);
    p = to_size(now, size);
  } while (size > 1 && p.predicted["memory"] > wanted);
  return p.predicted["memory"] < static_cast<double>(now.measures.memory) ? std::optional(p) : std::nullopt;
}

std::optional<Proposal> relax(const Situation& now) {
  if (!now.plan.micro_batch) return std::nullopt;
  const auto target = now.wanted.find("memory");
  if (target == now.wanted.end() || !may(now)) return to_size(now, 0);
  std::optional<Proposal> out;
  for (int64_t size = 2 * int64_t{now.plan.micro_batch};; size *= 2) {
    const bool all = size >= now.plans.rows;
    Proposal p = to_size(now, all ? 0 : size);
    if (p.predicted["memory"] > target->second * (1 - kMargin)) return out;
    out = std::move(p);
    if (all) return out;
  }
}

std::string limit(const Situation& now) {
  if (!now.may_round) return {};
  if (!now.plans.no_batch.empty())
    return "the step cannot work on a part of the batch at a time: " + now.plans.no_batch;
  if (now.plan.micro_batch == 1) return "the step works on one row of the batch at a time";
  return {};
}

}  // namespace

extern const Response micro_batch_response;
const Response micro_batch_response{
    .name = "micro_batch",
    .moves = "memory step_time latency",
    .what =
        "the compiled step works on a part of the batch at a time and adds up what the parts give; the last bits of "
        "sums "
        "over the batch may change, so it is done only where micro_batch=\"auto\" is asked for",
    .propose = propose,
    .relax = relax,
    .limit = limit,
};

}  // namespace ouro::runtime
