// Writes to places (docs/design/rules.md C16; `update`): `root[i].a[j] = v` and `op= v` are one instruction, which
// takes what is to be written out of its place, so that a tensor that nobody else holds is written in place, and puts
// it back, also on error. First what most programs do, with numbers in plain slots, without a call (fast_update); then
// any place (PlaceWrite). `place op= v` whose value may raise or run a script comes with what the place held before
// (`loaded`): that is the operand, as CPython has it, and it is taken out where the place still holds it. `place[i] op=
// v` of that kind comes with the containers on the way (`held`): an item of a list or dict is written to the one that
// was read.
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/place_span.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/protocol/lookup.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

// Where an instance has its own attribute, in which no script notices a write; else null.
Value* own_slot(Session& s, Instance* i, Symbol name) {
  if (i->type->has_setattr) return nullptr;
  if (!is_own_attribute(s, i->type, name)) return nullptr;
  if (Value* slot = instance_slot(s, i, name)) return slot;
  if (i->shape || !i->dict.is_object() || kind_of(type_lookup(s, i->type, name)) == ObjectKind::member) return nullptr;
  bool asks = false;
  Dict::Entry* e = dict_plain_entry(i->dict.as<Dict>(), s.str(name), asks);
  return e ? &e->value : nullptr;
}

// A value out of its slot while it is written, so that its count can be 1. It is back at the end, also where an
// interrupt or a lack of memory comes between; no script runs meanwhile.
class Taken {
 public:
  explicit Taken(Value& slot) : value(std::move(slot)), slot_(slot) { slot_ = Value::none(); }
  ~Taken() { slot_ = std::move(value); }
  Taken(const Taken&) = delete;
  Value value;

 private:
  Value& slot_;
};

struct PlaceWrite {
  Session& s;
  const ir::PlacePath& path;
  Value& value;
  BinOp op;
  size_t failed =
      SIZE_MAX;  // the step that could not be read (number of steps: the target not written); else the operation failed

  // Is what the steps before `step` lead to a tensor that is written where it stands? An operand with an operator of
  // its own is asked, as for other values.
  bool in_place(const Value& held, size_t step) const {
    return kind_of(held) == ObjectKind::tensor && s.tensors &&
           (step < path.steps.size() || s.tensors->is_operand(value));
  }

  bool whole(Value& place) {  // `place op= value`
    if (in_place(place, path.steps.size())) return s.tensors->update_item(s, place, {}, op, value);
    Value r = inplace(s, op, place, value);
    if (r.is_error()) return false;
    place = std::move(r);
    return true;
  }

  std::span<Value> remaining(size_t step, Value* keys) const { return {keys, path.steps.size() - step}; }

  // Do the steps from `step` on lead into a tensor that stands there?
  bool enters_tensor(const Value& place, size_t step) const {
    return kind_of(place) == ObjectKind::tensor && step < path.steps.size() && path.steps[step].is_item;
  }
  // Reads what of the indices of a tensor, and of the value, a script has to be asked for. It comes before the tensor
  // is looked for: the script may put something else into its place.
  bool settle(size_t step, Value* keys) {
    for (size_t i = step; i < path.steps.size(); ++i)
      if (!path.steps[i].is_item) {
        raise_error(s, ExcKind::AttributeError, "cannot set attribute '%s' of a tensor's element",
                    path.steps[i].attr.c_str());
        return false;
      }
    return s.tensors->settle(s, remaining(step, keys), value);
  }
  bool tensor(Value& place, size_t step, Value* keys) {
    if (!settle(step, keys)) return false;
    return path.augmented ? s.tensors->update_item(s, place, remaining(step, keys), op, value)
                          : s.tensors->set_item(s, place, remaining(step, keys), value);
  }

  // Writes through steps `step`... of `place`; `place` is rebound only if it is a tensor. `keys`: the items of the
  // remaining steps. No script may rebind `place` itself.
  bool write(Value& place, size_t step, Value* keys) {
    if (step == path.steps.size()) return whole(place);
    if (enters_tensor(place, step)) return tensor(place, step, keys);
    bool last = step + 1 == path.steps.size();
    return path.steps[step].is_item ? write_item(place, step, keys, last)
                                    : write_attr(place, path.steps[step].attr, step, keys, last);
  }

  // The same in the tensor that stands in the slot which `find` gives (null: there is none, or an exception is
  // pending). Once the indices are read it is looked for again; where no tensor stands there any more, nobody would see
  // the write.
  template <class Find>
  bool write_slot(size_t step, Value* keys, Find&& find) {
    if (step < path.steps.size() && !settle(step, keys)) return false;
    Value* slot = find();
    if (!slot || kind_of(*slot) != ObjectKind::tensor) return !s.has_error();
    Taken child(*slot);
    return write(child.value, step, keys);
  }

  bool write_item(Value& place, size_t step, Value* keys, bool last) {
    if (last && !path.augmented) return set_item(s, place, keys[0], value);
    Value child;
    if (Dict* d = cast_exact<Dict>(place)) {
      auto find = [&]() -> Value* {
        Dict::Entry* e = dict_entry(s, d, keys[0]);
        if (!e) return nullptr;
        if (!last) keys[0] = e->key;  // which is found again by its identity; to store an item asks for its hash again
        return &e->value;
      };
      Value* slot = find();
      if (!slot) {
        if (!s.has_error()) raise_key_error(s, keys[0]);
        return failed = step, false;
      }
      if (in_place(*slot, step + 1)) return write_slot(step + 1, keys + 1, find);
      child = *slot;
    } else if (List* l = cast_exact<List>(place); l && keys[0].is_int()) {
      auto find = [&]() -> Value* {
        int64_t i = keys[0].as_int() < 0 ? keys[0].as_int() + static_cast<int64_t>(l->size) : keys[0].as_int();
        return static_cast<uint64_t>(i) < l->size ? &l->items[i] : nullptr;
      };
      if (Value* slot = find(); slot && in_place(*slot, step + 1)) return write_slot(step + 1, keys + 1, find);
    }
    if (child.is_unbound()) child = get_item(s, place, keys[0]);
    if (child.is_error()) return failed = step, false;
    bool put_back = last || kind_of(child) == ObjectKind::tensor;
    if (!write(child, step + 1, keys + 1)) return false;
    if (!put_back || set_item(s, place, keys[0], child)) return true;
    failed = step + 1;
    return false;
  }

  bool write_attr(Value& place, Symbol name, size_t step, Value* keys, bool last) {
    if (last && !path.augmented) return set_attr(s, place, name, value);
    if (Instance* i = cast<Instance>(place)) {
      auto find = [&] { return own_slot(s, i, name); };
      if (Value* slot = find(); slot && in_place(*slot, step + 1) && !i->type->has_getattribute)
        return write_slot(step + 1, keys, find);
    }
    Value child = get_attr(s, place, name);
    if (child.is_error()) return failed = step, false;
    bool put_back = last || kind_of(child) == ObjectKind::tensor;
    if (!write(child, step + 1, keys)) return false;
    if (!put_back || set_attr(s, place, name, child)) return true;
    failed = step + 1;
    return false;
  }
};

bool unbound_variable(Session& s, ExcKind kind, const std::string& text, Symbol name) {
  raise_text(s, kind, text);
  s.pending.as<Exception>()->extra1 = s.str(name);
  return false;
}

// The updated place is the instruction's result.
void pass_root(Frame& f, const Instr& in, const Operand& root) {
  if (in.dst == root.at) return;
  if (root.use != Use::keep)
    f.regs[in.dst] = std::move(f.regs[root.at]);
  else
    f.regs[in.dst] = f.regs[root.at];
}

// The slot that holds what `place op= v` loaded; null where none does, or where a script would notice a write to it.
Value* slot_of_loaded(Session& s, Frame& f, const ir::PlacePath& path, const Value& root, const Value& before) {
  Value* slot = nullptr;
  if (path.root == ir::PlacePath::Root::global) {
    slot = f.globals->names.find(path.name);
  } else if (path.root == ir::PlacePath::Root::cell) {
    slot = &root.as<Cell>()->value;
  } else if (Instance* i = cast<Instance>(root)) {
    slot = own_slot(s, i, path.steps[0].attr);
  }
  return slot && slot->same(before) ? slot : nullptr;
}

// The operands: root?, what the place held before the value was computed, the value.
bool update_loaded(Session& s, Frame& f, const Site& x, const ir::PlacePath& path, size_t& failed) {
  const Operand* ops = f.code->operands.data() + x.first;
  const bool global = path.root == ir::PlacePath::Root::global;
  const Value root = global ? Value() : operand(f, ops[0].at);
  const Operand &old = ops[x.count - 2], &last = ops[x.count - 1];
  Value value = old.at == last.at ? operand(f, last.at) : take_operand(f, last);
  Value before = take_operand(f, old);
  const BinOp op = binary_of(path.in_place);
  if (kind_of(before) == ObjectKind::tensor && s.tensors->is_operand(value)) {
    if (Value* slot = slot_of_loaded(s, f, path, root, before)) {
      before = Value();
      Taken taken(*slot);
      return s.tensors->update_item(s, taken.value, {}, op, value);
    }
  }
  Value result = inplace(s, op, before, value);
  if (result.is_error()) return false;
  if (global) {
    f.globals->names.set(path.name, std::move(result));
  } else if (path.root == ir::PlacePath::Root::cell) {
    root.as<Cell>()->value = std::move(result);
  } else if (!set_attr(s, root, path.steps[0].attr, result)) {
    failed = 1;
    return false;
  }
  return true;
}

// The operands: root?, keys, containers, the value. Writes to the last container that is no tensor; `done` false: there
// is none, the path is to be followed from its root.
bool update_held(Session& s, Frame& f, const Site& x, const ir::PlacePath& path, size_t& failed, bool& done) {
  const Operand* ops = f.code->operands.data() + x.first;
  const uint32_t count = path.containers(), at = x.count - 1 - count;
  Value container;
  uint32_t n = count;
  for (uint32_t i = count; i-- > 0;) {
    Value c = take_operand(f, ops[at + i]);  // a tensor is let go, so that it can be written in place
    if (!container.is_unbound() || kind_of(c) == ObjectKind::tensor) continue;
    container = std::move(c);
    n = i;
  }
  done = n < count;
  if (!done) return true;
  SmallVec<Value, 4> keys;
  for (uint32_t i = at - (count - n); i < at; ++i) keys.push_back(operand(f, ops[i].at));
  Value value = take_operand(f, ops[x.count - 1]);
  PlaceWrite w{s, path, value, path.augmented ? binary_of(path.in_place) : BinOp::add};
  const bool ok = w.write(container, path.steps.size() - (count - n), keys.data());
  failed = w.failed;
  return ok;
}

bool update_place(Session& s, Frame& f, const Instr& in, size_t& failed) {
  const Site& x = site_of(f, in.a);
  const ir::PlacePath& path = f.code->function->paths[x.attr];
  const Operand* ops = f.code->operands.data() + x.first;
  if (path.loaded) {
    if (!update_loaded(s, f, x, path, failed)) return false;
    if (path.root == ir::PlacePath::Root::value) pass_root(f, in, ops[0]);
    return true;
  }
  if (path.held) {
    bool done = false;
    if (!update_held(s, f, x, path, failed, done)) return false;
    if (done) {
      if (path.root == ir::PlacePath::Root::value) pass_root(f, in, ops[0]);
      return true;
    }
  }
  uint32_t first = path.root == ir::PlacePath::Root::global ? 0 : 1;
  SmallVec<Value, 4> keys;
  for (uint32_t i = first; i + 1 + path.containers() < x.count; ++i) keys.push_back(operand(f, ops[i].at));
  // `x[i] = x`: the value is the place itself, whose register the write needs.
  const Operand& last = ops[x.count - 1];
  const bool of_itself = path.root == ir::PlacePath::Root::value && last.at >= 0 && last.at == ops[0].at;
  Value value = of_itself ? operand(f, last.at) : take_operand(f, last);
  BinOp op = path.augmented ? binary_of(path.in_place) : BinOp::add;
  PlaceWrite w{s, path, value, op};
  auto write = [&](Value& place) {
    bool ok = w.write(place, 0, keys.data());
    failed = w.failed;
    return ok;
  };
  Value copy;
  if (path.root == ir::PlacePath::Root::value) {
    const bool own = ops[0].at >= 0 && (ops[0].use != Use::keep || (of_itself && last.use != Use::keep));
    Value& root = own ? f.regs[ops[0].at] : (copy = operand(f, ops[0].at));
    if (!write(root)) return false;
    if (&root != &f.regs[in.dst]) f.regs[in.dst] = std::move(root);
    return true;
  }
  const bool cell = path.root == ir::PlacePath::Root::cell;
  auto find = [&] { return cell ? &operand(f, ops[0].at).as<Cell>()->value : f.globals->names.find(path.name); };
  Value* root = find();
  if (!root || root->is_unbound()) {
    if (cell)
      return unbound_variable(
          s, ExcKind::UnboundLocalError,
          "cannot access local variable '" + path.name.str() + "' where it is not associated with a value", path.name);
    Value b = builtin(s, path.name, f.globals->ouro_names);
    if (b.is_unbound())
      return unbound_variable(s, ExcKind::NameError, "name '" + path.name.str() + "' is not defined", path.name);
    if (!write(b)) return false;
    if (path.steps.empty()) f.globals->names.set(path.name, b);
    return true;
  }
  if (w.in_place(*root, 0)) {
    const bool ok = w.write_slot(0, keys.data(), find);
    failed = w.failed;
    return ok;
  }
  Value held = *root;  // a script may rebind the variable meanwhile
  if (!write(held)) return false;
  if (path.steps.empty()) {
    if (cell)
      *find() = std::move(held);
    else
      f.globals->names.set(path.name, std::move(held));
  }
  return true;
}

// Numbers whose result is a number of the same kind, without a call.
bool fast_arithmetic(BinOp op, const Value& a, const Value& b, Value& out) {
  if (a.is_int() && b.is_int()) {
    int64_t r;
    bool overflow = true;
    if (op == BinOp::add)
      overflow = __builtin_add_overflow(a.as_int(), b.as_int(), &r);
    else if (op == BinOp::sub)
      overflow = __builtin_sub_overflow(a.as_int(), b.as_int(), &r);
    else if (op == BinOp::mul)
      overflow = __builtin_mul_overflow(a.as_int(), b.as_int(), &r);
    if (overflow) return false;
    out = Value::integer(r);
    return true;
  }
  if (!a.is_float() || !(b.is_float() || b.is_int())) return false;
  double x = a.as_float(), y = b.is_float() ? b.as_float() : static_cast<double>(b.as_int());
  if (op == BinOp::add)
    out = Value::floating(x + y);
  else if (op == BinOp::sub)
    out = Value::floating(x - y);
  else if (op == BinOp::mul)
    out = Value::floating(x * y);
  else
    return false;
  return true;
}

Value* update_root(Session& s, Frame& f, const ir::PlacePath& path, const Operand* ops, Cache& c) {
  (void)s;
  switch (path.root) {
    case ir::PlacePath::Root::value:
      return ops[0].at >= 0 ? &f.regs[ops[0].at] : nullptr;
    case ir::PlacePath::Root::cell:
      return &operand(f, ops[0].at).as<Cell>()->value;
    case ir::PlacePath::Root::global:
      break;
  }
  if (path.steps.empty() || path.steps[0].is_item) {  // else the cache is the attribute's
    if (c.owner != f.globals) {
      uint32_t at = f.globals->names.position(path.name);
      if (at == NameTable<Value>::kAbsent) return nullptr;
      c.owner = f.globals;
      c.slot = static_cast<int32_t>(at);
    }
    return &f.globals->names.at(static_cast<uint32_t>(c.slot));
  }
  return f.globals->names.find(path.name);
}

// Where the item of a list or the value of a dict's key is; null: not there, or a script would have to be asked
// (`asks`).
Value* item_slot(const Value& container, const Value& k, bool& asks) {
  if (List* l = cast_exact<List>(container)) {
    if (!k.is_int()) return nullptr;
    int64_t i = k.as_int() < 0 ? k.as_int() + static_cast<int64_t>(l->size) : k.as_int();
    return static_cast<uint64_t>(i) < l->size ? &l->items[i] : nullptr;
  }
  Dict* d = cast_exact<Dict>(container);
  Dict::Entry* e = d ? dict_plain_entry(d, k, asks) : nullptr;
  return e ? &e->value : nullptr;
}

// a[i][j] = v, a[i][j] op= v, self.a[i] = v and deeper: lists, dicts and attributes of instances on the way.
bool fast_deep_update(Session& s, Frame& f, const Instr& in, const Site& x, const ir::PlacePath& path) {
  if (path.root != ir::PlacePath::Root::value) return false;
  const Operand* ops = f.code->operands.data() + x.first;
  const Operand &last = ops[x.count - 1], *key = ops + 1;
  if (ops[0].at < 0 || last.at == ops[0].at) return false;
  Value* slot = &f.regs[ops[0].at];
  bool asks = false;
  for (const auto& step : path.steps) {
    if (step.is_item) {
      slot = item_slot(*slot, operand(f, (key++)->at), asks);
    } else {
      Instance* i = kind_of(*slot) == ObjectKind::instance ? slot->as<Instance>() : nullptr;
      int at = i && i->shape && !i->type->has_setattr && !i->type->has_getattribute ? i->shape->find(step.attr) : -1;
      if (at < 0 || !is_own_attribute(s, i->type, step.attr)) return false;
      slot = &i->slots[at];
    }
    if (!slot || kind_of(*slot) == ObjectKind::tensor || slot->is_unbound()) return false;
  }
  Value old;
  if (path.augmented) {
    BinOp op = binary_of(path.in_place);
    if (!fast_arithmetic(op, *slot, operand(f, last.at), old)) return false;
  } else {
    if (!path.steps.back().is_item) return false;
    old = take_operand(f, last);
  }
  slot->swap(old);
  for (const Operand* k = ops + 1; k < &last; ++k) drop_operand(f, k->at, static_cast<uint8_t>(k->use));
  pass_root(f, in, ops[0]);
  return true;
}

// x[i] = v and x[i] op= v of a list or dict that is held.
bool fast_held_update(Frame& f, const Instr& in, const Site& x, const ir::PlacePath& path) {
  const Operand* ops = f.code->operands.data() + x.first;
  const bool of_value = path.root == ir::PlacePath::Root::value;
  const uint32_t last = x.count - 1;
  bool asks = false;
  Value* slot = item_slot(operand(f, ops[last - 1].at), operand(f, ops[last - path.containers() - 1].at), asks);
  if (!slot || kind_of(*slot) == ObjectKind::tensor) return false;
  Value old;
  if (!path.augmented)
    old = take_operand(f, ops[last]);
  else if (!fast_arithmetic(binary_of(path.in_place), *slot, operand(f, ops[last].at), old))
    return false;
  slot->swap(old);
  for (uint32_t i = of_value; i < last; ++i) drop_operand(f, ops[i].at, static_cast<uint8_t>(ops[i].use));
  if (of_value) pass_root(f, in, ops[0]);
  return true;
}

// x[i] = v and x[i] op= v of a list, self.a op= v of an instance, n op= v of a cell or global: what most programs do,
// with numbers. False: nothing was done.
bool fast_update(Session& s, Frame& f, const Instr& in) {
  Site& x = site_of(f, in.a);
  const ir::PlacePath& path = f.code->function->paths[x.attr];
  if (path.held) return fast_held_update(f, in, x, path);
  if (path.steps.size() > 1) return fast_deep_update(s, f, in, x, path);
  const Operand* ops = f.code->operands.data() + x.first;
  const Operand& last = ops[x.count - 1];
  Cache& c = x.cache;
  Value* root = update_root(s, f, path, ops, c);
  bool of_value = path.root == ir::PlacePath::Root::value;
  if (!root || (of_value && last.at == ops[0].at)) return false;
  Value* slot = root;
  const Operand* key = nullptr;
  if (!path.steps.empty() && path.steps[0].is_item) {
    key = ops + x.count - 2;
    const Value& k = operand(f, key->at);
    bool asks = false;
    slot = item_slot(*root, k, asks);
    if (!slot) {  // a new key of a dict
      Dict* d = path.augmented || asks ? nullptr : cast_exact<Dict>(*root);
      if (!d || !dict_set(s, d, k, operand(f, last.at))) return false;
      drop_operand(f, last.at, static_cast<uint8_t>(last.use));
      drop_operand(f, key->at, static_cast<uint8_t>(key->use));
      if (of_value) pass_root(f, in, ops[0]);
      return true;
    }
  } else if (!path.steps.empty()) {
    if (kind_of(*root) != ObjectKind::instance) return false;
    Instance* i = root->as<Instance>();
    if (!i->shape) return false;
    if (i->shape->id != c.key || i->type->version != c.type_key) {
      Symbol name = path.steps[0].attr;
      int at = i->shape->find(name);
      if (at < 0 || i->type->has_setattr || i->type->has_getattribute || !is_own_attribute(s, i->type, name))
        return false;
      c.key = i->shape->id;
      c.type_key = i->type->version;
      c.slot = at;
    }
    slot = &i->slots[c.slot];
  }
  Value old;
  if (path.loaded && slot->is_unbound()) return false;  // deleted meanwhile
  if (path.augmented) {
    const Value& before = path.loaded ? operand(f, ops[x.count - 2].at) : *slot;
    BinOp op = binary_of(path.in_place);
    if (!fast_arithmetic(op, before, operand(f, last.at), old)) return false;
  } else if (key) {
    old = take_operand(f, last);
  } else {
    return false;
  }
  slot->swap(old);
  if (key) drop_operand(f, key->at, static_cast<uint8_t>(key->use));
  if (of_value) pass_root(f, in, ops[0]);
  return true;
}

}  // namespace

bool do_update(Session& s, Frame& f, const Instr& in) {
  if (fast_update(s, f, in)) return true;
  size_t failed = SIZE_MAX;
  if (update_place(s, f, in, failed)) return true;
  if (failed != SIZE_MAX) {
    const Code& code = *f.code;
    s.interpreter->error_span =
        place_span(s, code.spans[code.pc_of(&in)], code.function->paths[site_of(f, in.a).attr], failed);
  }
  return false;
}

}  // namespace ouro::runtime
