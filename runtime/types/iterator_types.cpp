// Iterators: the class of the hidden ones, and the lazy built-ins enumerate, zip, map, filter, reversed.
#include "runtime/types/iterator_types.h"
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/big_int.h"
#include "runtime/types/dict_type.h"
#include "runtime/types/numbers.h"
#include "runtime/types/recycled.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

Iterator& self_of(const Value& v) { return *cast_iterator(unwrap(v)); }

Value iterator_next(Session& s, const Value& v) {
  Iterator& it = self_of(v);
  Value hold = v;
  return it.def->next(s, it);
}
Value iterator_self(Session&, const Value& v) { return v; }
Value m_length_hint(Session& s, const Args& a) {
  Iterator& it = self_of(a[0]);
  return it.def->length_hint ? it.def->length_hint(s, it) : Value::integer(0);
}

// ---- enumerate: source, aux is the pair given out last, or the count once it is beyond a word

Value enumerate_next(Session& s, Iterator& it) {
  Value v;
  if (!quick_step(s, it.source, v)) {
    v = next(s, it.source);
    if (v.is_error() || v.is_end()) return v;
  }
  if (kind_of(it.aux) == ObjectKind::big_int) {
    Value i = it.aux;
    it.aux = int_add(s, i, Value::integer(1));
    return make_tuple({i, v});
  }
  Value i = Value::integer(it.index);
  if (it.index == INT64_MAX) {
    it.aux = int_add(s, i, Value::integer(1));
    return make_tuple({i, v});
  }
  ++it.index;
  return recycled_pair(it.aux, std::move(i), std::move(v));
}
const IterDef kEnumerate{"enumerate", enumerate_next};

Value enumerate_construct(Session& s, Type*, const Args& a) {
  Value v[2];
  if (a.size() + a.keywords.size() == 0) return raise_type_error(s, "enumerate() missing required argument 'iterable'");
  if (!takes_named(s, a, "enumerate", {"iterable", "start"}, 1, 2, v, 0)) return Value::error();
  Value start = Value::integer(0);
  if (!v[1].is_unbound()) {
    start = to_index_value(s, v[1]);
    if (start.is_error()) return start;
  }
  OURO_TRY(source, iter(s, v[0]));
  Value out = make_iterator(kEnumerate, source, start.is_int() ? start.as_int() : 0, 0, 1, ObjectKind::enumerate);
  if (!start.is_int()) out.as<Iterator>()->aux = start;
  return out;
}

// ---- zip: more holds the iterators; index: strict

Value zip_next(Session& s, Iterator& it) {
  size_t n = it.more.size();
  if (n == 0) return Value::end();
  Value out = recycled_tuple(it.aux, n);
  Tuple* t = out.as<Tuple>();
  for (size_t i = 0; i < n; ++i) {
    if (quick_step(s, it.more[i], (*t)[i])) continue;
    Value hold = it.more[i];
    Value v = next(s, hold);
    if (v.is_error()) return v;
    if (!v.is_end()) {
      (*t)[i] = std::move(v);
      continue;
    }
    if (!it.index) return v;
    if (i > 0)
      return raise_value_error(s, "zip() argument %zu is shorter than argument%s%zu", i + 1, i == 1 ? " " : "s 1-",
                               i == 1 ? size_t{1} : i);
    for (size_t k = 1; k < n; ++k) {
      Value other = it.more[k];
      OURO_TRY(x, next(s, other));
      if (!x.is_end())
        return raise_value_error(s, "zip() argument %zu is longer than argument%s%zu", k + 1, k == 1 ? " " : "s 1-",
                                 k == 1 ? size_t{1} : k);
    }
    return v;
  }
  return out;
}
const IterDef kZip{"zip", zip_next};

bool take_iterators(Session& s, const Args& a, size_t from, Iterator* it, const char* what) {
  for (size_t i = from; i < a.size(); ++i) {
    Value source = iter(s, a[i]);
    if (source.is_error()) {
      bool not_iterable = what && pending_is(s, ExcKind::TypeError) && !slots_of(s, a[i]).iter;
      if (not_iterable && kind_of(a[i]) != ObjectKind::instance) {
        clear_pending(s);
        raise_type_error(s, "'%s' object is not iterable", type_name(s, a[i]).c_str());
      }
      return false;
    }
    it->more.push_back(std::move(source));
  }
  return true;
}

Value zip_construct(Session& s, Type*, const Args& a) {
  int strict = 0;
  for (size_t k = 0; k < a.keywords.size(); ++k) {
    std::string_view name = a.names[k].as<Str>()->view();
    if (name != "strict")
      return raise_type_error(s, "'%s' is an invalid keyword argument for zip()", std::string(name).c_str());
    strict = truth(s, a.keywords[k]);
    if (strict < 0) return Value::error();
  }
  Value out = make_iterator(kZip, Value(), strict, 0, 1, ObjectKind::zip);
  return take_iterators(s, a, 0, out.as<Iterator>(), "zip") ? out : Value::error();
}

// ---- map, filter

Value map_next(Session& s, Iterator& it) {
  Value function = it.source;
  if (it.more.size() == 1) {
    Value source = it.more[0];
    OURO_TRY(v, next(s, source));
    if (v.is_end()) return v;
    return call(s, function, {v});
  }
  std::vector<Value> args;
  for (size_t i = 0; i < it.more.size(); ++i) {
    Value source = it.more[i];
    OURO_TRY(v, next(s, source));
    if (v.is_end()) return v;
    args.push_back(std::move(v));
  }
  return call(s, function, std::span<const Value>(args));
}
const IterDef kMap{"map", map_next};

Value map_construct(Session& s, Type*, const Args& a) {
  if (!a.keywords.empty()) return raise_type_error(s, "map() takes no keyword arguments");
  if (a.size() < 2) return raise_type_error(s, "map() must have at least two arguments.");
  Value out = make_iterator(kMap, a[0], 0, 0, 1, ObjectKind::map);
  return take_iterators(s, a, 1, out.as<Iterator>(), "map") ? out : Value::error();
}

Value filter_next(Session& s, Iterator& it) {
  Value source = it.source, test = it.aux;
  for (;;) {
    OURO_TRY(v, next(s, source));
    if (v.is_end()) return v;
    int keep;
    if (test.is_none()) {
      keep = truth(s, v);
    } else {
      OURO_TRY(r, call(s, test, {v}));
      keep = truth(s, r);
    }
    if (keep < 0) return Value::error();
    if (keep) return v;
  }
}
const IterDef kFilter{"filter", filter_next};

Value filter_construct(Session& s, Type*, const Args& a) {
  if (!takes(s, a, "filter", 2, 2, 0)) return Value::error();
  OURO_TRY(source, iter(s, a[1]));
  Value out = make_iterator(kFilter, source, 0, 0, 1, ObjectKind::filter);
  out.as<Iterator>()->aux = a[0];
  return out;
}

// ---- reversed

Value reversed_next(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Value source = it.source;
  if (it.index >= 0) {
    Value v = get_item(s, source, Value::integer(it.index));
    if (!v.is_error()) return --it.index, v;
    it.source = Value();  // it has ended, whatever was raised
    if (!pending_is(s, ExcKind::IndexError) && !pending_is(s, ExcKind::StopIteration)) return v;
    clear_pending(s);
  }
  it.source = Value();
  return Value::end();
}
Value reversed_hint(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::integer(0);
  const int64_t n = length(s, Value(it.source)), left = it.index + 1;
  return n < 0 ? Value::error() : Value::integer(n < left ? 0 : left);
}
const IterDef kReversed{"reversed", reversed_next, reversed_hint};

Value reversed_construct(Session& s, Type*, const Args& a) {
  if (!takes(s, a, "reversed", 1, 1, 0)) return Value::error();
  if (cast_exact<List>(a[0])) return reversed_list_iterator(a[0]);
  const Value& method = find_dunder(s, type_of(s, a[0]), Dunder::reversed_);
  if (!method.is_unbound() && !method.is_none()) return call_dunder(s, a[0], Dunder::reversed_);
  bool sequence = method.is_unbound() && !cast<Dict>(a[0]) && !cast<Set>(a[0]) &&
                  !find_dunder(s, type_of(s, a[0]), Dunder::getitem_).is_unbound();
  if (!sequence) return raise_type_error(s, "'%s' object is not reversible", type_name(s, a[0]).c_str());
  int64_t n = length(s, a[0]);
  if (n < 0) return Value::error();
  return make_iterator(kReversed, a[0], n - 1, 0, 1, ObjectKind::reversed);
}

// ---- iter(callable, sentinel)

Value callable_next(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Value function = it.source, sentinel = it.aux;
  Value v = call(s, function, std::initializer_list<Value>{});
  if (v.is_error()) {
    if (!pending_is(s, ExcKind::StopIteration)) return v;
    clear_pending(s);
    it.source = Value();
    return Value::end();
  }
  int e = equals(s, sentinel, v);
  if (e < 0) return Value::error();
  if (!e) return v;
  it.source = Value();
  return Value::end();
}
const IterDef kCallable{"callable_iterator", callable_next};

constexpr NativeDef kMethods[] = {{.name = "__length_hint__", .fn = m_length_hint}};
constexpr TypeSlots kIteratorSlots{.iter = iterator_self, .next = iterator_next};
constexpr TypeSlots kEnumerateSlots{.iter = iterator_self, .next = iterator_next, .construct = enumerate_construct};
constexpr TypeSlots kZipSlots{.iter = iterator_self, .next = iterator_next, .construct = zip_construct};
constexpr TypeSlots kMapSlots{.iter = iterator_self, .next = iterator_next, .construct = map_construct};
constexpr TypeSlots kFilterSlots{.iter = iterator_self, .next = iterator_next, .construct = filter_construct};
constexpr TypeSlots kReversedSlots{.iter = iterator_self, .next = iterator_next, .construct = reversed_construct};
const TypeDef kDefs[] = {
    {.name = "iterator",
     .kind = ObjectKind::iterator,
     .slots = &kIteratorSlots,
     .methods = kMethods,
     .subclassable = false},
    {.name = "enumerate",
     .kind = ObjectKind::enumerate,
     .slots = &kEnumerateSlots,
     .doc = "Return an enumerate object."},
    {.name = "zip",
     .kind = ObjectKind::zip,
     .slots = &kZipSlots,
     .doc = "zip(*iterables, strict=False) --> Yield tuples until an input is exhausted."},
    {.name = "map", .kind = ObjectKind::map, .slots = &kMapSlots, .doc = "map(func, *iterables) --> map object"},
    {.name = "filter",
     .kind = ObjectKind::filter,
     .slots = &kFilterSlots,
     .doc = "filter(function or None, iterable) --> filter object"},
    {.name = "reversed",
     .kind = ObjectKind::reversed,
     .slots = &kReversedSlots,
     .methods = kMethods,
     .doc = "Return a reverse iterator over the values of the given sequence."},
};

}  // namespace

Value make_callable_iterator(const Value& function, const Value& sentinel) {
  Value it = make_iterator(kCallable, function);
  it.as<Iterator>()->aux = sentinel;
  return it;
}

void register_iterator_types(Session& s) {
  for (const TypeDef& d : kDefs)
    if (!s.type(d.kind)) define_type(s, d);
}

}  // namespace ouro::runtime
