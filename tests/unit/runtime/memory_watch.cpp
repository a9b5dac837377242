#include "runtime/demand/memory_watch.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/demand/remembered.h"

namespace ouro::runtime {

namespace {

constexpr size_t kMega = size_t{1} << 20;

// A group of 800M (a margin of 100M), in which others have so much, and the process itself 50M that it does not count.
struct Group {
  double at = 0;
  int64_t held = 300 * kMega;
  size_t others = 0, overhead = 50 * kMega;
  double pressure = 0;
  MemoryWatch watch;

  bool see(double after = 0.1) {
    at += after;
    const size_t resident = static_cast<size_t>(held) + overhead, used = resident + others;
    const size_t limit = 800 * kMega;
    return watch.see(at, {.available = limit - std::min(limit, used), .limit = limit, .pressure = pressure}, resident,
                     held);
  }
  double megas() const { return std::round(watch.allowance() / kMega); }
};

}  // namespace

TEST_CASE("the_allowance_is_what_others_leave_whatever_the_program_itself_takes", "[runtime]") {
  Group g;
  CHECK(std::isnan(g.watch.allowance()));
  CHECK(g.see());
  CHECK(g.megas() == 650);  // 800 - 100 - 50
  g.held = 640 * kMega;
  CHECK(!g.see());
  g.held = 10 * kMega;
  CHECK(!g.see());
  CHECK(g.megas() == 650);
}

TEST_CASE("the_allowance_falls_at_once_and_rises_after_three_seconds", "[runtime]") {
  Group g;
  g.see();
  g.others = 200 * kMega;
  CHECK(g.see());
  CHECK(g.megas() == 450);
  g.others = 0;
  for (int i = 0; i < 29; ++i) CHECK(!g.see());
  CHECK(g.megas() == 450);
  g.others = 100 * kMega;  // the least of what was seen counts
  CHECK(!g.see());
  g.others = 0;
  CHECK(g.see(0.3));
  CHECK(g.megas() == 550);
}

TEST_CASE("a_hog_that_comes_and_goes_moves_the_program_once_and_noise_never_does", "[runtime]") {
  Group g;
  g.see();
  int moves = 0;
  for (int i = 0; i < 1000; ++i) {
    g.others = i / 20 % 2 ? 300 * kMega : 0;  // two seconds of each
    moves += g.see();
  }
  CHECK(moves == 1);
  CHECK(g.megas() == 350);
  moves = 0;
  for (int i = 0; i < 1000; ++i) {
    g.others = static_cast<size_t>(290 + i * 7 % 20) * kMega;
    moves += g.see();
  }
  CHECK(moves == 0);
}

TEST_CASE("few_and_long_steps_are_looked_at_three_times_before_the_allowance_rises", "[runtime]") {
  Group g;
  g.others = 300 * kMega;
  g.see();
  g.others = 0;
  CHECK(!g.see(20));
  CHECK(!g.see(20));
  CHECK(g.see(20));
}

TEST_CASE("what_the_compiler_takes_for_a_moment_does_not_count_what_stays_does", "[runtime]") {
  Group g;
  g.see();
  g.overhead = 250 * kMega;
  for (int i = 0; i < 50; ++i) CHECK(!g.see());
  CHECK(g.megas() == 650);
  for (int i = 0; i < 200; ++i) g.see();
  CHECK(g.megas() == 450);
}

TEST_CASE("pressure_makes_the_margin_larger_up_to_twice", "[runtime]") {
  Group g;
  g.pressure = 80;
  g.see();
  CHECK(g.megas() == 550);
  CHECK(!memory_is_short({.available = 201 * kMega, .limit = 800 * kMega}));
  CHECK(memory_is_short({.available = 199 * kMega, .limit = 800 * kMega}));
  CHECK(memory_is_short({.available = 399 * kMega, .limit = 800 * kMega, .pressure = 10}));
  CHECK(!memory_is_short({}));
}

TEST_CASE("an_unknown_machine_is_not_followed_and_the_least_is_asked_for", "[runtime]") {
  Group g;
  g.others = 2000 * kMega;
  g.held = 20 * kMega;
  g.see();
  CHECK(g.megas() == 1);
  MemoryWatch none;
  CHECK(!none.see(1, {}, 100, 50));
  CHECK(std::isnan(none.allowance()));
}

TEST_CASE("what_is_remembered_is_read_again_and_what_is_damaged_is_not", "[runtime]") {
  Remembered r;
  CHECK(r.keep("recompute", "temporaries=12M", {{"memory", 5e6}, {"step_time", 0.25}}));
  CHECK(!r.keep("recompute", "temporaries=13M", {}));
  const std::string text = r.text();
  const Remembered again = Remembered::read(text);
  REQUIRE(again.of("recompute", "temporaries=12M"));
  CHECK(*again.of("recompute", "temporaries=12M") == Remembered::Amounts{{"memory", 5e6}, {"step_time", 0.25}});
  CHECK(!again.of("recompute", "temporaries=13M"));
  CHECK(!again.of("choice"));
  for (size_t n = 0; n < text.size(); ++n) CHECK(!Remembered::read(text.substr(0, n)).of("recompute"));
  for (const char* wrong : {"", "[]", "1", "{}", R"({"format": 2, "responses": {"a": {"b": {"c": 1}}}})",
                            R"({"format": 1, "responses": 5})", R"({"format": 1, "responses": {"a": [1]}})",
                            R"({"format": 1, "responses": {"a": {"b": 5}}})",
                            R"({"format": 1, "responses": {"a": {"b": {"c": "x"}}}})", "\xff\xfe"})
    CHECK(!Remembered::read(wrong).of("a"));
  int kept = 0;
  for (int i = 0; i < 1000; ++i) kept += r.keep("choice", std::to_string(i), {{"memory", 1}});
  CHECK(kept == 255);
}

}  // namespace ouro::runtime
