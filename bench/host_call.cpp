// What a host pays to call a script through libouro.so. Prints a line for each case: seconds of processor time (median
// of the series, of one call), the seconds aimed at (inf: none), title.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "ouro/ouro.h"

namespace {

using ouro::Value;

// Processor time of this thread: nothing here waits, and a busy machine does not count.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class F>
void measure(const char* title, double target, int calls, F&& f) {
  std::vector<double> series;
  for (int i = 0; i < calls / 10 + 1; ++i) f();
  for (int k = 0; k < 21; ++k) {
    double start = thread_seconds();
    for (int i = 0; i < calls; ++i) f();
    series.push_back((thread_seconds() - start) / calls);
  }
  std::nth_element(series.begin(), series.begin() + 10, series.end());
  std::printf("%.4g %g %s\n", series[10], target, title);
}

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "host_call: %s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  ouro::Options options;
  options.threads = 1;
  ouro::Session s(options);
  (void)s.define("back", [](const ouro::Call& c) -> ouro::Result<Value> { return *c[0].as_float() + 1.0; });
  s.run(R"(
def nothing(): return None
def add(x): return x + 1.0
def many(a, b, c, d): return a * b + c * d
def size(text): return len(text)
def same(x): return x
def relu(x): return maximum(x, 0.0) * 2.0 + 1.0
class Model:
    def __init__(self): self.w = 2.0
    def __call__(self, x): return self.w * x
model = Model()
def call_back(n):
    for _ in range(n):
        back(1.0)
)")
      .value();
  Value nothing = *s.get("nothing"), add = *s.get("add"), many = *s.get("many"), size = *s.get("size"),
        same = *s.get("same"), relu = *s.get("relu"), model = *s.get("model"), call_back = *s.get("call_back");
  check(add(1.5)->as_float() == 2.5, "add");
  check(model(3)->as_float() == 6.0, "model");
  measure("call f()", 500e-9, 100000, [&] { (void)nothing(); });
  measure("call f(x) of a float, read the result", 500e-9, 100000, [&] { check(add(1.0)->as_float() == 2.0, "add"); });
  measure("call f(a, b, c, d) of ints", 500e-9, 100000, [&] { (void)many(1, 2, 3, 4); });
  measure("call f(text)", 500e-9, 100000, [&] { (void)size("a text of some length"); });
  measure("call an object with __call__", 500e-9, 100000, [&] { (void)model(1.0); });
  std::vector<float> memory(1 << 20, 1.0f);
  measure("call f(x) with a tensor over 4 MB of host memory", 500e-9, 100000, [&] {
    check(same(*s.tensor({1 << 20}, memory.data()))->as_tensor()->data == memory.data(), "a copy was made");
  });
  measure("call a compiled f(x) of 16 floats", kNone, 20000, [&] { (void)relu(*s.tensor({16}, memory.data())); });
  measure("a script calls a host function 1000 times", kNone, 100, [&] { (void)call_back(1000); });
  measure("make and end a session", kNone, 5, [] { ouro::Session again; });
}
