// Is a version quicker than the interpreter? In the mode auto its first calls decide.
//
//   interpreted calls, while the version is being compiled            ──┐
//   compiled calls, without the first one, which allocates its memory ──┴──► clearly quicker: the version is kept
//   otherwise the interpreter and the version do calls by turns         ──► the quicker one is kept
//
// The shortest call of each side counts, because a disturbance can only make a call longer. The time of an interpreted
// call includes the compiled functions that it calls, and not what the compiler does meanwhile. A call that the version
// leaves and the interpreter repeats counts as compiled, with both times. A version that lost is compared again later,
// each time after more calls: where sizes are symbols, they may have grown.
#pragma once

#include <cstdint>

namespace ouro::jit {

class Trial {
 public:
  enum class State : uint8_t { first_calls, by_turns, won, lost };

  State state() const { return state_; }
  bool decided() const { return state_ == State::won || state_ == State::lost; }
  /// Is the next call to be the interpreter's?
  bool interprets_next() const { return state_ == State::by_turns && turns_ % 2 == 0; }
  /// Nothing is to be compared: a version of the same program has won, or a demand decides.
  void win() { state_ = State::won; }
  /// What a call took, in nanoseconds.
  void interpreted(uint64_t ns);
  void compiled(uint64_t ns);
  /// Of a version that lost; `calls`: of its function so far. True: it is compared again from now on.
  bool ask_again(uint64_t calls);

  uint64_t least_interpreted() const { return interpreted_.least; }
  uint64_t least_compiled() const { return compiled_.least; }

 private:
  struct Side {
    uint64_t least = 0;
    uint32_t calls = 0;
    void add(uint64_t ns) { least = calls++ ? (ns < least ? ns : least) : ns; }
  };
  void look();

  Side interpreted_, compiled_;
  State state_ = State::first_calls;
  bool first_ = true;                     // the version has not run
  uint32_t turns_ = 0;                    // of the calls by turns
  uint64_t waits_ = 1000, again_at_ = 0;  // calls after which one that lost is tried again; 0: not known yet
};

}  // namespace ouro::jit
