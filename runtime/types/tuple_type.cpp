// tuple.
#include "runtime/object/ops.h"
#include "runtime/text/hash.h"
#include "runtime/types/args.h"
#include "runtime/types/generic_alias.h"
#include "runtime/types/iterator_types.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

Value plain(const Value& v) { return kind_of(v) == ObjectKind::tuple ? v : Value::share(cast<Tuple>(v)); }

Value tuple_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  Tuple *x = cast<Tuple>(a), *y = cast<Tuple>(b);
  if (op == BinOp::add) {
    if (!x) return Value::not_implemented();
    if (!y) return raise_type_error(s, "can only concatenate tuple (not \"%s\") to tuple", type_name(s, b).c_str());
    if (x->size == 0) return plain(b);
    if (y->size == 0) return plain(a);
    Value out = alloc_tuple(x->size + y->size);
    Tuple* r = out.as<Tuple>();
    for (size_t i = 0; i < x->size; ++i) (*r)[i] = (*x)[i];
    for (size_t i = 0; i < y->size; ++i) (*r)[x->size + i] = (*y)[i];
    return out;
  }
  if (op != BinOp::mul) return Value::not_implemented();
  Tuple* t = x ? x : y;
  int64_t n;
  if (!repeat_count(s, x ? b : a, n)) return Value::error();
  if (n == 1) return Value::share(t);
  if (n <= 0 || t->size == 0) return make_tuple();
  if (static_cast<uint64_t>(n) > (uint64_t{1} << 36) / t->size) return raise_memory_error(s);
  Value out = alloc_tuple(t->size * static_cast<size_t>(n));
  uint32_t count = 0;
  for (size_t i = 0; i < out.as<Tuple>()->size; ++i) {
    poll_interrupt(s, count);
    (*out.as<Tuple>())[i] = (*t)[i % t->size];
  }
  return out;
}

Value tuple_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  Tuple* y = cast<Tuple>(b);
  return y ? compare_items(s, op, cast<Tuple>(a), y) : Value::not_implemented();
}

bool tuple_hash(Session& s, const Value& v, int64_t& out) {
  Tuple* t = cast<Tuple>(v);
  text::TupleHash h;
  for (const Value& x : *t) {
    poll_interrupt(s);
    int64_t one;
    if (!hash(s, x, one)) return false;
    h.add(one);
  }
  out = h.finish(t->size);
  return true;
}

Value tuple_repr(Session& s, const Value& v) {
  Tuple* t = cast<Tuple>(v);
  if (t->size == 0) return make_str("()");
  ReprGuard guard(s, v);
  if (!guard.entered()) return make_str("(...)");
  std::string out = "(";
  if (!repr_items(s, t, out)) return Value::error();
  return make_str(out + (t->size == 1 ? ",)" : ")"));
}

int64_t tuple_length(Session&, const Value& v) { return static_cast<int64_t>(cast<Tuple>(v)->size); }

Value tuple_get_item(Session& s, const Value& v, const Value& key) {
  Tuple* t = cast<Tuple>(v);
  auto n = static_cast<int64_t>(t->size);
  if (Slice* sl = cast_exact<Slice>(key)) {
    int64_t start, stop, step, count = slice_indices(s, *sl, n, start, stop, step);
    if (count < 0) return Value::error();
    if (count == n && step == 1) return plain(v);
    if (count == 0) return make_tuple();
    Value out = alloc_tuple(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k)
      (*out.as<Tuple>())[static_cast<size_t>(k)] = (*t)[static_cast<size_t>(start + k * step)];
    return out;
  }
  int64_t i;
  if (key.is_int())
    i = key.as_int();
  else if (!sequence_index(s, key, i, "tuple indices must be integers or slices, not %s"))
    return Value::error();
  if (i < 0) i += n;
  if (i < 0 || i >= n) return raise_text(s, ExcKind::IndexError, "tuple index out of range");
  return (*t)[static_cast<size_t>(i)];
}

int tuple_contains(Session& s, const Value& v, const Value& item) {
  for (const Value& x : *cast<Tuple>(v)) {
    poll_interrupt(s);
    int e = item_equals(s, x, item);
    if (e) return e;
  }
  return 0;
}

Value tuple_construct(Session& s, Type*, const Args& a) {
  if (!takes(s, a, "tuple", 0, 1, 0)) return Value::error();
  return a.size() == 0 ? make_tuple() : tuple_of(s, a[0]);
}

Value m_count(Session& s, const Args& a) {
  if (!takes_one(s, a, "tuple.count")) return Value::error();
  int64_t n = 0;
  for (const Value& x : *cast<Tuple>(a[0])) {
    poll_interrupt(s);
    int e = item_equals(s, x, a[1]);
    if (e < 0) return Value::error();
    n += e;
  }
  return Value::integer(n);
}
Value m_index(Session& s, const Args& a) {
  if (!takes(s, a, "index", 1, 3, 1, "tuple.index")) return Value::error();
  Tuple* t = cast<Tuple>(a[0]);
  int64_t start = 0, stop = INT64_MAX;
  for (size_t k = 2; k < a.size(); ++k)
    if (!slice_bound(s, a[k], k == 2 ? start : stop)) return Value::error();
  auto n = static_cast<int64_t>(t->size);
  if (start < 0) start = std::max<int64_t>(0, start + n);
  if (stop < 0) stop = std::max<int64_t>(0, stop + n);
  for (int64_t i = start; i < stop && i < n; ++i) {
    int e = item_equals(s, (*t)[static_cast<size_t>(i)], a[1]);
    if (e < 0) return Value::error();
    if (e) return Value::integer(i);
  }
  return raise_value_error(s, "tuple.index(x): x not in tuple");
}
Value m_getnewargs(Session&, const Args& a) { return make_tuple({plain(a[0])}); }

Value tuple_next(Session&, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Tuple* t = cast<Tuple>(it.source);
  if (static_cast<size_t>(it.index) < t->size) return (*t)[static_cast<size_t>(it.index++)];
  it.source = Value();
  return Value::end();
}

}  // namespace

const IterDef kTupleIterator{
    "tuple_iterator", tuple_next, [](Session&, Iterator& it) {
      return Value::integer(it.source.is_unbound() ? 0 : static_cast<int64_t>(cast<Tuple>(it.source)->size) - it.index);
    }};

namespace {

Value tuple_iter(Session&, const Value& v) { return make_iterator(kTupleIterator, v); }

constexpr NativeDef kMethods[] = {
    {.name = "count", .fn = m_count, .doc = "Return number of occurrences of value."},
    {.name = "index", .fn = m_index, .doc = "Return first index of value."},
    {.name = "__getnewargs__", .fn = m_getnewargs},
};
constexpr NativeDef kClassMethods[] = {kClassGetItem};
constexpr TypeSlots kSlots{
    .binary = tuple_binary,
    .binary_ops = bit(BinOp::add) | bit(BinOp::mul),
    .no_reflected = true,
    .compare = tuple_compare,
    .ordered = true,
    .hash = tuple_hash,
    .repr = tuple_repr,
    .iter = tuple_iter,
    .length = tuple_length,
    .get_item = tuple_get_item,
    .contains = tuple_contains,
    .construct = tuple_construct,
};
const TypeDef kDef{.name = "tuple",
                   .kind = ObjectKind::tuple,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .class_methods = kClassMethods,
                   .doc = "Built-in immutable sequence."};

}  // namespace

void register_tuple_type(Session& s) { define_type(s, kDef); }

}  // namespace ouro::runtime
