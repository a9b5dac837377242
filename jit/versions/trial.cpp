#include "jit/versions/trial.h"

namespace ouro::jit {
namespace {

constexpr uint32_t kFirstCalls = 3;  // of each side, before turns are taken
constexpr uint32_t kTurns = 8;       // four calls of each side
// In the first calls. One interpreted call alone may have met cold memory.
constexpr uint64_t kClearly = 4, kClearlyPercent = 90;

}  // namespace

void Trial::interpreted(uint64_t ns) {
  if (decided()) return;
  interpreted_.add(ns);
  if (state_ == State::by_turns) ++turns_;
  look();
}

void Trial::compiled(uint64_t ns) {
  if (decided()) return;
  if (first_) {
    first_ = false;
    return;
  }
  compiled_.add(ns);
  if (state_ == State::by_turns) ++turns_;
  look();
}

void Trial::look() {
  if (!compiled_.calls) return;
  const uint64_t most =
      interpreted_.calls > 1 ? interpreted_.least / 100 * kClearlyPercent : interpreted_.least / kClearly;
  if (interpreted_.calls && compiled_.least <= most) {
    state_ = State::won;
  } else if (state_ == State::first_calls) {
    if (compiled_.calls >= kFirstCalls) state_ = State::by_turns, turns_ = 0;
  } else if (turns_ >= kTurns && interpreted_.calls) {
    state_ = compiled_.least <= interpreted_.least ? State::won : State::lost;
  }
}

bool Trial::ask_again(uint64_t calls) {
  if (!again_at_) again_at_ = calls + waits_;
  if (calls < again_at_) return false;
  again_at_ = 0;
  waits_ *= 4;
  interpreted_ = compiled_ = {};
  state_ = State::by_turns;
  turns_ = 0;
  first_ = true;
  return true;
}

}  // namespace ouro::jit
