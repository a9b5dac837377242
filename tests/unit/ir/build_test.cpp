#include "ir/build.h"

#include <catch2/catch.hpp>

#include "ir/print.h"
#include "ir/read.h"
#include "ir/verify.h"

using namespace ouro;
using namespace ouro::ir;

static std::string text(const FunctionRef& f) { return print(*f, {.spans = false}); }
static void check_round_trip(const FunctionRef& f) {
  std::string t = print(*f);
  ReadResult r = read(t);
  INFO(r.error << "\n" << t);
  REQUIRE(r.function);
  CHECK(print(*r.function) == t);
  CHECK(verify(*r.function) == "");
}
static void one_parameter(FunctionBuilder& b, const char* name) {
  b.head().sig.names = {intern(name)};
  b.head().sig.positional = 1;
}

TEST_CASE("a join gets a parameter only for what differs") {
  FunctionBuilder b(intern("f"));
  one_parameter(b, "x");
  Variable x = b.declare_var(intern("x")), y = b.declare_var(intern("y"));
  b.write_var(x, b.entry_param(intern("x")));
  b.write_var(y, b.integer(1));
  BlockId then = b.new_block(), join = b.new_block();
  b.branch(b.let(prim::truth, {b.read_var(x)}), then, join);
  b.seal(then);
  b.switch_to(then);
  b.write_var(y, b.integer(2));
  b.jump(join);
  b.seal(join);
  b.switch_to(join);
  b.return_(b.let(prim::add, {b.read_var(x), b.read_var(y)}));
  FunctionRef f = b.finish();
  CHECK(text(f) == R"(func @f(%0.x) {
^0:
  %1 = truth %0
  if %1 ^1 ^2(1)
^1:
  jump ^2(2)
^2(%2.y):
  %3 = op.add %0, %2
  return %3
}
)");
  check_round_trip(f);
}

TEST_CASE("a loop carries only what it changes") {
  FunctionBuilder b(intern("f"));
  one_parameter(b, "n");
  Variable n = b.declare_var(intern("n")), i = b.declare_var(intern("i")), k = b.declare_var(intern("k"));
  b.write_var(n, b.entry_param(intern("n")));
  b.write_var(i, b.integer(0));
  b.write_var(k, b.integer(7));
  BlockId head = b.new_block(), body = b.new_block(), out = b.new_block();
  b.jump(head);
  b.switch_to(head);
  b.branch(b.let(prim::truth, {b.let(prim::lt, {b.read_var(i), b.read_var(n)})}), body, out);
  b.seal(body);
  b.switch_to(body);
  b.write_var(i, b.let(prim::add, {b.read_var(i), b.read_var(k)}));
  b.jump(head);
  b.seal(head);
  b.seal(out);
  b.switch_to(out);
  b.return_(b.read_var(i));
  FunctionRef f = b.finish();
  CHECK(text(f) == R"(func @f(%0.n) {
^0:
  jump ^1(0)
loop ^1(%1.i):
  %2 = cmp.lt %1, %0
  %3 = truth %2
  if %3 ^2 ^3
^2:
  %4.i = op.add %1, 7
  jump ^1(%4)
^3:
  return %1
}
)");
  check_round_trip(f);
}

TEST_CASE("a handler gets the variables as they were before the raising let") {
  FunctionBuilder b(intern("f"));
  one_parameter(b, "a");
  Variable x = b.declare_var(intern("x"));
  NameId a = b.entry_param(intern("a"));
  b.write_var(x, b.integer(1));
  BlockId h = b.new_handler(), after = b.new_block();
  b.push_handler(h);
  b.set_span({1, 5, 6});
  b.write_var(x, b.let(prim::add, {a, a}));
  b.write_var(x, b.let(prim::mul, {b.read_var(x), a}));
  b.pop_handler();
  b.jump(after);
  b.seal(h);
  b.switch_to(h);
  b.let(prim::exc_match, {b.exception_of(h), b.none()});
  b.jump(after);
  b.seal(after);
  b.switch_to(after);
  b.return_(b.read_var(x));
  FunctionRef f = b.finish();
  CHECK(text(f) == R"(func @f(%0.a) {
^0:
  %1.x = op.add %0, %0 unwind ^1(1)
  %2.x = op.mul %1, %0 unwind ^1(%1)
  jump ^2(%2)
handler ^1(%3, %4.x):
  %5 = exc.match %3, None
  jump ^2(%4)
^2(%6.x):
  return %6
}
)");
  check_round_trip(f);
}

TEST_CASE("code that nobody reaches is not emitted") {
  FunctionBuilder b(intern("f"));
  BlockId dead = b.new_block();
  b.return_(b.none());
  CHECK_FALSE(b.reachable());
  b.let(prim::add, {b.integer(1), b.integer(2)});
  b.return_(b.integer(3));
  b.seal(dead);
  b.switch_to(dead);
  CHECK_FALSE(b.reachable());
  CHECK(text(b.finish()) == "func @f() {\n^0:\n  return None\n}\n");
}

TEST_CASE("a generator resumes with the value sent") {
  FunctionBuilder b(intern("g"));
  b.head().is_generator = true;
  Variable x = b.declare_var(intern("x"));
  BlockId head = b.new_block();
  b.write_var(x, b.integer(0));
  b.jump(head);
  b.switch_to(head);
  b.write_var(x, b.yield(b.read_var(x)));
  b.jump(head);
  b.seal(head);
  FunctionRef f = b.finish();
  CHECK(text(f) == R"(func @g() generator {
^0:
  jump ^1(0)
loop ^1(%0.x):
  yield %0 ^2
^2(%1.x):
  jump ^1(%1)
}
)");
  check_round_trip(f);
}

TEST_CASE("construction stays linear and does not recurse") {
  FunctionBuilder b(intern("big"));
  one_parameter(b, "x");
  Variable x = b.declare_var(intern("x")), y = b.declare_var(intern("y"));
  b.write_var(x, b.entry_param(intern("x")));
  b.write_var(y, b.integer(1));
  for (int i = 0; i < 50000; ++i) {
    BlockId then = b.new_block(), join = b.new_block();
    b.branch(b.let(prim::truth, {b.read_var(x)}), then, join);
    b.seal(then);
    b.switch_to(then);
    b.write_var(x, b.let(prim::neg, {b.read_var(x)}));
    b.jump(join);
    b.seal(join);
    b.switch_to(join);
  }
  b.return_(b.let(prim::add, {b.read_var(x), b.read_var(y)}));
  FunctionRef f = b.finish();
  CHECK(f->blocks.size() == 100001);
  CHECK(f->block(BlockId{2}).params.size() == 1);
}

TEST_CASE("constants print exactly") {
  FunctionBuilder b(intern("weird name"));
  std::vector<Atom> all{b.none(),
                        b.boolean(true),
                        b.floating(0.1),
                        b.floating(-0.0),
                        b.floating(1e300),
                        b.floating(1.0),
                        b.integer(-5),
                        b.big_integer("123456789012345678901234567890"),
                        b.string("a\"\n\x01é;"),
                        b.bytes(std::string("\x00\xff", 2)),
                        b.ellipsis(),
                        b.dtype(9),
                        b.floating(-INFINITY),
                        b.floating(NAN),
                        b.unbound(),
                        b.not_implemented()};
  Atom t = b.tuple_const(all);
  Atom one[] = {t};
  Atom empty = b.tuple_const({});
  NameId c = b.let(prim::tuple, {b.tuple_const(one), empty, b.floating(0.0)});
  CallSig sig;
  sig.args = {{CallSig::Kind::positional, {}},
              {CallSig::Kind::star, {}},
              {CallSig::Kind::keyword, intern("key")},
              {CallSig::Kind::double_star, {}}};
  Atom args[] = {t, c, c, c};
  NameId r = b.call(c, args, sig);
  r = b.call_method(r, intern("append"), {c});
  PlacePath p{PlacePath::Root::cell, intern("w"), {{true, {}}, {false, intern("v")}}, prim::add, true};
  Atom items[] = {c, b.integer(3), r};
  b.set_span({2, 10, 20});
  b.return_(b.update(p, items));
  FunctionRef f = b.finish();
  check_round_trip(f);
}

TEST_CASE("the verifier names the rule") {
  auto errors = [](const char* t) {
    ReadResult r = read(t);
    INFO(r.error);
    REQUIRE(r.function);
    return verify(*r.function);
  };
  CHECK(errors("func @f() { ^0: %0 = move 1\n%0 = move 2\n return %0 }").starts_with("V1"));
  CHECK(errors("func @f() { ^0: return %0 }").starts_with("V2"));
  CHECK(errors("func @f() { ^0: jump ^1(1)\n^1: return None }").starts_with("V2"));
  CHECK(errors("func @f() { ^0: jump ^0 }").starts_with("V3"));
  CHECK(errors("func @f() { ^0: %0 = op.add 1\n return %0 }").starts_with("V4"));
  CHECK(errors("func @f() { ^0: %0 = op.add 1, 2 unwind ^1\n return %0\n^1(%1): return %1 }").starts_with("V5"));
  CHECK(errors("func @f() { ^0: jump ^1\n^1: jump ^1 }").starts_with("V6"));
  CHECK(errors("func @f() { ^0: %0 = op.add 1, 2 unwind ^1(%0)\n return %0\nhandler ^1(%1, %2): return %2 }")
            .starts_with("V2"));
}
