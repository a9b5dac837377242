// Dicts, sets, hidden classes, the cycle collector.
#include <catch2/catch.hpp>

#include "runtime/object/collect.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/lookup.h"

using namespace ouro;
using namespace ouro::runtime;

namespace {
struct Tables {
  Session s;
  SessionScope scope{s};
};
std::string shown(Session& s, const Value& v) { return repr_text(s, v); }
}  // namespace

TEST_CASE("dict_keeps_the_order_of_insertion_through_deletion_and_growth", "[runtime]") {
  Tables m;
  Value d = make_dict();
  for (int i = 0; i < 1000; ++i) REQUIRE(dict_set(m.s, d.as<Dict>(), Value::integer(i), Value::integer(i * i)));
  for (int i = 0; i < 1000; i += 2) CHECK(dict_delete(m.s, d.as<Dict>(), Value::integer(i)) == 1);
  CHECK(dict_delete(m.s, d.as<Dict>(), Value::integer(0)) == 0);
  CHECK(d.as<Dict>()->used == 500);
  size_t pos = 0;
  Value *k, *v;
  int64_t expected = 1;
  while (dict_next(d.as<Dict>(), pos, k, v)) {
    CHECK(k->as_int() == expected);
    CHECK(v->as_int() == expected * expected);
    expected += 2;
  }
  CHECK(expected == 1001);
}

TEST_CASE("dict_used_as_a_stack_of_ever_new_keys_stays_findable", "[runtime]") {
  Tables m;
  Value d = make_dict();
  for (int i = 0; i < 20000; ++i) {
    REQUIRE(dict_set(m.s, d.as<Dict>(), Value::integer(i * 7919), Value::none()));
    if (i % 3) REQUIRE(dict_delete(m.s, d.as<Dict>(), Value::integer(i * 7919)) == 1);
    REQUIRE(dict_contains(m.s, d.as<Dict>(), Value::integer(-5)) == 0);
  }
}

TEST_CASE("dict_keys_equal_across_number_types", "[runtime]") {
  Tables m;
  Value d = make_dict();
  REQUIRE(dict_set(m.s, d.as<Dict>(), Value::integer(1), make_str("int")));
  REQUIRE(dict_set(m.s, d.as<Dict>(), Value::floating(1.0), make_str("float")));
  REQUIRE(dict_set(m.s, d.as<Dict>(), Value::boolean(true), make_str("bool")));
  CHECK(shown(m.s, d) == "{1: 'bool'}");
  CHECK_FALSE(dict_set(m.s, d.as<Dict>(), make_list(), Value::none()));
  CHECK(pending_is(m.s, ExcKind::TypeError));
  clear_pending(m.s);
}

TEST_CASE("set_order_is_that_of_cpythons_table", "[runtime]") {
  Tables m;
  Value t = make_set();
  for (const char* w : {"banana", "apple", "cherry", "date", "elderberry", "fig", "grape"})
    set_add(m.s, t.as<Set>(), make_str(w));
  // What CPython 3.11 with PYTHONHASHSEED=0 prints after the same additions.
  CHECK(shown(m.s, t) == "{'banana', 'apple', 'cherry', 'fig', 'date', 'grape', 'elderberry'}");
  Value n = make_set();
  for (int i : {33, 1, 9, 17, 25}) set_add(m.s, n.as<Set>(), Value::integer(i));
  CHECK(shown(m.s, n) == "{33, 1, 9, 17, 25}");
}

TEST_CASE("instances_with_the_same_attributes_share_a_hidden_class", "[runtime]") {
  Tables m;
  Value ns = make_dict();
  Value c = make_class(m.s, make_str("C"), make_tuple(), ns, {});
  REQUIRE_FALSE(c.is_error());
  Value a = new_instance(m.s, c.as<Type>()), b = new_instance(m.s, c.as<Type>());
  Symbol x = intern("x"), y = intern("y");
  for (const Value* v : {&a, &b}) {
    REQUIRE(set_attr(m.s, *v, x, Value::integer(1)));
    REQUIRE(set_attr(m.s, *v, y, Value::integer(2)));
  }
  CHECK(a.as<Instance>()->shape == b.as<Instance>()->shape);
  REQUIRE(del_attr(m.s, a, x));
  CHECK(a.as<Instance>()->shape == nullptr);  // its attributes are in a dict now
  CHECK(get_attr(m.s, a, y).as_int() == 2);
  CHECK(get_attr(m.s, a, x).is_error());
  clear_pending(m.s);
}

TEST_CASE("collector_frees_cycles_and_keeps_what_is_held", "[runtime]") {
  Tables m;
  Value held = make_list();
  {
    Value a = make_list(), b = make_dict();
    a.as<List>()->push(b);
    REQUIRE(dict_set(m.s, b.as<Dict>(), Value::integer(1), a));
    a.as<List>()->push(held);
    held.as<List>()->push(Value::integer(5));
  }
  CHECK(held.object()->refs == 2);
  CHECK(collect(m.s) == 2);
  CHECK(held.object()->refs == 1);
  CHECK(held.as<List>()->size == 1);
  CHECK(collect(m.s) == 0);
}

TEST_CASE("a_long_chain_of_objects_is_freed_without_deep_recursion", "[runtime]") {
  Tables m;
  Value head = Value::none();
  for (int i = 0; i < 2000000; ++i) head = make_tuple({std::move(head)});
  head = Value();
  SUCCEED();
}

TEST_CASE("c3_refuses_inconsistent_bases", "[runtime]") {
  Tables m;
  Value ns = make_dict();
  Value a = make_class(m.s, make_str("A"), make_tuple(), ns, {});
  Value b = make_class(m.s, make_str("B"), make_tuple({a}), ns, {});
  CHECK(make_class(m.s, make_str("C"), make_tuple({a, b}), ns, {}).is_error());
  CHECK(text_of(m.s, m.s.pending).starts_with("Cannot create a consistent method resolution"));
  clear_pending(m.s);
  Value ok = make_class(m.s, make_str("D"), make_tuple({b, a}), ns, {});
  REQUIRE_FALSE(ok.is_error());
  CHECK(ok.as<Type>()->mro.size() == 4);
}
