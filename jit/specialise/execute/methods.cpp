// The table of methods of built-in classes: how each is executed on abstract values.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/execute/native_table.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::ObjectKind;
using Keywords = std::vector<std::pair<Symbol, AVal>>;
using Arguments = std::vector<AVal>;

void put_all(Specialiser& s, const AVal& d, const Arguments& a, const Keywords& k) {
  if (!a.empty() && !s.merge_mapping(d, a[0]))
    s.each_item(a[0], "becomes a dict", [&](const AVal& pair) {
      auto kv = s.items_of(pair, "is a pair");
      if (kv.size() != 2) s.abandon(Reason::raises, "a pair of another length");
      s.set_item(d, kv[0], kv[1]);
      return true;
    });
  for (const auto& [name, v] : k) s.set_item(d, AVal::of(s.session.str(name)), v);
}
namespace {

AVal m_list_append(Specialiser& s, const Arguments& a, const Keywords&) {
  s.list_append(a.at(0), a.at(1));
  return AVal::of(Value::none());
}
AVal m_list_extend(Specialiser& s, const Arguments& a, const Keywords&) {
  s.list_extend(a[0], a.at(1));
  return AVal::of(Value::none());
}
// The list, dict or set that a method writes to.
AObject& followed(Specialiser& s, const AVal& a, std::string_view what) {
  if (!a.is(AKind::ref)) s.abandon(Reason::container, fmt::format("{} that is not followed", what));
  if (s.read(a.heap).poisoned) s.abandon_torn(s.read(a.heap), what);
  return s.write(a.heap);
}
AVal m_list_insert(Specialiser& s, const Arguments& a, const Keywords&) {
  const int64_t at = s.need_int(a.at(1), "is an index");
  followed(s, a[0], "a list");
  AObject& o = s.change(a[0].heap);
  const int64_t n = static_cast<int64_t>(o.items.size());
  std::vector<AVal> items = o.items.items();
  items.insert(items.begin() + std::clamp<int64_t>(at < 0 ? at + n : at, 0, n), a.at(2));
  o.items = std::move(items);
  return AVal::of(Value::none());
}
// sep.join(texts): what the texts come from is followed.
AVal m_str_join(Specialiser& s, const Arguments& a, const Keywords&) {
  const AVal f = AVal::of(runtime::type_lookup(s.session, s.session.type(ObjectKind::str), intern("join")));
  if (a[1].is(AKind::dynamic) || !s.is_text(a[0])) return s.boxed_call(f, a, {});
  const AVal parts = AVal::tuple(s.sized_items_of(a[1], "is joined"));
  const bool texts = std::ranges::all_of(parts.items(), [&](const AVal& v) { return s.is_text(v); });
  if (const auto sep = s.concrete(a[0]), all = s.concrete(parts); texts && sep && all)
    return AVal::of(runtime::call(s.session, f.known, runtime::Args{std::vector<Value>{*sep, *all}, {}, {}}));
  return texts ? s.pure_call(f, {a[0], parts}, {}, ir::types::string()) : s.boxed_call(f, {a[0], parts}, {});
}
AVal m_getitem(Specialiser& s, const Arguments& a, const Keywords&) { return s.get_item(a.at(0), a.at(1)); }
AVal m_contains(Specialiser& s, const Arguments& a, const Keywords&) { return s.compare(prim::in, a.at(1), a.at(0)); }
AVal m_iter(Specialiser& s, const Arguments& a, const Keywords&) { return s.make_iterator(a.at(0)); }
AVal m_delitem(Specialiser& s, const Arguments& a, const Keywords&) {
  s.delete_item(a.at(0), a.at(1));
  return AVal::of(Value::none());
}
AVal m_len(Specialiser& s, const Arguments& a, const Keywords&) { return s.length(a.at(0)); }
AVal m_setitem(Specialiser& s, const Arguments& a, const Keywords&) {
  s.set_item(a.at(0), a.at(1), a.at(2));
  return AVal::of(Value::none());
}
AVal m_list_copy(Specialiser& s, const Arguments& a, const Keywords&) {
  return s.new_list(s.items_of(a.at(0), "is copied"));
}
AVal m_list_pop(Specialiser& s, const Arguments& a, const Keywords&) {
  followed(s, a.at(0), "a list");
  int64_t n = static_cast<int64_t>(s.read(a[0].heap).items.size());
  int64_t i = a.size() > 1 ? s.need_int(a[1], "is an index") : -1;
  if (i < 0) i += n;
  if (i < 0 || i >= n) s.abandon(Reason::raises, "pop from another length");
  AObject& o = s.change(a[0].heap);
  AVal v = o.items[static_cast<size_t>(i)];
  if (i == n - 1) {
    o.items.pop_back();
  } else {
    std::vector<AVal> left = o.items.items();
    left.erase(left.begin() + i);
    o.items = std::move(left);
  }
  return v;
}
AVal m_dict_get(Specialiser& s, const Arguments& a, const Keywords&) {
  int i = s.dict_position(a.at(0).heap, a.at(1));
  if (i >= 0) return s.read(a[0].heap).items[static_cast<size_t>(i)];
  return a.size() > 2 ? a[2] : AVal::of(Value::none());
}
AVal m_dict_pop(Specialiser& s, const Arguments& a, const Keywords&) {
  followed(s, a.at(0), "a dict");
  const int i = s.dict_position(a[0].heap, a.at(1));
  if (i < 0 && a.size() > 2) return a[2];
  const AVal v = s.get_item(a[0], a[1]);
  AObject& o = s.change(a[0].heap);
  const auto without = [&](std::vector<AVal> all) {
    all.erase(all.begin() + i);
    return all;
  };
  o.keys = without(o.keys.items());
  o.items = without(o.items.items());
  return v;
}
AVal m_dict_setdefault(Specialiser& s, const Arguments& a, const Keywords&) {
  followed(s, a.at(0), "a dict");
  const int i = s.dict_position(a[0].heap, a.at(1));
  if (i >= 0) return s.read(a[0].heap).items[static_cast<size_t>(i)];
  AVal v = a.size() > 2 ? a[2] : AVal::of(Value::none());
  s.set_item(a[0], a[1], v);
  return v;
}
AVal m_dict_update(Specialiser& s, const Arguments& a, const Keywords& k) {
  followed(s, a.at(0), "a dict");
  put_all(s, a[0], {a.begin() + 1, a.end()}, k);
  return AVal::of(Value::none());
}
AVal m_dict_copy(Specialiser& s, const Arguments& a, const Keywords&) {
  if (!s.is_instance(a.at(0))) followed(s, a[0], "a dict");
  AVal d = s.new_dict({}, {});
  put_all(s, d, {a[0]}, {});
  return d;
}
AVal m_set_add(Specialiser& s, const Arguments& a, const Keywords&) {
  s.set_add(a[0], a.at(1));
  return AVal::of(Value::none());
}
AVal m_set_discard(Specialiser& s, const Arguments& a, const Keywords&) {
  s.set_discard(a[0], a.at(1));
  return AVal::of(Value::none());
}
AVal m_set_update(Specialiser& s, const Arguments& a, const Keywords&) {
  followed(s, a.at(0), "a set");
  s.own_table(a[0].heap).of_others = true;
  for (size_t i = 1; i < a.size(); ++i) s.set_update(a[0], a[i]);
  return AVal::of(Value::none());
}
AVal dict_view(Specialiser& s, const Arguments& a, ObjectKind kind) {
  if (!a.at(0).is(AKind::ref)) s.abandon(Reason::container, "a dict that is not followed");
  return s.view_of(a[0], kind);
}
AVal m_dict_keys(Specialiser& s, const Arguments& a, const Keywords&) { return dict_view(s, a, ObjectKind::dict_keys); }
AVal m_dict_values(Specialiser& s, const Arguments& a, const Keywords&) {
  return dict_view(s, a, ObjectKind::dict_values);
}
AVal m_dict_items(Specialiser& s, const Arguments& a, const Keywords&) {
  return dict_view(s, a, ObjectKind::dict_items);
}

// Methods of a tensor that ask for its type alone. Of a tensor whose type is not known they are the runtime's.
AVal boxed_tensor_method(Specialiser& s, const Arguments& a, const Keywords& k, std::string_view name) {
  return s.boxed_method(a.at(0), intern(name), {a.begin() + 1, a.end()}, k);
}
AVal m_tensor_numel(Specialiser& s, const Arguments& a, const Keywords& k) {
  if (!s.is_tensor(a.at(0))) return boxed_tensor_method(s, a, k, "numel");
  AVal n = AVal::of(Value::integer(1));
  for (const ir::SymDim& d : a[0].type->dims) n = s.binary(prim::mul, n, s.size(d));
  return n;
}
AVal m_tensor_item(Specialiser& s, const Arguments& a, const Keywords& k) {
  if (!s.is_tensor(a.at(0))) return boxed_tensor_method(s, a, k, "item");
  return s.tensor_item(a[0]);
}
AVal list_of_numbers(Specialiser& s, const AVal& a) {
  if (a.type->rank() == 0) return s.tensor_item(a);
  std::vector<AVal> items = s.items_of(a, "is a list");
  for (AVal& row : items) row = list_of_numbers(s, row);
  return s.new_list(std::move(items));
}
// Of a few numbers, each is known to be one: what is done with them is compiled.
AVal m_tensor_tolist(Specialiser& s, const Arguments& a, const Keywords& k) {
  constexpr int64_t kFewNumbers = 64;
  bool few = s.is_tensor(a.at(0));
  int64_t n = 1;
  for (size_t i = 0; few && i < a[0].type->rank(); ++i) {
    const ir::SymDim& d = a[0].type->dims[i];
    few = d.known() && (n *= d.c) <= kFewNumbers;
  }
  return few ? list_of_numbers(s, a[0]) : boxed_tensor_method(s, a, k, "tolist");
}
AVal m_tensor_dim(Specialiser& s, const Arguments& a, const Keywords& k) {
  if (!s.is_tensor(a.at(0))) return boxed_tensor_method(s, a, k, "dim");
  return AVal::of(Value::integer(static_cast<int64_t>(a[0].type->rank())));
}
AVal m_tensor_is_floating(Specialiser& s, const Arguments& a, const Keywords& k) {
  if (!s.is_tensor(a.at(0))) return boxed_tensor_method(s, a, k, "is_floating_point");
  return AVal::of(Value::boolean(is_float(a[0].type->dtype)));
}
AVal m_tensor_size(Specialiser& s, const Arguments& a, const Keywords& k) {
  if (!s.is_tensor(a.at(0))) return boxed_tensor_method(s, a, k, "size");
  AVal shape = s.tensor_attr(a[0], intern("shape"));
  AVal axis = a.size() > 1 ? a[1] : !k.empty() ? k[0].second : AVal::of(Value::none());
  if (axis.is(AKind::known) && axis.known.is_none()) return shape;
  return s.get_item(shape, axis);
}

const MethodRow kMethods[] = {
    {ObjectKind::list, "append", m_list_append, {2, 2}},
    {ObjectKind::list, "extend", m_list_extend, {2, 2}},
    {ObjectKind::list, "insert", m_list_insert, {3, 3}},
    {ObjectKind::list, "copy", m_list_copy, {1, 1}},
    {ObjectKind::str, "join", m_str_join, {2, 2}},
    {ObjectKind::list, "__getitem__", m_getitem, {2, 2}},
    {ObjectKind::tuple, "__getitem__", m_getitem, {2, 2}},
    {ObjectKind::dict, "__getitem__", m_getitem, {2, 2}},
    {ObjectKind::list, "__contains__", m_contains, {2, 2}},
    {ObjectKind::dict, "__contains__", m_contains, {2, 2}},
    {ObjectKind::list, "__len__", m_len, {1, 1}},
    {ObjectKind::dict, "__len__", m_len, {1, 1}},
    {ObjectKind::dict, "__iter__", m_iter, {1, 1}},
    {ObjectKind::dict, "__delitem__", m_delitem, {2, 2}},
    {ObjectKind::dict, "__init__", m_dict_update, {1, 2, "*"}},
    {ObjectKind::list, "__setitem__", m_setitem, {3, 3}},
    {ObjectKind::dict, "__setitem__", m_setitem, {3, 3}},
    {ObjectKind::list, "pop", m_list_pop, {1, 2}},
    {ObjectKind::dict, "get", m_dict_get, {2, 3}},
    {ObjectKind::dict, "pop", m_dict_pop, {2, 3}},
    {ObjectKind::dict, "setdefault", m_dict_setdefault, {2, 3}},
    {ObjectKind::dict, "update", m_dict_update, {1, 2, "*"}},
    {ObjectKind::dict, "copy", m_dict_copy, {1, 1}},
    {ObjectKind::set, "add", m_set_add, {2, 2}},
    {ObjectKind::set, "discard", m_set_discard, {2, 2}},
    {ObjectKind::set, "update", m_set_update, {1, kAny}},
    {ObjectKind::dict, "keys", m_dict_keys, {1, 1}},
    {ObjectKind::dict, "values", m_dict_values, {1, 1}},
    {ObjectKind::dict, "items", m_dict_items, {1, 1}},
    {ObjectKind::tensor, "numel", m_tensor_numel, {1, 1}},
    {ObjectKind::tensor, "nelement", m_tensor_numel, {1, 1}},
    {ObjectKind::tensor, "item", m_tensor_item, {1, 1}},
    {ObjectKind::tensor, "tolist", m_tensor_tolist, {1, 1}},
    {ObjectKind::tensor, "dim", m_tensor_dim, {1, 1}},
    {ObjectKind::tensor, "size", m_tensor_size, {1, 2, "dim"}},
    {ObjectKind::tensor, "is_floating_point", m_tensor_is_floating, {1, 1}},
};

}  // namespace

std::span<const MethodRow> method_rows() { return kMethods; }

}  // namespace ouro::jit
