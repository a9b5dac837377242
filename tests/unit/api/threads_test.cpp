#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fixture.h"

using namespace ouro;
using namespace std::chrono_literals;

namespace {

// Trains a small model and gives its last loss.
double train(Session& s, int steps) {
  auto done = s.run(
      "from ouro import nn, optim, jit, value_and_grad\n"
      "manual_seed(0)\n"
      "model = nn.Sequential(nn.Linear(4, 16), tanh, nn.Linear(16, 1))\n"
      "opt = optim.Adam(model, lr=0.02)\n"
      "@jit\n"
      "def step(x, y):\n"
      "    loss, grads = value_and_grad(lambda m: mse_loss(m(x), y))(model)\n"
      "    opt.update(grads)\n"
      "    return loss\n");
  if (!done) FAIL(done.error().traceback());
  Value step = s.get("step").value();
  std::vector<float> x(64 * 4), y(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 7.0f;
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[4 * i] * x[4 * i + 1];
  double loss = 0;
  for (int i = 0; i < steps; ++i) {
    Result<Value> r = step(s.tensor({64, 4}, x.data()).value(), s.tensor({64, 1}, y.data()).value());
    if (!r) return -1;
    loss = r->as_tensor()->elements<float>()[0];
  }
  return loss;
}

}  // namespace

TEST_CASE("two sessions train on two threads", "[threads]") {
  double losses[3] = {};
  {
    Session s;
    losses[2] = train(s, 40);
  }
  std::thread other([&] {
    Session s;
    losses[0] = train(s, 40);
  });
  {
    Session s;
    losses[1] = train(s, 40);
  }
  other.join();
  CHECK(losses[0] > 0);
  CHECK(losses[0] == losses[2]);
  CHECK(losses[1] == losses[2]);
}

TEST_CASE("a session may change its thread, and one thread at a time is inside", "[threads]") {
  Session s;
  Value f = after(s, "n = 0\ndef f():\n    global n\n    n += 1\n    return n", "f");
  std::atomic<int> good{0}, refused{0};
  auto work = [&] {
    for (int i = 0; i < 2000; ++i) {
      Result<Value> r = f();
      if (r)
        ++good;
      else if (r.error().message() == "another thread is inside the session")
        ++refused;
    }
  };
  std::thread a(work), b(work);
  a.join();
  b.join();
  CHECK(good + refused == 4000);
  CHECK(f().value().as_int() == good + 1);
}

TEST_CASE("results are dropped on another thread while the session runs", "[threads]") {
  auto owner = std::make_shared<int>(0);
  std::weak_ptr<int> watch = owner;
  static const float memory[4] = {1, 2, 3, 4};
  {
    Session s;
    Value f = after(s, "def f(x): return [x, x * 2.0]", "f");
    for (int i = 0; i < 200; ++i) {
      Value r = f(s.tensor({4}, memory, owner).value()).value();
      Value second = r.item(1).value();
      std::thread reader([r = std::move(r), second = std::move(second)]() mutable {
        if (second.as_tensor()->elements<float>()[3] != 8.0f) std::abort();
        r = Value();
      });
      CHECK(s.run("t = 0\nfor i in range(200): t += i"));
      reader.join();
    }
    owner.reset();
  }
  CHECK(watch.expired());
}

TEST_CASE("an interrupt from another thread ends a script, not its session", "[threads]") {
  Session s;
  std::atomic<bool> inside{false};
  CHECK(s.define("started", [&](const Call&) -> Result<Value> {
    inside = true;
    return Value();
  }));
  std::thread other([&] {
    while (!inside) std::this_thread::sleep_for(1ms);
    s.interrupt();
  });
  Error e = s.run("started()\nwhile True:\n    x = [i for i in range(10)]").error();
  other.join();
  CHECK(e.type() == "KeyboardInterrupt");
  CHECK_FALSE(e.is("Exception"));
  CHECK(after(s, "y = 1", "y").as_int() == 1);
  s.interrupt();
  CHECK(s.run("y = 2").error().type() == "KeyboardInterrupt");
  s.interrupt();
  s.clear_interrupt();
  CHECK(s.run("y = 3"));
}

TEST_CASE("an interrupt or a stop from another thread wakes blocking input up", "[threads]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Session s;
  std::atomic<bool> inside{false};
  CHECK(s.define("started", [&](const Call&) -> Result<Value> {
    inside = true;
    return Value();
  }));
  CHECK(s.run("f = open(" + std::to_string(ends[0]) + ")"));
  for (bool stops : {false, true}) {
    inside = false;
    std::thread other([&] {
      while (!inside) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(50ms);
      stops ? s.stop() : s.interrupt();
    });
    const auto before = std::chrono::steady_clock::now();
    CHECK(s.run("started()\nf.readline()").error().type() == "KeyboardInterrupt");
    CHECK(std::chrono::steady_clock::now() - before < 5s);
    other.join();
  }
  REQUIRE(write(ends[1], "a line\n", 7) == 7);
  CHECK(after(s, "line = f.readline()", "line").as_str() == "a line\n");
  close(ends[1]);
}

TEST_CASE("sessions come and go on threads of their own and leave no memory behind", "[threads]") {
  auto round = [] {
    std::thread([] {
      Session s;
      Value v = after(s, "v = [str(i) for i in range(20000)]", "v");
      CHECK(v.size().value() == 20000);
    }).join();
    return mallinfo2().uordblks;  // 0 with a sanitizer
  };
  size_t settled = 0;
  for (int i = 0; i < 4; ++i) settled = round();
  for (int i = 0; i < 8; ++i) CHECK(round() < settled + (1u << 20));
}
