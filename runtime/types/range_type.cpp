// range and slice. A range of machine words is arithmetic on words; one with larger bounds works on int values
// throughout.
#include "runtime/object/ops.h"
#include "runtime/text/hash.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/iterator_types.h"
#include "runtime/types/numbers.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

Range* self_of(const Args& a) { return cast<Range>(a[0]); }

struct Bounds {
  Value start, stop, step;
};
Bounds bounds(const Range* r) {
  if (r->big()) return {r->big_start, r->big_stop, r->big_step};
  return {Value::integer(r->start), Value::integer(r->stop), Value::integer(r->step)};
}

// Number of items as an int of any size.
Value big_length(Session& s, const Range* r) {
  Bounds b = bounds(r);
  bool up = int_sign(b.step) > 0;
  const Value &low = up ? b.start : b.stop, &high = up ? b.stop : b.start;
  if (int_compare(low, high) >= 0) return Value::integer(0);
  OURO_TRY(span, int_sub(s, high, low));
  OURO_TRY(less, int_sub(s, span, Value::integer(1)));
  OURO_TRY(step, int_abs(s, b.step));
  Value q;
  if (!int_divmod(s, less, step, &q, nullptr, "")) return Value::error();
  return int_add(s, q, Value::integer(1));
}
Value length_value(Session& s, const Range* r) {
  if (r->big()) return big_length(s, r);
  int64_t n = r->length();
  if (n < 0) return big_length(s, r);  // more than a word counts
  return Value::integer(n);
}
Value item_at(Session& s, const Range* r, const Value& index) {
  Bounds b = bounds(r);
  OURO_TRY(offset, int_mul(s, index, b.step));
  return int_add(s, b.start, offset);
}

Value range_from(const Value& start, const Value& stop, const Value& step) {
  if (start.is_int() && stop.is_int() && step.is_int()) return make_range(start.as_int(), stop.as_int(), step.as_int());
  Value v = make_range(0, 0, 1);
  auto* r = v.as<Range>();
  r->big_start = start;
  r->big_stop = stop;
  r->big_step = step;
  return v;
}

Value range_construct(Session& s, Type*, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "range() takes no keyword arguments");
  if (a.size() == 0) return raise_type_error(s, "range expected at least 1 argument, got 0");
  if (a.size() > 3) return raise_type_error(s, "range expected at most 3 arguments, got %zu", a.size());
  Value v[3] = {Value::integer(0), Value(), Value::integer(1)};
  for (size_t i = 0; i < a.size(); ++i) {
    Value x = a[i].is_int() ? a[i] : to_index_value(s, a[i]);
    if (x.is_error()) return x;
    v[a.size() == 1 ? 1 : i] = std::move(x);
  }
  if (int_sign(v[2]) == 0) return raise_value_error(s, "range() arg 3 must not be zero");
  return range_from(v[0], v[1], v[2]);
}

int64_t range_length(Session& s, const Value& v) {
  Value n = length_value(s, cast<Range>(v));
  if (n.is_int()) return n.as_int();
  if (!n.is_error()) raise_text(s, ExcKind::OverflowError, "Python int too large to convert to C ssize_t");
  return -1;
}
int range_truth(Session& s, const Value& v) {
  Value n = length_value(s, cast<Range>(v));
  return n.is_error() ? -1 : int_sign(n) != 0;
}

Value range_repr(Session& s, const Value& v) {
  Bounds b = bounds(cast<Range>(v));
  std::string out = "range(" + repr_text(s, b.start) + ", " + repr_text(s, b.stop);
  if (!(b.step.is_int() && b.step.as_int() == 1)) out += ", " + repr_text(s, b.step);
  return make_str(out + ")");
}

Value slice_index(Session& s, const Value& given) {
  if (!is_integer(given) && find_dunder(s, type_of(s, given), Dunder::index_).is_unbound())
    return raise_type_error(s, "slice indices must be integers or None or have an __index__ method");
  return to_index_value(s, given);
}

// A slice's part by the rules of range (any size), clamped to [low, high].
Value slice_part(Session& s, const Value& given, const Value& n, const Value& low, const Value& high,
                 const Value& absent) {
  if (given.is_none()) return absent;
  OURO_TRY(x, slice_index(s, given));
  if (int_sign(x) < 0) {
    OURO_TRY(moved, int_add(s, x, n));
    return int_compare(moved, low) < 0 ? low : moved;
  }
  return int_compare(x, high) > 0 ? high : x;
}

struct SliceParts {
  Value start, stop, step;
};
// Of a sequence of n items, n of any size; false: an exception is pending.
bool slice_parts(Session& s, const Slice& sl, const Value& n, SliceParts& out) {
  Value step = sl.step.is_none() ? Value::integer(1) : slice_index(s, sl.step);
  if (step.is_error()) return false;
  if (int_sign(step) == 0) return !raise_value_error(s, "slice step cannot be zero").is_error();
  bool back = int_sign(step) < 0;
  Value low = Value::integer(back ? -1 : 0), high = n;
  if (back) {
    high = int_sub(s, n, Value::integer(1));
    if (high.is_error()) return false;
  }
  out.start = slice_part(s, sl.start, n, low, high, back ? high : low);
  if (out.start.is_error()) return false;
  out.stop = slice_part(s, sl.stop, n, low, high, back ? low : high);
  out.step = std::move(step);
  return !out.stop.is_error();
}

Value range_slice(Session& s, const Range* r, const Slice& sl) {
  OURO_TRY(n, length_value(s, r));
  SliceParts parts;
  if (!slice_parts(s, sl, n, parts)) return Value::error();
  OURO_TRY(new_step, int_mul(s, bounds(r).step, parts.step));
  OURO_TRY(first, item_at(s, r, parts.start));
  OURO_TRY(last, item_at(s, r, parts.stop));
  return range_from(first, last, new_step);
}

Value range_get_item(Session& s, const Value& v, const Value& key) {
  Range* r = cast<Range>(v);
  if (Slice* sl = cast_exact<Slice>(key)) return range_slice(s, r, *sl);
  if (key.is_int() && !r->big()) {
    int64_t i = key.as_int(), n = r->length();
    if (n >= 0) {
      if (i < 0) i += n;
      if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "range object index out of range");
      return Value::integer(static_cast<int64_t>(static_cast<uint64_t>(r->start) +
                                                 static_cast<uint64_t>(i) * static_cast<uint64_t>(r->step)));
    }
  }
  if (!is_integer(key) && find_dunder(s, type_of(s, key), Dunder::index_).is_unbound())
    return raise_type_error(s, "range indices must be integers or slices, not %s", type_name(s, key).c_str());
  OURO_TRY(i, to_index_value(s, key));
  OURO_TRY(n, length_value(s, r));
  if (int_sign(i) < 0) {
    i = int_add(s, i, n);
    if (i.is_error()) return i;
  }
  if (int_sign(i) < 0 || int_compare(i, n) >= 0)
    return raise_text(s, ExcKind::IndexError, "range object index out of range");
  return item_at(s, r, i);
}

// Position of an int in the range, or unbound.
Value position(Session& s, const Range* r, const Value& x) {
  Bounds b = bounds(r);
  OURO_TRY(offset, int_sub(s, x, b.start));
  Value q, rem;
  if (!int_divmod(s, offset, b.step, &q, &rem, "")) return Value::error();
  OURO_TRY(n, length_value(s, r));
  if (int_sign(rem) != 0 || int_sign(q) < 0 || int_compare(q, n) >= 0) return Value();
  return q;
}

Value find_slow(Session& s, const Value& range, const Value& item, bool count) {
  int64_t i = 0, n = 0;
  Value found;
  bool ok = for_each(s, range, [&](Value& x) {
    if (!count && !found.is_unbound()) return true;
    int e = item_equals(s, x, item);
    if (e > 0) {
      ++n;
      if (found.is_unbound()) found = Value::integer(i);
    }
    ++i;
    return e >= 0;
  });
  return ok ? count ? Value::integer(n) : found : Value::error();
}

bool exact_int(const Value& v) { return is_int_value(v); }

int range_contains(Session& s, const Value& v, const Value& item) {
  Value p = exact_int(item) ? position(s, cast<Range>(v), item) : find_slow(s, v, item, false);
  return p.is_error() ? -1 : !p.is_unbound();
}

Value range_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  Range *x = cast<Range>(a), *y = cast<Range>(b);
  if (!y || (op != CmpOp::eq && op != CmpOp::ne)) return Value::not_implemented();
  OURO_TRY(n, length_value(s, x));
  OURO_TRY(m, length_value(s, y));
  Bounds p = bounds(x), q = bounds(y);
  bool same = int_compare(n, m) == 0;
  if (same && int_sign(n) != 0) {
    same = int_compare(p.start, q.start) == 0;
    if (same && int_compare(n, Value::integer(1)) != 0) same = int_compare(p.step, q.step) == 0;
  }
  return Value::boolean(same == (op == CmpOp::eq));
}

bool range_hash(Session& s, const Value& v, int64_t& out) {
  Range* r = cast<Range>(v);
  Value n = length_value(s, r);
  if (n.is_error()) return false;
  Bounds b = bounds(r);
  Value parts[3] = {n, Value::none(), Value::none()};
  if (int_sign(n) != 0) parts[1] = b.start;
  if (int_compare(n, Value::integer(1)) > 0) parts[2] = b.step;
  return hash(s, make_tuple({parts[0], parts[1], parts[2]}), out);
}

// ---- iteration: index (next value), stop (how many are left), step; big ranges keep them in source, aux and more[0].

Value range_next(Session&, Iterator& it) {
  if (it.stop <= 0) return Value::end();
  --it.stop;
  int64_t v = it.index;
  it.index = static_cast<int64_t>(static_cast<uint64_t>(v) + static_cast<uint64_t>(it.step));
  return Value::integer(v);
}
Value big_range_next(Session& s, Iterator& it) {
  if (int_sign(it.aux) <= 0) return Value::end();
  Value v = it.source;
  it.aux = int_sub(s, it.aux, Value::integer(1));
  it.source = int_add(s, v, it.more[0]);
  if (it.aux.is_error() || it.source.is_error()) return Value::error();
  return v;
}

}  // namespace

const IterDef kRangeIterator{"range_iterator", range_next,
                             [](Session&, Iterator& it) { return Value::integer(it.stop); }};

namespace {

const IterDef kBigRangeIterator{"longrange_iterator", big_range_next, [](Session&, Iterator& it) { return it.aux; }};

Value iterate(Session& s, const Range* r, bool back) {
  if (!r->big() && r->length() >= 0) {
    int64_t n = r->length();
    if (!back) return make_iterator(kRangeIterator, Value(), r->start, n, r->step);
    auto last = static_cast<int64_t>(static_cast<uint64_t>(r->start) +
                                     static_cast<uint64_t>(n - 1) * static_cast<uint64_t>(r->step));
    return make_iterator(kRangeIterator, Value(), last, n, -r->step);
  }
  OURO_TRY(n, length_value(s, r));
  Bounds b = bounds(r);
  if (back) {
    OURO_TRY(last, int_sub(s, n, Value::integer(1)));
    b.start = item_at(s, r, last);
    b.step = int_neg(s, b.step);
    if (b.start.is_error() || b.step.is_error()) return Value::error();
  }
  Value it = make_iterator(kBigRangeIterator, b.start);
  it.as<Iterator>()->aux = n;
  it.as<Iterator>()->more.push_back(b.step);
  return it;
}
Value range_iter(Session& s, const Value& v) { return iterate(s, cast<Range>(v), false); }

Value m_reversed(Session& s, const Args& a) { return iterate(s, self_of(a), true); }
Value m_count(Session& s, const Args& a) {
  if (!takes_one(s, a, "range.count")) return Value::error();
  if (!exact_int(a[1])) return find_slow(s, a[0], a[1], true);
  OURO_TRY(p, position(s, self_of(a), a[1]));
  return Value::integer(!p.is_unbound());
}
Value m_index(Session& s, const Args& a) {
  if (!takes_one(s, a, "range.index")) return Value::error();
  Value p = exact_int(a[1]) ? position(s, self_of(a), a[1]) : find_slow(s, a[0], a[1], false);
  if (!p.is_unbound()) return p;
  if (!exact_int(a[1])) return raise_value_error(s, "sequence.index(x): x not in sequence");
  return raise_absent(s, a[1], "range");
}

constexpr NativeDef kRangeMethods[] = {
    {.name = "count", .fn = m_count}, {.name = "index", .fn = m_index}, {.name = "__reversed__", .fn = m_reversed}};
constexpr GetSetDef kRangeGetSet[] = {
    {.name = "start", .get = [](Session&, const Value& v) { return bounds(cast<Range>(v)).start; }},
    {.name = "stop", .get = [](Session&, const Value& v) { return bounds(cast<Range>(v)).stop; }},
    {.name = "step", .get = [](Session&, const Value& v) { return bounds(cast<Range>(v)).step; }},
};
constexpr TypeSlots kRangeSlots{.compare = range_compare,
                                .truth = range_truth,
                                .hash = range_hash,
                                .repr = range_repr,
                                .iter = range_iter,
                                .length = range_length,
                                .get_item = range_get_item,
                                .contains = range_contains,
                                .construct = range_construct};
const TypeDef kRangeDef{.name = "range",
                        .kind = ObjectKind::range,
                        .slots = &kRangeSlots,
                        .methods = kRangeMethods,
                        .getset = kRangeGetSet,
                        .subclassable = false,
                        .doc = "range(stop) -> range object"};

// ---- slice

Slice* slice_of(const Value& v) { return cast<Slice>(v); }

Value slice_repr(Session& s, const Value& v) {
  Slice* x = slice_of(v);
  OURO_TRY(a, repr(s, x->start));
  OURO_TRY(b, repr(s, x->stop));
  OURO_TRY(c, repr(s, x->step));
  return make_str("slice(" + std::string(cast<Str>(a)->view()) + ", " + std::string(cast<Str>(b)->view()) + ", " +
                  std::string(cast<Str>(c)->view()) + ")");
}
Value slice_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  Slice *x = slice_of(a), *y = slice_of(b);
  if (!y) return Value::not_implemented();
  return compare(s, op, make_tuple({x->start, x->stop, x->step}), make_tuple({y->start, y->stop, y->step}));
}
Value slice_construct(Session& s, Type*, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "slice() takes no keyword arguments");
  if (a.size() == 0) return raise_type_error(s, "slice expected at least 1 argument, got 0");
  if (a.size() > 3) return raise_type_error(s, "slice expected at most 3 arguments, got %zu", a.size());
  if (a.size() == 1) return make_slice(Value::none(), a[0], Value::none());
  return make_slice(a[0], a[1], a.size() == 3 ? a[2] : Value::none());
}
Value m_indices(Session& s, const Args& a) {
  if (!takes_one(s, a, "slice.indices")) return Value::error();
  OURO_TRY(n, to_index_value(s, a[1]));
  if (int_sign(n) < 0) return raise_value_error(s, "length should not be negative");
  SliceParts parts;
  if (!slice_parts(s, *slice_of(a[0]), n, parts)) return Value::error();
  return make_tuple({parts.start, parts.stop, parts.step});
}

constexpr NativeDef kSliceMethods[] = {
    {.name = "indices", .fn = m_indices, .doc = "S.indices(len) -> (start, stop, stride)"}};
constexpr GetSetDef kSliceGetSet[] = {
    {.name = "start", .get = [](Session&, const Value& v) { return slice_of(v)->start; }},
    {.name = "stop", .get = [](Session&, const Value& v) { return slice_of(v)->stop; }},
    {.name = "step", .get = [](Session&, const Value& v) { return slice_of(v)->step; }},
};
constexpr TypeSlots kSliceSlots{
    .compare = slice_compare, .ordered = true, .unhashable = true, .repr = slice_repr, .construct = slice_construct};
const TypeDef kSliceDef{.name = "slice",
                        .kind = ObjectKind::slice,
                        .slots = &kSliceSlots,
                        .methods = kSliceMethods,
                        .getset = kSliceGetSet,
                        .subclassable = false,
                        .doc = "slice(stop)\nslice(start, stop[, step])"};

}  // namespace

void register_range_types(Session& s) {
  define_type(s, kRangeDef);
  define_type(s, kSliceDef);
}

}  // namespace ouro::runtime
