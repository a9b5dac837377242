// What a run has learned of functions is there in the next one; what is no such text is nothing.
#include "jit/versions/experience.h"

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

TEST_CASE("what_is_no_experience_counts_as_none") {
  for (const char* bad : {"", "{", "[]", "3", "{\"format\": 2, \"functions\": {}}", "{\"format\": 1}",
                          "{\"format\": \"1\", \"functions\": {}}", "{\"format\": 1, \"functions\": 4}",
                          "{\"format\": 1, \"functions\": {\"a\": 4}}",
                          "{\"format\": 1, \"functions\": {\"a\": {\"\": {\"calls\": \"x\"}}}}"}) {
    std::string text = bad;
    CHECK_FALSE(over(text).has_worth("a"));
  }
}
