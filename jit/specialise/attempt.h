// A specialisation that is done in slices, between which the script goes on.
//
// The specialiser reads the script's objects and changes none, so it can stop between two blocks and go on later, on a
// stack of its own (support/fiber.h). Meanwhile the script may have changed what was read. So each slice begins with
// the guards of what was read so far (AccessProgram::load): where one fails, nobody needs the version any more, and the
// attempt ends. What it learned is in its pins: a number that changed is no constant of the next attempt.
//
// An attempt keeps the objects of the call for which it was begun until it ends. A script would notice that if the end
// of one of them runs something, such as a `__del__`; then no attempt is made (may_be_kept). When a script asks which
// objects are alive, the attempt is dropped (Executor::let_go).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "jit/specialise/pins.h"
#include "support/fiber.h"

namespace ouro::jit {

class Attempt {
 public:
  enum class State : uint8_t {
    paused,
    made,
    changed,   // what it was begun for does not exist any more
    given_up,  // because of an interrupt
    failed,    // an internal error, which was told
  };

  Attempt(Session& s, SpecialiseRequest request, Pins pins, std::string why);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// The next slice. `blocks`: so many blocks of the script's code end it, too.
  State go_on(std::chrono::steady_clock::duration slice, uint32_t blocks = UINT32_MAX);
  const SpecialiseRequest& request() const { return request_; }
  SpecialiseResult& result() { return result_; }
  Pins& pins() { return pins_; }
  const std::string& why() const { return why_; }
  double ms() const { return ms_; }

  // ---- for the specialiser
  /// Another block is to be executed: has the slice ended?
  bool slice_is_over();
  /// Returns in the next slice. Throws GivenUp where there is none.
  void pause();
  /// What was read does not stand there any more. Throws GivenUp.
  [[noreturn]] void end_as_changed(const AccessProgram& access, uint32_t missed);

 private:
  static constexpr size_t kStack = size_t{16} << 20, kStackReserve = kStack / 8 + (size_t{256} << 10);
  static constexpr uint32_t kBlocksOfLook = 16;  // between two looks at the clock
  void resume();

  Session& session_;
  SpecialiseRequest request_;
  Pins pins_;
  std::string why_;
  SpecialiseResult result_;
  std::unique_ptr<Fiber> fiber_;
  std::chrono::steady_clock::time_point until_{};
  uint32_t blocks_ = 0, most_blocks_ = 0;
  double ms_ = 0;
  bool cancelled_ = false, changed_ = false;
};

/// Is it seen nowhere if what the function and its arguments reach lives longer? Not where there is an object with
/// __del__, a file or another object of the system, a generator, or more than can be looked at.
bool may_be_kept(const SpecialiseRequest& request);

}  // namespace ouro::jit
