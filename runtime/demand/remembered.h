// What was measured of responses, beyond the life of the process: a second run of the same program on the same machine
// begins with it.
//
// A response has a value in force ("temporaries=all", "followed=1000"). Of each value that was in force long enough to
// be measured this keeps what the goals' measures were, the last time. A proposal for a value that is remembered is
// predicted by it: the measure of now, times what the value had, over what the value in force now had (of a value in
// force of which nothing is known: what the value had). Where a goal is missed, remembered values are candidates beside
// what the responses propose (loop.h), so what the first run found by trying, the second takes at once. What turns out
// otherwise is measured anew and kept.
//
// As text it is a small JSON object, {"format": 1, "responses": {RESPONSE: {VALUE: {GOAL: amount}}}}. A text that is
// not so counts as empty: nothing here is an error of the program.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ouro::runtime {

class Remembered {
 public:
  using Amounts = std::map<std::string, double, std::less<>>;
  using Values = std::map<std::string, Amounts, std::less<>>;

  /// Of values of a response; null: nothing.
  const Values* of(std::string_view response) const;
  const Amounts* of(std::string_view response, std::string_view value) const;
  /// False: there is no room for more.
  bool keep(std::string_view response, std::string_view value, const Amounts& measured);
  std::string text() const;
  static Remembered read(std::string_view text);

 private:
  static constexpr size_t kMost = 256;  // values
  std::map<std::string, Values, std::less<>> responses_;
  size_t values_ = 0;
};

/// Where the text stays between two processes.
class RememberedStore {
 public:
  virtual ~RememberedStore() = default;
  virtual std::string load() = 0;  // empty: there is none
  virtual void store(std::string_view text) = 0;
};

}  // namespace ouro::runtime
