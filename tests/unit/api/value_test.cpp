#include "fixture.h"

using namespace ouro;

TEST_CASE("results of each kind are read as C++ values") {
  Session s;
  Value v = after(s, "v = [None, True, 7, 2.5, 'gr\\u00fc\\u00dfe', b'\\0x', (1, 2), {'a': 1}, {3}, 2 ** 70]", "v");
  auto at = [&](int i) { return v.item(i).value(); };
  CHECK(v.kind() == Kind::list);
  CHECK(v.size().value() == 10);
  CHECK(at(0).is_none());
  CHECK(at(1).as_bool() == true);
  CHECK(at(2).as_int() == 7);
  CHECK(at(2).as_float() == 7.0);
  CHECK(at(3).as_float() == 2.5);
  CHECK_FALSE(at(3).as_int());
  CHECK(at(4).as_str() == "gr\u00fc\u00dfe");
  CHECK(at(5).as_bytes() == std::string_view("\0x", 2));
  CHECK(at(6).items().value()[1].as_int() == 2);
  CHECK(at(7).item("a").value().as_int() == 1);
  CHECK(at(7).item("b").error().type() == "KeyError");
  CHECK(at(8).kind() == Kind::set);
  CHECK(at(9).kind() == Kind::integer);
  CHECK_FALSE(at(9).as_int());
  CHECK(s.text(at(9)).value() == "1180591620717411303424");
  CHECK(s.repr(at(4)).value() == "'gr\u00fc\u00dfe'");
}

TEST_CASE("arguments of each kind arrive in the script") {
  Session s;
  Value f = after(s, "def f(*a, **k): return repr((a, k))", "f");
  Value list = s.list(std::vector<Value>{1, 2.5}).value();
  Value dict = s.dict(std::vector<std::pair<Value, Value>>{{s.str("k").value(), list}}).value();
  CHECK(f(Value(), true, 3, 0.5f, "text", list, dict).value().as_str() ==
        "((None, True, 3, 0.5, 'text', [1, 2.5], {'k': [1, 2.5]}), {})");
  CHECK(f.call({}, std::vector<std::pair<std::string_view, Value>>{{"x", 1}}).value().as_str() == "((), {'x': 1})");
  CHECK(f(s.tuple({}).value(), s.bytes("ab").value()).value().as_str() == "(((), b'ab'), {})");
}

TEST_CASE("objects are read, changed and called") {
  Session s;
  Value counter = after(s,
                        "class Counter:\n"
                        "    def __init__(self): self.n = 0; self.names = {}\n"
                        "    def add(self, k, by=1):\n"
                        "        self.n += k * by\n"
                        "        return self.n\n",
                        "Counter")()
                      .value();
  CHECK(counter.kind() == Kind::object);
  CHECK(counter.call_method("add", 2).value().as_int() == 2);
  CHECK(counter.set_attr("n", 40));
  CHECK(counter.attr("add")
            .value()
            .call(std::vector<Value>{1}, std::vector<std::pair<std::string_view, Value>>{{"by", 2}})
            .value()
            .as_int() == 42);
  CHECK(counter.attr("names").value().set_item("key", "value"));
  CHECK(counter.attr("names").value().item("key").value().as_str() == "value");
  CHECK(counter.attr("missing").error().type() == "AttributeError");
}

TEST_CASE("names of main, builtins and modules") {
  Session s;
  CHECK(s.set("x", 20));
  CHECK(s.set("word", "yes"));
  CHECK(after(s, "y = x * 2 + len(word)", "y").as_int() == 43);
  CHECK(s.get("nothing").error().message() == "name 'nothing' is not defined");
  CHECK(s.get("len").value()("four").value().as_int() == 4);
  CHECK(s.import("math").value().attr("pi").value().as_float() == 3.141592653589793);
  CHECK(s.import("no.such").error().is("ImportError"));
  CHECK(s.import("ouro.nn").value().kind() == Kind::module);
}

TEST_CASE("values outlive their session and are still readable") {
  Value text, list;
  {
    Session s;
    list = after(s, "v = ['kept' * 2]", "v");
    text = list.item(0).value();
  }
  CHECK(text.as_str() == "keptkept");
  CHECK(list.item(0).error().message() == "the session has ended");
}

TEST_CASE("a value of another session is refused") {
  Session a, b;
  Value list = a.list({}).value();
  Value f = after(b, "f = len", "f");
  CHECK(f(list).error().type() == "ValueError");
  CHECK(b.set("x", list).error().type() == "ValueError");
  CHECK(b.repr(list).error().type() == "ValueError");
}

TEST_CASE("finalizers run when the session ends") {
  std::string seen;
  {
    Session s;
    CHECK(s.define("seen", [&](const Call& c) -> Result<Value> {
      seen += *c[0].as_str();
      return Value();
    }));
    CHECK(s.run("class A:\n    def __del__(self, seen=seen): seen('gone')\na = A()"));
    CHECK(seen.empty());
  }
  CHECK(seen == "gone");
}

TEST_CASE("a host's text that is no UTF-8 is refused with the byte and its place") {
  Session s;
  const std::string wrong = "the text is no UTF-8: byte 0xff at position 3: invalid start byte";
  const std::string_view bad = "abc\xff";
  auto refused = [&](const auto& result) {
    REQUIRE(!result);
    CHECK(result.error().type() == "ValueError");
    CHECK(result.error().message() == wrong);
  };
  Value f = after(s, "class A: pass\na = A()\ndef f(*x, **k): return (x, k)", "f"), a = s.get("a").value();
  refused(s.str(bad));
  refused(s.run("x = 1", bad));
  refused(s.import(bad));
  refused(s.get(bad));
  refused(s.set(bad, 1));
  refused(s.set("x", bad));
  refused(s.function(bad, [](const Call&) -> Result<Value> { return Value(); }));
  refused(s.define(bad, [](const Call&) -> Result<Value> { return Value(); }));
  refused(s.set_demand(bad, "1"));
  refused(s.set_demand("threads", bad));
  refused(f(1, bad));
  const std::pair<std::string_view, Value> keywords[] = {{bad, 1}};
  refused(f.call({}, keywords));
  refused(a.attr(bad));
  refused(a.set_attr(bad, 1));
  refused(a.set_attr("x", bad));
  refused(a.call_method(bad));
  refused(a.item(bad));
  refused(a.set_item(1, bad));
  CHECK(s.str("\xed\xa0\x80").error().message() ==
        "the text is no UTF-8: byte 0xed at position 0: invalid continuation byte");
  CHECK(s.str("\xc3").error().message() == "the text is no UTF-8: byte 0xc3 at position 0: unexpected end of data");
  CHECK(s.bytes(bad).value().as_bytes() == bad);
  CHECK(s.str("caf\xc3\xa9").value().as_str() == "caf\xc3\xa9");
  // What is only told is shown.
  s.define("fail", [&](const Call&) -> Result<Value> { return Error("ValueError", bad); }).value();
  s.define("throws", [&](const Call&) -> Result<Value> { throw std::runtime_error(std::string(bad)); }).value();
  CHECK(after(s, "try: fail()\nexcept ValueError as e: t = repr(e)", "t").as_str() == "ValueError('abc\\\\xff')");
  CHECK(after(s, "try: throws()\nexcept RuntimeError as e: t = repr(e)", "t").as_str() == "RuntimeError('abc\\\\xff')");
  CHECK(s.run("raise ValueError('\\udcff')").error().message() == "\\udcff");
  CHECK(s.run("x = '\xff'").error().is("SyntaxError"));
  // Paths are the system's: any bytes.
  CHECK(s.run_file("/missing\xff").error().message() == "[Errno 2] No such file or directory: '/missing\\udcff'");
  Options o;
  o.argv = {"caf\xe9"};
  o.path = {"/folder\xff"};
  Session t(o);
  CHECK(after(t, "import sys\nr = ascii(sys.argv + sys.path)", "r").as_str() == "['caf\\udce9', '/folder\\udcff']");
}
