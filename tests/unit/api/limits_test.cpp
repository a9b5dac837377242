// Sessions under limits: memory, recursion, and an end that no script can hold up.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "fixture.h"

using namespace ouro;

namespace {

Options limited() {
  Options o;
  o.memory = size_t{16} << 20;
  o.recursion = 100;
  return o;
}

// What ends a script that is stopped after 50 ms, and whether it took long.
std::string stopped(Session& s, const char* text) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    s.stop();
  });
  const auto start = std::chrono::steady_clock::now();
  auto done = s.run(text);
  other.join();
  const bool soon = std::chrono::steady_clock::now() - start < std::chrono::seconds(10);
  return soon && !done ? done.error().type() : "late, or not at all";
}

}  // namespace

TEST_CASE("a session goes on after MemoryError") {
  Session small(limited()), other(limited());
  for (int turn = 0; turn < 3; ++turn) {
    auto done = small.run("kept = []\nwhile True: kept.append((1, 2, 3))");
    REQUIRE(!done);
    CHECK(done.error().type() == "MemoryError");
    CHECK(small.str(std::string(100000, 'x')).value().as_str()->size() == 100000);  // a host is refused nothing
    other.run("x = [0] * 10**5").value();                                           // each has its own
    small.run("kept = None").value();
    small.run("x = [[i] for i in range(10000)]").value();
  }
}

TEST_CASE("memory of a session that has ended is no other's") {
  for (int i = 0; i < 5; ++i) {
    Session s(limited());
    s.run("x = [(i, str(i)) for i in range(60000)]").value();
  }
}

TEST_CASE("the recursion limit of a session") {
  Session s(limited());
  s.run("def f(n): return n and f(n - 1)\nf(90)").value();
  CHECK(s.run("f(200)").error().type() == "RecursionError");
}

TEST_CASE("a script that is stopped handles nothing on its way out") {
  Session s(limited());
  s.run("seen = []").value();
  const char* scripts[] = {
      "while True:\n  try:\n    while True: pass\n  except: seen.append(1)\n  finally: seen.append(2)",
      "class M:\n  def __enter__(self): pass\n  def __exit__(self, *a):\n    seen.append(3)\n    return True\n"
      "while True:\n  with M():\n    while True: pass",
      "def g():\n  while True:\n    try: yield 1\n    except Exception: seen.append(4)\nfor x in g(): pass",
      "sum(range(10**12))",
      "sorted(range(10**9), key=lambda x: -x) if 0 else [x for x in range(10**12) if x < 0]",
  };
  for (const char* text : scripts) {
    CHECK(stopped(s, text) == "KeyboardInterrupt");
    s.run("assert not seen").value();
  }
  // What a finalizer raises is ignored, here too: the script then ends by itself.
  stopped(s, "class D:\n  def __del__(self):\n    while True: pass\ndef f(): d = D()\nf()");
  s.run("assert not seen").value();
  s.stop();  // nothing runs
  s.run("x = 1").value();
  for (Mode mode : {Mode::graph, Mode::automatic}) {
    Options o = limited();
    o.mode = mode;
    Session t(o);
    CHECK(stopped(t, "def f():\n  while True:\n    try:\n      while True: pass\n    except: pass\nf()") ==
          "KeyboardInterrupt");
  }
}

TEST_CASE("a stop is told as a stop, whatever the script raises") {
  Session s(limited());
  s.run("def f():\n  raise ValueError('mine')").value();
  const char* scripts[] = {
      "while True:\n  try: f()\n  except ValueError: pass",
      "while True:\n  try:\n    f()\n  except ValueError:\n    try: raise KeyError('other')\n    except KeyError: pass",
      "while True:\n  try: f()\n  except ValueError as e:\n    e.__context__ = None\n",
      "def g():\n  try:\n    f()\n  finally:\n    return 1\nwhile True: g()",
      "class A:\n  def __getattr__(self, n):\n    raise AttributeError(n)\na = A()\nwhile True: hasattr(a, 'x')",
      "class B:\n  def __lt__(self, o): f()\nwhile True:\n  try: sorted([B(), B()])\n  except ValueError: pass",
      "def g():\n  try:\n    while True: yield 1\n  finally: f()\nwhile True:\n  i = g()\n  next(i)\n  try: i.close()\n"
      "  except ValueError: pass",
  };
  for (const char* text : scripts)
    for (int turn = 0; turn < 6; ++turn) {
      std::atomic<bool> ended{false};
      std::thread other([&] {  // again and again: on a busy machine the script may not have begun
        std::this_thread::sleep_for(std::chrono::microseconds(1500 + 700 * turn));
        for (; !ended; std::this_thread::sleep_for(std::chrono::milliseconds(20))) s.stop();
      });
      auto done = s.run(text);
      ended = true;
      other.join();
      REQUIRE(!done);
      CHECK(done.error().type() == "KeyboardInterrupt");
      CHECK(done.error().end() == End::stopped);
      CHECK(done.error().traceback().find("During handling") == std::string::npos);
      // Nothing is left of it: no exception is handled, none is chained to.
      CHECK(s.run("raise").error().message() == "No active exception to reraise");
      Error next = s.run("1 / 0").error();
      CHECK(next.end() == End::raised);
      CHECK(next.traceback().find("During handling") == std::string::npos);
      CHECK(after(s, "y = sum(i for i in range(10))", "y").as_int() == 45);
    }
}

TEST_CASE("a stop goes through functions of the host") {
  Session s;
  s.define("again", [](const Call& c) -> Result<Value> {
     (void)c.session().run("while True:\n  try:\n    while True: pass\n  except: pass").ok();
     return Value(1);  // the host does not care
   }).value();
  Error e = [&] {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      s.stop();
    });
    auto done = s.run("while True:\n  try: again()\n  except: pass");
    other.join();
    return done.error();
  }();
  CHECK(e.end() == End::stopped);
  s.run("x = 1").value();
}

TEST_CASE("a limit of time ends every script that is over it") {
  const char* scripts[] = {
      "while True:\n  try:\n    while True: pass\n  except: pass\n  finally: pass",
      "sum(range(10**12))",
      "import time\nwhile True:\n  try: time.sleep(100)\n  except: pass",
      "[x for x in range(10**12) if x < 0]",
      "raise_again = 0\nwhile True:\n  try: raise ValueError()\n  except ValueError: pass",
      "def f():\n  while True:\n    try: yield 1\n    except: pass\nfor x in f(): pass",
  };
  for (Mode mode : {Mode::eager, Mode::automatic, Mode::graph}) {
    Options o;
    o.mode = mode;
    o.time = 0.1;
    Session s(o);
    for (const char* text : scripts) {
      const auto start = std::chrono::steady_clock::now();
      auto done = s.run(text);
      REQUIRE(!done);
      CHECK(done.error().end() == End::time);
      CHECK(done.error().type() == "TimeoutError");
      CHECK(done.error().message() == "the time limit of 0.1 s is over");
      CHECK(std::chrono::steady_clock::now() - start > std::chrono::milliseconds(95));
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
      CHECK(after(s, "y = 6 * 7", "y").as_int() == 42);  // each call has the whole again
    }
    // Values too are called within it, and what exceptions do when they are told.
    Value f = after(s, "def f():\n  while True: pass", "f");
    CHECK(f().error().end() == End::time);
    CHECK(s.run("class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E()").error().end() ==
          End::time);
    s.run("x = 1").value();
  }
}

TEST_CASE("what has ended waits for no finalizer that works without end") {
  Options o;
  o.time = 0.1;
  const auto start = std::chrono::steady_clock::now();
  {
    Session s(o);
    s.on_error_output([](std::string_view) {}).value();
    s.run("class D:\n  def __del__(self):\n    while True: pass\nds = [D() for _ in range(20)]").value();
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("a limit of steps is the same in each run") {
  Options o;
  o.mode = Mode::eager;
  o.steps = 10000;
  int64_t first = 0;
  for (int turn = 0; turn < 3; ++turn) {
    Session s(o);
    auto done = s.run("n = 0\nwhile True:\n  try:\n    while True: n += 1\n  except: pass");
    REQUIRE(!done);
    CHECK(done.error().end() == End::steps);
    CHECK(done.error().type() == "TimeoutError");
    CHECK(done.error().message() == "the limit of 10000 steps is reached");
    const int64_t n = *s.get("n")->as_int();
    CHECK(n > 9900);
    CHECK(n <= 10001);
    if (turn) CHECK(n == first);
    first = n;
    s.run("for i in range(9000): pass").value();  // each call has the whole again
    CHECK(s.run("def f():\n  pass\nfor i in range(9000): f()").error().end() == End::steps);
    CHECK(s.run("sum(range(10**12))").error().end() == End::steps);
    CHECK(s.run("def f(n): return f(n - 1) + f(n - 2) if n > 1 else 1\nf(30)").error().end() == End::steps);
  }
  for (Mode mode : {Mode::automatic, Mode::graph}) {
    o.mode = mode;
    Session s(o);
    CHECK(s.run("def f():\n  n = 0\n  while True: n += 1\nf()").error().end() == End::steps);
  }
}
