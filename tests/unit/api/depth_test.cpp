// Values that are nested deeply, on a thread with a stack of 256 kB: an answer or a RecursionError, never the end of
// the process.
#include <pthread.h>

#include <functional>
#include <string>

#include "fixture.h"

using namespace ouro;

namespace {

// Each would take more than the stack has. Frames are several times as large under sanitizers, and calls as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kLevels = 5000;
#else
constexpr int kLevels = 20000;
#endif

void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, size_t{256} << 10) == 0);
  pthread_t thread;
  auto start = [](void* work) -> void* {
    (*static_cast<const std::function<void()>*>(work))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&work)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// What a value of the level before makes, and what is asked of the last: expressions of x.
struct Nest {
  const char *first, *made, *asked;
};
constexpr Nest kNests[] = {
    {"iter([1, 2])", "map(abs, x)", "next(x)"},
    {"iter([1, 2])", "filter(None, x)", "list(x)"},
    {"iter([1, 2])", "zip(x)", "[y for y in x]"},
    {"iter([1, 2])", "enumerate(x)", "tuple(x)"},
    {"iter([1, 2])", "itertools.chain([], x)", "sum(x)"},
    {"iter([1, 2])", "itertools.islice(x, 9)", "next(x)"},
    {"iter([1, 2])", "iter(lambda: next(x), 7)", "next(x)"},
    {"iter([1, 2])", "(y for y in x)", "next(x)"},
    {"abs", "staticmethod(x)", "x(1)"},
    {"abs", "staticmethod(x)", "x.__name__"},
    {"abs", "staticmethod(x)", "repr(x)"},
    {"abs", "classmethod(x)", "type('C', (), {'m': x}).m()"},
    {"abs", "classmethod(x)", "x.__doc__"},
    {"abs", "property(x)", "type('C', (), {'m': x})().m"},
    {"abs", "property(x)", "x.__isabstractmethod__"},
    {"abs", "types.MethodType(x, 1)", "x()"},
    {"abs", "types.MethodType(x, 1)", "x.nothing"},
    {"abs", "types.MethodType(x, 1)", "x.__name__"},
    {"abs", "types.MethodType(x, 1)", "hash(x)"},
    {"abs", "types.MethodType(x, 1)", "x == types.MethodType(x.__func__, x.__self__)"},
    {"abs", "types.MethodType(abs, x)", "repr(x)"},
    {"abs", "functools.partial(x)", "x(1)"},
    {"abs", "functools.partial(x)", "repr(x)"},
    {"abs", "jit(x)", "x(1.0)"},
    {"lambda x: x * x", "staticmethod(x)", "grad(x)(1.0)"},
    {"lambda x, y: y * y", "types.MethodType(x, 1.0)", "grad(x)(1.0)"},
    {"int", "list[x]", "x[0]"},
    {"int", "list[x]", "x.__parameters__"},
    {"int", "list[x] | None", "x[0]"},
    {"int", "list[x] | None", "isinstance([1], x)"},
    {"int", "dict[int, x]", "hash(x)"},
    {"int", "dict[int, x]", "repr(x)"},
    {"{1: 2}", "types.MappingProxyType(x)", "x[1]"},
    {"{1: 2}", "types.MappingProxyType(x)", "len(x) + len(list(x)) + (1 in x) + len(x | {})"},
    {"{1: 2}", "types.MappingProxyType(x)", "x.get(1)"},
    {"1.0", "(x,)", "hash(x)"},
    {"1.0", "(x,)", "x == (x[0],)"},
    {"1.0", "(x,)", "jit(lambda y: 1.0)(x)"},
    {"1.0", "(x,)", "grad(lambda y: 1.0)(x)"},
    {"1.0", "[x]", "jit(lambda y, t: t * 2)(x, tensor([1.0]))"},
    {"1.0", "[x]", "vmap(lambda y: y)(x)"},
    {"1.0", "[x]", "tensor(x)"},
    {"1.0", "[x]", "copy.deepcopy(x)"},
    {"1.0", "[x]", "json.dumps(x)"},
    {"1.0", "[x]", "f'{x}'"},
    {"1.0", "{1: x}", "jit(lambda y: 1.0)(x)"},
    {"1.0", "{1: x}", "repr(x)"},
    {"1.0", "{1: x}", "save(x, '/dev/null')"},
    {"int", "(x,)", "isinstance('a', x)"},
    {"int", "(x,)", "issubclass(str, x)"},
    {"1", "slice(x)", "repr(x)"},
    {"1", "slice(x)", "[1, 2][x]"},
    {"1", "ValueError(x)", "str(x)"},
    {"None", "chained(x)", "raise_it(x)"},
    {"object", "type('C', (x,), {}) if len(x.__mro__) < 2000 else x", "setattr(x.__mro__[-2], 'a', 1)"},
    {"'{0'", "x + '[0]'", "(x + '}').format([])"},
    {"'1'", "'(' + x + ')'", "eval(x)"},
    {"'1'", "'[' + x + ']'", "json.loads(x)"},
};

constexpr const char* kBefore = R"(
import types, functools, itertools, copy, json
def chained(x):
    e = ValueError()
    e.__context__ = x
    return e
def raise_it(x):
    raise x
)";

// "", or how it ended otherwise.
std::string ended(Mode mode, const Nest& n) {
  Options o;
  o.mode = mode;
  Session s(o);
  s.on_error_output([](std::string_view) {}).value();
  s.run(kBefore).value();
  const int levels = std::string(n.first)[0] == '\'' ? 4000 : kLevels;
  auto made = s.run(std::string("def made(x): return ") + n.made + "\nx = " + n.first + "\ntry:\n  for i in range(" +
                    std::to_string(levels) + "): x = made(x)\nexcept RecursionError: pass");
  if (!made) return made.error().traceback();
  auto asked = s.run(std::string("y = ") + n.asked + "\ny = None");
  if (!asked && asked.error().type() == "InternalError") return asked.error().traceback();
  s.run("x = y = None").value();
  auto after = s.run("def depth(n): return n and depth(n - 1)\ndepth(20)");
  return after ? "" : after.error().traceback();
}

}  // namespace

TEST_CASE("what is nested deeply does not end a thread with a small stack") {
  for (Mode mode : {Mode::eager, Mode::graph})
    for (const Nest& n : kNests) {
      INFO(n.made << ": " << n.asked);
      std::string how = "not at all";
      on_small_stack([&] { how = ended(mode, n); });
      CHECK(how == "");
    }
}
