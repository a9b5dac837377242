#include <stdexcept>

#include "fixture.h"

using namespace ouro;

TEST_CASE("an error tells its class, message, frames and traceback") {
  Session s;
  Value f = after(s,
                  "def inner(x):\n"
                  "    return 1 / x\n"
                  "def outer(x):\n"
                  "    return inner(x) + 1\n",
                  "outer");
  Result<Value> r = f(0);
  REQUIRE_FALSE(r);
  const Error& e = r.error();
  CHECK(e.type() == "ZeroDivisionError");
  CHECK(e.message() == "division by zero");
  CHECK(e.is("ArithmeticError"));
  CHECK(e.is("Exception"));
  CHECK_FALSE(e.is("ValueError"));
  REQUIRE(e.frames().size() == 2);
  CHECK(e.frames()[0].function == "outer");
  CHECK(e.frames()[1].function == "inner");
  CHECK(e.frames()[1].file == "<string>");
  CHECK(e.frames()[1].line == 2);
  CHECK(e.frames()[1].column == 12);
  CHECK(e.frames()[1].text == "return 1 / x");
  CHECK(e.traceback() ==
        "Traceback (most recent call last):\n"
        "  File \"<string>\", line 4, in outer\n"
        "    return inner(x) + 1\n"
        "           ^^^^^^^^\n"
        "  File \"<string>\", line 2, in inner\n"
        "    return 1 / x\n"
        "           ~~^~~\n"
        "ZeroDivisionError: division by zero\n");
  CHECK(f(1).value().as_float() == 2.0);
}

TEST_CASE("errors of syntax, of files and of exit are errors like others") {
  Session s;
  CHECK(s.run("x = = 1", "config.ouro").error().is("SyntaxError"));
  CHECK(s.run("x = = 1", "config.ouro").error().traceback().find("config.ouro") != std::string::npos);
  CHECK(s.run_file("/no/such/file.ouro").error().type() == "FileNotFoundError");
  Error e = s.run("import sys; sys.exit(3)").error();
  CHECK(e.type() == "SystemExit");
  CHECK_FALSE(e.is("Exception"));
  CHECK(s.run("class Odd(ValueError): pass\nraise Odd('so')").error().is("ValueError"));
  CHECK(s.run("x = 1"));
}

TEST_CASE("endless recursion is an error") {
  Session s;
  CHECK(s.run("def f(): return f()\nf()").error().type() == "RecursionError");
}

TEST_CASE("an error of a host function is raised in the script") {
  Session s;
  CHECK(s.define("fail", [](const Call& c) -> Result<Value> { return Error(*c[0].as_str(), "from the host"); }));
  Value v = after(s,
                  "try:\n    fail('KeyError')\nexcept LookupError as e:\n    v = repr(e)\n"
                  "try:\n    fail('Unheard')\nexcept RuntimeError as e:\n    w = repr(e)\n",
                  "v");
  CHECK(v.as_str() == "KeyError('from the host')");
  CHECK(s.get("w").value().as_str() == "RuntimeError('from the host')");
  CHECK(Error("KeyError", "").is("LookupError"));
  Error e = s.run("def g(): fail('ValueError')\ng()").error();
  CHECK(e.frames().back().function == "g");
}

TEST_CASE("an error that passes through a host function stays the same exception") {
  Session s;
  CHECK(s.define("through", [](const Call& c) -> Result<Value> { return c[0](); }));
  Value same = after(s,
                     "problem = ValueError('mine')\n"
                     "def f(): raise problem\n"
                     "try:\n    through(f)\nexcept ValueError as e:\n    same = e is problem\n",
                     "same");
  CHECK(same.as_bool() == true);
  Error e = s.run("def f(): raise KeyError('again')\nthrough(f)").error();
  REQUIRE(e.frames().size() == 2);
  CHECK(e.frames()[1].function == "f");
}

TEST_CASE("C++ exceptions of host functions become RuntimeError") {
  Session s;
  CHECK(s.define("standard", [](const Call&) -> Result<Value> { throw std::out_of_range("too far"); }));
  CHECK(s.define("odd", [](const Call&) -> Result<Value> { throw 5; }));
  CHECK(s.run("standard()").error().message() == "too far");
  CHECK(s.run("odd()").error().type() == "RuntimeError");
}
