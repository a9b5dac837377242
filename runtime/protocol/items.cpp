// Subscripts, lengths and iteration.
#include <algorithm>

#include "runtime/object/interrupt.h"
#include "runtime/object/ops.h"
#include "runtime/protocol/in_ouro.h"
#include "runtime/protocol/lookup.h"
#include "runtime/protocol/scripted.h"
#include "runtime/types/sequence.h"

namespace ouro::runtime {

namespace {

// Is what `v` does to be read from the text (runtime/protocol/in_ouro.h)?
bool by_text_of(const Value& v) {
  return kProtocolByText && kind_of(v) != ObjectKind::opaque && kind_of(v) != ObjectKind::type;
}

// iter() over an object with __getitem__ only.
Value next_by_index(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::end();
  Value v = get_item(s, it.source, Value::integer(it.index));
  if (v.is_error()) {
    if (!pending_is(s, ExcKind::IndexError) && !pending_is(s, ExcKind::StopIteration)) return v;
    clear_pending(s);
    it.source = Value();
    return Value::end();
  }
  ++it.index;
  return v;
}
Value hint_by_index(Session& s, Iterator& it) {
  if (it.source.is_unbound()) return Value::integer(0);
  if (find_dunder(s, type_of(s, it.source), Dunder::len_).is_unbound()) return Value::not_implemented();
  const int64_t n = length(s, it.source);
  return n < 0 ? Value::error() : Value::integer(std::max<int64_t>(n - it.index, 0));
}
const IterDef kIndexIterator{"iterator", next_by_index, hint_by_index};

}  // namespace

Value index_iterator(const Value& v) { return make_iterator(kIndexIterator, v); }

Value get_item(Session& s, const Value& v, const Value& key) {
  if (scripted(v)) {
    if (by_text_of(v)) return by_text(s, "item", {v, key});
    Value r = call_dunder(s, v, Dunder::getitem_, {key});
    if (!r.is_unbound()) return r;
  }
  if (auto f = slots_of(s, v).get_item; f && (!scripted(v) || kind_of(v) == ObjectKind::type))
    return stack_left(s) ? f(s, v, key) : Value::error();
  return raise_type_error(s, "'%s' object is not subscriptable", type_name(s, v).c_str());
}

// CPython asks what has a length for the item of that number, where the key is or has one, before it refuses.
static bool asks_by_number(Session& s, const Value& v, const Value& key) {
  const bool sequence = (scripted(v) && !type_of(s, v)->builtin) || slots_of(s, v).length;
  return sequence && (is_integer(key) || !find_dunder(s, type_of(s, key), Dunder::index_).is_unbound());
}
static bool index_fits(Session& s, const Value& key) {
  int64_t index = 0;
  if (to_index(s, key, index)) return true;
  if (!pending_is(s, ExcKind::OverflowError)) return false;
  clear_pending(s);
  raise_error(s, ExcKind::IndexError, "cannot fit '%s' into an index-sized integer", type_name(s, key).c_str());
  return false;
}

// Where a class has but one of __setitem__ and __delitem__, the other is missed by its name.
static bool has_other(Session& s, const Value& v, Dunder other, const char* missing) {
  if (find_dunder(s, type_of(s, v), other).is_unbound()) return false;
  raise_error(s, ExcKind::AttributeError, "%s", missing);
  return true;
}

bool set_item(Session& s, const Value& v, const Value& key, const Value& value) {
  if (scripted(v)) {
    if (by_text_of(v)) return !by_text(s, "set_item", {v, key, value}).is_error();
    Value r = call_dunder(s, v, Dunder::setitem_, {key, value});
    if (!r.is_unbound()) return !r.is_error();
    if (has_other(s, v, Dunder::delitem_, "__setitem__")) return false;
  } else if (auto f = slots_of(s, v).set_item) {
    return stack_left(s) && f(s, v, key, value);
  }
  if (asks_by_number(s, v, key) && !index_fits(s, key)) return false;
  raise_type_error(s, "'%s' object does not support item assignment", type_name(s, v).c_str());
  return false;
}

bool del_item(Session& s, const Value& v, const Value& key) {
  if (scripted(v)) {
    if (by_text_of(v)) return !by_text(s, "delete_item", {v, key}).is_error();
    Value r = call_dunder(s, v, Dunder::delitem_, {key});
    if (!r.is_unbound()) return !r.is_error();
    if (has_other(s, v, Dunder::setitem_, "__delitem__")) return false;
  } else if (auto f = slots_of(s, v).del_item) {
    return stack_left(s) && f(s, v, key);
  }
  const bool of_sequence = asks_by_number(s, v, key);  // whose refusal has words of its own
  if (of_sequence && !index_fits(s, key)) return false;
  raise_type_error(s, "'%s' object %s support item deletion", type_name(s, v).c_str(),
                   of_sequence ? "doesn't" : "does not");
  return false;
}

int64_t length(Session& s, const Value& v) {
  if (scripted(v)) {
    if (by_text_of(v)) {
      Value r = by_text(s, "length", {v});
      return r.is_error() ? -1 : r.as_int();
    }
    Value r = call_dunder(s, v, Dunder::len_);
    if (r.is_error()) return -1;
    if (!r.is_unbound()) {
      int64_t n;
      if (!is_integer(r)) {
        raise_type_error(s, "'%s' object cannot be interpreted as an integer", type_name(s, r).c_str());
        return -1;
      }
      if (!to_index(s, r, n)) {
        clear_pending(s);
        raise_error(s, ExcKind::OverflowError, "cannot fit 'int' into an index-sized integer");
        return -1;
      }
      if (n < 0) {
        raise_value_error(s, "__len__() should return >= 0");
        return -1;
      }
      return n;
    }
  } else if (auto f = slots_of(s, v).length) {
    return stack_left(s) ? f(s, v) : -1;
  }
  raise_type_error(s, "object of type '%s' has no len()", type_name(s, v).c_str());
  return -1;
}

Value iter(Session& s, const Value& v) {
  if (!scripted(v)) {
    const TypeSlots& t = slots_of(s, v);
    if (t.iter) return stack_left(s) ? t.iter(s, v) : Value::error();
    if (t.next) return v;
    return raise_type_error(s, "'%s' object is not iterable", type_name(s, v).c_str());
  }
  if (by_text_of(v)) return by_text(s, "iterator", {v});
  Type* t = type_of(s, v);
  const Value& m = find_dunder(s, t, Dunder::iter_);
  if (m.is_unbound()) {
    if (!find_dunder(s, t, Dunder::getitem_).is_unbound()) return index_iterator(v);
    return raise_type_error(s, "'%s' object is not iterable", type_name(s, v).c_str());
  }
  if (m.is_none()) return raise_type_error(s, "'%s' object is not iterable", type_name(s, v).c_str());
  OURO_TRY(it, call_dunder(s, v, Dunder::iter_));
  bool ok =
      scripted(it) ? !find_dunder(s, type_of(s, it), Dunder::next_).is_unbound() : slots_of(s, it).next != nullptr;
  if (!ok) return raise_type_error(s, "iter() returned non-iterator of type '%s'", type_name(s, it).c_str());
  return it;
}

Value end_of(Session& s, Value r) {
  if (!pending_is(s, ExcKind::StopIteration)) return r;
  Value e = take_pending(s);
  s.stop_value = e.as<Exception>()->extra1;
  return Value::end();
}

Value next(Session& s, const Value& it) {
  poll_interrupt(s);
  if (!stack_left(s)) return Value::error();
  if (kind_of(it) == ObjectKind::generator) return next_of_generator(s, it.as<Generator>());
  if (Iterator* of = cast_iterator(it); of && of->def) {
    Value hold = it;
    Value r = of->def->next(s, *of);
    if (r.is_error()) [[unlikely]]
      r = end_of(s, std::move(r));
    return r;
  }
  if (!scripted(it)) {
    auto f = slots_of(s, it).next;
    if (!f) return raise_type_error(s, "'%s' object is not an iterator", type_name(s, it).c_str());
    Value r = f(s, it);
    if (r.is_error()) [[unlikely]]
      r = end_of(s, std::move(r));
    return r;
  }
  if (by_text_of(it)) {
    Value r = by_text(s, "step", {it});
    return r.is_error() ? end_of(s, std::move(r)) : r;
  }
  Value r = call_dunder(s, it, Dunder::next_);
  if (r.is_unbound()) return raise_type_error(s, "'%s' object is not an iterator", type_name(s, it).c_str());
  return r.is_error() ? end_of(s, std::move(r)) : r;
}

Value list_of(Session& s, const Value& iterable) {
  if (List* l = cast_exact<List>(iterable)) return make_list(std::span<const Value>(l->items, l->size));
  if (Tuple* t = cast_exact<Tuple>(iterable)) return make_list(std::span<const Value>(t->items(), t->size));
  Value out = make_list();
  List* l = out.as<List>();
  constexpr int64_t kMost = int64_t{1} << 36;
  if (cast_exact<Range>(iterable)) {
    int64_t n = length(s, iterable);
    if (n > kMost) return raise_memory_error(s);
    if (n < 0) return Value::error();
    l->reserve(static_cast<size_t>(n));
  }
  if (!for_each_sized(s, iterable, [&](Value& v) {
        l->push(std::move(v));
        return true;
      }))
    return Value::error();
  return out;
}

Value tuple_of(Session& s, const Value& iterable) {
  if (cast_exact<Tuple>(iterable)) return iterable;
  OURO_TRY(l, list_of(s, iterable));
  List* items = l.as<List>();
  return make_tuple_moved(std::span(items->items, items->size));
}

int64_t length_hint(Session& s, const Value& v) {
  auto unknown = [&]() -> int64_t {
    if (!pending_is(s, ExcKind::TypeError)) return -1;
    clear_pending(s);
    return 0;
  };
  if (Iterator* it = cast_iterator(v)) {
    if (!it->def || !it->def->length_hint) return 0;
    if (!stack_left(s)) return -1;
    Value n = it->def->length_hint(s, *it);
    return n.is_error() ? unknown() : n.is_int() ? n.as_int() : 0;
  }
  if (!scripted(v)) {
    auto f = slots_of(s, v).length;
    return !f ? 0 : stack_left(s) ? f(s, v) : -1;
  }
  if (by_text_of(v)) {
    const Value n = by_text(s, "length_hint", {v});
    return n.is_error() ? -1 : n.as_int();
  }
  if (!find_dunder(s, type_of(s, v), Dunder::len_).is_unbound()) {
    int64_t n = length(s, v);
    if (n >= 0 || unknown() < 0) return n;
  }
  Value r = call_dunder(s, v, Dunder::length_hint_);
  if (r.is_error()) return unknown();
  if (r.is_unbound() || r.is(Tag::not_implemented)) return 0;
  if (!is_integer(r)) {
    raise_type_error(s, "__length_hint__ must be an integer, not %s", type_name(s, r).c_str());
    return -1;
  }
  int64_t n = 0;
  if (!to_index(s, r, n)) return -1;
  if (n >= 0) return n;
  raise_value_error(s, "__length_hint__() should return >= 0");
  return -1;
}

bool ask_length(Session& s, const Value& iterable) {
  const Iterator* it = cast_iterator(iterable);
  const bool asks =
      scripted(iterable) || (it && (it->def == &kIndexIterator || it->object_kind() == ObjectKind::reversed));
  return !asks || length_hint(s, iterable) >= 0;
}

}  // namespace ouro::runtime
