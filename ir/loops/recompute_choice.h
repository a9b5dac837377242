// Which values of a block to drop and to compute again: a model of the block's memory, and the search in it.
//
// The model tells what a choice comes to without making the program: which copies there are, when each is computed and
// read last, how much lies in memory. Its values are those that have memory of their own. It has two moments for each
// step of the schedule: the one before it, in which copies are computed, and its own.
//
// To find the least work within a budget is hard (it contains the knapsack problem); integer programming solves it in
// minutes to hours (Jain et al., "Checkmate", 2020), and this runs beside a training step. So it is a search from two
// sides. From a block that keeps all, values are dropped, each time the one that brings the moments nearest to the
// budget for its work. From a block that drops all, values are kept likewise: that finds the few that cut a long chain
// of layers into pieces, where no single value that is dropped makes a difference. Then the better of both is cleared
// of what it need not drop. tests/unit/loops/recompute_choice_test.cpp compares it with the optimum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ouro::ir::loops {

struct Droppable {
  uint32_t id = 0;  // the caller's
  int64_t bytes = 0;
  double work = 0;
  bool again = false;      // may be computed a second time
  int made = 0;            // step
  std::vector<int> gaps;   // steps at which it may be dropped: it is computed again for the next one that reads it
  std::vector<int> reads;  // steps
  std::vector<uint32_t> sources;  // ids of what it is computed from
};

class RecomputeModel {
 public:
  struct Outcome {
    int64_t peak = 0;
    double excess = 0;  // of each moment, what is above the budget, squared: one that is far above weighs most
    double work = 0;
    int worst = 0;  // moment
  };

  /// `values` in the order in which they are made: operands come before what reads them.
  RecomputeModel(std::vector<Droppable> values, size_t steps);

  const std::vector<Droppable>& values() const { return values_; }  // the one made last first
  // Of each: in which of its gaps it is dropped, from 1. 0: in none, but when its readers are done; a copy that is made
  // of it later needs one of it. kHeld: it stays until the last of those, too.
  std::vector<size_t> dropped;
  static constexpr size_t kHeld = SIZE_MAX;

  Outcome evaluate(int64_t budget);
  /// After evaluate(), and as that would say if `dropped[i]` were `way`; nothing is changed. Only what hangs on value i
  /// is looked at again: whether it is copied and when decides what its sources are asked for, and so on.
  Outcome with(size_t i, size_t way, int64_t budget);
  // After evaluate(): does the value, or its copy, lie in memory then? Is there a copy?
  bool lies_at(size_t i, int moment) const {
    return moment_of(values_[i].made) <= moment && moment <= lives_[i].kept_to;
  }
  bool copy_lies_at(size_t i, int moment) const { return lives_[i].copy_from <= moment && moment <= lives_[i].copy_to; }
  bool is_copied(size_t i) const { return lives_[i].copy_from != kNever; }

 private:
  static constexpr int kNever = INT32_MAX;
  static int moment_of(int step) { return 2 * step + 1; }
  // When a value lies in memory, and its copy.
  struct Lives {
    int kept_to = 0, copy_from = kNever, copy_to = 0;
    bool operator==(const Lives&) const = default;
    void copy(int from, int to);
  };
  Lives follow(size_t i);
  void put(size_t i, const Lives& lives);
  void hold(int64_t bytes, int from, int to);
  Outcome total(int64_t budget) const;

  std::vector<Droppable> values_;
  std::vector<std::vector<size_t>> sources_,
      readers_;  // of each, in values_: sources stand behind it, readers before it
  size_t moments_ = 0;
  std::vector<Lives> lives_;
  std::vector<int64_t> change_;  // of the bytes in memory, by moment
  double work_ = 0;
  std::vector<int> asked_;                         // scratch: when copies read a value
  std::vector<bool> to_follow_;                    // scratch of with()
  std::vector<std::pair<size_t, Lives>> changed_;  // likewise: what was
};

/// Of a value that is made at a step and read at others: where it may be dropped, the longest time first.
std::vector<int> gaps_of(int made, const std::vector<int>& reads);

inline constexpr int64_t kNegligible = 4096;   // bytes that are kept without a thought
inline constexpr double kWorkOfAKernel = 4e4;  // a launch, in multiplications of a matrix product

/// Sets `dropped` so that the budget is met for little work, or is missed by as little as can be reached.
RecomputeModel::Outcome choose(RecomputeModel& model, int64_t budget);

}  // namespace ouro::ir::loops
