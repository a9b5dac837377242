// max(), min() and sorted() on abstract values: the order is known now, or the interpreter's function tells it when the
// call runs.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "jit/specialise/execute/native_table.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;
using Arguments = std::vector<AVal>;

namespace {

// What the interpreter compares without running a script: numbers, texts, and tuples of these.
bool comparable(Specialiser& s, const std::vector<AVal>& keys) {
  const auto kind_of_key = [&](const AVal& v) {
    const ir::Type* t = s.type_of(v);
    return s.is_number(v)                             ? 1
           : t && t->kind == ir::TypeKind::string     ? 2
           : v.is(AKind::tuple) && !v.extends_tuple() ? 3
                                                      : 0;
  };
  const int kind = keys.empty() ? 1 : kind_of_key(keys[0]);
  if (!kind || std::ranges::any_of(keys, [&](const AVal& v) { return kind_of_key(v) != kind; })) return false;
  if (kind != 3) return true;
  const size_t n = keys[0].items().size();
  if (std::ranges::any_of(keys, [&](const AVal& v) { return v.items().size() != n; })) return false;
  for (size_t i = 0; i < n; ++i) {
    std::vector<AVal> column;
    for (const AVal& v : keys) column.push_back(v.items()[i]);
    if (!comparable(s, column)) return false;
  }
  return true;
}
ir::Atom key_atom(Specialiser& s, const AVal& key) {
  if (!key.is(AKind::tuple)) return s.atom(key);
  std::vector<ir::Atom> parts;
  for (const AVal& v : key.items()) parts.push_back(key_atom(s, v));
  return s.code.let(prim::tuple, parts, 0, nullptr, s.span);
}
// max, min or sorted of the places of some keys, by these: what the interpreter's function tells when the call runs.
AVal places_by(Specialiser& s, std::string_view function, const std::vector<AVal>& keys, Keywords keywords,
               const ir::Type* type) {
  const bool plain = comparable(s, keys);
  std::vector<ir::Atom> atoms;
  std::vector<AVal> places;
  for (const AVal& key : keys) {
    places.push_back(AVal::of(Value::integer(static_cast<int64_t>(places.size()))));
    if (plain) atoms.push_back(key_atom(s, key));
  }
  const AVal list =
      plain ? AVal::dynamic(s.code.let(prim::list, atoms, 0, nullptr, s.span), nullptr) : s.new_list(keys);
  const AVal item = AVal::of(runtime::type_lookup(s.session, s.session.type(ObjectKind::list), intern("__getitem__")));
  keywords.push_back({intern("key"), plain ? s.emit(prim::attr_get, {list}, nullptr, intern("__getitem__").id())
                                           : AVal::compound(AKind::bound, {item, list})});
  const AVal f = AVal::of(runtime::builtin(s.session, intern(function), false));
  return plain ? s.emit_call(f, {AVal::tuple(places)}, keywords, type)
               : s.boxed_call(f, {AVal::tuple(places)}, keywords, type);
}
// The most of tensors of one element and type: what the comparisons choose, element by element. Unbound: they are none.
AVal most_of_tensors(Specialiser& s, const std::vector<AVal>& items, bool most) {
  for (const AVal& v : items)
    if (!s.is_tensor(v) || v.type->rank() != 0 || v.type != items[0].type) return {};
  AVal best = items[0];
  for (size_t i = 1; i < items.size(); ++i)
    best = s.tensor_op("where", {s.compare(most ? prim::gt : prim::lt, items[i], best), items[i], best});
  return best;
}
// max() and min(). Which one it is is known where the comparisons are; of numbers of one type the interpreter's
// function tells when the call runs.
AVal extreme(Specialiser& s, const Arguments& a, const Keywords& k, bool most) {
  AVal key = AVal::of(Value::none()), otherwise;
  for (const auto& [name, v] : k) {
    if (name.text() != "key" && name.text() != "default")
      s.abandon(Reason::raises, "max or min is called with other arguments");
    (name.text() == "key" ? key : otherwise) = v;
  }
  const bool by_itself = key.is(AKind::known) && key.known.is_none();
  std::vector<AVal> items, keys;
  AVal best, best_key;
  bool decided = true;
  const auto look = [&](const AVal& item) {  // each is asked for and compared before the next one is
    items.push_back(item);
    const AVal of = by_itself ? item : s.call(key, {item});
    keys.push_back(of);
    if (!decided) return true;
    if (items.size() > 1) {
      const AVal better = s.truth(s.compare(most ? prim::gt : prim::lt, of, best_key));
      decided = s.concrete(better) || s.may_run_scripts(of) || s.may_run_scripts(best_key) ||
                (!(by_itself && s.is_number(item)) && s.may_pin(better));
      if (decided && !s.need_constant(better, "decides which is more").as_bool()) return true;
    }
    best = item;
    best_key = of;
    return true;
  };
  if (a.size() > 1)
    for (const AVal& item : a) look(item);
  else
    s.each_item(a.at(0), "is compared", look);
  if (items.empty() && otherwise.is(AKind::unbound)) s.abandon(Reason::raises, "max or min of nothing");
  if (items.empty()) return otherwise;
  if (decided) return best;
  if (by_itself)
    if (AVal chosen = most_of_tensors(s, items, most); !chosen.is(AKind::unbound)) return chosen;
  const char* function = most ? "max" : "min";
  if (!by_itself || !std::ranges::all_of(items, [&](const AVal& v) { return s.is_number(v); }))
    return s.chosen(*s.choice_among(items, false, true), places_by(s, function, keys, {}, ir::types::integer()));
  const ir::Type* type = s.type_of(items[0]);
  const bool alike = std::ranges::all_of(items, [&](const AVal& v) { return s.type_of(v) == type; });
  return s.of_builtin(function, items, alike ? type : nullptr);
}
// The items in the order of their keys, which the program computes: the interpreter's function tells it.
AVal ordered_when_run(Specialiser& s, const std::vector<AVal>& items, const std::vector<AVal>& keys, bool by_itself,
                      bool backwards) {
  const Keywords direction{{intern("reverse"), AVal::of(Value::boolean(backwards))}};
  std::vector<AVal> out;
  const auto place = [&](const AVal& list, const ir::Type* type) {
    return s.emit(prim::item_get, {list, AVal::of(Value::integer(static_cast<int64_t>(out.size())))}, type);
  };
  const ir::Type* type = s.type_of(items[0]);
  if (by_itself && s.is_number(items[0]) &&
      std::ranges::all_of(items, [&](const AVal& v) { return s.type_of(v) == type; })) {
    const auto all = s.choice_among(items, false, false);
    const AVal list =
        s.emit_call(AVal::of(runtime::builtin(s.session, intern("sorted"), false)), {all->all}, direction);
    while (out.size() < items.size()) out.push_back(place(list, type));
  } else {
    const AVal order = places_by(s, "sorted", keys, direction, nullptr);
    const auto among = s.choice_among(items, false, true);
    while (out.size() < items.size()) out.push_back(s.chosen(*among, place(order, ir::types::integer())));
  }
  return s.new_list(std::move(out));
}

}  // namespace

AVal most_of(Specialiser& s, const Arguments& a, const Keywords& k) { return extreme(s, a, k, true); }
AVal least_of(Specialiser& s, const Arguments& a, const Keywords& k) { return extreme(s, a, k, false); }

// The order is known where the keys are, or can be.
AVal sorted_of(Specialiser& s, const Arguments& a, const Keywords& k) {
  AVal key = AVal::of(Value::none()), reverse = AVal::of(Value::boolean(false));
  for (const auto& [name, v] : k) {
    if (name.text() != "key" && name.text() != "reverse")
      s.abandon(Reason::raises, "a sort with other arguments than it takes");
    (name.text() == "key" ? key : reverse) = v;
  }
  const ir::Type* t = s.type_of(reverse);
  if (!t) s.abandon(Reason::unknown_value, "the direction of a sort is a value whose type is not known");
  if (t->kind != ir::TypeKind::integer && t->kind != ir::TypeKind::boolean)
    s.abandon(Reason::raises, "a sort in a direction that is no int");
  const AVal direction = s.truth(reverse);
  if (!s.concrete(direction)) s.abandon(Reason::computed_test, "a sort in a computed direction");
  const bool backwards = direction.known.as_bool(), by_itself = key.is(AKind::known) && key.known.is_none();
  std::vector<AVal> items = s.sized_items_of(a.at(0), "is sorted"), keys;
  // NaN compares with nothing: only the runtime's own sort puts it where it does.
  const auto known = [&](const AVal& of) {
    const auto v = s.concrete(of);
    return v ? !v->is_float() || !std::isnan(v->as_float()) : s.is_number(of) && s.may_pin(of);
  };
  for (const AVal& item : items) keys.push_back(by_itself ? item : s.call(key, {item}));
  if (!std::ranges::all_of(keys, known)) return ordered_when_run(s, items, keys, by_itself, backwards);
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  if (backwards) std::ranges::reverse(order);  // equal ones keep their order
  std::ranges::stable_sort(order, [&](size_t x, size_t y) {
    return s.need_constant(s.truth(s.compare(prim::lt, keys[x], keys[y])), "decides an order").as_bool();
  });
  if (backwards) std::ranges::reverse(order);
  std::vector<AVal> out;
  for (const size_t at : order) out.push_back(items[at]);
  return s.new_list(std::move(out));
}

}  // namespace ouro::jit
