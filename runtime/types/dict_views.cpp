// dict.keys(), .values(), .items(), and iteration over dicts.
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/dict_type.h"
#include "runtime/types/recycled.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {
namespace {

DictPart part_of(const Value& view) {
  return kind_of(view) == ObjectKind::dict_keys     ? DictPart::keys
         : kind_of(view) == ObjectKind::dict_values ? DictPart::values
                                                    : DictPart::items;
}
Dict* dict_of(const Value& view) { return cast<Dict>(view.as<DictView>()->dict); }

Value entry_part(const Dict::Entry& e, Iterator& it) {
  DictPart part = static_cast<DictPart>(it.step);
  if (part == DictPart::keys) return e.key;
  if (part == DictPart::values) return e.value;
  if (it.more.empty()) it.more.emplace_back();
  return recycled_pair(it.more[0], e.key, e.value);
}

// index: next entry; stop: how many items there were at the start (-1: exhausted); step: the part; aux: how many are
// left; more: the pair given out last.
template <bool reversed>
Value dict_next_entry(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Dict* d = cast<Dict>(it.source);
  if (static_cast<int64_t>(d->used) != it.stop) {
    it.stop = -1;  // and so it stays
    return raise_text(s, ExcKind::RuntimeError, "dictionary changed size during iteration");
  }
  if constexpr (reversed) {
    if (it.index > static_cast<int64_t>(d->filled)) it.index = d->filled;
    while (it.index > 0) {
      const Dict::Entry& e = d->entries[--it.index];
      if (!e.key.is_unbound()) return entry_part(e, it);
    }
  } else {
    while (it.index < static_cast<int64_t>(d->filled)) {
      const Dict::Entry& e = d->entries[it.index++];
      if (e.key.is_unbound()) continue;
      if (it.aux.as_int() == 0) {
        it.source = Value();
        return raise_text(s, ExcKind::RuntimeError, "dictionary keys changed during iteration");
      }
      it.aux = Value::integer(it.aux.as_int() - 1);
      return entry_part(e, it);
    }
  }
  it.source = Value();
  return Value::end();
}
template <bool reversed>
Value dict_hint(Session&, Iterator& it) {
  if (it.source.is_unbound()) return Value::integer(0);
  Dict* d = cast<Dict>(it.source);
  int64_t n = 0, from = reversed ? 0 : it.index, to = reversed ? it.index : d->filled;
  for (int64_t i = from; i < to && i < static_cast<int64_t>(d->filled); ++i) n += !d->entries[i].key.is_unbound();
  return Value::integer(n);
}
const IterDef kForward[] = {{"dict_keyiterator", dict_next_entry<false>, dict_hint<false>},
                            {"dict_valueiterator", dict_next_entry<false>, dict_hint<false>},
                            {"dict_itemiterator", dict_next_entry<false>, dict_hint<false>}};
const IterDef kReversed[] = {{"dict_reversekeyiterator", dict_next_entry<true>, dict_hint<true>},
                             {"dict_reversevalueiterator", dict_next_entry<true>, dict_hint<true>},
                             {"dict_reverseitemiterator", dict_next_entry<true>, dict_hint<true>}};

// ---- views

Value view_repr(Session& s, const Value& v) {
  ReprGuard guard(s, v);
  if (!guard.entered()) return make_str("...");
  OURO_TRY(l, list_of(s, v));
  std::string out = std::string(kind_of(v) == ObjectKind::dict_keys     ? "dict_keys"
                                : kind_of(v) == ObjectKind::dict_values ? "dict_values"
                                                                        : "dict_items") +
                    "([";
  if (!repr_items(s, l.as<List>(), out)) return Value::error();
  return make_str(out + "])");
}
int64_t view_length(Session&, const Value& v) { return dict_of(v)->used; }
Value view_iter(Session&, const Value& v) { return make_dict_iterator(v.as<DictView>()->dict, part_of(v), false); }
int keys_contains(Session& s, const Value& v, const Value& key) { return dict_contains(s, dict_of(v), key); }
int items_contains(Session& s, const Value& v, const Value& item) {
  Tuple* t = cast<Tuple>(item);
  if (!t || t->size != 2) return 0;
  Value found = dict_get(s, dict_of(v), (*t)[0]);
  if (found.is_error()) return -1;
  return found.is_unbound() ? 0 : item_equals(s, found, (*t)[1]);
}

bool is_set_like(const Value& v) {
  ObjectKind k = kind_of(unwrap(v));
  return k == ObjectKind::set || k == ObjectKind::frozenset || k == ObjectKind::dict_keys ||
         k == ObjectKind::dict_items;
}

// Is everything of a in b? 1, 0, -1.
int all_in(Session& s, const Value& a, const Value& b) {
  int result = 1;
  bool ok = for_each_until(s, a, [&](Value& x) {
    result = contains(s, b, x);
    return result < 0 ? Go::failed : result ? Go::on : Go::enough;
  });
  return ok ? result : -1;
}

Value view_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  if (!is_set_like(b)) return Value::not_implemented();
  int64_t n = length(s, a), m = length(s, b);
  if (n < 0 || m < 0) return Value::error();
  int r = 0;
  switch (op) {
    case CmpOp::eq:
    case CmpOp::ne:
      r = n == m ? all_in(s, a, b) : 0;
      break;
    case CmpOp::lt:
      r = n < m ? all_in(s, a, b) : 0;
      break;
    case CmpOp::le:
      r = n <= m ? all_in(s, a, b) : 0;
      break;
    case CmpOp::gt:
      r = n > m ? all_in(s, b, a) : 0;
      break;
    case CmpOp::ge:
      r = n >= m ? all_in(s, b, a) : 0;
      break;
  }
  return r < 0 ? Value::error() : Value::boolean(op == CmpOp::ne ? !r : r);
}

// The keys of a plain dict are not asked for their hashes.
Value set_from(Session& s, const Value& iterable) {
  Value out = make_set();
  out.as<Set>()->of_others = true;
  const Value* from = &iterable;
  if (kind_of(iterable) == ObjectKind::dict_keys)
    if (const Value& dict = iterable.as<DictView>()->dict; cast_exact<Dict>(dict)) from = &dict;
  return set_update(s, out.as<Set>(), *from) ? out : Value::error();
}

bool is_set_view(const Value& v) { return kind_of(v) == ObjectKind::dict_keys || kind_of(v) == ObjectKind::dict_items; }

// What is in one of two views of pairs alone; keys are not asked for their hashes.
Value items_xor(Session& s, const Value& a, const Value& b) {
  Value left = make_dict(), out = make_set(), hold = b;
  out.as<Set>()->of_others = true;
  if (!dict_merge(s, left.as<Dict>(), a)) return Value::error();
  size_t pos = 0;
  int64_t hash = 0;
  for (Value *k, *v; dict_next(cast<Dict>(b), pos, k, v, &hash);) {
    const Value key = *k, value = *v;
    OURO_TRY(other, dict_get_hashed(s, left.as<Dict>(), key, hash));
    const int same = other.is_unbound() ? 0 : item_equals(s, other, value);
    if (same < 0) return Value::error();
    if (same ? dict_delete_hashed(s, left.as<Dict>(), key, hash) < 0
             : set_add(s, out.as<Set>(), make_tuple({key, value})) < 0)
      return Value::error();
  }
  const Value rest = make_dict_view(ObjectKind::dict_items, left);
  return set_update(s, out.as<Set>(), rest) ? out : Value::error();
}

// Walked is the other operand, or the smaller one of two views; a larger set walks over the view.
Value view_and(Session& s, Value view, Value other) {
  if (!is_set_view(view)) std::swap(view, other);
  const int64_t n = length(s, view);
  const bool of_set = kind_of(other) == ObjectKind::set;
  const int64_t m = of_set || is_set_view(other) ? length(s, other) : 0;
  if (of_set && n <= m) return call_method(s, other, intern("intersection"), {view});
  if (!of_set && m > n) std::swap(view, other);
  Value out = make_set();
  out.as<Set>()->of_others = true;
  bool ok = for_each(s, other, [&](Value& x) {
    int c = contains(s, view, x);
    return c >= 0 && (!c || set_add(s, out.as<Set>(), x) >= 0);
  });
  return ok ? out : Value::error();
}

// Set operations give plain sets; one of the operands may be any iterable.
Value view_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  if (op == BinOp::and_) return view_and(s, a, b);
  if (op == BinOp::xor_ && kind_of(a) == ObjectKind::dict_items && kind_of(b) == ObjectKind::dict_items)
    return items_xor(s, a.as<DictView>()->dict, b.as<DictView>()->dict);
  if (op != BinOp::or_ && op != BinOp::sub && op != BinOp::xor_) return Value::not_implemented();
  OURO_TRY(out, set_from(s, a));
  if (op == BinOp::or_) return set_update(s, out.as<Set>(), b) ? out : Value::error();
  OURO_TRY_DO(call_method(s, out, intern(op == BinOp::sub ? "difference_update" : "symmetric_difference_update"), {b}));
  return out;
}

Value m_isdisjoint(Session& s, const Args& a) {
  if (!takes_one(s, a, "dict_keys.isdisjoint")) return Value::error();
  Value view = a[0], other = a[1];
  if (view.same(other)) return Value::boolean(length(s, view) == 0);
  if (cast<Set>(other) || is_set_view(other))  // the smaller one is walked
    if (length(s, other) > length(s, view)) std::swap(view, other);
  bool disjoint = true;
  bool ok = for_each_until(s, other, [&](Value& x) {
    int c = contains(s, view, x);
    disjoint = c == 0;
    return c < 0 ? Go::failed : c ? Go::enough : Go::on;
  });
  return ok ? Value::boolean(disjoint) : Value::error();
}
Value m_reversed(Session&, const Args& a) { return make_dict_iterator(a[0].as<DictView>()->dict, part_of(a[0]), true); }

constexpr NativeDef kSetMethods[] = {{.name = "isdisjoint", .fn = m_isdisjoint},
                                     {.name = "__reversed__", .fn = m_reversed}};
constexpr NativeDef kValueMethods[] = {{.name = "__reversed__", .fn = m_reversed}};
constexpr GetSetDef kGetSet[] = {
    {.name = "mapping", .get = [](Session&, const Value& v) { return make_mapping_proxy(v.as<DictView>()->dict); }}};
constexpr uint32_t kSetOps = bit(BinOp::and_) | bit(BinOp::or_) | bit(BinOp::sub) | bit(BinOp::xor_);
constexpr TypeSlots kKeysSlots{.binary = view_binary,
                               .binary_ops = kSetOps,
                               .compare = view_compare,
                               .ordered = true,
                               .unhashable = true,
                               .repr = view_repr,
                               .iter = view_iter,
                               .length = view_length,
                               .contains = keys_contains};
constexpr TypeSlots kItemsSlots{.binary = view_binary,
                                .binary_ops = kSetOps,
                                .compare = view_compare,
                                .ordered = true,
                                .unhashable = true,
                                .repr = view_repr,
                                .iter = view_iter,
                                .length = view_length,
                                .contains = items_contains};
constexpr TypeSlots kValuesSlots{.repr = view_repr, .iter = view_iter, .length = view_length};
const TypeDef kDefs[] = {
    {.name = "dict_keys",
     .kind = ObjectKind::dict_keys,
     .slots = &kKeysSlots,
     .methods = kSetMethods,
     .getset = kGetSet,
     .subclassable = false},
    {.name = "dict_values",
     .kind = ObjectKind::dict_values,
     .slots = &kValuesSlots,
     .methods = kValueMethods,
     .getset = kGetSet,
     .subclassable = false},
    {.name = "dict_items",
     .kind = ObjectKind::dict_items,
     .slots = &kItemsSlots,
     .methods = kSetMethods,
     .getset = kGetSet,
     .subclassable = false},
};

}  // namespace

Value make_dict_iterator(const Value& dict, DictPart part, bool reversed) {
  Dict* d = cast<Dict>(dict);
  const IterDef& def = (reversed ? kReversed : kForward)[static_cast<int>(part)];
  Value it = make_iterator(def, dict, reversed ? d->filled : 0, d->used, static_cast<int64_t>(part));
  it.as<Iterator>()->aux = Value::integer(d->used);
  return it;
}

void register_dict_views(Session& s) {
  for (const TypeDef& d : kDefs)
    if (!s.type(d.kind)) define_type(s, d);
}

}  // namespace ouro::runtime
