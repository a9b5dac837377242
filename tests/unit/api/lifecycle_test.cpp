// Sessions come and go: made with wrong options, moved, destroyed in any order, at exit, from any thread, while a
// script runs; and what a call leaves behind.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fixture.h"

using namespace ouro;
using namespace std::chrono_literals;

namespace {

std::string refusal(const Options& o) {
  Session s(o);
  Result<void> ready = s.check();
  if (ready) return "";
  CHECK(ready.error().type() == "ValueError");
  CHECK(s.run("x = 1").error().message() == ready.error().message());
  CHECK(s.str("x").error().message() == ready.error().message());
  return ready.error().message();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
size_t bytes_used() {
  const auto m = mallinfo2();
  return m.uordblks + m.hblkhd;
}
#endif

// What becomes of a process of its own that runs a test case and ends: 0, a status or a signal.
int in_process(const char* test_case) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "test_api", test_case, static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

// Ends after main: a static object that was made before anything of the library.
struct Late {
  std::array<std::unique_ptr<Session>, 3> sessions;
  Value kept;
} g_late;

void use(Session& s) {
  s.on_output([](std::string_view) {}).value();
  s.run(
       "import math\n"
       "class D:\n  def __del__(self): print(randn(40, 40) @ randn(40, 40), [str(i) for i in range(1000)])\n"
       "d = D()\n"
       "def f(x): return (x * 2.0 + 1.0).sum()\n"
       "for i in range(4): f(randn(1000))\n")
      .value();
}

}  // namespace

TEST_CASE("options that mean nothing are refused in words") {
  auto with = [](auto change) {
    Options o;
    change(o);
    return refusal(o);
  };
  CHECK(with([](Options&) {}).empty());
  CHECK(with([](Options& o) { o.cpu = "x86-64-v3"; }).empty());
  CHECK(with([](Options& o) { o.cpu = "nonsense"; }) ==
        "cpu is native, x86-64-v2, x86-64-v3 or x86-64-v4, not 'nonsense'");
  CHECK(with([](Options& o) { o.cpu = "\xff"; }) == "cpu is native, x86-64-v2, x86-64-v3 or x86-64-v4, not '\\xff'");
  CHECK(with([](Options& o) { o.threads = -3; }) == "threads is a number from 0 to 1024, not -3");
  CHECK(with([](Options& o) { o.threads = 1025; }) == "threads is a number from 0 to 1024, not 1025");
  CHECK(with([](Options& o) { o.mode = static_cast<Mode>(9); }) == "mode is eager, graph or automatic, not 9");
  CHECK(with([](Options& o) { o.memory = 4096; }) == "memory is 0, or a number of bytes from 4194304 on, not 4096");
  CHECK(with([](Options& o) { o.memory = SIZE_MAX; }).empty());
  CHECK(with([](Options& o) { o.recursion = 0; }) == "recursion is a number from 1 on, not 0");
  CHECK(with([](Options& o) { o.time = -1; }) == "time is a number of seconds, not -1");
  CHECK(with([](Options& o) { o.time = std::nan(""); }) == "time is a number of seconds, not nan");
  CHECK(with([](Options& o) { o.path = {std::string("a\0b", 3)}; }) == "a folder of path holds a NUL");
  CHECK(with([](Options& o) { o.argv = {std::string("a\0b", 3)}; }) == "an argument of argv holds a NUL");
}

// Some hundred kernels, no two alike, which are compiled in the background.
std::string much_to_compile() {
  std::string text = "@jit\ndef f(x):\n";
  for (int i = 0; i < 600; ++i) text += "  x = tanh((x @ x) * " + std::to_string(i) + ".5) + x * x\n";
  return text + "  return x\nx = f(ones(3, 3))\n";
}

TEST_CASE("a session that ends gives up what is being compiled") {
  double seconds = 0;
  for (auto wait : {0ms, 300ms}) {
    Options o;
    o.mode = Mode::automatic;
    auto s = std::make_unique<Session>(o);
    s->run(much_to_compile()).value();
    std::this_thread::sleep_for(wait);
    const auto start = std::chrono::steady_clock::now();
    s.reset();
    seconds = std::max(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(seconds < 1);
#endif
}

TEST_CASE("calls of a session that was moved from fail") {
  Session a;
  Value x = after(a, "x = 41", "x");
  Session b = std::move(a);
  const std::string moved = "the session was moved to another";
  CHECK(a.check().error().message() == moved);
  CHECK(a.run("x = 1").error().message() == moved);
  CHECK(a.run_file("x.ouro").error().message() == moved);
  CHECK(a.import("math").error().message() == moved);
  CHECK(a.get("x").error().message() == moved);
  CHECK(a.set("x", 1).error().message() == moved);
  CHECK(a.str("x").error().message() == moved);
  CHECK(a.bytes("x").error().message() == moved);
  CHECK(a.list({}).error().message() == moved);
  CHECK(a.dict({}).error().message() == moved);
  CHECK(a.tensor({0}, static_cast<float*>(nullptr)).error().message() == moved);
  CHECK(a.function("f", [](const Call&) -> Result<Value> { return Value(); }).error().message() == moved);
  CHECK(a.define("f", [](const Call&) -> Result<Value> { return Value(); }).error().message() == moved);
  CHECK(a.text(x).error().message() == moved);
  CHECK(a.repr(x).error().message() == moved);
  CHECK(a.on_output({}).error().message() == moved);
  CHECK(a.set_demand("threads", "1").error().message() == moved);
  CHECK(a.set_threads(1).error().message() == moved);
  CHECK(a.threads() == 0);
  CHECK(a.demands().empty());
  a.interrupt();
  a.stop();
  a.clear_interrupt();
  CHECK(b.run("x += 1"));
  a = std::move(b);
  CHECK(a.get("x").value().as_int() == 42);
  CHECK(a.check());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("calls leave nothing behind") {
  for (Mode mode : {Mode::eager, Mode::automatic}) {
    Options o;
    o.mode = mode;
    Session s(o);
    s.run("def g(x): return x").value();
    Value g = s.get("g").value();
    auto grows = [&](auto f) {  // bytes a call
      for (int i = 0; i < 1500; ++i) f(i);
      const size_t before = bytes_used();
      for (int i = 0; i < 10000; ++i) f(i);
      return (static_cast<double>(bytes_used()) - static_cast<double>(before)) / 10000;
    };
    CHECK(grows([&](int) { s.run("x = 1").value(); }) < 100);
    CHECK(grows([&](int) { s.run("def f(a, b=2):\n  return [a + b for _ in (1, 2)]\nx = f(1)").value(); }) < 100);
    CHECK(grows([&](int) { (void)s.run("x = = 1").error(); }) < 100);
    CHECK(grows([&](int) { (void)s.run("1 / 0").error(); }) < 100);
    CHECK(grows([&](int i) { (void)s.get("missing" + std::to_string(i)).ok(); }) < 100);
    CHECK(grows([&](int i) { s.str("text" + std::to_string(i)).value(); }) < 100);
    CHECK(grows([&](int i) { g(i).value(); }) < 100);
    CHECK(grows([&](int) { s.define("f", [](const Call&) -> Result<Value> { return Value(); }).value(); }) < 100);
    CHECK(grows([&](int) { s.stop(), s.run("x = 1").value(); }) < 100);
    // Classes are cycles, some thousands of which wait for the collector.
    CHECK(grows([&](int) { s.run("class A:\n  def m(self): return 1\nx = A().m()").value(); }) < 2000);
  }
}
#endif

TEST_CASE("functions, generators and tracebacks keep the text they stand in") {
  Session s;
  s.run("def kept(x):\n  return 1 / x\ndef g():\n  yield 1\n  yield 1 / 0\nit = g()\nnext(it)\nks = [lambda: 1 / 0]",
        "kept.ouro")
      .value();
  s.run("try:\n  nothing_there\nexcept NameError as e:\n  error = e", "error.ouro").value();
  for (int i = 0; i < 2000; ++i) s.run("def other(): pass\nother()").value();
  Error e = s.get("kept").value()(0).error();
  REQUIRE(e.frames().size() == 1);
  CHECK(e.frames()[0].file == "kept.ouro");
  CHECK(e.frames()[0].text == "return 1 / x");
  e = s.run("next(it)").error();
  CHECK(e.frames().back().text == "yield 1 / 0");
  e = s.run("ks[0]()").error();
  CHECK(e.frames().back().text == "ks = [lambda: 1 / 0]");
}

TEST_CASE("a session that another thread uses is stopped, then destroyed", "[threads]") {
  auto s = std::make_unique<Session>();
  std::atomic<bool> inside{false};
  s->define("started", [&](const Call&) -> Result<Value> { return inside = true, Value(); }).value();
  End end = End::raised;
  std::thread other([&, session = s.get()] {
    end = session->run("started()\nwhile True:\n  try:\n    while True: pass\n  except: pass").error().end();
  });
  while (!inside) std::this_thread::sleep_for(1ms);
  s.reset();
  other.join();
  CHECK(end == End::stopped);
}

TEST_CASE("sessions and values end in any order on any thread", "[threads]") {
  for (int turn = 0; turn < 4; ++turn) {
    auto a = std::make_unique<Session>(), b = std::make_unique<Session>();
    Value x = after(*a, "x = [str(i) for i in range(1000)]", "x"), y = after(*b, "y = randn(100)", "y");
    std::thread([&] { (turn & 1 ? a : b).reset(); }).join();
    (turn & 2 ? a : b).reset();
    std::thread([&] { x = Value(); }).join();
    a.reset();
    std::thread([&] { b.reset(); }).join();
    CHECK(y.as_tensor()->size == 100);
  }
}

// What the next test runs in processes of their own; they leave their sessions to the end of the process.
TEST_CASE("left: sessions in three modes", "[.left]") {
  for (size_t i = 0; i < 3; ++i) {
    Options o;
    o.mode = std::array{Mode::eager, Mode::automatic, Mode::graph}[i];
    use(*(g_late.sessions[i] = std::make_unique<Session>(o)));
    thread_local std::array<std::unique_ptr<Session>, 3> of_thread;
    use(*(of_thread[i] = std::make_unique<Session>(o)));
  }
  g_late.kept = g_late.sessions[2]->get("d").value();
}
TEST_CASE("left: a session at work", "[.left]") {
  g_late.sessions[0] = std::make_unique<Session>();
  use(*g_late.sessions[0]);
  std::thread([] { (void)g_late.sessions[0]->run("while True: pass").ok(); }).detach();
  std::this_thread::sleep_for(50ms);
}

TEST_CASE("sessions end at exit") {
  CHECK(in_process("left: sessions in three modes") == 0);
  CHECK(in_process("left: a session at work") == 0);
}
