// Places: what an update writes to, and where an iterator's values come from, as backward needs them.
//
// ad.place gives the tuple (base, slot, index, op, old, value): the slot of an object that the update writes (base
// None: the root itself, a tensor), the keys inside the tensor that stands there (None: the whole slot), the operator
// of `op=` (None for `=`), the old content where the rule of that operator wants it, and kind and shape of the value
// (or the value, for such operators). ad.source gives (object, slot), a list of sources for a tuple of values, None for
// values without cotangent, or a text: an error.
#include <algorithm>

#include "ir/effect.h"
#include "ir/prim.h"
#include "runtime/autodiff/autodiff.h"
#include "runtime/autodiff/state.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/tensor/tensor.h"
#include "runtime/types/numbers.h"

namespace ouro::runtime::autodiff {
namespace {

struct Walk {
  Value base = Value::none(), slot = Value::none(), content;
  std::vector<Value> index;
};

bool linear(ir::Op op) { return op == ir::prim::add || op == ir::prim::sub; }

// Follows the path from `w.content`; the last step is not read unless it has to be.
bool follow(Session& s, const ir::PlacePath& path, std::span<const Value> keys, Walk& w, bool read_last) {
  size_t k = 0;
  for (size_t i = 0; i < path.steps.size(); ++i) {
    const auto& step = path.steps[i];
    if (is_tensor(w.content) && step.is_item) {
      for (; k < keys.size(); ++k) w.index.push_back(keys[k]);
      return true;
    }
    Value container = w.content;
    w.base = container;
    w.slot = step.is_item ? item_slot(s, container, keys[k], true) : s.str(step.attr);
    if (i + 1 == path.steps.size() && !read_last) return true;
    w.content = step.is_item ? get_item(s, container, keys[k]) : get_attr(s, container, step.attr);
    if (step.is_item) ++k;
    if (w.content.is_error()) return false;
  }
  return true;
}

// What stands at keys inside a tensor.
Value read_index(Session& s, Value v, const std::vector<Value>& index) {
  for (const Value& k : index) {
    v = get_item(s, v, k);
    if (v.is_error()) break;
  }
  return v;
}

}  // namespace

Value item_slot(Session& s, const Value& container, const Value& key, bool ask) {
  List* list = cast<List>(container);
  Tuple* tuple = cast<Tuple>(container);
  if ((!list && !tuple) || cast<Slice>(key)) return key;
  Value i = unwrap(key);
  if (!is_integer(i)) {
    if (!ask && !is_tensor(key)) return key;
    i = to_index_value(s, key);
    if (i.is_error()) return clear_pending(s), key;  // the operation itself raises
  }
  if (i.is_object()) return key;
  const auto size = static_cast<int64_t>(list ? list->size : tuple->size);
  return Value::integer(i.bits() < 0 ? i.bits() + size : i.bits());
}

Value enters_tensor(Session& s, const ir::PlacePath& path, const Value& globals, std::span<Value> args) {
  using Root = ir::PlacePath::Root;
  const Value* key = args.data() + (path.root == Root::global ? 0 : 1);
  Value at;
  if (path.root == Root::value) at = args[0];
  if (path.root == Root::cell) at = args[0].as<Cell>()->value;
  if (path.root == Root::global)
    if (const Value* v = globals.as<Module>()->names.find(path.name)) at = *v;
  for (const auto& step : path.steps) {
    if (step.is_item && is_tensor(at)) return Value::boolean(true);
    if (&step == &path.steps.back()) break;
    if (!step.is_item) {
      if (!at.is_object() || load_is_called(s, at, step.attr)) break;
      at = get_attr(s, at, step.attr);
    } else {
      if (is_scripted(at) || is_scripted(*key)) break;
      if (Dict* d = cast_exact<Dict>(at)) {
        bool asks = false;
        const Dict::Entry* e = dict_plain_entry(d, *key, asks);
        at = e ? e->value : Value();
      } else {
        at = get_item(s, at, *key);
      }
      ++key;
    }
    if (!at.is_error()) continue;
    clear_pending(s);  // the update itself raises
    break;
  }
  return Value::boolean(false);
}

Value place_of(Session& s, const ir::PlacePath& path, const Value& globals, std::span<Value> args) {
  using Root = ir::PlacePath::Root;
  size_t first = path.root == Root::global ? 0 : 1;
  std::span<const Value> keys(args.data() + first, args.size() - first - 1);
  const Value& value = args[args.size() - 1];
  Walk w;
  switch (path.root) {
    case Root::value:
      w.content = args[0];
      break;
    case Root::cell:
      w.base = args[0], w.slot = Value::integer(0), w.content = args[0].as<Cell>()->value;
      break;
    case Root::global: {
      w.base = globals, w.slot = s.str(path.name);
      Value* v = globals.as<Module>()->names.find(path.name);
      w.content = v ? *v : Value();
      break;
    }
  }
  if (w.content.is_unbound()) return Value::none();  // the update itself raises
  bool augmented = path.augmented;
  // What is done by a call has its derivative from that; to look here would run its scripts.
  if (path.root == Root::value && path.steps.size() == 1 && path.steps[0].is_item) {
    const Value operands[] = {w.content, keys[0], value, s.str(augmented ? intern("op") : Symbol())};
    if (update_is_called(s, operands)) return Value::none();
  }
  if (!follow(s, path, keys, w, augmented)) {
    clear_pending(s);
    return Value::none();
  }
  Value index = Value::none(), op = Value::none(), old = Value::none();
  if (!w.index.empty()) index = make_tuple(std::span<const Value>(w.index));
  OURO_TRY(kept, like(s, value));
  if (augmented) {
    op = make_str(ir::op_name(path.in_place));
    if (w.index.empty() && cast<List>(w.content))
      return Value::none();  // `o.list += ...`: the list itself is extended; see below
    old = read_index(s, w.content, w.index);
    if (old.is_error()) {
      clear_pending(s);
      return Value::none();
    }
    if (linear(path.in_place))
      old = like(s, old);
    else
      kept = value;
    if (old.is_error()) return old;
  }
  return make_tuple({w.base, w.slot, index, op, old, kept});
}

namespace {

// May an index name a place of a tensor twice?
bool repeats(const Value& key) {
  if (Tuple* parts = cast<Tuple>(key)) return std::any_of(parts->begin(), parts->end(), repeats);
  return cast<List>(key) || (is_tensor(key) && key.as<Tensor>()->dtype != DType::boolean);
}

}  // namespace

Value update_back(Session& s, Value dy, const Value& env, const Value& place) {
  Tuple* p = cast_exact<Tuple>(place);
  if (!p) return Value::none();
  const Value &base = (*p)[0], &slot = (*p)[1], &index = (*p)[2], &op = (*p)[3], &old = (*p)[4], &value = (*p)[5];
  bool root = base.is_none();
  Value g = root ? std::move(dy) : shadow_take(s, env, base, slot);
  if (g.is_error()) return g;
  if (is_zero(g)) return Value::none();
  Value part = g;
  Tuple* keys = cast_exact<Tuple>(index);
  if (keys)
    for (const Value& k : *keys) {
      if (repeats(k)) {
        OURO_TRY(rule, find_rule(s, "written"));
        part = call(s, rule, {part, k});
      } else {
        part = get_item(s, part, k);
      }
      if (part.is_error()) return part;
    }
  Value d_old = Value::zero_cotangent(), d_value;
  if (op.is_none()) {
    d_value = fit(s, part, value);
  } else {
    Value rule = find_rule(s, op.as<Str>()->view());
    if (rule.is_unbound() || rule.is_error())
      return raise_error(s, ExcKind::TypeError, "operation '%s' has no derivative", op.as<Str>()->data);
    OURO_TRY(d, call(s, rule, {part, env, old, value}));
    d_old = item(d, 0);
    d_value = item(d, 1);
  }
  if (d_value.is_error()) return d_value;
  part = Value();
  if (!keys) {
    g = d_old;
  } else {
    Value fill = is_zero(d_old) ? Value::floating(0) : d_old;
    if (!s.tensors->set_item(s, g, std::span<const Value>(keys->begin(), keys->size), fill)) return Value::error();
  }
  if (root) return make_tuple({g, d_value});
  if (!shadow_put(s, env, base, slot, std::move(g))) return Value::error();
  return make_tuple({Value::zero_cotangent(), d_value});
}

namespace {

// May a cotangent of this item be of something that was computed? (Objects have theirs in their attributes.)
// The slots of a set are its items themselves. (A set knows its items by their values: of two that are equal it has
// one.)
Value place_in_set(const Value& set, const Value& item) {
  const ObjectKind k = kind_of(set);
  if (!cast<Set>(set)->of_others && (k == ObjectKind::set || k == ObjectKind::frozenset))
    return make_tuple({set, item});
  return holds_float(item) ? make_str("the items of a set that was made of other sets") : Value::none();
}

}  // namespace

Value places_of(const Value& container) {
  std::vector<Value> places;
  const auto add = [&](const Value& key, Value place) { places.push_back(make_tuple({key, std::move(place)})); };
  size_t pos = 0;
  Value *key, *value;
  if (Dict* d = cast<Dict>(container)) {
    while (dict_next(d, pos, key, value)) add(*key, make_tuple({container, *key}));
  } else if (List* l = cast<List>(container)) {
    for (; pos < l->size; ++pos) add(l->items[pos], make_tuple({container, Value::integer(static_cast<int64_t>(pos))}));
  } else if (Set* t = cast<Set>(container)) {
    while (set_next(t, pos, key)) add(*key, place_in_set(container, *key));
  } else {
    return Value::none();
  }
  return make_tuple(std::span<const Value>(places));
}

Value source_of(Session& s, const Value& iterator) {
  Iterator* it = cast_iterator(iterator);
  if (!it) {
    if (kind_of(iterator) == ObjectKind::generator && state(s).opaque_generators.count(iterator.object()))
      return make_str("a generator");
    return Value::none();
  }
  std::string_view name = it->def->type_name;
  if (name == "range_iterator" || name == "longrange_iterator" || name == "str_iterator") return Value::none();
  if (it->source.is_unbound() && it->more.empty()) return Value::none();  // exhausted
  if (name == "list_iterator") return make_tuple({it->source, Value::integer(it->index - 1)});
  if (name == "list_reverseiterator") return make_tuple({it->source, Value::integer(it->index + 1)});
  if (name == "tuple_iterator" || name == "tensor_iterator")
    return make_tuple({iterator, Value::integer(it->index - 1)});
  if (name == "reversed") {
    if (cast<List>(it->source)) return make_tuple({it->source, Value::integer(it->index + 1)});
    return make_tuple({iterator, Value::integer(it->index + 1)});
  }
  if (name == "zip") {
    Value sources = make_list();
    for (const Value& m : it->more) {
      OURO_TRY(p, source_of(s, m));
      sources.as<List>()->push(std::move(p));
    }
    return sources;
  }
  if (name == "enumerate") {
    OURO_TRY(p, source_of(s, it->source));
    return make_list({Value::none(), p});
  }
  if (name == "filter") return source_of(s, it->source);
  if (name == "iterator") return make_str("iteration by index over an object");
  if (name == "set_iterator") {
    Set* t = cast<Set>(it->source);
    if (!t->table || static_cast<size_t>(it->index) > t->mask + 1) return Value::none();  // cleared, or smaller now
    const Value& item = t->table[it->index - 1].key;
    if (item.is_unbound() || item.is_end()) return Value::none();
    return place_in_set(it->source, item);
  }
  const bool reversed = name.starts_with("dict_reverse");
  const std::string_view part = !name.starts_with("dict_") ? "" : name.substr(reversed ? 12 : 5);
  if (part == "valueiterator" || part == "itemiterator" || part == "keyiterator") {
    Dict* d = cast<Dict>(it->source);
    if (!d) return Value::none();
    for (int64_t i = reversed ? it->index : it->index - 1; i >= 0; --i) {
      if (static_cast<uint32_t>(i) >= d->filled || d->entries[i].key.is_unbound()) continue;
      Value from_key = holds_float(d->entries[i].key) ? make_str("the keys of a dict that are floats") : Value::none();
      if (part == "keyiterator") return from_key;
      Value place = make_tuple({it->source, d->entries[i].key});
      if (part == "valueiterator") return place;
      return make_list({from_key, place});
    }
  }
  return Value::none();
}

bool holds_float(const Value& item) {
  if (item.is_float()) return true;
  if (Tuple* t = cast<Tuple>(item)) return std::any_of(t->begin(), t->end(), holds_float);
  if (Set* t = cast<Set>(item)) {
    size_t pos = 0;
    for (Value* k; set_next(t, pos, k);)
      if (holds_float(*k)) return true;
  }
  return false;
}

bool feed(Session& s, const Value& env, const Value& place, const Value& d) {
  if (is_zero(d) || place.is_none()) return true;
  if (Tuple* t = cast_exact<Tuple>(place)) return t->size < 2 || shadow_add(s, env, (*t)[0], (*t)[1], d);
  if (List* l = cast_exact<List>(place)) {
    DepthGuard depth(s, " while feeding a cotangent");
    if (!depth.ok()) return false;
    for (size_t i = 0; i < l->size; ++i) {
      const Value inner = (*l)[i];
      if (!feed(s, env, inner, item(d, static_cast<int64_t>(i)))) return false;
    }
    return true;
  }
  if (Str* t = cast_exact<Str>(place)) {
    raise_error(s, ExcKind::TypeError, "cannot differentiate through %s yet", t->data);
    return false;
  }
  return true;
}

}  // namespace ouro::runtime::autodiff
