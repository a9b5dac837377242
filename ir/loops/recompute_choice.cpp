#include "ir/loops/recompute_choice.h"

#include <algorithm>
#include <functional>
#include <map>

#include "support/give_up.h"

namespace ouro::ir::loops {

using Outcome = RecomputeModel::Outcome;

RecomputeModel::RecomputeModel(std::vector<Droppable> values, size_t steps) : values_(std::move(values)) {
  std::ranges::reverse(values_);  // readers before what they read
  std::map<uint32_t, size_t> at;
  for (size_t i = 0; i < values_.size(); ++i) at[values_[i].id] = i;
  for (const Droppable& x : values_) {
    std::vector<size_t>& sources = sources_.emplace_back();
    for (uint32_t id : x.sources) sources.push_back(at.at(id));
  }
  dropped.assign(values_.size(), 0);
  moments_ = 2 * steps + 2;
}

std::vector<int> gaps_of(int made, const std::vector<int>& reads) {
  constexpr size_t kMostGaps = 3;
  constexpr int kLeast = 2;                // steps: a copy is computed in the one before it is read
  std::vector<std::pair<int, int>> found;  // length, from
  int before = made;
  for (int step : reads) {
    if (step - before >= kLeast) found.emplace_back(before - step, before);
    before = step;
  }
  std::ranges::sort(found);
  std::vector<int> out;
  for (size_t k = 0; k < std::min(kMostGaps, found.size()); ++k) out.push_back(found[k].second);
  return out;
}

void RecomputeModel::copy(size_t i, int from, int to) {
  copy_from_[i] = std::min(copy_from_[i], from);
  copy_to_[i] = std::max(copy_to_[i], to);
}
void RecomputeModel::hold(int64_t bytes, int from, int to) {
  change_[static_cast<size_t>(from)] += bytes;
  change_[static_cast<size_t>(to) + 1] -= bytes;
}

Outcome RecomputeModel::evaluate(int64_t budget) {
  const size_t n = values_.size();
  kept_to_.assign(n, 0);
  copy_from_.assign(n, kNever);
  copy_to_.assign(n, 0);
  asked_.resize(n);
  for (auto& moments : asked_) moments.clear();
  Outcome out;
  change_.assign(moments_ + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    const Droppable& x = values_[i];
    const bool held = dropped[i] == kHeld, in_gap = dropped[i] && !held;
    const int gap = in_gap ? x.gaps[dropped[i] - 1] : INT32_MAX;
    kept_to_[i] = moment_of(x.made);
    for (int step : x.reads)
      if (step > gap)
        copy(i, 2 * step, moment_of(step));
      else
        kept_to_[i] = std::max(kept_to_[i], moment_of(step));
    std::ranges::sort(asked_[i]);
    for (int moment : asked_[i])
      if (in_gap ? moment > moment_of(gap) : !held && moment > kept_to_[i] && x.again && x.bytes > kNegligible)
        copy(i, moment, moment);
      else
        kept_to_[i] = std::max(kept_to_[i], moment);
    hold(x.bytes, moment_of(x.made), kept_to_[i]);
    if (copy_from_[i] == kNever) continue;
    hold(x.bytes, copy_from_[i], copy_to_[i]);
    out.work += x.work;
    for (size_t source : sources_[i]) asked_[source].push_back(copy_from_[i]);
  }
  int64_t now = 0;
  for (size_t m = 0; m < moments_; ++m) {
    now += change_[m];
    if (now > out.peak) out.peak = now, out.worst = static_cast<int>(m);
    if (const auto over = static_cast<double>(now - budget); over > 0) out.excess += over * over;
  }
  return out;
}

namespace {

constexpr int kMostRounds = 1000;
constexpr size_t kMostTried = 64;  // values of one round
constexpr int kMostPasses = 4;
constexpr int kMostTurns = 2;  // back from a drop, of a value

class Search {
 public:
  Search(RecomputeModel& model, int64_t budget)
      : model_(model), budget_(budget), values_(model.values()), turned_(values_.size(), 0) {}

  // From what is dropped now: one value after the other is dropped, or kept again where its copy is what is too much.
  Outcome run() {
    now_ = model_.evaluate(budget_);
    for (int round = 0; round < kMostRounds && now_.peak > budget_; ++round) {
      may_give_up();
      if (!step()) break;
    }
    keep_what_can_be_kept();
    return now_;
  }

 private:
  Outcome with(size_t i, size_t gap) {
    std::swap(model_.dropped[i], gap);
    const Outcome o = model_.evaluate(budget_);
    std::swap(model_.dropped[i], gap);
    return o;
  }

  // The move that brings the schedule nearest to the budget for its work.
  bool step() {
    std::vector<size_t> moves;
    for (size_t i = 0; i < values_.size(); ++i)
      if (values_[i].again && turned_[i] < kMostTurns &&
          (model_.lies_at(i, now_.worst) || model_.copy_lies_at(i, now_.worst)))
        moves.push_back(i);
    std::ranges::stable_sort(moves, std::greater{}, [&](size_t i) { return values_[i].bytes; });
    if (moves.size() > kMostTried) moves.resize(kMostTried);
    size_t best = values_.size(), best_gap = 0;
    double worth = 0;
    std::vector<bool> copied(values_.size());
    for (size_t i : moves) copied[i] = model_.is_copied(i);
    for (size_t i : moves)
      for (size_t way = 0; way <= values_[i].gaps.size() + 1; ++way) {
        const size_t gap = way > values_[i].gaps.size() ? RecomputeModel::kHeld : way;
        if (gap == model_.dropped[i] || (gap == RecomputeModel::kHeld && !copied[i])) continue;
        const Outcome o = with(i, gap);
        const double gain = now_.excess - o.excess;
        if (gain <= 0 || o.peak > now_.peak) continue;
        if (const double w = gain / (std::max(o.work - now_.work, 0.0) + kWorkOfAKernel); w > worth)
          worth = w, best = i, best_gap = gap;
      }
    if (best == values_.size()) return false;
    if (model_.dropped[best]) ++turned_[best];
    model_.dropped[best] = best_gap;
    now_ = model_.evaluate(budget_);
    return true;
  }

  // What is kept after all without passing the budget is kept: what takes most work first.
  void keep_what_can_be_kept() {
    const bool met = now_.peak <= budget_;
    for (int pass = 0; pass < kMostPasses; ++pass) {
      now_ = model_.evaluate(budget_);
      std::vector<size_t> copied;
      for (size_t i = 0; i < values_.size(); ++i)
        if (model_.is_copied(i)) copied.push_back(i);
      std::ranges::stable_sort(copied, std::greater{}, [&](size_t i) { return values_[i].work; });
      bool any = false;
      for (size_t i : copied) {
        may_give_up();
        for (size_t way : {size_t{0}, RecomputeModel::kHeld}) {
          if (way == model_.dropped[i]) continue;
          const Outcome o = with(i, way);
          if (o.work >= now_.work || (met ? o.peak > budget_ : o.peak > now_.peak || o.excess > now_.excess)) continue;
          model_.dropped[i] = way;
          now_ = o;
          any = true;
        }
      }
      if (!any) return;
    }
  }

  RecomputeModel& model_;
  const int64_t budget_;
  const std::vector<Droppable>& values_;
  std::vector<int> turned_;
  Outcome now_;
};

}  // namespace

Outcome choose(RecomputeModel& model, int64_t budget) {
  model.dropped.assign(model.values().size(), 0);
  const Outcome from_all = Search(model, budget).run();
  std::vector<size_t> first = model.dropped;
  for (size_t i = 0; i < first.size(); ++i) model.dropped[i] = model.values()[i].gaps.empty() ? 0 : 1;
  const Outcome from_none = Search(model, budget).run();
  const bool met = from_all.peak <= budget, met_too = from_none.peak <= budget;
  if (met != met_too ? met : met ? from_all.work <= from_none.work : from_all.peak <= from_none.peak)
    model.dropped = std::move(first);
  return model.evaluate(budget);
}

}  // namespace ouro::ir::loops
