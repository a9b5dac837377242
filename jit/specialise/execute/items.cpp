// Items and places of abstract values: what is read from a list, dict, tuple or tensor, and what is assigned by way of
// several of these and of attributes.
#include <algorithm>

#include <fmt/format.h>

#include "jit/specialise/specialiser.h"
#include "runtime/protocol/lookup.h"

namespace ouro::jit {

namespace prim = ir::prim;
using runtime::kind_of;
using runtime::ObjectKind;

bool Specialiser::is_computed_index(const AVal& key) const {
  return key.is(AKind::dynamic) && key.type == ir::types::integer() && !may_pin(key);
}

static bool is_tuple(const AVal& v) {
  return (v.is(AKind::tuple) && !v.extends_tuple()) ||
         (v.is(AKind::known) && runtime::cast_exact<runtime::Tuple>(v.known));
}

// Nothing: they are not numbers, texts or tensors of one type, nor tuples of such, and `any` is false.
std::optional<Choice> Specialiser::choice_among(const std::vector<AVal>& items, bool of_list, bool any) {
  Choice out;
  if (items.empty()) return std::nullopt;
  out.type = type_of(items[0]);
  const bool alike = out.type && out.type->kind != ir::TypeKind::none &&
                     std::ranges::all_of(items, [&](const AVal& v) { return type_of(v) == out.type; });
  if (!alike && std::ranges::all_of(items, is_tuple)) {
    std::vector<std::vector<AVal>> rows;
    for (const AVal& v : items) rows.push_back(items_of(v, "is chosen"));
    const size_t n = rows[0].size();
    if (std::ranges::all_of(rows, [&](const auto& row) { return row.size() == n; })) {
      out.columns.emplace();
      for (size_t i = 0; i < n; ++i) {
        std::vector<AVal> column;
        for (const auto& row : rows) column.push_back(row[i]);
        auto of = choice_among(column, false, any);
        if (!of) return std::nullopt;
        out.columns->push_back(std::move(*of));
      }
      return out;
    }
  }
  if (!alike && !any) return std::nullopt;
  if (!alike && !std::ranges::all_of(items, [&](const AVal& v) { return can_be_made(v); }))
    abandon(Reason::crossing, "one of several values that exist only here");
  if (!alike) out.type = nullptr;
  std::vector<ir::Atom> atoms;
  for (const AVal& v : items) atoms.push_back(alike ? atom(v) : materialise(v));
  out.all = AVal::dynamic(code.let(of_list ? prim::list : prim::tuple, atoms, 0, nullptr, span), nullptr);
  return out;
}

AVal Specialiser::chosen(const Choice& among, const AVal& index) {
  if (!among.columns) return emit(prim::item_get, {among.all, index}, among.type);
  std::vector<AVal> parts;
  for (const Choice& column : *among.columns) parts.push_back(chosen(column, index));
  return AVal::tuple(std::move(parts));
}

// A value whose type is not known, in a key of a tensor.
static bool has_unknown(const AVal& key) {
  if (key.is(AKind::tuple) || key.is(AKind::slice)) return std::ranges::any_of(key.items(), has_unknown);
  return key.is(AKind::dynamic) && !key.type;
}

AVal Specialiser::get_item(const AVal& from, const AVal& at) {
  const AVal a = parts_of_gradient(as_value(from));
  const bool keyed = a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::dict;
  const AVal key = keyed || is_instance(a) ? at : as_value(at);
  if (is_tensor(a)) return has_unknown(key) ? boxed(prim::item_get, {a, key}) : tensor_index(a, key);
  if (auto x = concrete(a))
    if (auto k = concrete(key)) {
      Value v = runtime::get_item(session, *x, *k);
      if (v.is_error()) {
        abandon_raises();
      }
      return AVal::of(v);
    }
  if (as_dict(a, "__getitem__").heap != a.heap) return item_within(a, key);
  bool is_list = a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::list;
  if (a.extends_tuple() && overrides(a, "__getitem__")) return by_protocol("item", prim::item_get, {a, key}, {a, key});
  if (a.is(AKind::tuple) || is_list || (a.is(AKind::known) && runtime::cast_exact<runtime::Tuple>(a.known))) {
    if (is_list && read(a.heap).poisoned) abandon_torn(read(a.heap), "a list");
    if (key.is(AKind::slice)) {
      std::vector<AVal> items = items_of(a, "is indexed");
      auto sl = concrete_slice(key);
      int64_t start, stop, step;
      int64_t n = runtime::slice_indices(session, *sl.as<runtime::Slice>(), static_cast<int64_t>(items.size()), start,
                                         stop, step);
      if (n < 0) abandon_raises();
      std::vector<AVal> out;
      for (int64_t i = 0; i < n; ++i) out.push_back(items[static_cast<size_t>(start + i * step)]);
      return is_list ? new_list(std::move(out)) : AVal::tuple(std::move(out));
    }
    const int64_t n = length(a).known.as_int();
    if (is_computed_index(key))
      if (const auto among = choice_among(items_of(a, "is indexed"), is_list, false)) return chosen(*among, key);
    int64_t i = need_int(key, "is an index");
    if (i < 0) i += n;
    if (i < 0 || i >= n) abandon(Reason::raises, "index out of range");
    const auto at = static_cast<size_t>(i);
    return is_list ? read(a.heap).items[at] : a.is(AKind::tuple) ? a.items()[at] : items_of(a, "is indexed")[at];
  }
  if (a.is(AKind::ref) && kind_at(a.heap) == AObject::Kind::dict) {
    int i = dict_position(a.heap, key);
    if (i < 0) abandon(Reason::raises, "KeyError");
    return read(a.heap).items[static_cast<size_t>(i)];
  }
  if (is_instance(a)) return by_protocol("item", prim::item_get, {a, key}, {a, key});
  return boxed(prim::item_get, {a, key});
}

// The key of a dict or the item of a set that is looked up: itself, or one that is equal.
bool Specialiser::is_key(const AVal& key, const Value& looked_up) {
  if (key.known.same(looked_up)) return true;
  const int equal = runtime::equals(session, key.known, looked_up);
  if (equal < 0) {
    session.pending = Value();
    abandon(Reason::raises, "keys that cannot be compared");
  }
  return equal == 1;
}

int Specialiser::dict_position(HeapId id, const AVal& key) {
  check_attributes(id);
  if (read(id).poisoned) abandon_torn(read(id), "a dict");
  Value k = need_key(key, "is a key");
  if (read(id).outside()) stays_inside(k);  // there it stands under another number
  return key_position(read(id).keys, k);
}

int Specialiser::key_position(const Keys<AVal>& keys, const Value& looked_up) {
  auto hash = [&](const Value& v) {
    int64_t h = 0;
    if (!runtime::hash(session, v, h)) {
      session.pending = Value();
      abandon(Reason::raises, "a key that has no hash");
    }
    return static_cast<size_t>(h);
  };
  return keys.find(
      hash(looked_up), [&](const AVal& key) { return hash(key.known); },
      [&](const AVal& key) { return is_key(key, looked_up); });
}

void Specialiser::set_item(const AVal& container, const AVal& key, AVal v) {
  const AVal a = as_dict(container, "__setitem__");
  if (a.is(AKind::ref)) {
    if (read(a.heap).poisoned) abandon_torn(read(a.heap), "an object");
    const AObject::Kind kind = kind_at(a.heap);
    const bool holds_items = kind == AObject::Kind::list || kind == AObject::Kind::dict;
    if (request_.holes && holds_items && is_computed(key) && !recording_ && can_be_made(a) && can_be_made(v)) {
      boxed(prim::item_set, {a, key, v});
      return;
    }
    if (kind == AObject::Kind::list) {
      if (key.is(AKind::slice)) {
        call(protocol_function("set_slice"), {a, AVal::of(concrete_slice(key)), v});
        return;
      }
      int64_t i = need_int(key, "is an index");
      AObject& o = change(a.heap);
      if (i < 0) i += static_cast<int64_t>(o.items.size());
      if (i < 0 || i >= static_cast<int64_t>(o.items.size())) abandon(Reason::raises, "index out of range");
      o.items.edit(static_cast<size_t>(i)) = std::move(v);
      return;
    }
    if (kind == AObject::Kind::dict) {
      int i = dict_position(a.heap, key);
      AObject& w = change(a.heap);
      if (i >= 0) {
        w.items.edit(static_cast<size_t>(i)) = std::move(v);
      } else {
        w.keys.push_back(AVal::of(need_key(key, "is a key")));
        w.items.push_back(std::move(v));
      }
      return;
    }
    if (kind == AObject::Kind::instance) {
      by_protocol("set_item", prim::item_set, {a, key, v}, {a, key, v});
      return;
    }
  }
  if (change_list(a, key, v)) return;
  if (a.is(AKind::dynamic) && !a.type) {
    boxed(prim::item_set, {a, key, v});
    return;
  }
  abandon(Reason::container, "assignment to an item");
}

void Specialiser::delete_item(const AVal& container, const AVal& key) {
  const AVal a = as_dict(container, "__delitem__");
  const bool known = a.is(AKind::ref);
  if (is_instance(a)) {
    by_protocol("delete_item", prim::item_del, {a, key}, {a, key});
  } else if (known && kind_at(a.heap) == AObject::Kind::list) {
    if (key.is(AKind::slice))
      call(protocol_function("delete_slice"), {a, AVal::of(concrete_slice(key))});
    else
      call_method(a, intern("pop"), {key});
  } else if (known && kind_at(a.heap) == AObject::Kind::dict) {
    call_method(a, intern("pop"), {key});
  } else if (!change_list(a, key, {})) {
    boxed(prim::item_del, {a, key});
  }
}

// Is it a value of which nothing is known, or only that it is boxed?
bool Specialiser::may_be_tensor(const AVal& a) const { return a.is(AKind::dynamic) && !a.type && !is_boxed_list(a); }

// A write to a place (docs/design/rules.md C16): walk down, change the innermost tensor or container, put tensors back
// on the way up.
AVal Specialiser::update_path(const AVal& root, const ir::PlacePath& path, size_t step, const std::vector<AVal>& items,
                              size_t item, const AVal& value) {
  if (step == path.steps.size()) {
    AVal v = path.augmented ? binary(ir::in_place_form(path.in_place), root, value) : value;
    return v;
  }
  const ir::PlacePath::Step& st = path.steps[step];
  bool last = step + 1 == path.steps.size();
  if (!st.is_item) {
    if (last && !path.augmented) {
      set_attr(root, st.attr, value);
      return root;
    }
    AVal inner = get_attr(root, st.attr);
    if (!last && may_be_tensor(inner) && path.steps[step + 1].is_item) {
      // Only a plain slot does not notice that a tensor is put back.
      if (!root.is(AKind::ref) || kind_at(root.heap) != AObject::Kind::instance ||
          !class_lookup(root, st.attr).is(AKind::unbound) || class_of(root).as<runtime::Type>()->has_setattr)
        abandon(Reason::container, "assignment to an item of an attribute whose type is not known");
      AVal changed = update_path(inner, path, step + 1, items, item, value);
      if (!put_back(root.heap, st.attr, inner, changed)) set_attr(root, st.attr, changed);
      return root;
    }
    AVal changed = update_path(inner, path, step + 1, items, item, value);
    if (last || (is_tensor(inner) && !same(inner, changed))) set_attr(root, st.attr, changed);
    return root;
  }
  const AVal& key = items[item];
  if (is_tensor(root)) {
    if (last && !path.augmented) return tensor_store(root, key, value);
    AVal inner = tensor_index(root, key);
    AVal changed = update_path(inner, path, step + 1, items, item + 1, value);
    return tensor_store(root, key, changed);
  }
  // What is boxed may be a tensor, which a write gives back changed, or a container, which it gives back as it is.
  const bool unknown = may_be_tensor(root);
  if (last && !path.augmented) {
    if (unknown) return boxed(prim::item_set, {root, key, value});
    set_item(root, key, value);
    return root;
  }
  AVal inner = get_item(root, key);
  if (!last && may_be_tensor(inner)) abandon(Reason::container, "assignment through an item whose type is not known");
  AVal changed = update_path(inner, path, step + 1, items, item + 1, value);
  if (unknown && last) return boxed(prim::item_set, {root, key, changed});
  if (last || (is_tensor(inner) && !same(inner, changed))) set_item(root, key, changed);
  return root;
}

AVal Specialiser::update(AFrame& f, const ir::Let& let) {
  const ir::PlacePath& path = f.code->paths[let.attr];
  std::vector<AVal> args;
  std::vector<bool> objects;  // a boxed one is no tensor
  for (uint32_t i = 0; i < let.nargs; ++i) {
    const ir::Atom a = f.code->args(let)[i];
    objects.push_back(a.is_name() && f.env[ir::index(a.name())].is(AKind::ref));
    args.push_back(atom_value(f, a));
  }
  objects.pop_back();
  AVal value = args.back();
  args.pop_back();
  if (path.loaded) {
    ir::PlacePath assigned = path;
    assigned.augmented = assigned.loaded = false;
    AVal before = std::move(args.back());
    args.pop_back();
    objects.pop_back();
    const AVal made = binary(ir::in_place_form(path.in_place), before, value);
    return assigned.held ? update_held(f, assigned, std::move(args), objects, made)
                         : update(f, assigned, std::move(args), made);
  }
  if (path.held) return update_held(f, path, std::move(args), objects, value);
  return update(f, path, std::move(args), value);
}

// The containers are the last arguments: the last that is no tensor is written to.
AVal Specialiser::update_held(AFrame& f, const ir::PlacePath& path, std::vector<AVal> args,
                              const std::vector<bool>& objects, const AVal& value) {
  using Root = ir::PlacePath::Root;
  const size_t count = path.containers();
  const std::vector<AVal> containers(args.end() - static_cast<long>(count), args.end());
  args.resize(args.size() - count);
  ir::PlacePath followed = path;
  followed.held = false;
  size_t n = count;
  while (n > 0 && is_tensor(containers[n - 1])) --n;
  // What is boxed may be a tensor.
  const bool object = n > 0 && objects[objects.size() - count + n - 1];
  const bool unknown = n > 0 && may_be_tensor(containers[n - 1]) && !object;
  // A tensor is looked up again, a container is not.
  if (unknown && effects_.unknown &&
      (path.root == Root::cell || (path.root == Root::global && is_changeable(path.name))))
    abandon(Reason::interpreter_changed,
            "assignment to an item of a variable whose type is not known, which a script may have set meanwhile");
  if (n == 0 || unknown) return update(f, followed, std::move(args), value);
  const size_t below = count - (n - 1);
  const std::vector<AVal> items(args.end() - static_cast<long>(below), args.end());
  update_path(containers[n - 1], followed, followed.steps.size() - below, items, 0, value);
  return path.root == Root::value ? args[0] : AVal::of(Value::none());
}

AVal Specialiser::update(AFrame& f, const ir::PlacePath& path, std::vector<AVal> args, const AVal& value) {
  using Root = ir::PlacePath::Root;
  if (path.steps.empty() && !path.augmented && path.root != Root::value) {  // nobody asks what stood there
    if (path.root == Root::cell) cell_set(args[0], value);
    if (path.root == Root::global) set_global(f.globals, path.name, value);
    return value;
  }
  AVal root;
  size_t first = path.root == Root::global ? 0 : 1;
  if (path.root == Root::value) root = args[0];
  if (path.root == Root::cell) root = cell_get(args[0]);
  if (path.root == Root::global) root = global(f.globals, path.name);
  std::vector<AVal> items(args.begin() + static_cast<long>(first), args.end());
  // Drawing the items of a slice may rebind the variable. Where it holds a tensor, what it holds then is written to.
  if (path.root != Root::value && root.is(AKind::dynamic) && !root.type && may_run_scripts(value) &&
      std::ranges::any_of(items, [](const AVal& i) { return i.is(AKind::slice); }))
    abandon(Reason::container, "assignment to a slice of a variable whose type is not known");
  // So may a key that is asked for its hash.
  if (path.root != Root::value && root.is(AKind::dynamic) && !root.type &&
      std::ranges::any_of(items, [&](const AVal& i) { return is_instance(i); }))
    abandon(Reason::container, "assignment to an item of a variable whose type is not known, by an object");
  AVal changed = update_path(root, path, 0, items, 0, value);
  if (same(root, changed) || path.root == Root::value) return changed;
  const HeapId place = path.root == Root::global ? module_object(f.globals) : args[0].heap;
  if (put_back(place, path.name, root, changed)) return changed;
  if (path.root == Root::cell) cell_set(args[0], changed);
  if (path.root == Root::global) set_global(f.globals, path.name, changed);
  return changed;
}

// After a write to the items of what is boxed: a tensor is put back changed; a container is not, since what ran
// meanwhile may have put something else in its place. False: nobody else can have done so.
bool Specialiser::put_back(HeapId place, Symbol name, const AVal& before, const AVal& changed) {
  if (!before.is(AKind::dynamic) || before.type || !read(place).outside()) return false;
  before_unknown();
  emit_call(protocol_native("put_back"),
            {AVal::dynamic(place_of_object(place), nullptr), AVal::of(session.str(name)), before, changed}, {});
  after_unknown();
  return true;
}

AVal Specialiser::cell_get(const AVal& cell) {
  if (!cell.is(AKind::ref)) abandon(Reason::unknown_value, "a variable that is not followed");
  AVal v = load_slot(cell.heap, Symbol{});
  if (v.is(AKind::unbound)) abandon(Reason::raises, "a variable without a value");
  if (v.is(AKind::poison)) abandon_parted(v, "a variable that differs between branches");
  return v;
}

void Specialiser::cell_set(const AVal& cell, AVal v) {
  if (!cell.is(AKind::ref)) abandon(Reason::unknown_value, "a variable that is not followed");
  if (!read(cell.heap).stale) load_slot(cell.heap, Symbol{});
  assign(cell.heap, Symbol{}, std::move(v));
}

HeapId Specialiser::module_object(const Value& module) {
  auto [at, fresh] = modules_.try_emplace(module.object(), 0u);
  if (fresh) at->second = next_heap_++;
  if (at->second >= heap_.size()) heap_.resize(at->second + 1);
  if (!heap_[at->second]) {
    auto o = std::make_shared<AObject>();
    o->kind = AObject::Kind::globals;
    o->external = true;
    o->concrete = module;
    o->stale = effects_.unknown;
    external_info_[at->second] = {module, kNoNode};
    heap_.put(at->second, std::move(o));
  }
  return at->second;
}

void Specialiser::set_global(const Value& module, Symbol name, AVal v) {
  const HeapId id = module_object(module);
  if (!heap_[id]->find(name))
    if (const AVal found = found_global(module, name); !found.is(AKind::unbound))
      write(id).slots.push_back({.name = name, .value = found, .memory = found, .loaded = found});
  assign(id, name, std::move(v));
}

}  // namespace ouro::jit
