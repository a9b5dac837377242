// Which functions would have been worth a version, judged by the time that the interpreter has spent on them in a run.
//
// In the mode auto a short script ends before it has room for a specialisation (jit/versions/pauses.h), in each of its
// runs. So at the end of a run it is asked what would have been worth one, and the next run tries that at once. A
// function is a part of the program of what calls it, so its time counts for the outermost function that is worth it:
//
//   open(f) = time of f under no other
//           + sum over g of  (time of f under g) * (g is worth it ? 0 : open(g) / time(g))
//
//   f is worth it  if  open(f) >= kWorth * (what its specialisation is expected to take)  and  open(f) >= kLeastMs
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "jit/versions/version.h"

namespace ouro::jit {

class Untried {
 public:
  static constexpr double kWorth = 4;
  static constexpr double kLeastMs = 20;  // its kernels take as long to compile, beside the script

  /// `expected_ms`: what a specialisation will take; `times`: all interpreted calls of a function, by those that were
  /// timed.
  using Of = std::function<double(const FunctionVersions&)>;
  Untried(const std::deque<std::unique_ptr<FunctionVersions>>& functions, const Of& expected_ms, const Of& times);

  struct Entry {
    double ms = 0;           // that it was interpreted for
    double open_ms = 0;      // without what is a part of others that are worth it
    double expected_ms = 0;  // of its specialisation
    bool is_worth() const { return expected_ms > 0 && open_ms >= kLeastMs && open_ms >= kWorth * expected_ms; }
  };
  const Entry& of(const FunctionVersions& f) const { return entries_.at(&f); }

 private:
  Entry& look(const FunctionVersions& f, const Of& expected_ms, const Of& times);
  std::map<const FunctionVersions*, Entry> entries_;
};

}  // namespace ouro::jit
