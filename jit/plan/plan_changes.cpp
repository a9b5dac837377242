// What an execution plan changes in a typed function before it becomes a program: joins that a device takes apart,
// chunks of a batch, values that are computed again instead of being kept.
#include <algorithm>

#include "ir/loops/memory.h"
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

namespace {

using SizeOf = std::function<int64_t(uint32_t)>;

int64_t arena_bytes(const Program& p, const SizeOf& size_of) {
  std::vector<ArenaItem> items;
  for (const ArenaSlot& slot : p.arena)
    items.push_back({.first = slot.first,
                     .last = slot.last,
                     .bytes = p.sizes[slot.bytes].evaluate(size_of),
                     .in_place_of = slot.in_place_of});
  return plan_arena(items);
}

// A program within a budget. The schedule's account of memory (ir/loops/recompute.h) is not that of the program: a
// kernel's result may take the place of an operand, copies are joined into kernels in other ways. And a schedule that
// was made for less does not always hold less. So schedules for several budgets are lowered, and their arenas compared.
class WithinBudget {
 public:
  WithinBudget(const ir::FunctionRef& f, runtime::ExecutionPlan plan, const SizeOf& size_of)
      : f_(f), plan_(plan), size_of_(size_of), budget_(runtime::temporaries_at(plan.temporaries)) {}

  /// The one with least work that keeps the budget; where none does, the one that holds least.
  Program find() {
    try_for(budget_);
    const int64_t first = best_arena_;
    if (first <= budget_) {
      // It holds less than it may. The account was too high by so much.
      const int64_t spare = budget_ - first, too_high = expected_ - first;
      if (best_.recomputing.lets && too_high > 0 && spare > kSpare * static_cast<double>(budget_))
        try_for(budget_ + std::min(too_high, spare));
      return std::move(best_);
    }
    if (const int64_t less = budget_ - (first - budget_); less > budget_ / 2) try_for(less);
    // Levels around what came of it, so that neighbouring budgets try the same ones.
    const int from = runtime::temporaries_within(first);
    for (int step : {1, 2, 3, 5, -2, -5}) {
      if (best_arena_ <= budget_) break;
      if (from + step > 0) try_for(runtime::temporaries_at(static_cast<uint16_t>(from + step)));
    }
    if (best_arena_ > budget_ && best_.recomputing.lets) {  // was it for nothing?
      Program all = lower_blocks(f_, plan_, {});
      all.recomputing = {.before = best_.recomputing.before, .after = arena_bytes(all, size_of_)};
      if (all.recomputing.after <= best_arena_) return all;
    }
    return std::move(best_);
  }

 private:
  static constexpr double kSpare = 0.02;

  void try_for(int64_t budget) {
    Recomputed r = recompute(f_, budget, size_of_, most_joined(plan_));
    const int64_t expected = r.after;
    Program p = lower_blocks(std::move(r.function), plan_, std::move(r.fences));
    p.recomputing = {.lets = r.copies, .work = r.work, .before = r.before};
    const int64_t arena = p.recomputing.after = arena_bytes(p, size_of_);
    const bool met = arena <= budget_, was_met = best_arena_ <= budget_;
    const bool better = met != was_met ? met : met ? r.work < best_.recomputing.work : arena < best_arena_;
    if (!better) return;
    best_ = std::move(p);
    best_arena_ = arena;
    expected_ = expected;
  }

  const ir::FunctionRef& f_;
  const runtime::ExecutionPlan plan_;
  const SizeOf& size_of_;
  const int64_t budget_;
  Program best_;
  int64_t best_arena_ = INT64_MAX, expected_ = 0;  // by the schedule's account
};

}  // namespace

Program build_program(ir::FunctionRef typed, runtime::ExecutionPlan plan, const SymbolSizes& sizes,
                      ir::FunctionRef base) {
  if (!base) base = ir::opt::optimise(std::move(typed));
  typed = base;
  if (plan.device != runtime::DeviceId::cpu) typed = ir::opt::drop_dead(ir::opt::split_joins(typed));
  MicroBatches micro;
  const SizeOf size_of = [&](uint32_t symbol) {
    if (symbol == micro.symbol && symbol) return micro.size;
    for (const auto& [s, size] : sizes)
      if (s == symbol) return size;
    return kLikelySize;
  };
  if (plan.micro_batch) {
    micro = micro_batches(typed, plan.micro_batch, size_of, most_joined(plan));
    typed = micro.function;
  }
  Program p = plan.temporaries ? WithinBudget(typed, plan, size_of).find() : lower_blocks(std::move(typed), plan, {});
  p.base = std::move(base);
  if (plan.micro_batch) p.micro_batching = told(micro);
  p.chunk = micro.symbol;
  p.chunk_rows = micro.size;
  return p;
}

}  // namespace ouro::jit
