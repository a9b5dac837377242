// What the last run of a program learned about its functions.
//
// In the mode auto a function that nobody marked is interpreted until its specialisation is worth the pause, and then
// specialised in slices (jit/versions/pauses.h). What came of it stays on disk, so that the next run of the same
// program need not wait to find it out. It specialises such a function at once, in one piece, if
//
//   calls in the last run  x  what a compiled call is shorter  >=  kWorth  x  what the specialisation took
//
// and its code is in the disk cache then. As text it is a small JSON object; one that is not so counts as empty:
//
//   {"format": 1, "functions": {CODE: {CAPTURED: {"calls": n, "saved_ms": x, "specialise_ms": x, "versions": n}}}}
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "ir/anf.h"
#include "runtime/demand/remembered.h"
#include "runtime/object/session.h"

namespace ouro::jit {

struct FunctionVersions;

class Experience {
 public:
  static constexpr double kWorth = 2;

  struct Function {
    double calls = 0;
    double saved_ms = 0;       // by a compiled call
    double specialise_ms = 0;  // all versions
    size_t versions = 0;
    bool is_worth() const { return versions > 0 && calls * saved_ms >= kWorth * specialise_ms; }
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
  void learn(const Key& key, const FunctionVersions& f);
  /// Keeps what was learned for the next run.
  void store();

 private:
  static constexpr size_t kMost = 256;  // functions
  using Captured = std::map<std::string, Function, std::less<>>;
  void read();

  std::unique_ptr<runtime::RememberedStore> store_;
  std::map<std::string, Captured, std::less<>> functions_;
  bool read_ = false, changed_ = false;
};

}  // namespace ouro::jit
