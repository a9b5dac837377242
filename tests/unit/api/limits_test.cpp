// Sessions under limits: memory, recursion, and an end that no script can hold up.
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
