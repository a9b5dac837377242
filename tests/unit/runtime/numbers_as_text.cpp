// How floats are written.
#include <catch2/catch.hpp>
#include <cstring>

#include "runtime/types/float_text.h"

using namespace ouro::runtime;

namespace {
// Leaves the letter that parts a float's digits from its exponent all over the stack.
[[gnu::noinline]] void dirty_the_stack() {
  char block[4096];
  std::memset(block, 'e', sizeof block);
  asm volatile("" : : "r"(block) : "memory");
}
}  // namespace

TEST_CASE("text_of_a_float_does_not_depend_on_what_lies_behind_it", "[runtime]") {
  dirty_the_stack();
  CHECK(text::format_double(0.9609, 'r', 0, text::kFloatAddDot0) == "0.9609");
  dirty_the_stack();
  CHECK(text::format_double(1.5, 'r', 0, text::kFloatAddDot0) == "1.5");
}
