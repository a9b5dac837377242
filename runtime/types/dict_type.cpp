// dict.
#include "runtime/types/dict_type.h"
#include "runtime/object/ops.h"
#include "runtime/types/args.h"
#include "runtime/types/generic_alias.h"
#include "runtime/types/register.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {

bool dict_update_from(Session& s, Dict* d, const Value& from) {
  if (cast<Dict>(from)) return dict_merge(s, d, from);
  static const Symbol keys = intern("keys");
  Value method = lookup_attr(s, from, keys);
  if (method.is_error()) return false;
  if (!method.is_unbound()) return dict_merge(s, d, from);
  size_t n = 0;
  return for_each(s, from, [&](Value& item) {
    List* l = cast_exact<List>(item);
    Tuple* t = cast_exact<Tuple>(item);
    Value hold;
    if (!l && !t) {
      hold = list_of_items(s, item);
      if (hold.is_error()) {
        if (!pending_is(s, ExcKind::TypeError)) return false;
        clear_pending(s);
        raise_type_error(s, "cannot convert dictionary update sequence element #%zu to a sequence", n);
        return false;
      }
      l = hold.as<List>();
    }
    size_t size = l ? l->size : t->size;
    if (size != 2) {
      raise_value_error(s, "dictionary update sequence element #%zu has length %zu; 2 is required", n, size);
      return false;
    }
    ++n;
    Value key = l ? (*l)[0] : (*t)[0], value = l ? (*l)[1] : (*t)[1];
    return dict_set(s, d, key, value);
  });
}

Value make_dict_view(ObjectKind kind, Value dict) {
  auto* view = new_object<DictView>(kind);
  view->dict = std::move(dict);
  return Value::steal(view);
}

namespace {

Dict* self_of(const Args& a) { return cast<Dict>(a[0]); }

bool add_keywords(Session& s, Dict* d, const Args& a) {
  for (size_t k = 0; k < a.keywords.size(); ++k)
    if (!dict_set(s, d, a.names[k], a.keywords[k])) return false;
  return true;
}

// ---- slots

Value dict_binary(Session& s, BinOp op, const Value& a, const Value& b) {
  if (op != BinOp::or_ || !cast<Dict>(a) || !cast<Dict>(b)) return Value::not_implemented();
  Value out = make_dict();
  return dict_merge(s, out.as<Dict>(), a) && dict_merge(s, out.as<Dict>(), b) ? out : Value::error();
}
Value dict_inplace(Session& s, BinOp op, Value& a, const Value& b) {
  if (op != BinOp::or_) return Value::not_implemented();
  return dict_update_from(s, cast<Dict>(a), b) ? a : Value::error();
}

Value dict_compare(Session& s, CmpOp op, const Value& a, const Value& b) {
  Dict *x = cast<Dict>(a), *y = cast<Dict>(b);
  if (!y || (op != CmpOp::eq && op != CmpOp::ne)) return Value::not_implemented();
  bool same = x->used == y->used;
  size_t pos = 0;
  int64_t hash = 0;
  for (Value *k, *v; same && dict_next(x, pos, k, v, &hash);) {
    Value key = *k, value = *v;
    Value other = dict_get_hashed(s, y, key, hash);
    if (other.is_error()) return other;
    if (other.is_unbound()) {
      same = false;
      break;
    }
    int e = item_equals(s, value, other);
    if (e < 0) return Value::error();
    same = e;
  }
  return Value::boolean(same == (op == CmpOp::eq));
}

Value dict_repr(Session& s, const Value& v) {
  Dict* d = cast<Dict>(v);
  if (d->used == 0) return make_str("{}");
  ReprGuard guard(s, v);
  if (!guard.entered()) return make_str("{...}");
  std::string out = "{";
  size_t pos = 0;
  bool first = true;
  for (Value *k, *x; dict_next(d, pos, k, x);) {
    poll_interrupt(s);
    Value key = *k, value = *x;
    if (!first) out += ", ";
    first = false;
    OURO_TRY(a, repr(s, key));
    OURO_TRY(b, repr(s, value));
    append_text(out, cast<Str>(a)->view());
    out += ": ";
    append_text(out, cast<Str>(b)->view());
  }
  return make_str(out + "}");
}

int64_t dict_length(Session&, const Value& v) { return cast<Dict>(v)->used; }
int dict_truth(Session&, const Value& v) { return cast<Dict>(v)->used != 0; }

// d[key]; `self` may be an instance of a subclass with __missing__.
Value get_or_missing(Session& s, const Value& self, const Value& key) {
  Value v = dict_get(s, cast<Dict>(self), key);
  if (!v.is_unbound()) return v;
  if (kind_of(self) == ObjectKind::instance) {
    Value r = call_dunder(s, self, Dunder::missing_, {key});
    if (!r.is_unbound()) return r;
  }
  return raise_key_error(s, key);
}
Value dict_get_item(Session& s, const Value& v, const Value& key) { return get_or_missing(s, v, key); }
bool dict_set_item(Session& s, const Value& v, const Value& key, const Value& value) {
  return dict_set(s, cast<Dict>(v), key, value);
}
bool dict_del_item(Session& s, const Value& v, const Value& key) {
  int r = dict_delete(s, cast<Dict>(v), key);
  if (r == 0) raise_key_error(s, key);
  return r > 0;
}
int dict_contains_slot(Session& s, const Value& v, const Value& key) { return dict_contains(s, cast<Dict>(v), key); }

bool dict_init(Session& s, const Value& self, const Args& a) {
  if (a.size() > 1) return raise_type_error(s, "dict expected at most 1 argument, got %zu", a.size()), false;
  Dict* d = cast<Dict>(self);
  return (a.size() == 0 || dict_update_from(s, d, a[0])) && add_keywords(s, d, a);
}
Value dict_construct(Session& s, Type*, const Args& a) {
  Value v = make_dict();
  return dict_init(s, v, a) ? v : Value::error();
}

// ---- methods

Value m_getitem(Session& s, const Args& a) {
  if (!takes_one(s, a, "dict.__getitem__")) return Value::error();
  return get_or_missing(s, a[0], a[1]);
}
Value m_get(Session& s, const Args& a) {
  if (!takes(s, a, "get", 1, 2, 1, "dict.get")) return Value::error();
  Value v = dict_get(s, self_of(a), a[1]);
  if (!v.is_unbound()) return v;
  return a.size() == 3 ? a[2] : Value::none();
}
Value get_plain(Session& s, const Value& dict, const Value& key) {
  ObjectKind k = kind_of(key);
  if (kind_of(dict) != ObjectKind::dict || (k != ObjectKind::str && k != ObjectKind::integer)) return {};
  Value v = dict_get(s, dict.as<Dict>(), key);
  return v.is_unbound() ? Value::none() : v;
}
Value get_or_plain(Session& s, const Value& dict, const Value& key, const Value& otherwise) {
  ObjectKind k = kind_of(key);
  if (kind_of(dict) != ObjectKind::dict || (k != ObjectKind::str && k != ObjectKind::integer)) return {};
  Value v = dict_get(s, dict.as<Dict>(), key);
  return v.is_unbound() ? otherwise : v;
}
Value m_setdefault(Session& s, const Args& a) {
  if (!takes(s, a, "setdefault", 1, 2, 1, "dict.setdefault")) return Value::error();
  return dict_set_default(s, self_of(a), a[1], a.size() == 3 ? a[2] : Value::none());
}
Value m_pop(Session& s, const Args& a) {
  if (!takes(s, a, "pop", 1, 2, 1, "dict.pop")) return Value::error();
  Value removed;
  if (self_of(a)->used == 0) return a.size() == 3 ? a[2] : raise_key_error(s, a[1]);
  int r = dict_delete(s, self_of(a), a[1], &removed);
  if (r < 0) return Value::error();
  if (r) return removed;
  return a.size() == 3 ? a[2] : raise_key_error(s, a[1]);
}
Value m_popitem(Session& s, const Args& a) {
  if (!takes_none(s, a, "dict.popitem")) return Value::error();
  Value key, value;
  if (!dict_take_last(self_of(a), key, value)) return raise_key_error(s, make_str("popitem(): dictionary is empty"));
  return make_tuple({key, value});
}
Value m_clear(Session& s, const Args& a) {
  if (!takes_none(s, a, "dict.clear")) return Value::error();
  dict_clear(self_of(a));
  return Value::none();
}
Value m_copy(Session& s, const Args& a) {
  if (!takes_none(s, a, "dict.copy")) return Value::error();
  if (!cast_exact<Instance>(a[0])) return dict_copy(self_of(a));
  Value out = make_dict();
  return dict_merge(s, out.as<Dict>(), a[0]) ? out : Value::error();
}
Value m_update(Session& s, const Args& a) {
  if (a.size() > 2) return raise_type_error(s, "update expected at most 1 argument, got %zu", a.size() - 1);
  if (a.size() == 2 && !dict_update_from(s, self_of(a), a[1])) return Value::error();
  return add_keywords(s, self_of(a), a) ? Value::none() : Value::error();
}
template <ObjectKind kind>
Value m_view(Session& s, const Args& a) {
  constexpr const char* name = kind == ObjectKind::dict_keys     ? "dict.keys"
                               : kind == ObjectKind::dict_values ? "dict.values"
                                                                 : "dict.items";
  if (!takes_none(s, a, name)) return Value::error();
  return make_dict_view(kind, a[0]);
}
Value m_reversed(Session& s, const Args& a) {
  if (!takes_none(s, a, "dict.__reversed__")) return Value::error();
  return make_dict_iterator(unwrap(a[0]), DictPart::keys, true);
}
Value m_sizeof(Session&, const Args& a) { return Value::integer(48 + 40 * static_cast<int64_t>(self_of(a)->capacity)); }
Value c_fromkeys(Session& s, const Args& a) {
  if (!takes(s, a, "fromkeys", 1, 2, 1, "dict.fromkeys")) return Value::error();
  Value value = a.size() == 3 ? a[2] : Value::none();
  bool plain = cast<Type>(a[0]) == s.type(ObjectKind::dict);
  Value out = plain ? make_dict() : call(s, a[0], std::initializer_list<Value>{});
  if (out.is_error()) return out;
  Dict* d = plain ? cast<Dict>(out) : nullptr;
  const ObjectKind k = kind_of(a[1]);
  const bool of_set = k == ObjectKind::set || k == ObjectKind::frozenset;
  if (d && (k == ObjectKind::dict || of_set)) {  // whose keys are not asked for their hashes
    const Value from = a[1];
    size_t pos = 0;
    int64_t hash = 0;
    Value *key, *v;
    while (of_set ? set_next(cast<Set>(from), pos, key, &hash) : dict_next(cast<Dict>(from), pos, key, v, &hash)) {
      if ((pos & 0xffff) == 0xffff) poll_interrupt(s);
      const Value hold = *key;
      if (!dict_set_hashed(s, d, hold, hash, value)) return Value::error();
    }
    return out;
  }
  bool ok =
      for_each(s, a[1], [&](Value& key) { return d ? dict_set(s, d, key, value) : set_item(s, out, key, value); });
  return ok ? out : Value::error();
}
Value dict_iter(Session&, const Value& v) { return make_dict_iterator(v, DictPart::keys, false); }

constexpr NativeDef kMethods[] = {
    {.name = "get",
     .fn = m_get,
     .doc = "Return the value for key if key is in the dictionary, else default.",
     .two = get_plain,
     .three = get_or_plain},
    {.name = "setdefault", .fn = m_setdefault},
    {.name = "pop", .fn = m_pop},
    {.name = "popitem", .fn = m_popitem},
    {.name = "clear", .fn = m_clear},
    {.name = "copy", .fn = m_copy},
    {.name = "update", .fn = m_update},
    {.name = "keys", .fn = m_view<ObjectKind::dict_keys>},
    {.name = "values", .fn = m_view<ObjectKind::dict_values>},
    {.name = "items", .fn = m_view<ObjectKind::dict_items>},
    {.name = "__getitem__", .fn = m_getitem},
    {.name = "__reversed__", .fn = m_reversed},
    {.name = "__sizeof__", .fn = m_sizeof},
};
constexpr NativeDef kClassMethods[] = {
    {.name = "fromkeys",
     .fn = c_fromkeys,
     .doc = "Create a new dictionary with keys from iterable and values set to value."},
    kClassGetItem,
};
constexpr TypeSlots kSlots{
    .binary = dict_binary,
    .binary_ops = bit(BinOp::or_),
    .inplace = dict_inplace,
    .inplace_ops = bit(BinOp::or_),
    .compare = dict_compare,
    .truth = dict_truth,
    .unhashable = true,
    .repr = dict_repr,
    .iter = dict_iter,
    .length = dict_length,
    .get_item = dict_get_item,
    .set_item = dict_set_item,
    .del_item = dict_del_item,
    .contains = dict_contains_slot,
    .construct = dict_construct,
    .init = dict_init,
};
const TypeDef kDef{.name = "dict",
                   .kind = ObjectKind::dict,
                   .slots = &kSlots,
                   .methods = kMethods,
                   .class_methods = kClassMethods,
                   .doc = "dict() -> new empty dictionary"};

}  // namespace

void register_dict_types(Session& s) {
  define_type(s, kDef);
  register_dict_views(s);
  register_mapping_proxy(s);
}

}  // namespace ouro::runtime
