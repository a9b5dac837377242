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
