// The interpreter on ANF text: operators, loops, handlers, updates, generators, registers, and what executors may do
// with a frame.
#include <catch2/catch.hpp>

#include "ir/read.h"
#include "runtime/interpreter/flatten.h"
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/object/executor.h"
#include "runtime/object/ops.h"

using namespace ouro;
using namespace ouro::runtime;

namespace {

struct Machine {
  Session s;
  SessionScope scope{s};
  Value module = make_module(s, "test");

  Value function(const char* text) {
    ir::ReadResult r = ir::read(text);
    INFO(r.error);
    REQUIRE(r.function);
    return make_function(s, r.function, module, {});
  }
  Value run(const char* text, std::initializer_list<Value> args = {}) { return call(s, function(text), args); }
  std::string shown(const Value& v) { return v.is_error() ? "raised " + type_name(s, s.pending) : repr_text(s, v); }
};

}  // namespace

TEST_CASE("arithmetic_of_words_grows_to_big_integers", "[runtime]") {
  Machine m;
  const char* text = R"(
func @f(%0.a, %1.b) {
^0:
  %2 = op.add %0, %1
  %3 = op.mul %2, %2
  return %3
})";
  CHECK(m.run(text, {Value::integer(3), Value::integer(4)}).as_int() == 49);
  CHECK(m.shown(m.run(text, {Value::integer(INT64_MAX), Value::integer(1)})) ==
        "85070591730234615865843651857942052864");
  CHECK(m.run(text, {Value::floating(0.5), Value::integer(1)}).as_float() == 2.25);
  CHECK(m.run(text, {Value::none(), Value::integer(1)}).is_error());
  CHECK(pending_is(m.s, ExcKind::TypeError));
  clear_pending(m.s);
}

TEST_CASE("loop_carries_values_through_parameters_of_its_head", "[runtime]") {
  Machine m;
  const char* text = R"(
func @sum(%0.n) {
^0:
  jump ^1(0, 0)
loop ^1(%1.i, %2.s):
  %3 = cmp.lt %1, %0
  if %3 ^2 ^3
^2:
  %4 = op.add %2, %1
  %5 = op.add %1, 1
  jump ^1(%5, %4)
^3:
  return %2
})";
  CHECK(m.run(text, {Value::integer(1000)}).as_int() == 499500);
  Value f = m.function(text);
  Code* code = compiled(m.s, f.as<Function>());
  call(m.s, f, {Value::integer(10)});
  CHECK(code->calls == 1);
}

TEST_CASE("swapped_loop_parameters_are_moved_in_parallel", "[runtime]") {
  Machine m;
  Value r = m.run(R"(
func @swap(%0.n) {
^0:
  jump ^1(%0, 1, 2)
loop ^1(%1.i, %2.a, %3.b):
  %4 = cmp.gt %1, 0
  if %4 ^2 ^3
^2:
  %5 = op.sub %1, 1
  jump ^1(%5, %3, %2)
^3:
  %6 = tuple %2, %3
  return %6
})",
                  {Value::integer(3)});
  CHECK(m.shown(r) == "(2, 1)");
}

TEST_CASE("handler_receives_the_exception_and_the_values_before", "[runtime]") {
  Machine m;
  const char* text = R"(
func @safe(%0.a, %1.b) {
^0:
  %2 = op.add %0, 1
  %3 = op.truediv %2, %1 unwind ^1(%2)
  return %3
handler ^1(%4.e, %5.v):
  %6 = tuple %5, %4
  return %6
})";
  CHECK(m.run(text, {Value::integer(5), Value::integer(2)}).as_float() == 3.0);
  CHECK(m.shown(m.run(text, {Value::integer(5), Value::integer(0)})) == "(6, ZeroDivisionError('division by zero'))");
  CHECK_FALSE(m.s.has_error());
}

TEST_CASE("update_of_a_list_writes_through_the_reference", "[runtime]") {
  Machine m;
  Value list = make_list({Value::integer(1), Value::integer(2)});
  m.run(R"(
func @put(%0.l) {
^0:
  %1 = update[value l item =] %0, 0, 7
  return %1
})",
        {list});
  CHECK(m.shown(list) == "[7, 2]");
}

TEST_CASE("recursion_ends_in_an_exception_not_in_the_stack", "[runtime]") {
  Machine m;
  Value f = m.function(R"(
func @f(%0.g, %1.n) {
^0:
  %2 = op.add %1, 1
  %3 = call %0 (%0, %2)
  return %3
})");
  Value r = call(m.s, f, {f, Value::integer(0)});
  REQUIRE(r.is_error());
  CHECK(pending_is(m.s, ExcKind::RecursionError));
  CHECK(m.s.depth == 0);
  CHECK(m.s.interpreter->top == nullptr);
  clear_pending(m.s);
}

TEST_CASE("generator_yields_receives_and_ends", "[runtime]") {
  Machine m;
  Value f = m.function(R"(
func @g(%0.n) generator {
^0:
  yield %0 ^1
^1(%1.sent):
  %2 = op.add %0, %1
  yield %2 ^2
^2(%3.last):
  return 5
})");
  Value g = call(m.s, f, {Value::integer(10)});
  REQUIRE(cast<Generator>(g));
  CHECK(next(m.s, g).as_int() == 10);
  CHECK(resume_generator(m.s, cast<Generator>(g), ResumeMode::send, Value::integer(3)).as_int() == 13);
  CHECK(next(m.s, g).is_end());
  CHECK(m.s.stop_value.as_int() == 5);
  CHECK(next(m.s, g).is_end());
}

TEST_CASE("references_are_given_back_when_frames_end", "[runtime]") {
  Machine m;
  Value list = make_list({Value::integer(1)});
  m.run(R"(
func @f(%0.l) {
^0:
  %1 = tuple %0, %0
  %2 = list %1, %0
  %3 = item.get %2, 0
  return 1
})",
        {list});
  CHECK(list.object()->refs == 1);
}
