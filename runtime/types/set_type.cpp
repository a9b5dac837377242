// set and frozenset. Which operand is walked, copied or probed follows CPython's Objects/setobject.c: it decides the
// order of the result.
#include "runtime/object/ops.h"
#include "runtime/text/hash.h"
#include "runtime/types/args.h"
#include "runtime/types/generic_alias.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

Set* self_of(const Args& a) { return cast<Set>(a[0]); }
ObjectKind kind_of_set(const Value& v) { return kind_of(unwrap(v)); }
bool is_set(const Value& v) { return cast<Set>(v) != nullptr; }

Value new_set(ObjectKind kind) { return kind == ObjectKind::frozenset ? make_frozenset() : make_set(); }

// f(key, its hash) for each key of a set, by position so that scripts may change it meanwhile. It is the caller's to
// hold.
template <class F>
bool each_key(const Set* from, F f) {
  size_t pos = 0;
  int64_t hash = 0;
  for (Value* k; set_next(from, pos, k, &hash);) {
    const Value key = *k;
    if (!f(key, hash)) return false;
  }
  return true;
}
// The same of any iterable, whose items are asked for their hash.
template <class F>
bool each_item(Session& s, const Value& iterable, F f) {
  return for_each(s, iterable, [&](Value& key) {
    int64_t h;
    return hash(s, key, h) && f(key, h);
  });
}
// Of a set, else of any iterable.
template <class F>
bool each_of(Session& s, const Value& keys, F f) {
  Set* t = cast<Set>(keys);
  if (!t) return each_item(s, keys, f);
  const Value hold = Value::share(t);
  return each_key(t, f);
}

// ---- algebra; `other` may be any iterable

Value of_others(Value set) {
  if (Set* t = cast<Set>(set)) t->of_others = true;
  return set;
}

Value intersection(Session& s, const Value& a, const Value& other) {
  Value out = of_others(new_set(kind_of_set(a)));
  Set *x = cast<Set>(a), *y = cast<Set>(other), *r = out.as<Set>();
  if (x == y) return of_others(set_copy(x, kind_of_set(a)));
  if (y) {
    if (y->used > x->used) std::swap(x, y);
    Value hold_x = Value::share(x), hold_y = Value::share(y);
    bool ok = each_key(y, [&](const Value& k, int64_t h) {
      int c = set_contains_hashed(s, x, k, h);
      return c >= 0 && (!c || set_add_hashed(s, r, k, h) >= 0);
    });
    return ok ? out : Value::error();
  }
  bool all = false;
  bool ok = each_item(s, other, [&](const Value& k, int64_t h) {
    int c = set_contains_hashed(s, x, k, h);
    if (c < 0 || (c && set_add_hashed(s, r, k, h) < 0)) return false;
    all = c && r->used >= x->used;  // nothing more can be in both
    return !all;
  });
  return ok || all ? out : Value::error();
}

bool difference_update(Session& s, Set* t, const Value& other) {
  if (cast<Set>(other) == t) {
    set_clear(t);
    return true;
  }
  return each_of(s, other, [&](const Value& k, int64_t h) { return set_discard_hashed(s, t, k, h) >= 0; });
}

Value difference(Session& s, const Value& a, const Value& other) {
  Set *x = cast<Set>(a), *y = cast<Set>(other);
  Dict* d = cast_exact<Dict>(other);
  if (!y && !d) {
    Value out = of_others(set_copy(x, kind_of_set(a)));
    return difference_update(s, out.as<Set>(), other) ? out : Value::error();
  }
  size_t m = y ? y->used : d->used;
  if (x->used >> 2 > m) {  // much smaller: copy and take away
    Value out = of_others(set_copy(x, kind_of_set(a)));
    return difference_update(s, out.as<Set>(), other) ? out : Value::error();
  }
  Value out = of_others(new_set(kind_of_set(a))), hold = Value::share(x);
  bool ok = each_key(x, [&](const Value& k, int64_t h) {
    int c = y ? set_contains_hashed(s, y, k, h) : dict_contains_hashed(s, d, k, h);
    return c >= 0 && (c || set_add_hashed(s, out.as<Set>(), k, h) >= 0);
  });
  return ok ? out : Value::error();
}

bool symmetric_update(Session& s, Set* t, const Value& other) {
  t->of_others = true;
  if (cast<Set>(other) == t) {
    set_clear(t);
    return true;
  }
  const auto toggle = [&](const Value& k, int64_t h) {
    int r = set_discard_hashed(s, t, k, h);
    return r >= 0 && (r || set_add_hashed(s, t, k, h) >= 0);
  };
  Value from = other;
  if (Dict* d = cast_exact<Dict>(other)) {  // its keys are not asked for their hashes
    size_t pos = 0;
    int64_t hash = 0;
    for (Value *k, *v; dict_next(d, pos, k, v, &hash);) {
      const Value key = *k;
      if (!toggle(key, hash)) return false;
    }
    return true;
  }
  if (!is_set(other)) {
    from = make_set();
    if (!set_update(s, from.as<Set>(), other)) return false;
  }
  return each_of(s, from, toggle);
}

Value symmetric_difference(Session& s, const Value& a, const Value& other) {
  Value out = of_others(new_set(kind_of_set(a)));
  if (!set_update(s, out.as<Set>(), other)) return Value::error();
  return symmetric_update(s, out.as<Set>(), unwrap(a)) ? out : Value::error();
}

int is_subset(Session& s, const Value& a, const Value& b) {  // both sets
  Set *x = cast<Set>(a), *y = cast<Set>(b);
  if (x->used > y->used) return 0;
  int result = 1;
  const Value hold_x = Value::share(x), hold_y = Value::share(y);
  bool ok = each_key(x, [&](const Value& k, int64_t h) {
    int c = set_contains_hashed(s, y, k, h);
    if (c == 0) result = 0;
    return c > 0;
  });
  return ok ? 1 : result == 0 ? 0 : -1;
}

// ---- slots

Value set_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  if (!is_set(a) || !is_set(b)) return Value::not_implemented();
  switch (op) {
    case BinOp::or_: {
      Value out = of_others(set_copy(cast<Set>(a), kind_of_set(a)));
      return set_update(s, out.as<Set>(), b) ? out : Value::error();
    }
    case BinOp::and_:
      return intersection(s, a, b);
    case BinOp::sub:
      return difference(s, a, b);
    case BinOp::xor_:
      return symmetric_difference(s, a, b);
    default:
      return Value::not_implemented();
  }
}

// t becomes what `r` is, a set of its own, or an error.
bool take_over(Set* t, const Value& r) {
  if (r.is_error()) return false;
  Set* x = cast<Set>(r);
  std::swap(t->table, x->table);
  std::swap(t->fill, x->fill);
  std::swap(t->used, x->used);
  std::swap(t->mask, x->mask);
  std::swap(t->finger, x->finger);
  return true;
}

Value set_inplace(Session& s, BinOp op, Value& a, const Value& b) {
  if (!is_set(b)) return Value::not_implemented();
  Set* t = cast<Set>(a);
  t->of_others = true;
  bool ok;
  switch (op) {
    case BinOp::or_:
      ok = set_update(s, t, b);
      break;
    case BinOp::and_:
      ok = take_over(t, intersection(s, a, b));
      break;
    case BinOp::sub:
      ok = difference_update(s, t, b);
      break;
    case BinOp::xor_:
      ok = symmetric_update(s, t, b);
      break;
    default:
      return Value::not_implemented();
  }
  return ok ? a : Value::error();
}

Value set_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  Set *x = cast<Set>(a), *y = cast<Set>(b);
  if (!y) return Value::not_implemented();
  int r;
  switch (op) {
    case CmpOp::eq:
    case CmpOp::ne:
      r = x->used == y->used ? is_subset(s, a, b) : 0;
      break;
    case CmpOp::lt:
      r = x->used < y->used ? is_subset(s, a, b) : 0;
      break;
    case CmpOp::le:
      r = is_subset(s, a, b);
      break;
    case CmpOp::gt:
      r = x->used > y->used ? is_subset(s, b, a) : 0;
      break;
    default:
      r = is_subset(s, b, a);
      break;
  }
  return r < 0 ? Value::error() : Value::boolean(op == CmpOp::ne ? !r : r);
}

bool frozenset_hash(Session&, const Value& v, int64_t& out) {
  Set* t = cast<Set>(v);
  if (t->hash != -1) {
    out = t->hash;
    return true;
  }
  text::SetHash h;
  each_key(t, [&](const Value&, int64_t one) { return h.add(one), true; });
  out = t->hash = h.finish(t->used);
  return true;
}

Value repr_as(Session& s, const Value& v, const std::string& name) {
  Set* t = cast<Set>(v);
  bool plain = name == "set";
  if (t->used == 0) return make_str(name + "()");
  ReprGuard guard(s, unwrap(v));
  if (!guard.entered()) return make_str(name + "(...)");
  OURO_TRY(keys, list_of(s, Value::share(t)));
  std::string out = plain ? "{" : name + "({";
  if (!repr_items(s, keys.as<List>(), out)) return Value::error();
  return make_str(out + (plain ? "}" : "})"));
}
Value set_repr(Session& s, const Value& v) {
  return repr_as(s, v, kind_of(v) == ObjectKind::frozenset ? "frozenset" : "set");
}

int64_t set_length(Session&, const Value& v) { return static_cast<int64_t>(cast<Set>(v)->used); }

// A set without a hash of its own is looked up as the frozenset of its items.
Value hashable(Session& s, const Value& key) {
  Set* t = cast<Set>(key);
  if (!t || kind_of_set(key) != ObjectKind::set || !find_dunder(s, type_of(s, key), Dunder::hash_).is_none())
    return key;
  return set_copy(t, ObjectKind::frozenset);
}
int set_contains_slot(Session& s, const Value& v, const Value& key) {
  return set_contains(s, cast<Set>(v), hashable(s, key));
}

Value set_next_slot(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Set* t = cast<Set>(it.source);
  if (static_cast<int64_t>(t->used) != it.stop) {
    it.stop = -1;
    return raise_text(s, ExcKind::RuntimeError, "Set changed size during iteration");
  }
  auto pos = static_cast<size_t>(it.index);
  Value* k;
  if (set_next(t, pos, k)) {
    it.index = static_cast<int64_t>(pos);
    return *k;
  }
  it.source = Value();
  return Value::end();
}
const IterDef kSetIterator{"set_iterator", set_next_slot, [](Session&, Iterator& it) {
                             int64_t n = 0;
                             if (it.source.is_unbound()) return Value::integer(0);
                             auto pos = static_cast<size_t>(it.index);
                             for (Value* k; set_next(cast<Set>(it.source), pos, k);) ++n;
                             return Value::integer(n);
                           }};
Value set_iter(Session&, const Value& v) {
  return make_iterator(kSetIterator, v, 0, static_cast<int64_t>(cast<Set>(v)->used));
}

bool set_init(Session& s, const Value& self, const Args& a) {
  if (!takes(s, a, "set", 0, 1, 0)) return false;
  Set* t = cast<Set>(self);
  if (t->used) set_clear(t);
  t->of_others = true;
  return a.size() == 0 || set_update(s, t, a[0]);
}
Value set_construct(Session& s, Type*, const Args& a) {  // its items have a rule in reverse mode
  if (!takes(s, a, "set", 0, 1, 0)) return Value::error();
  Value v = make_set();
  return a.size() == 0 || set_update(s, v.as<Set>(), a[0]) ? v : Value::error();
}
Value frozenset_construct(Session& s, Type* cls, const Args& a) {
  if (!takes(s, a, "frozenset", 0, 1, 0)) return Value::error();
  if (a.size() == 1 && kind_of(a[0]) == ObjectKind::frozenset && cls == s.type(ObjectKind::frozenset)) return a[0];
  Value out = make_frozenset();
  return a.size() == 0 || set_update(s, out.as<Set>(), a[0]) ? out : Value::error();
}

// ---- methods

Value m_add(Session& s, const Args& a) {
  if (!takes_one(s, a, "set.add")) return Value::error();
  return set_add(s, self_of(a), a[1]) < 0 ? Value::error() : Value::none();
}
Value add_plain(Session& s, const Value& set, const Value& v) {
  ObjectKind k = kind_of(v);
  if (kind_of(set) != ObjectKind::set || (k != ObjectKind::str && k != ObjectKind::integer)) return {};
  return set_add(s, set.as<Set>(), v) < 0 ? Value::error() : Value::none();
}
Value m_discard(Session& s, const Args& a) {
  if (!takes_one(s, a, "set.discard")) return Value::error();
  return set_discard(s, self_of(a), hashable(s, a[1])) < 0 ? Value::error() : Value::none();
}
Value m_remove(Session& s, const Args& a) {
  if (!takes_one(s, a, "set.remove")) return Value::error();
  int r = set_discard(s, self_of(a), hashable(s, a[1]));
  return r < 0 ? Value::error() : r ? Value::none() : raise_key_error(s, a[1]);
}
Value m_pop(Session& s, const Args& a) {
  if (!takes_none(s, a, "set.pop")) return Value::error();
  Value v = set_pop(self_of(a));
  return v.is_unbound() ? raise_key_error(s, make_str("pop from an empty set")) : v;
}
Value m_clear(Session& s, const Args& a) {
  if (!takes_none(s, a, "set.clear")) return Value::error();
  set_clear(self_of(a));
  return Value::none();
}
Value m_copy(Session& s, const Args& a) {
  if (!takes_none(s, a, kind_of_set(a[0]) == ObjectKind::set ? "set.copy" : "frozenset.copy")) return Value::error();
  if (kind_of(a[0]) == ObjectKind::frozenset) return a[0];
  return of_others(set_copy(self_of(a), kind_of_set(a[0])));
}

bool no_keywords(Session& s, const Args& a, const char* name) {
  if (a.keywords.empty()) return true;
  raise_type_error(s, "%s.%s() takes no keyword arguments", type_name(s, unwrap(a[0])).c_str(), name);
  return false;
}

Value m_union(Session& s, const Args& a) {
  if (!no_keywords(s, a, "union")) return Value::error();
  Value out = of_others(set_copy(self_of(a), kind_of_set(a[0])));
  for (size_t i = 1; i < a.size(); ++i)
    if (!set_update(s, out.as<Set>(), a[i])) return Value::error();
  return out;
}
Value m_update(Session& s, const Args& a) {
  if (!no_keywords(s, a, "update")) return Value::error();
  self_of(a)->of_others = true;
  for (size_t i = 1; i < a.size(); ++i)
    if (!set_update(s, self_of(a), a[i])) return Value::error();
  return Value::none();
}
template <Value (*op)(Session&, const Value&, const Value&)>
Value fold(Session& s, const Args& a) {
  if (a.size() == 1) return set_copy(self_of(a), kind_of_set(a[0]));
  Value out = unwrap(a[0]);
  for (size_t i = 1; i < a.size(); ++i) {
    out = op(s, out, a[i]);
    if (out.is_error()) return out;
  }
  return out;
}
Value m_intersection_update(Session& s, const Args& a) {
  return take_over(self_of(a), fold<intersection>(s, a)) ? Value::none() : Value::error();
}
Value m_difference_update(Session& s, const Args& a) {
  for (size_t i = 1; i < a.size(); ++i)
    if (!difference_update(s, self_of(a), a[i])) return Value::error();
  return Value::none();
}
Value m_symmetric_difference(Session& s, const Args& a) {
  if (!takes_one(s, a, "set.symmetric_difference")) return Value::error();
  return symmetric_difference(s, unwrap(a[0]), a[1]);
}
Value m_symmetric_update(Session& s, const Args& a) {
  if (!takes_one(s, a, "set.symmetric_difference_update")) return Value::error();
  return symmetric_update(s, self_of(a), a[1]) ? Value::none() : Value::error();
}
Value as_set(Session& s, const Value& v) {
  if (is_set(v)) return unwrap(v);
  Value out = make_set();
  return set_update(s, out.as<Set>(), v) ? out : Value::error();
}
template <bool superset>
Value m_subset(Session& s, const Args& a) {
  if (!takes_one(s, a, superset ? "set.issuperset" : "set.issubset")) return Value::error();
  if (superset && !is_set(a[1])) {
    int there = 1;
    const bool all = each_item(
        s, a[1], [&](const Value& k, int64_t h) { return (there = set_contains_hashed(s, self_of(a), k, h)) > 0; });
    return all ? Value::boolean(true) : there == 0 ? Value::boolean(false) : Value::error();
  }
  OURO_TRY(other, as_set(s, a[1]));
  int r = superset ? is_subset(s, other, a[0]) : is_subset(s, a[0], other);
  return r < 0 ? Value::error() : Value::boolean(r);
}
Value m_isdisjoint(Session& s, const Args& a) {
  if (!takes_one(s, a, "set.isdisjoint")) return Value::error();
  Set *t = self_of(a), *other = cast<Set>(a[1]);
  int found = 0;
  auto absent = [&](Set* from, const Value& k, int64_t h) { return (found = set_contains_hashed(s, from, k, h)) == 0; };
  bool all = false;
  if (other) {  // the smaller one is walked
    const Value hold = Value::share(t), hold_other = Value::share(other);
    if (other->used > t->used) std::swap(other, t);
    all = each_key(other, [&](const Value& k, int64_t h) { return absent(t, k, h); });
  } else {
    all = each_item(s, a[1], [&](const Value& k, int64_t h) { return absent(t, k, h); });
  }
  return all ? Value::boolean(true) : found > 0 ? Value::boolean(false) : Value::error();
}
Value m_repr(Session& s, const Args& a) { return repr_as(s, a[0], type_name(s, a[0])); }
Value m_sizeof(Session&, const Args& a) { return Value::integer(200 + 16 * static_cast<int64_t>(self_of(a)->mask)); }

#define OURO_COMMON_SET_METHODS                                                                                    \
  {.name = "copy", .fn = m_copy}, {.name = "union", .fn = m_union},                                                \
      {.name = "intersection", .fn = fold<intersection>}, {.name = "difference", .fn = fold<difference>},          \
      {.name = "symmetric_difference", .fn = m_symmetric_difference}, {.name = "issubset", .fn = m_subset<false>}, \
      {.name = "issuperset", .fn = m_subset<true>}, {.name = "isdisjoint", .fn = m_isdisjoint},                    \
      {.name = "__repr__", .fn = m_repr}, {                                                                        \
    .name = "__sizeof__", .fn = m_sizeof                                                                           \
  }

constexpr NativeDef kFrozenMethods[] = {OURO_COMMON_SET_METHODS};
constexpr NativeDef kMethods[] = {
    OURO_COMMON_SET_METHODS,
    {.name = "add", .fn = m_add, .two = add_plain},
    {.name = "discard", .fn = m_discard},
    {.name = "remove", .fn = m_remove},
    {.name = "pop", .fn = m_pop},
    {.name = "clear", .fn = m_clear},
    {.name = "update", .fn = m_update},
    {.name = "intersection_update", .fn = m_intersection_update},
    {.name = "difference_update", .fn = m_difference_update},
    {.name = "symmetric_difference_update", .fn = m_symmetric_update},
};
constexpr NativeDef kClassMethods[] = {kClassGetItem};
constexpr uint32_t kSetOps = bit(BinOp::and_) | bit(BinOp::or_) | bit(BinOp::sub) | bit(BinOp::xor_);
constexpr TypeSlots kSetSlots{.binary = set_binary,
                              .binary_ops = kSetOps,
                              .inplace = set_inplace,
                              .inplace_ops = kSetOps,
                              .compare = set_compare,
                              .ordered = true,
                              .unhashable = true,
                              .repr = set_repr,
                              .iter = set_iter,
                              .length = set_length,
                              .contains = set_contains_slot,
                              .construct = set_construct,
                              .init = set_init};
constexpr TypeSlots kFrozenSlots{.binary = set_binary,
                                 .binary_ops = kSetOps,
                                 .compare = set_compare,
                                 .ordered = true,
                                 .hash = frozenset_hash,
                                 .repr = set_repr,
                                 .iter = set_iter,
                                 .length = set_length,
                                 .contains = set_contains_slot,
                                 .construct = frozenset_construct};
const TypeDef kSetDef{.name = "set",
                      .kind = ObjectKind::set,
                      .slots = &kSetSlots,
                      .methods = kMethods,
                      .class_methods = kClassMethods,
                      .doc = "set() -> new empty set object"};
const TypeDef kFrozenDef{.name = "frozenset",
                         .kind = ObjectKind::frozenset,
                         .slots = &kFrozenSlots,
                         .methods = kFrozenMethods,
                         .class_methods = kClassMethods,
                         .doc = "frozenset() -> empty frozenset object"};

}  // namespace

void register_set_types(Session& s) {
  define_type(s, kSetDef);
  define_type(s, kFrozenDef);
}

}  // namespace ouro::runtime
