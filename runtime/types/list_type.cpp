// list.
#include <cstring>

#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/generic_alias.h"
#include "runtime/types/iterator_types.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"
#include "support/small_vec.h"

namespace ouro::runtime {
namespace {

List* self_of(const Args& a) { return cast<List>(a[0]); }
Value list_of_span(const Value* p, size_t n) { return make_list(std::span<const Value>(p, n)); }
Value out_of_memory(Session& s) { return raise_memory_error(s); }
constexpr size_t kMaxItems = size_t{1} << 36;

// Appends everything of `iterable`.
bool extend(Session& s, List* l, const Value& iterable) {
  if (List* o = cast_exact<List>(iterable)) {
    size_t n = o->size;
    l->reserve(l->size + n);
    uint32_t count = 0;
    for (size_t i = 0; i < n; ++i) {
      poll_interrupt(s, count);
      l->push(o->items[i]);
    }
    return true;
  }
  if (Tuple* t = cast_exact<Tuple>(iterable)) {
    l->reserve(l->size + t->size);
    for (const Value& v : *t) l->push(v);
    return true;
  }
  if (cast<List>(iterable) == l) {  // an object of a class that extends list: what it gives now
    const Value items = list_of_items(s, iterable);
    return !items.is_error() && extend(s, l, items);
  }
  if (cast_exact<Range>(iterable)) {
    int64_t n = length(s, iterable);
    if (n > static_cast<int64_t>(kMaxItems)) out_of_memory(s);
    if (n < 0 || s.has_error()) return false;
    l->reserve(l->size + static_cast<size_t>(n));
  }
  return for_each_sized(s, iterable, [&](Value& v) {
    l->push(std::move(v));
    return true;
  });
}

// There is room for them, and they do not lie behind the end.
void push_copies(List* l, const Value* from, size_t n) {
  constexpr size_t kPiece = 1 << 16;
  for (size_t left = n; left;) {
    if (left != n) poll_interrupt();
    size_t piece = std::min(left, kPiece);
    for (Value *out = l->items + l->size, *end = out + piece; out != end; ++out, ++from) new (out) Value(*from);
    l->size += piece;
    left -= piece;
  }
}

Value repeat(Session& s, List* l, const Value& times) {
  int64_t n;
  if (!repeat_count(s, times, n)) return Value::error();
  if (n <= 0 || l->size == 0) return make_list();
  if (static_cast<uint64_t>(n) > kMaxItems / l->size) return out_of_memory(s);
  Value out = make_list_reserved(l->size * static_cast<size_t>(n));
  List* r = out.as<List>();
  push_copies(r, l->items, l->size);
  for (size_t all = l->size * static_cast<size_t>(n); r->size < all;)
    push_copies(r, r->items, std::min(r->size, all - r->size));
  return out;
}

Value list_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  List *x = cast<List>(a), *y = cast<List>(b);
  if (op == BinOp::add) {
    if (!x) return Value::not_implemented();
    if (!y) return raise_type_error(s, "can only concatenate list (not \"%s\") to list", type_name(s, b).c_str());
    Value out = make_list_reserved(x->size + y->size);
    push_copies(out.as<List>(), x->items, x->size);
    push_copies(out.as<List>(), y->items, y->size);
    return out;
  }
  if (op == BinOp::mul) return x ? repeat(s, x, b) : repeat(s, y, a);
  return Value::not_implemented();
}

Value list_inplace(Session& s, BinOp op, Value& a, const Value& b) {
  List* l = cast<List>(a);
  if (op == BinOp::add) return extend(s, l, b) ? a : Value::error();
  if (op != BinOp::mul) return Value::not_implemented();
  int64_t n;
  if (!repeat_count(s, b, n)) return Value::error();
  if (n <= 0) {
    l->clear();
    return a;
  }
  size_t size = l->size;
  if (size == 0) return a;
  if (static_cast<uint64_t>(n) > kMaxItems / size) return out_of_memory(s);
  l->reserve(size * static_cast<size_t>(n));
  uint32_t count = 0;
  for (int64_t k = 1; k < n; ++k)
    for (size_t i = 0; i < size; ++i) {
      poll_interrupt(s, count);
      l->push(l->items[i]);
    }
  return a;
}

Value list_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  List* y = cast<List>(b);
  return y ? compare_items(s, op, cast<List>(a), y) : Value::not_implemented();
}

Value list_repr(Session& s, const Value& v) {
  ReprGuard guard(s, v);
  if (!guard.entered()) return make_str("[...]");
  std::string out = "[";
  if (!repr_items(s, cast<List>(v), out)) return Value::error();
  return make_str(out + "]");
}

int64_t list_length(Session&, const Value& v) { return static_cast<int64_t>(cast<List>(v)->size); }

Value list_get_item(Session& s, const Value& v, const Value& key) {
  List* l = cast<List>(v);
  auto n = static_cast<int64_t>(l->size);
  if (Slice* sl = cast_exact<Slice>(key)) {
    SliceRange range;
    auto length = [l] { return static_cast<int64_t>(l->size); };
    return slice_range(s, *sl, length, range) ? list_slice(s, l, range) : Value::error();
  }
  int64_t i;
  if (key.is_int())
    i = key.as_int();
  else if (!sequence_index(s, key, i, "list indices must be integers or slices, not %s"))
    return Value::error();
  n = static_cast<int64_t>(l->size);
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "list index out of range");
  return l->items[i];
}

// Replaces [from, to) by the items of `fresh`.
void replace_range(List* l, size_t from, size_t to, Value* fresh, size_t n) {
  size_t tail = l->size - to, size = from + n + tail;
  SmallVec<Value, 8> dropped;
  dropped.reserve(to - from);
  l->reserve(size);
  for (size_t i = from; i < to; ++i) dropped.push_back(std::move(l->items[i]));
  if (tail) std::memmove(static_cast<void*>(l->items + from + n), l->items + to, tail * sizeof(Value));
  for (size_t i = 0; i < n; ++i) new (l->items + from + i) Value(std::move(fresh[i]));
  l->size = size;
  while (dropped.size()) dropped.pop_back();  // the order in which CPython lets go
}

bool set_slice(Session& s, List* l, const Slice& sl, const Value& value) {
  int64_t start, stop, step, count;
  SliceRange range;
  if (List* o = cast_exact<List>(value);
      o && o != l && plain_slice(sl.start, sl.stop, sl.step, static_cast<int64_t>(l->size), range) &&
      static_cast<size_t>(range.count) == o->size) {
    uint32_t polled = 0;
    for (int64_t i = 0; i < range.count; ++i) {
      poll_interrupt(s, polled);
      const int64_t k = range.step == 1 ? range.count - 1 - i : i;  // the order in which CPython lets go
      l->items[range.start + k * range.step] = o->items[k];
    }
    return true;
  }
  if (!slice_bounds(s, sl, start, stop, step)) return false;
  int64_t first = start, last = stop;
  adjust_slice(static_cast<int64_t>(l->size), first, last, step);
  Value fresh;
  List* o = cast<List>(value) == l ? l : cast_exact<List>(value);
  if (o || cast_exact<Tuple>(value)) {
    fresh = o ? list_of_span(o->items, o->size) : list_of_items(s, value);
  } else {
    const Value it = iter(s, value);
    if (!it.is_error()) fresh = list_of(s, it);
    if (fresh.is_error()) return false;
    if (it.is_error()) {
      if (!pending_is(s, ExcKind::TypeError)) return false;
      clear_pending(s);
      bool plain = sl.step.is_none() || (sl.step.is_int() && sl.step.as_int() == 1);
      raise_type_error(s, plain ? "can only assign an iterable" : "must assign iterable to extended slice");
      return false;
    }
  }
  const auto n = static_cast<int64_t>(l->size);  // the items may have changed the list
  List* f = fresh.as<List>();
  if (step == 1) {
    first = std::min(first, n);
    last = std::clamp(last, first, n);
    replace_range(l, static_cast<size_t>(first), static_cast<size_t>(last), f->items, f->size);
    return true;
  }
  count = adjust_slice(n, start, stop, step);
  if (static_cast<int64_t>(f->size) != count) {
    raise_value_error(s, "attempt to assign sequence of size %zu to extended slice of size %lld", f->size,
                      static_cast<long long>(count));
    return false;
  }
  for (int64_t k = 0; k < count; ++k) l->items[start + k * step] = std::move(f->items[k]);
  return true;
}

bool list_set_item(Session& s, const Value& v, const Value& key, const Value& value) {
  List* l = cast<List>(v);
  if (Slice* sl = cast_exact<Slice>(key)) return set_slice(s, l, *sl, value);
  int64_t i;
  if (key.is_int())
    i = key.as_int();
  else if (!sequence_index(s, key, i, "list indices must be integers or slices, not %s"))
    return false;
  auto n = static_cast<int64_t>(l->size);
  if (i < 0) i += n;
  if (i < 0 || i >= n) {
    raise_text(s, ExcKind::IndexError, "list assignment index out of range");
    return false;
  }
  Value old = value;
  l->items[i].swap(old);
  return true;
}

bool list_del_item(Session& s, const Value& v, const Value& key) {
  List* l = cast<List>(v);
  auto n = static_cast<int64_t>(l->size);
  if (Slice* sl = cast_exact<Slice>(key)) {
    int64_t start, stop, step;
    if (!slice_bounds(s, *sl, start, stop, step)) return false;
    n = static_cast<int64_t>(l->size);
    int64_t count = adjust_slice(n, start, stop, step);
    if (count == 0) return true;
    if (step < 0) {
      start += step * (count - 1);
      step = -step;
    }
    if (step == 1) {
      replace_range(l, static_cast<size_t>(start), static_cast<size_t>(start + count), nullptr, 0);
      return true;
    }
    CountedVector<Value> kept, dropped;
    kept.reserve(static_cast<size_t>(n - count));
    dropped.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < n; ++i) {
      bool drop = i >= start && (i - start) % step == 0 && (i - start) / step < count;
      (drop ? dropped : kept).push_back(std::move(l->items[i]));
    }
    l->size = kept.size();
    for (size_t i = 0; i < kept.size(); ++i) new (l->items + i) Value(std::move(kept[i]));
    return true;
  }
  int64_t i;
  if (key.is_int())
    i = key.as_int();
  else if (!sequence_index(s, key, i, "list indices must be integers or slices, not %s"))
    return false;
  n = static_cast<int64_t>(l->size);
  if (i < 0) i += n;
  if (i < 0 || i >= n) {
    raise_text(s, ExcKind::IndexError, "list assignment index out of range");
    return false;
  }
  Value old = l->take(static_cast<size_t>(i));
  return true;
}

int list_contains(Session& s, const Value& v, const Value& item) {
  List* l = cast<List>(v);
  for (size_t i = 0; i < l->size; ++i) {
    poll_interrupt(s);
    int e = item_equals(s, l->items[i], item);
    if (e) return e;
  }
  return 0;
}

bool list_init(Session& s, const Value& self, const Args& a) {
  if (!takes(s, a, "list", 0, 1, 0)) return false;
  List* l = cast<List>(self);
  if (l->size) l->clear();
  return a.size() == 0 || extend(s, l, a[0]);
}
Value list_construct(Session& s, Type*, const Args& a) {
  Value v = make_list();
  return list_init(s, v, a) ? v : Value::error();
}

// ---- methods

Value m_append(Session& s, const Args& a) {
  if (a.size() != 2 || !a.keywords.empty()) return takes_one(s, a, "list.append") ? Value() : Value::error();
  self_of(a)->push(a[1]);
  return Value::none();
}
Value append_one(Session&, const Value& list, const Value& v) {
  if (kind_of(list) != ObjectKind::list) return {};
  list.as<List>()->push(v);
  return Value::none();
}
Value m_extend(Session& s, const Args& a) {
  if (!takes_one(s, a, "list.extend")) return Value::error();
  return extend(s, self_of(a), a[1]) ? Value::none() : Value::error();
}
Value m_insert(Session& s, const Args& a) {
  if (!takes(s, a, "insert", 2, 2, 1, "list.insert")) return Value::error();
  int64_t i;
  if (!to_index(s, a[1], i)) return Value::error();
  List* l = self_of(a);
  auto n = static_cast<int64_t>(l->size);
  if (i < 0) i = std::max<int64_t>(0, i + n);
  l->insert(static_cast<size_t>(std::min(i, n)), a[2]);
  return Value::none();
}
Value m_pop(Session& s, const Args& a) {
  if (!takes(s, a, "pop", 0, 1, 1, "list.pop")) return Value::error();
  List* l = self_of(a);
  int64_t i = -1;
  if (a.size() == 2 && !to_index(s, a[1], i)) return Value::error();
  auto n = static_cast<int64_t>(l->size);
  if (n == 0) return raise_text(s, ExcKind::IndexError, "pop from empty list");
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "pop index out of range");
  return l->take(static_cast<size_t>(i));
}
Value pop_last(Session&, const Value& list) {
  if (kind_of(list) != ObjectKind::list || list.as<List>()->size == 0) return {};
  return list.as<List>()->take(list.as<List>()->size - 1);
}
Value m_clear(Session& s, const Args& a) {
  if (!takes_none(s, a, "list.clear")) return Value::error();
  self_of(a)->clear();
  return Value::none();
}
Value m_copy(Session& s, const Args& a) {
  if (!takes_none(s, a, "list.copy")) return Value::error();
  return list_of_span(self_of(a)->items, self_of(a)->size);
}
Value m_count(Session& s, const Args& a) {
  if (!takes_one(s, a, "list.count")) return Value::error();
  List* l = self_of(a);
  int64_t n = 0;
  for (size_t i = 0; i < l->size; ++i) {
    poll_interrupt(s);
    int e = item_equals(s, l->items[i], a[1]);
    if (e < 0) return Value::error();
    n += e;
  }
  return Value::integer(n);
}
Value m_index(Session& s, const Args& a) {
  if (!takes(s, a, "index", 1, 3, 1, "list.index")) return Value::error();
  List* l = self_of(a);
  int64_t start = 0, stop = INT64_MAX;
  for (size_t k = 2; k < a.size(); ++k)
    if (!slice_bound(s, a[k], k == 2 ? start : stop)) return Value::error();
  auto n = static_cast<int64_t>(l->size);
  if (start < 0) start = std::max<int64_t>(0, start + n);
  if (stop < 0) stop = std::max<int64_t>(0, stop + n);
  for (int64_t i = start; i < stop && i < static_cast<int64_t>(l->size); ++i) {
    poll_interrupt(s);
    int e = item_equals(s, l->items[i], a[1]);
    if (e < 0) return Value::error();
    if (e) return Value::integer(i);
  }
  return raise_absent(s, a[1], "list");
}
Value m_remove(Session& s, const Args& a) {
  if (!takes_one(s, a, "list.remove")) return Value::error();
  List* l = self_of(a);
  for (size_t i = 0; i < l->size; ++i) {
    poll_interrupt(s);
    int e = item_equals(s, l->items[i], a[1]);
    if (e < 0) return Value::error();
    if (!e) continue;
    if (i < l->size) Value old = l->take(i);
    return Value::none();
  }
  return raise_value_error(s, "list.remove(x): x not in list");
}
Value m_reverse(Session& s, const Args& a) {
  if (!takes_none(s, a, "list.reverse")) return Value::error();
  List* l = self_of(a);
  for (size_t i = 0, j = l->size; i + 1 < j; ++i) l->items[i].swap(l->items[--j]);
  return Value::none();
}
Value m_sort(Session& s, const Args& a) {
  Value v[2];
  if (!takes_named(s, a, "sort", {"key", "reverse"}, 0, 0, v)) return Value::error();
  int64_t reverse = 0;
  if (!v[1].is_unbound() && !to_index(s, v[1], reverse)) return Value::error();
  return sort_list(s, self_of(a), v[0], reverse != 0) ? Value::none() : Value::error();
}
Value m_reversed(Session& s, const Args& a) {
  if (!takes_none(s, a, "list.__reversed__")) return Value::error();
  return reversed_list_iterator(unwrap(a[0]));
}
Value m_sizeof(Session&, const Args& a) { return Value::integer(static_cast<int64_t>(40 + 8 * self_of(a)->capacity)); }

// ---- iteration

Value list_next(Session&, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  List* l = cast<List>(it.source);
  if (static_cast<size_t>(it.index) < l->size) return l->items[it.index++];
  it.source = Value();
  return Value::end();
}
Value list_hint(Session&, Iterator& it) {
  if (it.source.is_unbound()) return Value::integer(0);
  return Value::integer(std::max<int64_t>(0, static_cast<int64_t>(cast<List>(it.source)->size) - it.index));
}
Value list_previous(Session&, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  List* l = cast<List>(it.source);
  if (it.index >= 0 && static_cast<size_t>(it.index) < l->size) return l->items[it.index--];
  it.source = Value();
  return Value::end();
}

}  // namespace

Value list_slice(Session& s, List* l, const SliceRange& range) {
  if (range.count == 0) return make_list();
  const Value* from = l->items + range.start;
  if (range.step == 1) return list_of_span(from, static_cast<size_t>(range.count));
  Value out = make_list_reserved(static_cast<size_t>(range.count));
  List* to = out.as<List>();
  uint32_t polled = 0;
  for (int64_t k = 0; k < range.count; ++k) {
    poll_interrupt(s, polled);
    new (to->items + to->size++) Value(from[k * range.step]);
  }
  return out;
}

const IterDef kListIterator{"list_iterator", list_next, list_hint};

namespace {

const IterDef kListReverse{"list_reverseiterator", list_previous, [](Session&, Iterator& it) {
                             return Value::integer(it.source.is_unbound() ? 0 : it.index + 1);
                           }};
Value list_iter(Session&, const Value& v) { return make_iterator(kListIterator, v); }

constexpr NativeDef kMethods[] = {
    {.name = "append", .fn = m_append, .doc = "Append object to the end of the list.", .two = append_one},
    {.name = "extend", .fn = m_extend, .doc = "Extend list by appending elements from the iterable."},
    {.name = "insert", .fn = m_insert, .doc = "Insert object before index."},
    {.name = "pop", .fn = m_pop, .doc = "Remove and return item at index (default last).", .one = pop_last},
    {.name = "remove", .fn = m_remove, .doc = "Remove first occurrence of value."},
    {.name = "clear", .fn = m_clear, .doc = "Remove all items from list."},
    {.name = "copy", .fn = m_copy, .doc = "Return a shallow copy of the list."},
    {.name = "count", .fn = m_count, .doc = "Return number of occurrences of value."},
    {.name = "index", .fn = m_index, .doc = "Return first index of value."},
    {.name = "reverse", .fn = m_reverse, .doc = "Reverse *IN PLACE*."},
    {.name = "sort", .fn = m_sort, .doc = "Sort the list in ascending order and return None."},
    {.name = "__reversed__", .fn = m_reversed},
    {.name = "__sizeof__", .fn = m_sizeof},
};
constexpr NativeDef kClassMethods[] = {kClassGetItem};
constexpr TypeSlots kSlots{
    .binary = list_binary,
    .binary_ops = bit(BinOp::add) | bit(BinOp::mul),
    .no_reflected = true,
    .inplace = list_inplace,
    .inplace_ops = bit(BinOp::add) | bit(BinOp::mul),
    .compare = list_compare,
    .ordered = true,
    .unhashable = true,
    .repr = list_repr,
    .iter = list_iter,
    .length = list_length,
    .get_item = list_get_item,
    .set_item = list_set_item,
    .del_item = list_del_item,
    .contains = list_contains,
    .construct = list_construct,
    .init = list_init,
};
const TypeDef kDef{.name = "list",
                   .kind = ObjectKind::list,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .class_methods = kClassMethods,
                   .doc = "Built-in mutable sequence."};

}  // namespace

Value reversed_list_iterator(const Value& list) {
  return make_iterator(kListReverse, list, static_cast<int64_t>(cast<List>(list)->size) - 1);
}

void register_list_type(Session& s) { define_type(s, kDef); }

}  // namespace ouro::runtime
