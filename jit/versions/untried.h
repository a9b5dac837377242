// Which functions the interpreter has done all calls of, though their specialisation would have been worth it.
//
// In the mode auto a short script ends before it has room for a specialisation (jit/versions/pauses.h), in each of its
// runs. So at its end it is asked what would have been worth it, and the next run tries that at once. A function that
// another one calls is a part of that one's program, so time counts for the outermost function that is worth it:
//
//   open(f)  =  time of f under none  +  sum over g of  time of f under g  x  (0 if g is worth it, else open(g) /
//   time(g)) f is worth it   if   open(f)  >=  kWorth  x  what its specialisation is expected to take,  and  kLeastMs
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

  /// `expected_ms`: of a specialisation; `times`: how often as many calls of a function there were as were timed.
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
