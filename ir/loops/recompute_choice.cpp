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
  readers_.resize(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    std::vector<size_t>& sources = sources_.emplace_back();
    for (uint32_t id : values_[i].sources) {
      sources.push_back(at.at(id));
      readers_[sources.back()].push_back(i);
    }
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

void RecomputeModel::Lives::copy(int from, int to) {
  copy_from = std::min(copy_from, from);
  copy_to = std::max(copy_to, to);
}
void RecomputeModel::hold(int64_t bytes, int from, int to) {
  change_[static_cast<size_t>(from)] += bytes;
  change_[static_cast<size_t>(to) + 1] -= bytes;
}

// What becomes of a value, its readers' copies being known.
RecomputeModel::Lives RecomputeModel::follow(size_t i) {
  const Droppable& x = values_[i];
  const bool held = dropped[i] == kHeld, in_gap = dropped[i] && !held;
  const int gap = in_gap ? x.gaps[dropped[i] - 1] : INT32_MAX;
  Lives out{.kept_to = moment_of(x.made)};
  for (int step : x.reads)
    if (step > gap)
      out.copy(2 * step, moment_of(step));
    else
      out.kept_to = std::max(out.kept_to, moment_of(step));
  asked_.clear();
  for (size_t reader : readers_[i])
    if (is_copied(reader)) asked_.push_back(lives_[reader].copy_from);
  std::ranges::sort(asked_);
  for (int moment : asked_)
    if (in_gap ? moment > moment_of(gap) : !held && moment > out.kept_to && x.again && x.bytes > kNegligible)
      out.copy(moment, moment);
    else
      out.kept_to = std::max(out.kept_to, moment);
  return out;
}

// Takes the place of what was: in the sums, too.
void RecomputeModel::put(size_t i, const Lives& lives) {
  const Droppable& x = values_[i];
  auto count = [&](const Lives& l, int64_t bytes, double work) {
    hold(bytes, moment_of(x.made), l.kept_to);
    if (l.copy_from == kNever) return;
    hold(bytes, l.copy_from, l.copy_to);
    work_ += work;
  };
  count(lives_[i], -x.bytes, -x.work);
  lives_[i] = lives;
  count(lives_[i], x.bytes, x.work);
}

Outcome RecomputeModel::total(int64_t budget) const {
  Outcome out{.work = work_};
  int64_t now = 0;
  for (size_t m = 0; m < moments_; ++m) {
    now += change_[m];
    if (now > out.peak) out.peak = now, out.worst = static_cast<int>(m);
    if (const auto over = static_cast<double>(now - budget); over > 0) out.excess += over * over;
  }
  return out;
}

Outcome RecomputeModel::evaluate(int64_t budget) {
  const size_t n = values_.size();
  change_.assign(moments_ + 1, 0);
  work_ = 0;
  lives_.assign(n, {});
  for (size_t i = 0; i < n; ++i) {
    lives_[i].kept_to = moment_of(values_[i].made);
    hold(values_[i].bytes, lives_[i].kept_to, lives_[i].kept_to);
    put(i, follow(i));
  }
  return total(budget);
}

Outcome RecomputeModel::with(size_t i, size_t way, int64_t budget) {
  changed_.clear();
  std::swap(dropped[i], way);
  to_follow_.assign(values_.size(), false);
  to_follow_[i] = true;
  size_t last = i;
  for (size_t j = i; j <= last; ++j) {
    if (!to_follow_[j]) continue;
    const Lives was = lives_[j], now = follow(j);
    if (now == was) continue;
    changed_.emplace_back(j, was);
    put(j, now);
    if (now.copy_from == was.copy_from) continue;
    for (size_t source : sources_[j]) to_follow_[source] = true, last = std::max(last, source);
  }
  const Outcome out = total(budget);
  for (const auto& [j, was] : changed_) put(j, was);
  std::swap(dropped[i], way);
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
    for (size_t i : moves)
      for (size_t way = 0; way <= values_[i].gaps.size() + 1; ++way) {
        const size_t gap = way > values_[i].gaps.size() ? RecomputeModel::kHeld : way;
        if (gap == model_.dropped[i] || (gap == RecomputeModel::kHeld && !model_.is_copied(i))) continue;
        const Outcome o = model_.with(i, gap, budget_);
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
          const Outcome o = model_.with(i, way, budget_);
          if (o.work >= now_.work || (met ? o.peak > budget_ : o.peak > now_.peak || o.excess > now_.excess)) continue;
          model_.dropped[i] = way;
          now_ = model_.evaluate(budget_);
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
