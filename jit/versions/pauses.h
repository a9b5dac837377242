// How long a script may wait for the specialiser.
//
// Kernels are compiled beside the script. But the specialiser reads the script's objects, so the script waits for it,
// and a script that ends soon gets nothing in return. In the mode auto the user has not asked for that wait. So
// a function without a mark is specialised in slices (jit/specialise/attempt.h), each a pause of at most kSliceMs at a
// call of the function, and there are two conditions:
//
//   all pauses so far + the next one            <=  kShare of the time that the script has run + kGrace
//                                                   (kLaterShare of the time beyond kLaterMs)
//   what the function was interpreted for       >=  kWorth times all pauses that are expected for it
//
// The first one bounds what a script can lose. One that has run for long will probably run for as long again, so more
// of that time is worth it. A pause is counted as processor time: on a busy machine the specialiser may wait for its
// turn longer than it works, as the script does anyway. The second one keeps a function that is hardly used from
// taking the room of others (the rule of the rented skis: rent until the rent is what the skis cost; Karlin et al.
// 1988). What is begun too early and does not end is lost, so a specialisation is begun when there is room for
// kAtFirst of it.
//
// What is expected: the specialiser executes abstractly what a call executes, so a specialisation is about proportional
// to the frames that an interpreted call pushes. The factor is what the last ones took.
#pragma once

#include <cstdint>

namespace ouro::jit {

class Pauses {
 public:
  static constexpr double kShare = 0.03;
  static constexpr double kLaterShare = 0.05;
  static constexpr double kLaterMs = 1000;
  static constexpr double kGraceMs = 4;
  static constexpr double kWorth = 3;
  static constexpr double kAtFirst = 0.5;
  static constexpr double kSliceMs = 1.25;  // with what a block takes beyond it, a pause is below two
  static constexpr double kLeastMs = 0.25;  // a shorter slice is not worth looking at the guards for

  /// What is known of a function.
  struct Function {
    uint64_t frames = 0;  // that its last interpreted call pushed
    double call_ms = 0;   // that it took; 0: none was seen
    double last_ms = 0;   // of its last version
    bool seen() const { return call_ms > 0; }
  };

  double expected_ms(const Function& f) const;
  /// `run_ms`: of the script so far; `calls`: of the function, that were interpreted; `at_once`: not in slices.
  bool may_begin(const Function& f, double run_ms, uint64_t calls, bool at_once = false) const;
  /// How long the next slice may be; 0: there is no room yet.
  double slice_ms(double run_ms) const;
  void paused(double ms) { total_ms_ += ms; }
  /// What all pauses may come to in a script that has run for so long.
  static double most_ms(double run_ms);
  /// A version of it was made, in so long altogether.
  void made(Function& f, double ms);
  double total_ms() const { return total_ms_; }

 private:
  double room_ms(double run_ms) const { return most_ms(run_ms) - total_ms_; }

  double total_ms_ = 0;
  double ms_per_frame_ = 0.07;  // of a training step
};

}  // namespace ouro::jit
