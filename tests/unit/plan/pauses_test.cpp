#include <catch2/catch.hpp>

#include "jit/pauses.h"

using ouro::jit::Pauses;

namespace {

Pauses::Function step_of(uint64_t frames, double call_ms) {
  Pauses::Function f;
  f.frames = frames;
  f.call_ms = call_ms;
  return f;
}

}  // namespace

TEST_CASE("a_pause_waits_until_the_script_has_run_long_enough_for_it") {
  Pauses p;
  const Pauses::Function f = step_of(1000, 10);
  const double expected = p.expected_ms(f);
  const double after = (expected - Pauses::kGraceMs) / Pauses::kShare;
  CHECK(expected > Pauses::kGraceMs);
  CHECK_FALSE(p.may_begin(f, 0.99 * after, 1000));
  CHECK(p.may_begin(f, 1.01 * after, 1000));
}

TEST_CASE("all_pauses_share_one_account") {
  Pauses p;
  Pauses::Function first = step_of(1000, 10), second = step_of(1000, 10);
  const double after = p.expected_ms(first) / Pauses::kShare;
  REQUIRE(p.may_begin(first, after, 1000));
  p.ended(first, p.expected_ms(first), /*given_up=*/false);
  CHECK_FALSE(p.may_begin(second, after, 1000));
  CHECK(p.may_begin(second, 2 * after, 1000));
}

TEST_CASE("a_function_that_hardly_runs_is_not_worth_its_pause") {
  Pauses p;
  const Pauses::Function f = step_of(1000, 10);
  const auto enough = static_cast<uint64_t>(Pauses::kWorth * p.expected_ms(f) / f.call_ms);
  CHECK_FALSE(p.may_begin(f, 1e9, enough / 2));
  CHECK(p.may_begin(f, 1e9, enough + 1));
}

TEST_CASE("an_attempt_that_was_given_up_is_expected_to_take_longer") {
  Pauses p;
  Pauses::Function f = step_of(1000, 10);
  const double most = p.most_ms(f);
  CHECK(most > p.expected_ms(f));
  p.ended(f, most, /*given_up=*/true);
  CHECK(p.expected_ms(f) == Approx(Pauses::kOverrun * most));
  CHECK(p.total_ms() == Approx(most));
}

TEST_CASE("what_a_frame_costs_is_learned_from_the_pauses") {
  Pauses p;
  Pauses::Function slow = step_of(1000, 10), next = step_of(1000, 10);
  const double at_first = p.expected_ms(next);
  for (int i = 0; i < 20; ++i) p.ended(slow, 3 * at_first, false);
  CHECK(p.expected_ms(next) == Approx(3 * at_first).epsilon(0.01));
  CHECK(p.expected_ms(slow) == Approx(3 * at_first));
  Pauses::Function few = step_of(10, 10);
  p.ended(few, 100, false);  // of a few frames nothing is learned
  CHECK(p.expected_ms(next) == Approx(3 * at_first).epsilon(0.01));
}
