// What a run has learned of functions is there in the next one; what is no such text is nothing.
#include "jit/versions/experience.h"

#include <deque>
#include <map>
#include <memory>

#include <catch2/catch.hpp>

#include "jit/versions/version.h"

using ouro::jit::Experience;
using ouro::jit::FunctionVersions;
using ouro::jit::Version;

namespace {
struct Text final : ouro::runtime::RememberedStore {
  explicit Text(std::string& text) : text(text) {}
  std::string load() override { return text; }
  void store(std::string_view t) override { text = t; }
  std::string& text;
};
Experience over(std::string& text) { return Experience(std::make_unique<Text>(text)); }

// Called so often; a compiled call takes `ns`, an interpreted one 100 us; it took `ms` to specialise.
void call(FunctionVersions& f, uint64_t calls, uint64_t ns, double ms) {
  auto v = std::make_shared<Version>();
  v->calls = calls;
  v->specialise_ms = ms;
  for (int i = 0; i < 8 && !v->trial.decided(); ++i) {
    v->trial.interpreted(100000);
    v->trial.compiled(ns);
  }
  f.versions.push_back(std::move(v));
}
const Experience::Key kKey{.code = "step@train.ouro:7", .captured = "loss@train.ouro:1;"};
}  // namespace

TEST_CASE("a_function_that_was_worth_it_is_known_in_the_next_run") {
  std::string text;
  FunctionVersions f;
  call(f, 1000, 20000, 10);  // 80 ms saved
  Experience first = over(text);
  CHECK(first.of(kKey) == nullptr);
  first.learn(kKey, f);
  first.store();
  Experience second = over(text);
  REQUIRE(second.of(kKey));
  CHECK(second.of(kKey)->is_worth());
  CHECK(second.of(kKey)->versions == 1);
  CHECK(second.has_worth(kKey.code));
  CHECK(second.of({kKey.code, "other"}) == nullptr);
  CHECK_FALSE(second.has_worth("other"));
}

TEST_CASE("what_was_hardly_called_or_was_slower_is_not_worth_it") {
  for (auto [calls, ns] : {std::pair<uint64_t, uint64_t>{200, 20000}, {100000, 150000}}) {
    std::string text;
    FunctionVersions f;
    call(f, calls, ns, 10);
    Experience first = over(text);
    first.learn(kKey, f);
    first.store();
    CHECK_FALSE(over(text).has_worth(kKey.code));
  }
}

TEST_CASE("a_version_that_was_not_compared_teaches_nothing") {
  std::string text;
  FunctionVersions f;
  f.versions.push_back(std::make_shared<Version>());
  f.versions.back()->calls = 5000;
  Experience e = over(text);
  e.learn(kKey, f);
  e.store();
  CHECK(text.empty());
}

namespace {
// What a run learns that has interpreted it for so long; `tried`: a version was made that was not compared.
void interpret(std::string& text, double ms, double expected, bool tried = false, bool ready = true) {
  FunctionVersions f;
  f.tried = tried;
  if (tried) f.versions.push_back(std::make_shared<Version>());
  if (tried && ready) f.versions.back()->state = Version::State::ready;
  Experience e = over(text);
  e.learn(kKey, f, {.ms = ms, .open_ms = ms, .expected_ms = expected});
  e.store();
}
}  // namespace

TEST_CASE("what_was_interpreted_for_long_is_tried_at_once_in_the_next_runs") {
  std::string text;
  interpret(text, 50, 20);
  CHECK_FALSE(over(text).has_worth(kKey.code));
  interpret(text, 100, 20);
  CHECK(over(text).has_worth(kKey.code));
  CHECK(over(text).of(kKey)->allowance_ms() == 100 / ouro::jit::Untried::kWorth);
  std::string busy = text;
  for (size_t run = Experience::kTried; run < Experience::kMostTried; run += Experience::kTried) {
    interpret(text, 5, 20, /*tried=*/true);  // there were too few calls to compare
    CHECK(over(text).has_worth(kKey.code));
  }
  for (size_t run = 1; run < Experience::kMostTried; ++run) {
    interpret(busy, 5, 20, /*tried=*/true, /*ready=*/false);
    CHECK(over(busy).has_worth(kKey.code));
  }
  interpret(busy, 5, 20, /*tried=*/true, /*ready=*/false);
  CHECK_FALSE(over(busy).has_worth(kKey.code));
  std::string compared = text;
  interpret(text, 5, 20, /*tried=*/true);
  CHECK_FALSE(over(text).has_worth(kKey.code));
  FunctionVersions f;
  call(f, 1000, 20000, 10);
  Experience e = over(compared);
  e.learn(kKey, f);
  e.store();
  CHECK(over(compared).of(kKey)->is_worth());
  interpret(compared, 1, 20);
  CHECK(over(compared).of(kKey)->saved_ms > 0);
}

TEST_CASE("what_cannot_be_compiled_is_not_tried_again_and_again") {
  std::string text;
  interpret(text, 100, 20);
  for (size_t run = 0; run < Experience::kMostTried; ++run) {
    FunctionVersions f;
    f.refused = "nothing but holes";
    Experience e = over(text);
    e.learn(kKey, f);
    e.store();
  }
  CHECK_FALSE(over(text).has_worth(kKey.code));
}

TEST_CASE("time_counts_for_the_outermost_function_that_is_worth_its_specialisation") {
  std::deque<std::unique_ptr<FunctionVersions>> functions;
  const auto made = [&](std::vector<ouro::jit::TimeUnder> under) {
    functions.push_back(std::make_unique<FunctionVersions>());
    functions.back()->under = std::move(under);
    functions.back()->cost.call_ms = 1;
    return functions.back().get();
  };
  const uint64_t ms = 10000000;
  FunctionVersions* step = made({{nullptr, 100 * ms}});
  FunctionVersions* net = made({{step, 60 * ms}, {nullptr, 10 * ms}});
  FunctionVersions* layer = made({{net, 50 * ms}});
  FunctionVersions* tree = made({{nullptr, 30 * ms}});
  tree->under.push_back({tree, 90 * ms});
  std::map<const FunctionVersions*, double> expected{{step, 200}, {net, 20}, {layer, 10}, {tree, 70}};
  const auto open = [&](const FunctionVersions* f) {
    const ouro::jit::Untried u(
        functions, [&](const FunctionVersions& g) { return expected.at(&g); },
        [](const FunctionVersions&) { return 1.0; });
    return u.of(*f);
  };
  CHECK(open(step).is_worth());
  CHECK(open(net).open_ms == 100);
  CHECK(open(net).is_worth());
  CHECK(open(layer).open_ms == 0);
  CHECK_FALSE(open(layer).is_worth());
  CHECK(open(tree).open_ms == 300);
  CHECK(open(tree).is_worth());
  step->refused = "nothing but holes";
  CHECK(open(net).open_ms == 700);
  CHECK_FALSE(open(layer).is_worth());
  expected[net] = 300;
  CHECK(open(layer).open_ms == 500);
}

TEST_CASE("what_is_no_experience_counts_as_none") {
  for (const char* bad : {"", "{", "[]", "3", "{\"format\": 1, \"functions\": {}}", "{\"format\": 2}",
                          "{\"format\": \"2\", \"functions\": {}}", "{\"format\": 2, \"functions\": 4}",
                          "{\"format\": 2, \"functions\": {\"a\": 4}}",
                          "{\"format\": 2, \"functions\": {\"a\": {\"\": {\"calls\": \"x\"}}}}"}) {
    std::string text = bad;
    CHECK_FALSE(over(text).has_worth("a"));
  }
}
