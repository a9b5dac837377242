// What the last run of a program learned about its functions.
//
// In the mode auto a function that nobody marked is interpreted until its specialisation is worth the pause, and then
// specialised in slices (jit/versions/pauses.h). What came of it stays on disk, so that the next run of the same
// program need not wait to find it out. It specialises such a function at once, in one piece, if
//
//   calls in the last run  x  what a compiled call is shorter  >=  kWorth  x  what the specialisation took
//
// and its code is in the disk cache then. A script may end before
// there is room for a specialisation, so that nothing was compared. Then the time for which the function was
// interpreted counts in place of the time saved (jit/versions/untried.h): the next runs try a version at once, until
// one was compared or kMostTried is reached. A run in which the version was ready counts kTried; a run that ended
// before its kernels were compiled, as on a busy machine, counts 1. Only a part of that time is spent on such tries;
// functions that are not ready by then are treated as in any run.
//
// The text is a small JSON object. A text of another form counts as empty:
//
//   {"format": 2, "functions": {CODE: {CAPTURED: {"calls": n, "saved_ms": x, "specialise_ms": x, "versions": n,
//                                                 "interpreted_ms": x, "tried": n}}}}
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ir/anf.h"
#include "jit/versions/untried.h"
#include "runtime/demand/remembered.h"
#include "runtime/object/session.h"

namespace ouro::jit {

struct FunctionVersions;

class Experience {
 public:
  static constexpr double kWorth = 2;
  static constexpr size_t kMostTried = 12, kTried = 3;

  struct Function {
    double calls = 0;
    double saved_ms = 0;       // by a compiled call
    double specialise_ms = 0;  // all versions; where nothing was compared: the longest one, or what is expected
    size_t versions = 0;       // 0: nothing was compared
    // What it was interpreted for, if another version would have been worth that; of one that was not compared: what
    // the runs that have tried it count.
    double interpreted_ms = 0;
    size_t tried = 0;
    bool is_worth() const {
      if (versions) return calls * saved_ms >= kWorth * specialise_ms;
      return tried < kMostTried && interpreted_ms > 0 && allowance_ms() >= specialise_ms;
    }
    /// How many versions may be made at once: those of the last run, and one for what it has interpreted.
    size_t at_once() const { return is_worth() && versions ? versions + (interpreted_ms > 0) : 0; }
    /// Where nothing was compared: how long a first version may take.
    double allowance_ms() const { return versions ? 0 : interpreted_ms / Untried::kWorth; }
    bool operator==(const Function&) const = default;
  };
  /// By which a function is found again: its code, and what it captures.
  struct Key {
    std::string code, captured;
  };
  static Key key_of(const runtime::Session& s, const FunctionVersions& f);
  static std::string key_of(const runtime::Session& s, const ir::Function& code);

  Experience() = default;
  /// Reads what is there when it is first asked.
  explicit Experience(std::unique_ptr<runtime::RememberedStore> store) : store_(std::move(store)) {}

  /// Has a function of this code been worth it?
  bool has_worth(const std::string& code);
  /// Null: nothing is known of it.
  const Function* of(const Key& key);
  /// `untried`: what is known where none of its versions was compared.
  void learn(const Key& key, const FunctionVersions& f, const Untried::Entry& untried = {});
  /// Keeps what was learned for the next run.
  void store();

 private:
  static constexpr size_t kMost = 256;  // functions
  using Captured = std::map<std::string, Function, std::less<>>;
  void read();
  void keep(const Key& key, const Function& learned);

  std::unique_ptr<runtime::RememberedStore> store_;
  std::map<std::string, Captured, std::less<>> functions_;
  bool read_ = false, changed_ = false;
};

}  // namespace ouro::jit
