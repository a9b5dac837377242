// What the sequence types share: indices, repetition counts, equality and order of items, repr, sorting.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/types/ordering.h"

namespace ouro::runtime {

// An index from a key that is no machine int: __index__, or TypeError with `wrong` (one %s: the key's class). Beyond a
// word: IndexError.
[[nodiscard]] bool sequence_index(Session& s, const Value& key, int64_t& out, const char* wrong);
// The count of `sequence * n`; TypeError "can't multiply sequence by non-int of type 'x'".
[[nodiscard]] bool repeat_count(Session& s, const Value& v, int64_t& out);

// ValueError "x is not in list"; without a text where x has no repr.
inline Value raise_absent(Session& s, const Value& x, const char* where) {
  const std::string shown = repr_text(s, x);
  if (!s.has_error()) return raise_text(s, ExcKind::ValueError, shown + " is not in " + where);
  clear_pending(s);
  return raise_value(s, make_exception(s, exception_type(s, ExcKind::ValueError), make_tuple({})), Value());
}

// equals() with the common cases in place: 1, 0, -1. Holds its arguments while scripts run.
inline int item_equals(Session& s, const Value& a, const Value& b) {
  if (a.same(b)) return 1;
  if (a.is_int() && b.is_int()) return 0;
  Str *x = cast_exact<Str>(a), *y = cast_exact<Str>(b);
  if (x && y) return x->size == y->size && std::memcmp(x->data, y->data, x->size) == 0;
  if (!a.is_object() && !b.is_object() && !(a.is_float() || b.is_float() || a.is_bool() || b.is_bool())) return 0;
  Value hold_a = a, hold_b = b;
  return equals(s, hold_a, hold_b);
}

// a < b where that needs no script: 1, 0; otherwise -2.
inline int plain_less(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return a.as_int() < b.as_int();
  if (a.is_float() && b.is_float()) return a.as_float() < b.as_float();
  if (Str* x = cast_exact<Str>(a), *y = x ? cast_exact<Str>(b) : nullptr; y) return x->view() < y->view();
  return -2;
}

// Lexicographic comparison; `size` and items are read anew at each step, because a comparison may run a script that
// changes them.
template <class A, class B>
Value compare_items(Session& s, CmpOp op, A* a, B* b) {
  if ((op == CmpOp::eq || op == CmpOp::ne) && a->size != b->size) return Value::boolean(op == CmpOp::ne);
  size_t i = 0;
  for (; i < a->size && i < b->size; ++i) {
    poll_interrupt(s);
    int e = item_equals(s, (*a)[i], (*b)[i]);
    if (e < 0) return Value::error();
    if (!e) break;
  }
  if (i >= a->size || i >= b->size) return Value::boolean(holds<size_t>(op, a->size, b->size));
  if (op == CmpOp::eq || op == CmpOp::ne) return Value::boolean(op == CmpOp::ne);
  Value x = (*a)[i], y = (*b)[i];
  return compare(s, op, x, y);
}

// repr of the items, separated by ", "; false if one failed.
template <class A>
bool repr_items(Session& s, A* a, std::string& out) {
  for (size_t i = 0; i < a->size; ++i) {
    poll_interrupt(s);
    if (i) out += ", ";
    Value hold = (*a)[i];
    Value r = repr(s, hold);
    if (r.is_error()) return false;
    append_text(out, cast<Str>(r)->view());
  }
  return true;
}

// A bound of index(), clamped to a word; false: it is no integer.
inline bool slice_bound(Session& s, const Value& given, int64_t& out) {
  if (is_integer(given) || !find_dunder(s, type_of(s, given), Dunder::index_).is_unbound())
    return to_index(s, given, out, true);
  raise_type_error(s, "slice indices must be integers or have an __index__ method");
  return false;
}

// Stable sort by `<` of `items`, or of `keys` with the items following (keys null: the items themselves). Natural runs
// merged in order of power (Munro & Wild 2018), as CPython's list.sort. False: a comparison failed; items hold a
// permutation.
[[nodiscard]] bool sort_values(Session& s, Value* items, Value* keys, size_t n, bool reverse);
// list.sort and sorted: keyword arguments key and reverse already taken apart.
[[nodiscard]] bool sort_list(Session& s, List* l, const Value& key, bool reverse);

// What list() and its kin ask of an iterable after they have its iterator: the length that a script gives it.
[[nodiscard]] bool ask_length(Session& s, const Value& iterable);
// for_each() of what becomes a list: asks for the length first.
template <class F>
[[nodiscard]] bool for_each_sized(Session& s, const Value& iterable, F&& f) {
  Value it = iter(s, iterable);
  return !it.is_error() && ask_length(s, iterable) && for_each_of(s, it, std::forward<F>(f));
}

// for_each() that ends where `f` has seen enough; false: it failed.
enum class Go : uint8_t { on, enough, failed };
template <class F>
[[nodiscard]] bool for_each_until(Session& s, const Value& iterable, F&& f) {
  Go go = Go::on;
  return for_each(s, iterable, [&](Value& v) { return (go = f(v)) == Go::on; }) || go == Go::enough;
}

// A list of the items, of whose number a script is not asked.
inline Value list_of_items(Session& s, const Value& iterable) {
  if (cast_exact<List>(iterable) || cast_exact<Tuple>(iterable)) return list_of(s, iterable);
  Value it = iter(s, iterable);
  return it.is_error() ? it : list_of(s, it);
}

// slice_indices() in two steps, for a sequence that an __index__ may change: what the slice says (false: an exception
// is pending), then where that lies among n items. adjust_slice() returns their number.
[[nodiscard]] bool slice_bounds(Session& s, const Slice& slice, int64_t& start, int64_t& stop, int64_t& step);
int64_t adjust_slice(int64_t n, int64_t& start, int64_t& stop, int64_t step);

// What a slice takes of n items.
struct SliceRange {
  int64_t start, step, count;
};
// Where all bounds are None or machine ints and the step is not 0: no script code runs.
inline bool plain_slice(const Value& start, const Value& stop, const Value& step, int64_t n, SliceRange& out) {
  auto bound = [](const Value& v, int64_t absent, int64_t& to) {
    to = v.is_int() ? v.as_int() : absent;
    return v.is_int() || v.is_none();
  };
  int64_t end;
  if (!bound(step, 1, out.step) || out.step == 0 || out.step < -INT64_MAX) return false;
  const bool back = out.step < 0;
  const int64_t lowest = back ? -1 : 0, highest = back ? n - 1 : n;
  if (!bound(start, back ? INT64_MAX : 0, out.start) || !bound(stop, back ? INT64_MIN : INT64_MAX, end)) return false;
  auto clip = [&](int64_t x) { return std::clamp(x < 0 ? x + n : x, lowest, highest); };
  out.start = clip(out.start);
  end = clip(end);
  const int64_t span = back ? out.start - end : end - out.start;
  out.count = span <= 0 ? 0 : out.step == 1 ? span : (span - 1) / (back ? -out.step : out.step) + 1;
  return true;
}
// The same with any bounds, of something whose length an __index__ may change. False: an exception is pending.
template <class Length>
[[nodiscard]] bool slice_range(Session& s, const Slice& sl, Length&& length, SliceRange& out) {
  if (plain_slice(sl.start, sl.stop, sl.step, length(), out)) return true;
  int64_t stop;
  if (!slice_bounds(s, sl, out.start, stop, out.step)) return false;
  out.count = adjust_slice(length(), out.start, stop, out.step);
  return true;
}
// The items of a list, the characters of a str (or of a subclass' instance: a str) that lie in a slice.
Value list_slice(Session& s, List* l, const SliceRange& range);
Value str_slice(Session& s, const Value& v, const SliceRange& range);

Value reversed_list_iterator(const Value& list);

}  // namespace ouro::runtime
