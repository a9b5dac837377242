// Is a version quicker than the interpreter? Its first calls tell, where nobody asked for compiled code at any price
// (`--mode=graph`).
//
//   calls that the interpreter does while the version is being compiled ──┐
//   the version's first calls, the very first left out (its memory is new) ┴──► clearly quicker: kept
//   else calls are done by turns, one by the interpreter, one compiled        ──► the quicker one stays
//
// The least time of each side counts: whatever disturbs a call makes it longer. An interpreted call is the whole call,
// with the compiled functions inside of it; what the compiler did meanwhile is not. One that a version left in its
// middle counts as compiled, from the beginning. A version that lost is tried again after ever more calls, for sizes
// that are symbols may have grown.
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
  /// What a call took, in nanoseconds.
  void interpreted(uint64_t ns);
  void compiled(uint64_t ns);
  /// It lost, and this is the how manieth call of its function. True: it is tried again from now on.
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
