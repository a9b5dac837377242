// How long a script may wait for the specialiser.
//
// Kernels are compiled beside the script. But the specialiser reads the script's objects, so the script waits for it,
// and a script that ends soon gets nothing in return. In the mode auto nobody has asked for that. So there are two
// conditions for functions that are not marked:
//
//   all pauses so far + the one expected  <=  kShare of the time that the script has run + kGrace
//   what a function was interpreted for   >=  kWorth times the pause that is expected
//
// The first one bounds what a script can lose. Of a pause of 10 ms that is a quarter of a second after the start, of
// one of 400 ms ten seconds. The second one keeps a function that is hardly used from taking the room of others (the
// rule of the rented skis: rent until the rent is what the skis cost; Karlin et al. 1988).
//
// What is expected: the specialiser executes abstractly what a call executes, so a pause is about proportional to the
// frames that an interpreted call pushes. The factor is what the last specialisations took. A specialisation that takes
// much longer is given up, and the next attempt at the function expects as much.
#pragma once

#include <cstdint>

namespace ouro::jit {

class Pauses {
 public:
  static constexpr double kShare = 0.04;
  static constexpr double kGraceMs = 4;
  static constexpr double kWorth = 3;
  static constexpr double kOverrun = 4;  // times what was expected, and kGraceMs: then it is given up

  /// What is known of a function.
  struct Function {
    uint64_t frames = 0;  // that its last interpreted call pushed
    double call_ms = 0;   // that it took; 0: none was seen
    double least_ms = 0;  // an attempt that took so long was given up
    double last_ms = 0;   // of its last version
    bool seen() const { return call_ms > 0; }
  };

  double expected_ms(const Function& f) const;
  /// `run_ms`: of the script so far; `calls`: of the function, that were interpreted.
  bool may_begin(const Function& f, double run_ms, uint64_t calls) const;
  double most_ms(const Function& f) const { return kGraceMs + kOverrun * expected_ms(f); }
  void ended(Function& f, double ms, bool given_up);
  double total_ms() const { return total_ms_; }

 private:
  double total_ms_ = 0;
  double ms_per_frame_ = 0.07;  // of a training step
};

}  // namespace ouro::jit
