// What hosts give to scripts: memory, functions, places for output.
#include <atomic>
#include <numeric>
#include <thread>

#include "fixture.h"

using namespace ouro;

namespace {

std::vector<float> ramp(size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 0.0f);
  return v;
}

Options in_mode(Mode mode) {
  Options o;
  o.mode = mode;
  return o;
}

}  // namespace

TEST_CASE("a tensor over host memory is read without a copy, and results are too") {
  for (Mode mode : {Mode::eager, Mode::graph, Mode::automatic}) {
    Session s(in_mode(mode));
    Value f = after(s, "def f(x): return (x * 2.0).reshape(3, 2)\ndef same(x): return x.reshape(3, 2)", "f");
    std::vector<float> host = ramp(6);
    Value x = s.tensor({2, 3}, host.data()).value();
    CHECK(x.as_tensor()->data == host.data());
    for (int i = 0; i < 3; ++i) {
      Value y = f(x).value();
      TensorView v = *y.as_tensor();
      CHECK(v.shape.size() == 2);
      CHECK(v.shape[0] == 3);
      CHECK(v.dtype == DType::f32);
      CHECK(v.bytes() == 24);
      CHECK(v.elements<float>()[5] == 10.0f);
      CHECK(v.elements<double>().empty());
    }
    CHECK(s.get("same").value()(x).value().as_tensor()->data == host.data());
  }
}

TEST_CASE("scripts never write to host memory") {
  for (Mode mode : {Mode::eager, Mode::graph}) {
    Session s(in_mode(mode));
    Value f = after(s,
                    "def f(x):\n"
                    "    x[0] = 100.0\n"
                    "    x += 1.0\n"
                    "    return x\n"
                    "def keep(x):\n"
                    "    global kept\n"
                    "    kept = x\n"
                    "def write():\n"
                    "    kept[1] = 7.0\n"
                    "    kept[2] = 8.0\n"
                    "    return kept\n",
                    "f");
    std::vector<float> host = ramp(100), before = host;
    for (int i = 0; i < 3; ++i) {
      // The only handle is moved into the call.
      Value y = f(s.tensor({100}, host.data()).value()).value();
      CHECK(y.as_tensor()->elements<float>()[0] == 101.0f);
      CHECK(y.as_tensor()->elements<float>()[99] == 100.0f);
    }
    CHECK(s.get("keep").value()(s.tensor({100}, host.data()).value()));
    CHECK(s.get("write").value()().value().as_tensor()->elements<float>()[2] == 8.0f);
    CHECK(host == before);
  }
}

TEST_CASE("a result stays as it is while the host holds it") {
  Session s(in_mode(Mode::graph));
  Value step = after(s, "def step(x): return x * 2.0 + 1.0", "step");
  std::vector<float> one(64, 1.0f), two(64, 2.0f);
  Value a = step(s.tensor({64}, one.data()).value()).value();
  const float* where = a.as_tensor()->elements<float>().data();
  for (int i = 0; i < 5; ++i) CHECK(step(s.tensor({64}, two.data()).value()).value().as_tensor()->data != where);
  CHECK(where[63] == 3.0f);
}

TEST_CASE("the owner of memory is let go with the last tensor over it") {
  auto owner = std::make_shared<std::vector<float>>(ramp(8));
  std::weak_ptr<std::vector<float>> watch = owner;
  Session s;
  Value hold = after(s, "kept = []\ndef hold(x): kept.append(x.reshape(2, 4))", "hold");
  {
    Value x = s.tensor({8}, owner->data(), owner).value();
    owner.reset();
    CHECK(hold(x));
  }
  CHECK_FALSE(watch.expired());
  CHECK(s.get("kept").value().item(0).value().as_tensor()->elements<float>()[7] == 7.0f);
  CHECK(s.run("kept.clear()"));
  CHECK(watch.expired());
}

TEST_CASE("memory that cannot be a tensor is refused") {
  Session s;
  float x[4] = {};
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(x) + 1);
  CHECK(s.tensor({2}, odd).error().type() == "ValueError");
  CHECK(s.tensor({-1}, x).error().message() == "a dimension cannot be -1");
  CHECK(s.tensor({2}, static_cast<float*>(nullptr)).error().type() == "ValueError");
  CHECK(s.tensor({int64_t{1} << 40, int64_t{1} << 40}, x).error().type() == "ValueError");
  CHECK(s.tensor({0}, static_cast<float*>(nullptr)).value().as_tensor()->size == 0);
  int64_t shape[] = {2, 2};
  Value copy = s.tensor_copy(DType::f32, shape, x).value();
  x[0] = 9;
  CHECK(copy.as_tensor()->elements<float>()[0] == 0.0f);
}

TEST_CASE("host functions get arguments and keywords, and may call back") {
  for (Mode mode : {Mode::eager, Mode::graph}) {
    Session s(in_mode(mode));
    CHECK(s.define("host.apply", [](const Call& c) -> Result<Value> {
      Result<Value> r = c[0](c[1]);
      if (!r) return r;
      const Value* times = c.keyword("times");
      return *r->as_float() * (times ? *times->as_float() : 1.0);
    }));
    Value v = after(s,
                    "import host\n"
                    "from host import apply\n"
                    "def g(t):\n"
                    "    n = host.apply(lambda k: k + 1, 1.5, times=2)\n"
                    "    return t.sum().item() + n\n"
                    "v = g(ones(3)) + g(ones(3)) + apply(abs, -1)\n",
                    "v");
    CHECK(v.as_float() == 17.0);
    CHECK(s.repr(s.get("apply").value()).value().find("apply") != std::string::npos);
  }
}

TEST_CASE("a host function that holds values of its own session is freed with it") {
  auto token = std::make_shared<int>(1);
  std::weak_ptr<int> watch = token;
  {
    Session s;
    Value list = after(s, "v = []", "v");
    CHECK(s.define("f", [list, token](const Call&) -> Result<Value> { return list; }));
    token.reset();
    CHECK(s.run("f().append(1)\ng = f"));
  }
  CHECK(watch.expired());
}

TEST_CASE("output goes where the host says") {
  Session s;
  std::string out, err;
  CHECK(s.on_output([&](std::string_view t) { out += t; }));
  CHECK(s.on_error_output([&](std::string_view t) { err += t; }));
  CHECK(s.run("import sys\nprint('a', 1)\nprint('b', file=sys.stderr)"));
  CHECK(out == "a 1\n");
  CHECK(err == "b\n");
}

TEST_CASE("demands are set from another thread while the session runs") {
  Session s;
  Value f = after(
      s,
      "a, b = randn(64, 64), randn(64, 64)\n"
      "def f(n):\n    r = []\n    for i in range(n):\n        r.append((a @ b).sum().item())\n    return len(set(r))",
      "f");
  CHECK(s.set_demand("precision", "bf16"));
  CHECK(f(2).value().as_int() == 1);
  std::atomic<int> refused = 0;
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) {
      refused += !s.set_demand("threads", i % 2 ? "1" : "2");
      refused += !s.set_demand("precision", i % 2 ? "f32" : "bf16");
      (void)s.demands();
    }
  });
  int64_t kinds = f(2000).value().as_int().value();
  other.join();
  CHECK(refused == 0);
  CHECK(kinds <= 2);  // f32's and bf16's
  CHECK(s.set_demand("precision", "auto"));
  CHECK(f(2).value().as_int() == 1);
  CHECK(s.demands().find("host asked for precision=bf16") != std::string::npos);
  CHECK(s.set_demand("precision", "f8").error().type() == "ValueError");
}

TEST_CASE("a host hears of decisions and of what came of them") {
  Options o;
  o.mode = Mode::graph;
  Session s(o);
  std::vector<Decision> heard;
  CHECK(s.on_decision([&](const Decision& d) {
    heard.push_back(d);
    throw 1;  // what a host does here is no matter of the script's
  }));
  CHECK(
      s.run("from ouro import jit, demand\n"
            "import time\n"
            "class M: pass\n"
            "m = M()\n"
            "m.w, x = randn(32, 32), randn(32, 32)\n"
            "@jit\n"
            "def step(x):\n"
            "    m.w = m.w * 0.99\n"
            "    return (x @ m.w).sum()\n"
            "demand.set(precision='bf16', error=1e-12)\n"
            "for i in range(4000):\n"
            "    step(x)\n"
            "    if demand.report()['decisions']: break\n"
            "    time.sleep(0.005)\n"
            "for i in range(10): step(x)\n"));
  REQUIRE(heard.size() == 2);
  CHECK(heard[0].goal == "error");
  CHECK(heard[0].response == "precision");
  CHECK(heard[0].value == "f32");
  CHECK(heard[0].outcome == "taking effect");
  CHECK(heard[1].outcome.find("(promised 0)") != std::string::npos);
  CHECK(s.on_decision({}));
}

TEST_CASE("goals are set from another thread while they cannot be met") {
  Session s;
  CHECK(s.run("def f(n):\n    for i in range(n):\n        with demand.step(): pass\n    return n"));
  std::atomic<bool> ended = false;
  std::thread other([&] {
    for (int i = 0; !ended; ++i) {
      (void)s.set_demand("step_time", i % 2 ? "1us" : "0.1us");
      (void)s.set_demand("energy", i % 3 ? "auto" : "0.1us");
    }
  });
  for (int k = 0; k < 20; ++k) CHECK(s.run("f(500)"));
  ended = true;
  other.join();
}

TEST_CASE("threads are a demand that changes no bit") {
  Session s;
  CHECK(s.set_threads(1));
  CHECK(s.threads() == 1);
  Value f = after(s, "x = randn(300, 300)\ndef f(): return (x @ x).exp().sum()", "f");
  float one = f().value().as_tensor()->elements<float>()[0];
  CHECK(s.set_threads(2));
  CHECK(s.threads() == 2);
  CHECK(f().value().as_tensor()->elements<float>()[0] == one);
  CHECK(s.set_threads(-1).error().type() == "ValueError");
}

TEST_CASE("a host's function is called each time, whatever its name") {
  for (Mode mode : {Mode::eager, Mode::graph}) {
    Session s(in_mode(mode));
    int calls = 0;
    for (const char* name : {"log", "exp", "host.abs"})
      REQUIRE(s.define(name, [&](const Call&) -> Result<Value> { return Value(++calls); }));
    Value f = after(s,
                    "from host import abs as other\n"
                    "def f(x): return x * (log(2.0) + exp(1) + other(-3))",
                    "f");
    const std::vector<float> one{1};
    Value x = s.tensor({1}, one.data()).value();
    std::vector<float> seen;
    for (int i = 0; i < 4; ++i) {
      Value y = f(x).value();
      seen.push_back(y.as_tensor()->elements<float>()[0]);
    }
    CHECK(seen == std::vector<float>{6, 15, 24, 33});
    CHECK(calls == 12);
  }
}
