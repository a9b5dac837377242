#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "support/fiber.h"

using ouro::support::Fiber;

namespace {

constexpr size_t kStack = 1 << 20;

}  // namespace

TEST_CASE("a_fiber_goes_on_where_it_stopped") {
  std::vector<int> seen;
  Fiber* self = nullptr;
  Fiber fiber(kStack, [&] {
    for (int i = 0; i < 3; ++i) {
      seen.push_back(i);
      self->suspend();
    }
  });
  self = &fiber;
  for (int i = 0; i < 3; ++i) {
    fiber.resume();
    seen.push_back(10 * i);
    CHECK_FALSE(fiber.ended());
  }
  fiber.resume();
  CHECK(fiber.ended());
  CHECK(seen == std::vector<int>{0, 0, 1, 10, 2, 20});
}

TEST_CASE("what_a_fiber_throws_comes_out_of_resume") {
  Fiber* self = nullptr;
  bool released = false;
  struct Release {
    bool& done;
    ~Release() { done = true; }
  };
  Fiber fiber(kStack, [&] {
    const Release release{released};
    self->suspend();
    throw std::runtime_error("enough");
  });
  self = &fiber;
  fiber.resume();
  CHECK_FALSE(released);
  CHECK_THROWS_WITH(fiber.resume(), "enough");
  CHECK(released);
  CHECK(fiber.ended());
}

TEST_CASE("each_side_has_the_exceptions_that_it_handles") {
  Fiber* self = nullptr;
  std::string inside;
  Fiber fiber(kStack, [&] {
    try {
      throw std::runtime_error("in the fiber");
    } catch (...) {
      self->suspend();
      try {
        throw;
      } catch (const std::runtime_error& e) {
        inside = e.what();
      }
    }
  });
  self = &fiber;
  try {
    throw std::runtime_error("outside");
  } catch (...) {
    fiber.resume();  // suspends while it handles one
    CHECK_THROWS_WITH([] { throw; }(), "outside");
  }
  CHECK_FALSE(std::current_exception());
  fiber.resume();
  CHECK(inside == "in the fiber");
}

TEST_CASE("a_fiber_that_is_never_begun_can_be_dropped") {
  bool ran = false;
  {
    const Fiber fiber(kStack, [&] { ran = true; });
  }
  CHECK_FALSE(ran);
}
