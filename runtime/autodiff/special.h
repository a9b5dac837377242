// The function that a primitive calls when its operands are objects of script classes, or containers whose items are
// places: a function of stdlib/protocol.ouro or of stdlib/grad_rules. Reverse mode differentiates that function in
// place of the primitive. The choice is written once, for values (forward.cpp) and for the specialiser's abstract
// values (jit/specialise/execute/special.cpp), which say through `Operands` what they know of them.
#pragma once

#include <string>
#include <string_view>

#include "ir/prim.h"
#include "runtime/protocol/in_ouro.h"

namespace ouro::runtime::autodiff {

struct Called {
  // form: a rule that is a forward form itself; recorded: the primitive, and what it calls (recording.h)
  enum class By : uint8_t { nothing, text, rule, form, recorded };
  By by = By::nothing;
  std::string function{};
};

// The special method that the other operand of a comparison is asked for.
inline std::string_view swapped(ir::Op op) {
  switch (static_cast<uint16_t>(op)) {
#define COMPARE(id, ast, symbol, special, other) \
  case ir::prim::id##_:                          \
    return "__" #other "__";
#include "ir/operators.inc"
    default:
      return {};
  }
}

// clang-format off
// Operands:
//   size_t count()
//   bool scripted(i)             an object of a script class
//   bool extends_container(i)    an object of a script class that extends one and is iterated over as that
//   bool list(i), tuple(i), dict(i), set(i), slice(i), tensor(i)
//   bool gradient(i)             a record (autodiff.h)
//   bool asked_as_key(i)         its class has a __hash__ or __eq__ that is written in a script
//   bool has(i, special)         its class has that special method, written in a script
//   bool asks(i, special)        it may have it, to be called with nothing but its operands
//   bool holds_objects(i)        a container that may have objects of script classes in it
//   bool by_index()              an item of a list, tuple, text, range or bytes, taken by a script's __index__
//   bool drawn(i)                taken apart by drawing items: iterators, sets, objects
//   bool iterator_of_script(i)   drawn from by a method of a script class
//   bool load_asks(), store_asks(), delete_asks()   attr.get, .set and .del of an object (attr.set of a class, too)
//                                run a script
//   bool load_of_class_asks()    attr.get of a class runs a script: of its metaclass, a descriptor's
//   bool stores_in_class()       attr.set of a script class
//   bool value_method()          attr.get of a tensor, a float or an object that extends tuple: a method that holds it
//   bool called_value()         a call of an object that extends tuple, by its class's __call__
//   bool identified()            such a method is an object, with places of its own
//   bool data_of_class()         attr.get of what differentiated code put into a class
//   bool slots_by_item()         attr.get and .set of an object whose items have slots: it extends a list, dict or set
//   bool dict_of_class()         attr.get of a class's __dict__, which is made for it
//   bool computed()              attr.get of what a built-in class computes
//   bool missing()               a dict whose class has __missing__
//   bool made_generic()          a class with __class_getitem__
//   std::string_view text(i)     of a str
// clang-format on
template <class Operands>
Called called_by(ir::Op op, const Operands& on) {
  namespace prim = ir::prim;
  using By = Called::By;
  const auto text = [](std::string_view f) { return Called{By::text, std::string(f)}; };
  const auto rule = [](std::string_view f) { return Called{By::rule, std::string(f)}; };
  const auto in_protocol = [&] { return text(name_in_protocol(ir::kPrims[static_cast<size_t>(op)].name)); };
  const auto of_slice = [&](std::string_view special, std::string_view function, const Called& of_list) -> Called {
    if (on.has(0, special)) return text(function);
    return on.list(0) && on.slice(1) ? of_list : Called{};
  };
  if (ir::is_operator(op)) {
    bool any = false, lists = false, dicts = false, sets = false;
    for (size_t i = 0; i < on.count(); ++i) {
      any = any || on.scripted(i);
      lists = lists || on.list(i);
      dicts = dicts || on.dict(i);
      sets = sets || on.set(i);
    }
    if (any) return in_protocol();
    if (on.count() < 2) return {};
    if (sets && (on.holds_objects(0) || on.holds_objects(1))) return {By::recorded};
    if (dicts && op == prim::or_) return rule("dict_or");
    if (dicts && op == prim::ior_) return rule("dict_ior");
    if (!lists) return {};
    if (op == prim::add) return rule("list_add");
    if (op == prim::iadd) return rule("list_iadd");
    if (op == prim::mul) return rule("list_mul");
    if (op == prim::imul) return rule("list_imul");
    return {};
  }
  if (ir::is_test(op)) {
    const auto measured = [&] { return on.asks(0, "__bool__") || on.asks(0, "__len__"); };
    if (op == prim::truth) return measured() ? text("truth") : Called{};
    if (op == prim::not_) return measured() ? rule("negated") : Called{};
    if (op == prim::length) return on.asks(0, "__len__") ? text("length") : Called{};
    const bool in = op == prim::in || op == prim::not_in;
    if (in && (on.asks(1, "__contains__") || on.asks(1, "__iter__") || on.asks(1, "__getitem__") ||
               on.asks(0, "__eq__") || on.asks(0, "__hash__")))
      return rule(op == prim::in ? "contained" : "not_contained");
    if (!in && (on.scripted(0) || on.scripted(1))) {
      const std::string name = name_in_protocol(ir::kPrims[static_cast<size_t>(op)].name);
      const std::string_view other = op == prim::ne ? "__eq__" : swapped(op);
      if (on.asks(0, name) || on.asks(1, name) || on.asks(0, other) || on.asks(1, other)) return text(name);
    }
    const bool keyed = in && !on.list(1) && !on.tuple(1);
    return on.holds_objects(0) || (!keyed && on.holds_objects(1)) ? Called{By::recorded} : Called{};
  }
  if (op == prim::set || op == prim::dict || op == prim::set_add || op == prim::dict_set) {  // what the keys are asked
    const size_t step = op == prim::dict ? 2 : 1, end = op == prim::dict_set ? 2 : on.count();
    for (size_t i = 0; i < end; i += step)
      if (on.asks(i, "__hash__") || on.asks(i, "__eq__") || on.holds_objects(i)) return {By::recorded};
    return {};
  }
  if (op == prim::attr_del) return on.delete_asks() ? text("delete") : Called{};
  if (op == prim::match_keys || op == prim::match_rest || op == prim::match_class) return in_protocol();
  if (op == prim::with_methods) return on.scripted(0) ? in_protocol() : Called{};
  if (op == prim::format) return on.scripted(0) ? in_protocol() : on.holds_objects(0) ? Called{By::recorded} : Called{};
  if (op == prim::call) {  // of its callee alone: what is called in its place, which holds it
    if (!on.called_value()) return {};
    return on.identified() ? Called{By::form, "called_value_form"} : rule("called_value");
  }
  if (op == prim::attr_get) {
    if (on.data_of_class()) return {By::form, "class_data_form"};
    if (on.tensor(0)) {
      const std::string_view name = on.text(1);
      if (name == "T" || name == "mT" || name == "H") return rule("tensor_attr");
    }
    if (on.value_method()) return on.identified() ? Called{By::form, "value_method_form"} : rule("value_method");
    if (on.dict_of_class()) return {By::form, "class_dict_form"};
    if (on.load_of_class_asks()) return text("load_of_class");
    if (on.load_asks()) return text("load");
    if (on.computed()) return {By::form, "computed_form"};
    return on.slots_by_item() ? Called{By::form, "attribute_form"} : Called{};
  }
  if (op == prim::attr_set) {
    if (on.store_asks()) return text("store");
    if (on.stores_in_class()) return {By::form, "class_store_form"};
    return on.slots_by_item() ? Called{By::form, "attribute_store_form"} : Called{};
  }
  if (op == prim::item_get && on.gradient(0)) return rule("gradient_item");
  if (op == prim::iter && on.gradient(0)) return rule("gradient_iterator");
  if (op == prim::item_get && !on.has(0, "__getitem__")) {
    if (on.missing()) return rule("item_or_missing");
    if (on.made_generic()) return rule("class_item");
  }
  const bool item = op == prim::item_get || op == prim::item_set || op == prim::item_del;
  if (item && on.by_index())
    return rule(op == prim::item_get   ? "item_by_index"
                : op == prim::item_set ? "set_item_by_index"
                                       : "del_item_by_index");
  // What a key is asked.
  if (item && on.dict(0) && on.asked_as_key(1) && !on.has(0, "__getitem__") && !on.has(0, "__setitem__") &&
      !on.has(0, "__delitem__"))
    return rule(op == prim::item_get ? "dict_item" : op == prim::item_set ? "set_dict_item" : "delete_dict_item");
  if (op == prim::item_get) return of_slice("__getitem__", "item", rule("list_slice"));
  if (op == prim::item_set) return of_slice("__setitem__", "set_item", text("set_slice"));
  if (op == prim::item_del) return of_slice("__delitem__", "delete_item", text("delete_slice"));
  if (op == prim::update) {
    if (on.by_index() || (on.list(0) && on.slice(1))) return rule("update_call");
    if (!on.text(3).empty() && on.missing()) return rule("update_call");
    if (on.dict(0) && on.asked_as_key(1)) return rule("update_call");
    return on.has(0, on.text(3).empty() ? "__setitem__" : "__getitem__") ? rule("update_call") : Called{};
  }
  if (op == prim::iter) return on.scripted(0) && !on.extends_container(0) ? text("iterator") : Called{};
  if (op == prim::iter_next)
    return on.iterator_of_script(0) ? rule(on.identified() ? "step_or_end" : "next_of_generator") : Called{};
  if (op == prim::move) return on.drawn(0) || on.gradient(0) ? rule("drawn_list") : Called{};
  return {};
}

}  // namespace ouro::runtime::autodiff
