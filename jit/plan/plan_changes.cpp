// What an execution plan changes in a typed function before it becomes a program: joins that a device takes apart,
// chunks of a batch, values that are computed again instead of being kept.
#include "ir/loops/micro_batch.h"
#include "ir/loops/recompute.h"
#include "ir/opt/passes.h"
#include "ir/opt/pipeline.h"
#include "jit/plan/plan_program.h"

namespace ouro::jit {

using namespace ir::loops;

namespace {
constexpr int64_t kLikelySize = 64;  // of an axis of which nothing is known
}  // namespace

static Plan::MicroBatching told(const MicroBatches& m) {
  return {
      .rows = m.rows.known() ? m.rows.c : 0, .size = m.size, .sums = m.sums, .refusal = m.refusal, .where = m.where};
}

Plan::MicroBatching would_be_micro_batching(const ir::FunctionRef& f, runtime::ExecutionPlan plan,
                                            const SymbolSizes& sizes) {
  auto size_of = [&](uint32_t symbol) {
    for (const auto& [s, size] : sizes)
      if (s == symbol) return size;
    return kLikelySize;
  };
  MicroBatches m = micro_batches(f, 1, size_of, most_joined(plan));
  Plan::MicroBatching out = told(m);
  out.rows = m.rows.c + m.rows.m * (m.rows.m ? size_of(m.rows.symbol) : 0);
  out.size = 0;
  return out;
}

Program build_program(ir::FunctionRef typed, runtime::ExecutionPlan plan, const SymbolSizes& sizes,
                      ir::FunctionRef base) {
  if (!base) base = ir::opt::optimise(std::move(typed));
  typed = base;
  if (plan.device != runtime::DeviceId::cpu) typed = ir::opt::drop_dead(ir::opt::split_joins(typed));
  Plan::Recomputing recomputing;
  std::vector<Fence> fences;
  MicroBatches micro;
  auto size_of = [&](uint32_t symbol) {
    if (symbol == micro.symbol && symbol) return micro.size;
    for (const auto& [s, size] : sizes)
      if (s == symbol) return size;
    return kLikelySize;
  };
  if (plan.micro_batch) {
    micro = micro_batches(typed, plan.micro_batch, size_of, most_joined(plan));
    typed = micro.function;
  }
  if (plan.temporaries) {
    Recomputed r = recompute(typed, runtime::temporaries_at(plan.temporaries), size_of, most_joined(plan));
    typed = std::move(r.function);
    fences = std::move(r.fences);
    recomputing = {.lets = r.copies, .work = r.work, .before = r.before, .after = r.after};
  }
  Program p = lower_blocks(std::move(typed), plan, std::move(fences));
  p.base = std::move(base);
  p.recomputing = recomputing;
  if (plan.micro_batch) p.micro_batching = told(micro);
  p.chunk = micro.symbol;
  p.chunk_rows = micro.size;
  return p;
}

}  // namespace ouro::jit
