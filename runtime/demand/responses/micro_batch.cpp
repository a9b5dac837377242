// Micro-batches: the compiled step works on a part of the batch at a time (ir/loops/micro_batch.h).
//
// What a step holds is taken for a line: the sums that chunks are added to, and as much for each row of a chunk. The
// number of chunks is doubled as long as the goal is missed, and halved where half as many would do with room to spare,
// so that nothing goes back and forth. A chunk takes its launches again, and smaller matrix products are slower ones;
// against that, what it works on stays in the caches. The last bits of sums over the batch depend on the chunks: it is
// a response only where somebody has asked for micro_batch="auto".
#include <algorithm>

#include <fmt/format.h>

#include "runtime/demand/kind.h"
#include "runtime/demand/response.h"
#include "runtime/object/session.h"

namespace ouro::runtime {

namespace {

constexpr double kCostOfAChunk = 0.005;  // of the step's time
constexpr double kMargin = 0.01;         // of the target
constexpr double kRoom = 0.1;            // of the target, to be left by larger chunks

double share(const Situation& now, int64_t size) {
  return size ? std::min(1.0, static_cast<double>(size) / static_cast<double>(now.plans.rows)) : 1;
}
double cost_of(const Situation& now, int64_t size) { return 1 + kCostOfAChunk * (1 / share(now, size) - 1); }

std::string text_of(int64_t size) { return size ? fmt::format("micro_batch={}", size) : "micro_batch=all"; }

Proposal to_size(const Situation& now, int64_t size) {
  const uint32_t before = now.plan.micro_batch;
  Proposal p;
  p.text = text_of(size);
  if (now.plans.rows) {
    p.cost = cost_of(now, size) / cost_of(now, before);
    p.predicted["memory"] = static_cast<double>(now.measures.memory) +
                            static_cast<double>(now.plans.whole) * (share(now, size) - share(now, before)) +
                            (before ? 0 : static_cast<double>(now.plans.sums));
    for (const auto& [goal, measured] :
         {std::pair{"step_time", now.measures.step_time}, {"latency", now.measures.latency}})
      p.predicted[goal] = measured * p.cost;
  }
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
    if (p.predicted["memory"] > target->second * (1 - kRoom)) return out;
    out = std::move(p);
    if (all) return out;
  }
}

std::string in_force(const Situation& now, std::string_view) { return text_of(now.plan.micro_batch); }

std::optional<Proposal> again(const Situation& now, std::string_view text) {
  if (!may(now)) return std::nullopt;
  if (text == text_of(0)) return to_size(now, 0);
  const std::optional<double> size = read_number(text.substr(text.find('=') + 1));
  if (!size || *size < 1 || *size >= static_cast<double>(now.plans.rows)) return std::nullopt;
  return to_size(now, static_cast<int64_t>(*size));
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
    .memory_of_plans = true,
    .in_force = in_force,
    .again = again,
};

}  // namespace ouro::runtime
