#include <catch2/catch.hpp>

#include "jit/versions/pauses.h"

using ouro::jit::Pauses;

namespace {

Pauses::Function step_of(uint64_t frames, double call_ms) {
  Pauses::Function f;
  f.frames = frames;
  f.call_ms = call_ms;
  return f;
}

// When a script has run for so long that its pauses may come to `ms`.
double run_for(double ms) {
  const double early = Pauses::kShare * Pauses::kLaterMs, rest = ms - Pauses::kGraceMs;
  return rest <= early ? rest / Pauses::kShare : Pauses::kLaterMs + (rest - early) / Pauses::kLaterShare;
}

}  // namespace

TEST_CASE("a_specialisation_is_begun_when_there_is_room_for_a_part_of_it") {
  Pauses p;
  const Pauses::Function f = step_of(1000, 10);
  const double expected = p.expected_ms(f);
  const auto after = [&](double part) { return run_for(part * expected); };
  REQUIRE(Pauses::kAtFirst * expected > Pauses::kGraceMs);
  CHECK_FALSE(p.may_begin(f, 0.99 * after(Pauses::kAtFirst), 1000));
  CHECK(p.may_begin(f, 1.01 * after(Pauses::kAtFirst), 1000));
  CHECK_FALSE(p.may_begin(f, 0.99 * after(1), 1000, /*at_once=*/true));
  CHECK(p.may_begin(f, 1.01 * after(1), 1000, /*at_once=*/true));
}

TEST_CASE("slices_are_short_and_together_bounded") {
  Pauses p;
  double run_ms = 0;
  for (int call = 0; call < 10000; ++call) {
    run_ms += 1;
    const double ms = p.slice_ms(run_ms);
    CHECK((ms == 0 || (ms >= Pauses::kLeastMs && ms <= Pauses::kSliceMs)));
    p.paused(ms);
    REQUIRE(p.total_ms() <= Pauses::most_ms(run_ms));
    if (run_ms <= Pauses::kLaterMs) REQUIRE(p.total_ms() <= Pauses::kShare * run_ms + Pauses::kGraceMs);
  }
  CHECK(p.total_ms() > 0.99 * Pauses::most_ms(run_ms));
  CHECK(p.total_ms() <= Pauses::kLaterShare * run_ms);
}

TEST_CASE("all_pauses_share_one_account") {
  Pauses p;
  Pauses::Function first = step_of(1000, 10), second = step_of(1000, 10);
  const double after = run_for(Pauses::kAtFirst * p.expected_ms(first));
  REQUIRE(p.may_begin(first, after, 1000));
  p.paused(Pauses::kAtFirst * p.expected_ms(first));
  CHECK_FALSE(p.may_begin(second, after, 1000));
  CHECK(p.may_begin(second, 1.01 * run_for(2 * Pauses::kAtFirst * p.expected_ms(first)), 1000));
}

TEST_CASE("a_function_that_hardly_runs_is_not_worth_its_pause") {
  Pauses p;
  const Pauses::Function f = step_of(1000, 10);
  const auto enough = static_cast<uint64_t>(Pauses::kWorth * p.expected_ms(f) / f.call_ms);
  CHECK_FALSE(p.may_begin(f, 1e9, enough / 2));
  CHECK(p.may_begin(f, 1e9, enough + 1));
}

TEST_CASE("what_a_frame_costs_is_learned_from_the_pauses") {
  Pauses p;
  Pauses::Function slow = step_of(1000, 10), next = step_of(1000, 10);
  const double at_first = p.expected_ms(next);
  for (int i = 0; i < 20; ++i) p.made(slow, 3 * at_first);
  CHECK(p.expected_ms(next) == Approx(3 * at_first).epsilon(0.01));
  CHECK(p.expected_ms(slow) == Approx(3 * at_first));
  Pauses::Function few = step_of(10, 10);
  p.made(few, 100);  // of a few frames nothing is learned
  CHECK(p.expected_ms(next) == Approx(3 * at_first).epsilon(0.01));
}
