#include <catch2/catch.hpp>

#include "jit/versions/trial.h"

using ouro::jit::Trial;
using State = Trial::State;

namespace {

// Calls as the executor does them, until it is decided; how many the interpreter did after the first ones.
int decide(Trial& t, uint64_t interpreted, uint64_t compiled, int before = 2) {
  for (int i = 0; i < before; ++i) t.interpreted(interpreted);
  int done = 0;
  for (int i = 0; i < 100 && !t.decided(); ++i) {
    if (t.interprets_next())
      t.interpreted(interpreted), ++done;
    else
      t.compiled(compiled);
  }
  return done;
}

}  // namespace

TEST_CASE("a_version_that_is_clearly_quicker_is_kept_without_another_interpreted_call") {
  Trial t;
  CHECK(decide(t, 1000, 100) == 0);
  CHECK(t.state() == State::won);
}

TEST_CASE("one_interpreted_call_alone_may_have_met_cold_memory") {
  Trial t;
  CHECK(decide(t, 1000, 500, 1) == 1);
  CHECK(t.state() == State::won);
  Trial cold;
  cold.interpreted(2000);  // then 400
  CHECK(decide(cold, 400, 600, 0) == 4);
  CHECK(cold.state() == State::lost);
}

TEST_CASE("a_version_that_is_slower_is_dropped,_after_turns") {
  Trial t;
  CHECK(decide(t, 1000, 1100) == 4);
  CHECK(t.state() == State::lost);
  CHECK(t.least_compiled() == 1100);
  CHECK(t.least_interpreted() == 1000);
}

TEST_CASE("the_first_run_of_a_version_does_not_count") {
  Trial t;
  t.interpreted(1000);
  t.interpreted(1000);
  t.compiled(1'000'000);
  t.compiled(100);
  CHECK(t.state() == State::won);
}

TEST_CASE("without_an_interpreted_call_turns_are_taken") {
  Trial t;
  CHECK(decide(t, 1000, 900, 0) > 0);
  CHECK(t.state() == State::won);
}

TEST_CASE("a_version_that_lost_is_tried_again_after_ever_more_calls") {
  Trial t;
  decide(t, 1000, 1100);
  REQUIRE(t.state() == State::lost);
  uint64_t calls = 10;
  const auto until_asked = [&] {
    uint64_t n = 0;
    for (; !t.ask_again(calls++); ++n) REQUIRE(n < 100000);
    return n;
  };
  CHECK(until_asked() == 1000);
  decide(t, 1000, 1100, 0);
  REQUIRE(t.state() == State::lost);
  CHECK(until_asked() == 4000);
  decide(t, 1000, 10, 0);  // its sizes have grown
  CHECK(t.state() == State::won);
}

TEST_CASE("compiled_calls_alone_decide_nothing") {
  Trial t;
  for (int i = 0; i < 50; ++i) t.compiled(1000);
  CHECK_FALSE(t.decided());
  t.interpreted(500);
  t.interpreted(500);
  CHECK(t.state() == State::lost);
}
