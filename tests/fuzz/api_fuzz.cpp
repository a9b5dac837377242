// The embedding interface under random calls. A round, made from its seed: sessions with random options, made, moved
// and destroyed; a thread that makes, asks and drops their values, or two that call the same sessions, in each other's
// way; one that stops and interrupts at random moments. Texts are hostile. Nothing may crash, hang or leak, and at the
// end every session gives right answers.
//
//   api_fuzz --seed=1 --rounds=100        the same rounds in every run (but for the threads' timing)
//   api_fuzz --seed=1 --seconds=3600      round after round; a failure names its seed
//   ... --longest=600                     seconds after which a round hangs
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ouro/ouro.h"

using namespace ouro;

namespace {

uint64_t g_seed = 0;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "api_fuzz: --seed=%llu --rounds=1: %s\n", static_cast<unsigned long long>(g_seed), what.c_str());
  std::abort();
}

struct Random {
  std::mt19937_64 bits;
  explicit Random(uint64_t seed) : bits(seed) {}
  size_t below(size_t n) { return n ? bits() % n : 0; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class C>
  const auto& of(const C& c) {
    return c[below(std::size(c))];
  }
};

const std::string_view kNames[] = {"a", "b", "c", "d", "e", "f"};

// Statements that end soon, that do not end, that fail in every way.
const std::string_view kScripts[] = {
    "a = 1",
    "b = [i * i for i in range(50)]",
    "c = {str(i): [i] for i in range(20)}",
    "def d(*x, **k): return (x, k)",
    "class e:\n  def __init__(self, *a): self.v = a\n  def __getattr__(self, n): return n\n  def __repr__(self): "
    "return 'e' * 9",
    "f = (lambda *a: 1 / 0)",
    "a = '\\udcff\\ud800' + chr(0x10ffff)",
    "b = b'\\xff\\x00'",
    "a = randn(8, 8)\nb = (a @ a).sum()",
    "@jit\ndef c(x): return (x * 2.0 + 1.0).sum()\na = c(randn(16))",
    "def d(x):\n  while x > 0: x -= 1\nd(3000)",
    "while True: pass",
    "while True:\n  try:\n    while True: pass\n  except: pass\n  finally: a = 1",
    "def f():\n  try:\n    while True: yield 1\n  finally:\n    raise ValueError('x')\nfor a in f(): pass",
    "try: raise ValueError('mine')\nexcept ValueError:\n  while True:\n    try: raise KeyError('other')\n    except "
    "KeyError: pass",
    "import time\ntime.sleep(0.02)",
    "sum(range(10**11))",
    "a = sorted(range(100000), key=lambda x: -x)",
    "a = [0]\nwhile True: a = [a, a * 1000]",
    "def f(n): return f(n + 1)\nf(0)",
    "class f:\n  def __del__(self):\n    while True: pass\nfor _ in range(3): f()",
    "class a:\n  def __del__(self): raise ValueError(self)\na()",
    "class f(Exception):\n  def __str__(self):\n    while True: pass\nraise f()",
    "raise KeyError('\\udc80')",
    "raise SystemExit('\\ud83d')",
    "print('\\udcff')",
    "print(*range(300))",
    "import sys\nprint(sys.argv, sys.path)\nfor n in sys.argv: open(n)",
    "g()",
    "a = [g(1, 'x', k=g) for _ in range(20)]",
    "try: g(2)\nexcept Exception as x: b = x\nraise b",
    "with open('/dev/null', 'w') as o: o.write('x' * 1000)",
    "x = = 1",
    "\xff\xfe",
    "if 1:\n\tx\n        y",
};

std::string hostile(Random& r) {
  static const std::string_view pieces[] = {"a",
                                            "\xff",
                                            "\xc3\xa9",
                                            "\xc3",
                                            "\xed\xa0\x80",
                                            "\xf4\x90\x80\x80",
                                            "\xed\xb3\xbf",
                                            "%s%n%d",
                                            "{0!r:\xff}",
                                            ".",
                                            "__class__",
                                            "\n",
                                            "'\"\\",
                                            "/",
                                            "\xf0\x9f\x98\x80",
                                            "\x01",
                                            "nn.",
                                            "ouro."};
  std::string t;
  for (size_t n = r.below(6); n; --n) t += r.of(pieces);
  if (r.one_in(20)) t += std::string(1, '\0') + "z";
  if (r.one_in(50)) t.append(70000, 'q');
  return t;
}
std::string name(Random& r) { return r.one_in(3) ? hostile(r) : std::string(r.of(kNames)); }

Options options(Random& r) {
  Options o;
  o.mode = r.one_in(4) ? Mode::automatic : r.one_in(8) ? Mode::graph : Mode::eager;
  o.threads = static_cast<int>(r.below(3));
  o.memory = (size_t{8} << 20) << r.below(3);
  o.recursion = 50 + static_cast<int>(r.below(200));
  o.time = 0.01 + 0.001 * static_cast<double>(r.below(60));  // finalizers too must end, when nobody can stop them
  if (r.one_in(3)) o.steps = 5000 + r.below(20000);
  for (size_t n = r.below(3); n; --n) o.argv.push_back(hostile(r));
  for (size_t n = r.below(2); n; --n) o.path.push_back(hostile(r));
  if (r.one_in(15)) o.cpu = hostile(r);
  if (r.one_in(15)) o.threads = static_cast<int>(r.bits());
  if (r.one_in(30)) o.time = -o.time;
  return o;
}

// What the calls of a thread gave, bounded.
struct Pool {
  std::vector<Value> values;
  void put(Result<Value> v) {
    if (!v) {
      if (v.error().type().empty() || v.error().traceback().empty()) fail("an error without a text");
      return;
    }
    values.push_back(std::move(*v));
    if (values.size() > 24) values.erase(values.begin());
  }
};

struct Round {
  explicit Round(uint64_t seed) : random(seed) {}

  Random random;
  std::mutex lock;
  std::vector<std::shared_ptr<Session>> sessions;
  std::atomic<bool> done{false};

  std::shared_ptr<Session> some(Random& r) {
    std::lock_guard hold(lock);
    return sessions.empty() ? nullptr : sessions[r.below(sessions.size())];
  }

  void add() {
    Options o = options(random);
    Session made(o);
    if (made.check()) give_functions(made);
    auto kept = std::make_shared<Session>(std::move(made));
    if (made.check() || made.run("a = 1") || made.get("a")) fail("a session that was moved from works");
    made.stop();
    if (random.one_in(3)) {
      Session other;
      other = std::move(*kept);
      *kept = std::move(other);
    }
    std::lock_guard hold(lock);
    sessions.push_back(std::move(kept));
  }

  static void give_functions(Session& s) {
    s.on_output([](std::string_view) {}).value();
    s.on_error_output([](std::string_view t) {
       if (t.size() == 12345) throw std::runtime_error("the sink throws");
     }).value();
    auto seed = std::make_shared<Random>(g_seed);
    s.define("g", [seed](const Call& c) -> Result<Value> {
       Random& r = *seed;
       switch (r.below(9)) {
         case 0:
           return Error(hostile(r), hostile(r));
         case 1:
           throw std::runtime_error("\xff thrown");
         case 2:
           if (auto ran = c.session().run(r.of(kScripts)); !ran) return ran.error();
           return Value(1);
         case 3:
           (void)c.session().run(r.of(kScripts)).ok();
           return c.session().str(hostile(r));
         case 4:
           c.session().stop();
           return Value();
         case 5:
           c.session().interrupt();
           return Value();
         case 6: {
           Session other;
           return other.str("of another session");
         }
         case 7:
           return c.size() ? c[0](c[0]) : c.session().get("a");
         default:
           return c.session().tensor_copy(DType::f32, std::initializer_list<int64_t>{2}, "12345678");
       }
     }).value();
    s.define("host.\xc3\xa9", [](const Call&) -> Result<Value> { return Value(); }).value();
  }

  // A call that any thread may try, and what it gives.
  static void visit(Session& s, Random& r, Pool& pool) {
    const std::string text = hostile(r);
    switch (r.below(12)) {
      case 0:
      case 1:
      case 2:
        (void)s.run(r.of(kScripts)).ok();
        return;
      case 3:
        (void)s.run(text, name(r)).ok();
        return;
      case 4:
        (void)s.run_file(text).ok();
        return;
      case 5:
        return pool.put(s.import(r.one_in(2) ? text : "math"));
      case 6:
        return pool.put(s.get(name(r)));
      case 7:
        (void)s.set(name(r), text).ok();
        return;
      case 8:
        return pool.put(s.str(text));
      case 9:
        return pool.put(s.bytes(text));
      case 10:
        (void)s.set_demand(r.one_in(2) ? "threads" : text, r.one_in(2) ? "2" : text).ok();
        return;
      default:
        (void)s.set_threads(static_cast<int>(r.below(5)) - 1).ok();
        (void)s.demands().size();
    }
  }

  // What the owner alone may do: with values, its own and those of other sessions.
  static void handle(Session& s, Random& r, Pool& pool) {
    static const float memory[64] = {};
    const Value nothing;
    auto any = [&]() -> const Value& {
      return pool.values.empty() ? nothing : pool.values[r.below(pool.values.size())];
    };
    const std::vector<Value> few = {any(), any(), 3.5};
    switch (r.below(16)) {
      case 0:
        return pool.put(s.list(few));
      case 1:
        return pool.put(s.tuple(few));
      case 2: {
        const std::pair<Value, Value> items[] = {{any(), any()}, {1, any()}};
        return pool.put(s.dict(items));
      }
      case 3: {
        static constexpr int64_t kSizes[] = {0, 1, 2, 4, 8, -1, int64_t{1} << 62, std::numeric_limits<int64_t>::max()};
        std::vector<int64_t> shape(r.below(4));
        int64_t n = 1;
        for (int64_t& d : shape) d = r.of(kSizes), n = d < 0 || d > 8 ? 1 << 20 : n * std::max<int64_t>(d, 1);
        if (n > 32 && std::none_of(shape.begin(), shape.end(), [](int64_t d) { return d < 0 || d > 8; })) return;
        for (int64_t d : shape)
          if (d == 0) return;  // with a huge one beside it no memory is read
        return pool.put(r.one_in(2) ? s.tensor(static_cast<DType>(r.below(12)), shape, memory)
                                    : s.tensor_copy(static_cast<DType>(r.below(12)), shape, memory));
      }
      case 4:
        return pool.put(any()(any(), 2, hostile(r)));
      case 5:
        return pool.put(any()());
      case 6:
        return pool.put(any().call_method(name(r), any()));
      case 7:
        return pool.put(any().attr(name(r)));
      case 8:
        (void)any().set_attr(name(r), any()).ok();
        return;
      case 9:
        return pool.put(any().item(r.one_in(2) ? Value(static_cast<int64_t>(r.bits())) : any()));
      case 10:
        (void)any().set_item(any(), hostile(r)).ok();
        return;
      case 11: {
        (void)any().size().ok();
        auto items = any().items();
        if (items && items->size() > 100000) fail("more items than were made");
        return;
      }
      case 12:
        (void)s.repr(any()).ok();
        (void)s.text(any()).ok();
        return;
      case 13: {
        const Value& v = any();
        (void)v.kind();
        (void)v.as_int(), (void)v.as_float(), (void)v.as_str(), (void)v.as_bytes();
        if (auto t = v.as_tensor(); t && t->bytes() && t->dtype == DType::f32 && t->elements<float>()[0] == 12345.0f)
          return;
        return;
      }
      case 14:
        return pool.put(s.function(name(r), [](const Call& c) -> Result<Value> { return c.size() ? c[0] : Value(7); }));
      default:
        pool.values.clear();
    }
  }

  void run() {
    for (size_t n = 1 + random.below(2); n; --n) add();
    const bool visited = random.one_in(2);  // values are then only moved and dropped (value.h)
    std::thread visitor([this, visited, seed = random.bits()] {
      Random r(seed);
      Pool pool;
      while (visited && !done) {
        if (auto s = some(r)) visit(*s, r, pool);
        if (r.one_in(4)) pool.values.clear();
      }
    });
    std::thread stopper([this, seed = random.bits()] {
      Random r(seed);
      for (; !done; std::this_thread::sleep_for(std::chrono::microseconds(r.below(8000))))
        if (auto s = some(r)) r.one_in(4) ? s->interrupt() : r.one_in(8) ? s->clear_interrupt() : s->stop();
    });
    {
      Pool pool;
      for (size_t n = 30 + random.below(60); n; --n) {
        if (random.one_in(25)) add();
        if (random.one_in(25)) {
          std::shared_ptr<Session> gone;
          std::lock_guard hold(lock);
          if (!sessions.empty())
            std::swap(gone, sessions[random.below(sessions.size())]), std::erase(sessions, nullptr);
        }
        auto s = some(random);
        if (!s) continue;
        if (visited || random.one_in(3))
          visit(*s, random, pool);
        else
          handle(*s, random, pool);
      }
    }
    done = true;
    visitor.join();
    stopper.join();
    for (auto& s : sessions) check(*s);
    if (random.one_in(2)) std::thread([this] { sessions.clear(); }).join();
  }

  static void check(Session& s) {
    if (!s.check()) return;
    s.clear_interrupt();
    s.stop();  // nothing runs: nothing happens
    // Where the session has a limit of a few milliseconds and the machine is busy, once more.
    auto late = [](const auto& done) {
      return done.error().traceback().find("TimeoutError: the time") != std::string::npos;
    };
    auto good = [&](const char* text) {
      for (int tries = 0; tries < 200; ++tries) {
        auto done = s.run(text);
        if (done) return;
        if (!late(done)) fail("afterwards: " + done.error().traceback());
      }
      fail("afterwards: always too late");
    };
    good("a = b = c = d = e = f = g = None");
    good("answer = [i * i for i in range(50)][-1] + sum((1, 2, 3))");
    if (auto v = s.get("answer"); !v || v->as_int() != 2407) fail("a wrong answer");
    if (auto r = s.run("raise"); r || (!late(r) && r.error().message() != "No active exception to reraise"))
      fail("a trace of what ran");
    if (auto r = s.run("1 / 0"); r || r.error().traceback().find("During handling") != std::string::npos)
      fail("an error is chained to what ran before");
  }
};

// Ends the process where a round does not end: calls have limits of milliseconds, so it waits for something that never
// comes.
class Watch {
 public:
  explicit Watch(std::chrono::seconds longest) : longest_(longest), thread_([this] { run(); }) {}
  ~Watch() {
    {
      std::lock_guard hold(lock_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void next_round() {
    std::lock_guard hold(lock_);
    begun_ = std::chrono::steady_clock::now();
  }

 private:
  void run() {
    std::unique_lock hold(lock_);
    while (!changed_.wait_for(hold, std::chrono::seconds(1), [this] { return over_; }))
      if (std::chrono::steady_clock::now() - begun_ > longest_) fail("the round does not end");
  }

  const std::chrono::seconds longest_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool over_ = false;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::thread thread_;
};

uint64_t number(const char* argument, const char* option, uint64_t otherwise) {
  const size_t n = std::strlen(option);
  return std::strncmp(argument, option, n) ? otherwise : std::strtoull(argument + n, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1, rounds = 100, seconds = 0, longest = 600;
  for (int i = 1; i < argc; ++i) {
    seed = number(argv[i], "--seed=", seed);
    rounds = number(argv[i], "--rounds=", rounds);
    seconds = number(argv[i], "--seconds=", seconds);
    longest = number(argv[i], "--longest=", longest);
  }
  const auto start = std::chrono::steady_clock::now();
  auto more = [&](uint64_t n) {
    return seconds ? std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds) : n < rounds;
  };
  uint64_t n = 0;
  Watch watch{std::chrono::seconds(longest)};
  for (; more(n); ++n) {
    g_seed = seed + n;
    watch.next_round();
    Round(g_seed).run();
  }
  std::printf("%llu rounds\n", static_cast<unsigned long long>(n));
}
