// Which numbers from outside are constants of a function's versions (docs/design/rules.md D18).
//
// A number, bool, text or None that is reached by an attribute, a capture, a global or a default, and an int argument,
// is a constant of the first version. A number that was seen to change is dynamic in all later versions. It becomes a
// constant again only where an operation has to know it, and each path only so many times. A function whose numbers
// keep changing, one after the other, has no constants at all. So each number costs one version, and a number that
// changes at every call does not cost a version a call. Where two items of a list or tuple have changed, all of its
// items count as changed.
//
// A list whose length has changed twice, such as the losses that a trainer keeps, and a dict whose keys go on changing
// are passed to later versions as one value. What is appended goes there in place; the interpreter does other
// operations on it. Where that would leave the computation to the interpreter, as with a list of layers, the list is
// taken apart as before, and each length has a version.
#pragma once

#include <map>
#include <set>
#include <string>

#include "jit/specialise/specialise.h"

namespace ouro::jit {

/// What the versions of one function have shown of the numbers that it reads, by access path (AccessProgram::path).
class Pins {
 public:
  /// A version is to be made because of these.
  void changed(const AccessProgram& access, const std::vector<uint32_t>& pins);
  /// The guard of this node did not hold. Changes of a list's length and of a dict's keys are counted.
  void missed(const AccessProgram& access, uint32_t node);
  /// Those of them that are passed as one value; they are varying, too.
  const std::set<std::string>& lists() const { return lists_; }
  /// None is passed as one value any more, but for these.
  void take_apart_lists(const std::set<std::string>& but = {});
  /// Structure stands on these: they are constants, though they change.
  void need(const std::set<std::string>& paths);
  /// What a specialisation found out: numbers that the function itself writes, and those that it had to know.
  void made(const SpecialiseResult& result);
  void ask(SpecialiseRequest& request) const;
  /// Does this version hold a constant that is dynamic by now? Another one stands for it.
  bool superseded(const AccessProgram& access) const;
  const std::set<std::string>& varying() const { return varying_; }

 private:
  void vary(const std::string& path);

  static constexpr int kMostRounds = 6;  // versions made because constants changed, until there are no more constants
  static constexpr int kMostNeeded = 4;  // values of one path that versions were made for

  // Versions made because a list's length changed, or a dict's keys: a log has all its names after a few steps.
  static constexpr int kMostLengths = 2, kMostKeys = 4;

  std::set<std::string> varying_, lists_;
  std::set<std::string> structure_;  // never in `varying_`
  std::map<std::string, int> lengths_;
  std::map<std::string, int> needed_;
  int rounds_ = 0;
};

/// Specialises with these, and with more constants where that fails.
SpecialiseResult specialise_pinned(Session& s, SpecialiseRequest& request, Pins& pins);

}  // namespace ouro::jit
