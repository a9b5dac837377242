#include "runtime/interpreter/unpack.h"

#include "runtime/object/ops.h"

namespace ouro::runtime {
namespace {

Value iterator_of(Session& s, const Value& value) {
  Value it = iter(s, value);
  if (!it.is_error() || !pending_is(s, ExcKind::TypeError)) return it;
  const ObjectKind k = kind_of(value);
  const bool scripted = k == ObjectKind::instance || k == ObjectKind::exception;
  if (scripted && !find_dunder(s, type_of(s, value), Dunder::iter_).is_unbound()) return it;
  clear_pending(s);
  return raise_type_error(s, "cannot unpack non-iterable %s object", type_name(s, value).c_str());
}

// Fills t[0..n) from the iterator; how many there were, or -1.
int64_t take(Session& s, const Value& it, Tuple& t, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    Value v = next(s, it);
    if (v.is_error()) return -1;
    if (v.is_end()) return static_cast<int64_t>(i);
    t[i] = std::move(v);
  }
  return static_cast<int64_t>(n);
}

Value too_few(Session& s, const char* least, size_t expected, size_t got) {
  return raise_value_error(s, "not enough values to unpack (expected %s%zu, got %zu)", least, expected, got);
}

}  // namespace

Value unpack(Session& s, const Value& value, size_t n) {
  if (Tuple* t = cast_exact<Tuple>(value); t && t->size == n) return value;
  if (List* l = cast_exact<List>(value); l && l->size == n)
    return make_tuple(std::span<const Value>(l->items, l->size));
  OURO_TRY(it, iterator_of(s, value));
  Value r = alloc_tuple(n);
  const int64_t got = take(s, it, *r.as<Tuple>(), n);
  if (got < 0) return Value::error();
  if (static_cast<size_t>(got) < n) return too_few(s, "", n, static_cast<size_t>(got));
  OURO_TRY(extra, next(s, it));
  return extra.is_end() ? r : raise_value_error(s, "too many values to unpack (expected %zu)", n);
}

Value unpack_star(Session& s, const Value& value, size_t before, size_t after) {
  OURO_TRY(it, iterator_of(s, value));
  Value r = alloc_tuple(before + 1 + after);
  Tuple& t = *r.as<Tuple>();
  const int64_t got = take(s, it, t, before);
  if (got < 0) return Value::error();
  if (static_cast<size_t>(got) < before) return too_few(s, "at least ", before + after, static_cast<size_t>(got));
  OURO_TRY(rest, list_of(s, it));  // asks the iterator for one, as list() does
  List& l = *rest.as<List>();
  if (l.size < after) return too_few(s, "at least ", before + after, before + l.size);
  for (size_t i = 0; i < after; ++i) t[before + 1 + i] = std::move(l[l.size - after + i]);
  l.truncate(l.size - after);
  t[before] = std::move(rest);
  return r;
}

}  // namespace ouro::runtime
