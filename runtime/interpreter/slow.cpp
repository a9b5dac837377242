#include "runtime/interpreter/slow.h"
#include "runtime/object/buffer_mark.h"

#include "ir/prim.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/place_span.h"
#include "runtime/object/bind.h"
#include "runtime/object/collect.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/protocol/lookup.h"
#include "runtime/types/sequence.h"
#include "support/small_vec.h"

namespace ouro::runtime {

namespace {

void drop_both(Frame& f, const Instr& in) {
  drop_operand(f, in.a, in.use_a);
  drop_operand(f, in.b, in.use_b);
}

// UTF-8 is ordered as its code points are.
bool compare_texts(CmpOp op, std::string_view x, std::string_view y) {
  switch (op) {
    case CmpOp::eq:
      return x == y;
    case CmpOp::ne:
      return x != y;
    case CmpOp::lt:
      return x < y;
    case CmpOp::le:
      return x <= y;
    case CmpOp::gt:
      return x > y;
    case CmpOp::ge:
      return x >= y;
  }
  return false;
}

bool finish(Frame& f, const Instr& in, Value r) {
  if (r.is_error()) return false;
  drop_both(f, in);
  f.regs[in.dst] = std::move(r);
  return true;
}

Site& site_of(const Frame& f, int32_t i) { return f.code->sites[static_cast<size_t>(i)]; }
Symbol symbol_of(const Site& x) { return Symbol::from_id(x.attr); }

}  // namespace

bool do_binary(Session& s, Frame& f, const Instr& in, BinOp op) {
  return finish(f, in, binary(s, op, operand(f, in.a), operand(f, in.b)));
}
bool do_unary(Session& s, Frame& f, const Instr& in, UnOp op) { return finish(f, in, unary(s, op, operand(f, in.a))); }
bool do_compare(Session& s, Frame& f, const Instr& in, CmpOp op) {
  return finish(f, in, compare(s, op, operand(f, in.a), operand(f, in.b)));
}
int do_compare_bool(Session& s, Frame& f, const Instr& in, CmpOp op) {
  const Value &a = operand(f, in.a), &b = operand(f, in.b);
  Str *x = cast_exact<Str>(a), *y = x ? cast_exact<Str>(b) : nullptr;
  int r = y ? compare_texts(op, x->view(), y->view()) : compare_bool(s, op, a, b);
  if (r >= 0) drop_both(f, in);
  return r;
}

// The operand leaves its register when it dies, so that its count can be 1; it comes back if the operation fails.
bool do_inplace(Session& s, Frame& f, const Instr& in, BinOp op) {
  if (in.a < 0 || in.use_a == static_cast<uint8_t>(Use::keep))
    return finish(f, in, inplace(s, op, operand(f, in.a), operand(f, in.b)));
  Value& slot = f.regs[in.a];
  Value r;
  if (kind_of(slot) == ObjectKind::tensor && s.tensors && s.tensors->update_item) {
    if (!s.tensors->update_item(s, slot, {}, op, operand(f, in.b))) return false;
    r = std::move(slot);
  } else if (in.b >= 0 && in.a != in.b && slots_of(s, slot).inplace && kind_of(slot) == ObjectKind::str) {
    Value taken = std::move(slot);
    r = slots_of(s, taken).inplace(s, op, taken, operand(f, in.b));
    if (r.is(Tag::not_implemented)) r = inplace(s, op, taken, operand(f, in.b));
    if (r.is_error()) {
      f.regs[in.a] = std::move(taken);
      return false;
    }
  } else {
    r = inplace(s, op, slot, operand(f, in.b));
  }
  return finish(f, in, std::move(r));
}

// ---------------------------------------------------------------- attributes and names

bool do_attr_get(Session& s, Frame& f, const Instr& in) {
  Site& x = site_of(f, in.b);
  const Value& a = operand(f, in.a);
  Symbol name = symbol_of(x);
  Instance* of = kind_of(a) == ObjectKind::instance ? a.as<Instance>() : nullptr;
  if (Cache& c = x.cache;
      of && of->shape && c.slot == Cache::kOfClass && of->shape->id == c.key && of->type->version == c.type_key) {
    Value d = Value::share(c.object), r = bind_descriptor(s, d, a, of->type);
    if (r.is_error()) return false;
    drop_operand(f, in.a, in.use_a);
    f.regs[in.dst] = std::move(r);
    return true;
  }
  if (of && of->shape && !of->type->has_getattribute && !of->type->has_getattr) {
    Value d = type_lookup(s, of->type, name);
    if (kind_of(d) == ObjectKind::member) {  // a name of __slots__, in its place: as an attribute of the instance
      int slot = of->shape->find(name);
      Cache& c = x.cache;
      c = {};
      if (slot >= 0) c.key = of->shape->id, c.type_key = of->type->version, c.slot = slot;
    } else if (d.is_object() && (kind_of(d) == ObjectKind::property || of->shape->find(name) < 0)) {
      Cache& c = x.cache;
      c.key = of->shape->id;
      c.type_key = of->type->version;
      c.slot = Cache::kOfClass;
      c.object = d.object();
    }
  }
  Value r = get_attr(s, a, name);
  if (r.is_error()) return false;
  if (Instance* i = kind_of(a) == ObjectKind::instance ? a.as<Instance>() : nullptr;
      i && i->shape && !i->type->has_getattribute) {
    int slot = i->shape->find(name);
    if (slot >= 0 && !is_data_descriptor(s, type_lookup(s, i->type, name))) {
      Cache& c = x.cache;
      c.key = i->shape->id;
      c.type_key = i->type->version;
      c.slot = slot;
    }
  }
  drop_operand(f, in.a, in.use_a);
  f.regs[in.dst] = std::move(r);
  return true;
}

bool do_attr_set(Session& s, Frame& f, const Instr& in) {
  Site& x = site_of(f, in.a);
  const Operand *target = &f.code->operands[x.first], *value = target + 1;
  const Value& a = operand(f, target->at);
  Cache& c = x.cache;
  Instance* i = kind_of(a) == ObjectKind::instance ? a.as<Instance>() : nullptr;
  if (i && i->shape && i->shape->id == c.key && i->type->version == c.type_key) {
    Value v = take_operand(f, *value);
    if (has_buffer_mark(v)) [[unlikely]]
      v = without_buffer_mark(v);
    if (!c.owner) {
      i->slots[c.slot].swap(v);
    } else {  // adds the attribute: the transition is known
      auto* next = static_cast<Shape*>(const_cast<void*>(c.owner));
      grow_slots(i, next->count);
      new (i->slots + c.slot) Value(std::move(v));
      i->shape = next;
    }
  } else {
    Symbol name = symbol_of(x);
    Shape* before = i ? i->shape : nullptr;
    Value keep = a, v = operand(f, value->at);
    if (!set_attr(s, keep, name, v)) return false;
    if (before && i->shape && !i->type->has_setattr && !is_data_descriptor(s, type_lookup(s, i->type, name))) {
      c.key = before->id;
      c.type_key = i->type->version;
      c.slot = i->shape->find(name);
      c.owner = i->shape == before ? nullptr : i->shape;
      if (i->shape != before && i->shape->parent != before) c.key = 0;
    }
    v = Value();
    drop_operand(f, value->at, static_cast<uint8_t>(value->use));
  }
  drop_operand(f, target->at, static_cast<uint8_t>(target->use));
  return true;
}

bool do_global_get(Session& s, Frame& f, const Instr& in) {
  Site& x = site_of(f, in.b);
  Symbol name = symbol_of(x);
  Module* m = f.globals;
  Cache& c = x.cache;
  uint32_t at = m->names.position(name);
  if (at != NameTable<Value>::kAbsent && !m->names.at(at).is_unbound()) {
    c = {};
    c.owner = m;
    c.slot = static_cast<int32_t>(at);
    f.regs[in.dst] = m->names.at(at);
    return true;
  }
  Value v = builtin(s, name, m->ouro_names);
  if (v.is_error()) return false;
  if (v.is_unbound()) {
    raise_text(s, ExcKind::NameError, "name '" + name.str() + "' is not defined");
    s.pending.as<Exception>()->extra1 = s.str(name);
    return false;
  }
  if (v.is_object()) {  // builtins live as long as the session
    c = {};
    c.owner = m;
    c.key = m->version;
    c.object = v.object();
  }
  f.regs[in.dst] = std::move(v);
  return true;
}

// ---------------------------------------------------------------- making things

bool do_container(Session& s, Frame& f, const Instr& in) {
  const Site& x = site_of(f, in.a);
  const Operand* ops = f.code->operands.data() + x.first;
  uint32_t n = x.count;
  Value r;
  switch (in.op) {
    case I::tuple: {
      r = alloc_tuple(n);
      for (uint32_t i = 0; i < n; ++i) (*r.as<Tuple>())[i] = take_operand(f, ops[i]);
      break;
    }
    case I::list: {
      r = make_list_reserved(n);
      for (uint32_t i = 0; i < n; ++i) r.as<List>()->push(take_operand(f, ops[i]));
      break;
    }
    case I::set: {
      r = make_set();
      for (uint32_t i = 0; i < n; ++i)
        if (set_add(s, r.as<Set>(), take_operand(f, ops[i])) < 0) return false;
      break;
    }
    case I::dict: {
      r = make_dict();
      for (uint32_t i = 0; i + 1 < n; i += 2) {
        Value k = take_operand(f, ops[i]);
        if (!dict_set(s, r.as<Dict>(), k, take_operand(f, ops[i + 1]))) return false;
      }
      break;
    }
    case I::format: {
      Value v = take_operand(f, ops[0]), spec = take_operand(f, ops[1]);
      if (x.attr == 'r')
        v = repr(s, v);
      else if (x.attr == 's')
        v = str(s, v);
      else if (x.attr == 'a')
        v = ascii(s, v);
      if (v.is_error()) return false;
      Str* t = cast<Str>(spec);
      std::string_view text = t ? t->view() : std::string_view();
      r = text.empty() && cast_exact<Str>(v)             ? v
          : text.empty() && (v.is_int() || v.is_float()) ? str(s, v)
                                                         : format(s, v, text);
      if (r.is_error()) return false;
      break;
    }
    case I::str_concat: {
      size_t size = 0;
      int64_t points = 0;
      for (uint32_t i = 0; i < n; ++i) {
        Str* part = operand(f, ops[i].at).as<Str>();
        size += part->size;
        points = points < 0 || part->points < 0 ? -1 : points + part->points;
      }
      Str* out = alloc_str(size);
      out->points = points;
      char* to = out->data;
      for (uint32_t i = 0; i < n; ++i) {
        Str* part = operand(f, ops[i].at).as<Str>();
        std::memcpy(to, part->data, part->size);
        to += part->size;
      }
      r = Value::steal(out);
      for (uint32_t i = 0; i < n; ++i) drop_operand(f, ops[i].at, static_cast<uint8_t>(ops[i].use));
      break;
    }
    default:
      break;
  }
  f.regs[in.dst] = std::move(r);
  return true;
}

bool do_function(Session& s, Frame& f, const Instr& in) {
  const Site& x = site_of(f, in.a);
  SmallVec<Value, 8> args;
  for (uint32_t i = 0; i < x.count; ++i) args.push_back(take_operand(f, f.code->operands[x.first + i]));
  const ir::Constant& c = f.code->function->constant(ir::ConstId{x.attr});
  Value g = Value::share(f.globals);
  f.regs[in.dst] = make_function(s, c.code, g, std::span<const Value>(args.data(), args.size()));
  return true;
}

bool do_tensor_op(Session& s, Frame& f, const Instr& in) {
  const Site& x = site_of(f, in.a);
  SmallVec<Value, 8> args;
  for (uint32_t i = 0; i < x.count; ++i) args.push_back(take_operand(f, f.code->operands[x.first + i]));
  Value statics = x.attr == ir::kNoAttr ? Value() : f.code->constants[x.attr];
  if (!s.tensors || !s.tensors->operation) {
    raise_error(s, ExcKind::SystemError, "tensor operations are not available");
    return false;
  }
  Value r = s.tensors->operation(s, x.op, std::span<Value>(args.data(), args.size()), statics);
  if (r.is_error()) return false;
  f.regs[in.dst] = std::move(r);
  return true;
}

// ---------------------------------------------------------------- iteration

bool quick_slice(Session& s, Frame& f, const Instr& in) {
  const Instr& get = (&in)[1];
  const Value& v = operand(f, get.a);
  List* l = cast_exact<List>(v);
  Str* t = l ? nullptr : cast_exact<Str>(v);
  if (!l && !t) return false;
  const Operand* ops = f.code->operands.data() + site_of(f, in.a).first;
  SliceRange range;
  if (!plain_slice(operand(f, ops[0].at), operand(f, ops[1].at), operand(f, ops[2].at),
                   l ? static_cast<int64_t>(l->size) : str_length(t), range))
    return false;
  f.pc = &get;
  Value r = l ? list_slice(s, l, range) : str_slice(s, v, range);
  if (get.a != get.dst) drop_operand(f, get.a, get.use_a);
  f.regs[get.dst] = std::move(r);
  return true;
}

bool do_iter(Session& s, Frame& f, const Instr& in) { return finish(f, in, iter(s, operand(f, in.a))); }

bool do_unpack(Session& s, Frame& f, const Instr& in) {
  Site& x = site_of(f, in.b);
  const Value& a = operand(f, in.a);
  bool star = in.op == I::unpack_star;
  size_t before = star ? x.attr & 0xffff : x.attr, after = star ? x.attr >> 16 : 0;
  if (Tuple* t = cast_exact<Tuple>(a); t && !star && t->size == before) return finish(f, in, a);
  if (List* l = cast_exact<List>(a); l && !star && l->size == before)
    return finish(f, in, make_tuple(std::span<const Value>(l->items, l->size)));
  Value it = iter(s, a);
  if (it.is_error()) {
    ObjectKind k = kind_of(a);
    bool scripted = k == ObjectKind::instance || k == ObjectKind::exception;
    if (pending_is(s, ExcKind::TypeError) &&
        (!scripted || (find_dunder(s, type_of(s, a), Dunder::iter_).is_unbound()))) {
      clear_pending(s);
      raise_type_error(s, "cannot unpack non-iterable %s object", type_name(s, a).c_str());
    }
    return false;
  }
  Value held = make_list();
  List& items = *held.as<List>();
  for (;;) {
    if (!star && items.size == before) {
      Value extra = next(s, it);
      if (extra.is_error()) return false;
      if (extra.is_end()) break;
      raise_value_error(s, "too many values to unpack (expected %zu)", before);
      return false;
    }
    Value v = next(s, it);
    if (v.is_error()) return false;
    if (v.is_end()) break;
    items.push(std::move(v));
  }
  if (items.size < before + after) {
    raise_value_error(s, "not enough values to unpack (expected %s%zu, got %zu)", star ? "at least " : "",
                      before + after, items.size);
    return false;
  }
  if (!star) return finish(f, in, make_tuple_moved(std::span(items.items, items.size)));
  Value r = alloc_tuple(before + 1 + after);
  Tuple& t = *r.as<Tuple>();
  size_t middle = items.size - before - after;
  for (size_t i = 0; i < before; ++i) t[i] = std::move(items[i]);
  t[before] = make_list_moved(std::span(items.items + before, middle));
  for (size_t i = 0; i < after; ++i) t[before + 1 + i] = std::move(items[before + middle + i]);
  return finish(f, in, std::move(r));
}

// ---------------------------------------------------------------- places (RULES C16)

namespace {

struct PlaceWrite {
  Session& s;
  const ir::PlacePath& path;
  const Value* items;  // one per item step
  const Value& value;
  BinOp op;
  size_t failed =
      SIZE_MAX;  // the step that could not be read (number of steps: the target not written); else the operation failed

  bool whole(Value& place) {  // `place op= value`
    if (kind_of(place) == ObjectKind::tensor && s.tensors && s.tensors->update_item)
      return s.tensors->update_item(s, place, {}, op, value);
    Value r = inplace(s, op, place, value);
    if (r.is_error()) return false;
    place = std::move(r);
    return true;
  }

  bool tensor(Value& place, size_t step, const Value* keys) {
    size_t n = path.steps.size() - step;
    for (size_t i = step; i < path.steps.size(); ++i)
      if (!path.steps[i].is_item) {
        raise_error(s, ExcKind::AttributeError, "cannot set attribute '%s' of a tensor's element",
                    path.steps[i].attr.c_str());
        return false;
      }
    std::span<const Value> all(keys, n);
    return path.augmented ? s.tensors->update_item(s, place, all, op, value)
                          : s.tensors->set_item(s, place, all, value);
  }

  // Writes through steps `step`... of `place`; `place` is rebound only if it is a tensor. `keys`: the items of the
  // remaining steps.
  bool write(Value& place, size_t step, const Value* keys) {
    if (step == path.steps.size()) return whole(place);
    if (kind_of(place) == ObjectKind::tensor && path.steps[step].is_item) return tensor(place, step, keys);
    bool last = step + 1 == path.steps.size();
    return path.steps[step].is_item ? write_item(place, step, keys, last)
                                    : write_attr(place, path.steps[step].attr, step, keys, last);
  }

  // A tensor inside a list, dict or attribute is taken out while it is written, so that its count can be 1.
  static Value* inner_slot(Session& s, const Value& place, const Value& key) {
    if (List* l = cast_exact<List>(place); l && key.is_int()) {
      int64_t i = key.as_int() < 0 ? key.as_int() + static_cast<int64_t>(l->size) : key.as_int();
      return static_cast<uint64_t>(i) < l->size ? &l->items[i] : nullptr;
    }
    if (Dict* d = cast_exact<Dict>(place)) {
      Value* v = dict_find(s, d, key);
      if (s.has_error()) clear_pending(s);
      return v;
    }
    return nullptr;
  }
  // `find` gives the slot again: a key's __index__ may have moved it.
  template <class Find>
  bool write_taken(Value* slot, size_t step, const Value* keys, Find&& find) {
    Value child = std::move(*slot);
    *slot = Value::none();
    bool ok = write(child, step, keys);
    if (Value* again = find()) *again = std::move(child);
    return ok;
  }

  bool write_item(Value& place, size_t step, const Value* keys, bool last) {
    if (last && !path.augmented) return set_item(s, place, keys[0], value);
    if (Value* slot = inner_slot(s, place, keys[0]); slot && kind_of(*slot) == ObjectKind::tensor)
      return write_taken(slot, step + 1, keys + 1, [&] { return inner_slot(s, place, keys[0]); });
    Value child = get_item(s, place, keys[0]);
    if (child.is_error()) return failed = step, false;
    bool put_back = last || kind_of(child) == ObjectKind::tensor;
    if (!write(child, step + 1, keys + 1)) return false;
    if (!put_back || set_item(s, place, keys[0], child)) return true;
    failed = step + 1;
    return false;
  }

  bool write_attr(Value& place, Symbol name, size_t step, const Value* keys, bool last) {
    if (last && !path.augmented) return set_attr(s, place, name, value);
    if (Instance* i = cast<Instance>(place)) {
      Value* slot = instance_slot(s, i, name);
      if (slot && kind_of(*slot) == ObjectKind::tensor && !i->type->has_setattr && !i->type->has_getattribute &&
          !is_data_descriptor(s, type_lookup(s, i->type, name)))
        return write_taken(slot, step + 1, keys, [&] { return i->shape ? i->slots + i->shape->find(name) : nullptr; });
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

}  // namespace

namespace {

bool update_place(Session& s, Frame& f, const Instr& in, size_t& failed) {
  const Site& x = site_of(f, in.a);
  const ir::PlacePath& path = f.code->function->paths[x.attr];
  const Operand* ops = f.code->operands.data() + x.first;
  uint32_t first = path.root == ir::PlacePath::Root::global ? 0 : 1;
  SmallVec<Value, 4> keys;
  for (uint32_t i = first; i + 1 < x.count; ++i) keys.push_back(operand(f, ops[i].at));
  // `x[i] = x`: the value is the place itself, whose register the write needs.
  const Operand& last = ops[x.count - 1];
  const bool of_itself = path.root == ir::PlacePath::Root::value && last.at >= 0 && last.at == ops[0].at;
  Value value = of_itself ? operand(f, last.at) : take_operand(f, last);
  BinOp op = path.augmented ? binary_of(path.in_place) : BinOp::add;
  PlaceWrite w{s, path, keys.data(), value, op};
  auto write = [&](Value& place) {
    bool ok = w.write(place, 0, keys.data());
    failed = w.failed;
    return ok;
  };
  Value* root = nullptr;
  Value copy;
  switch (path.root) {
    case ir::PlacePath::Root::value:
      if (ops[0].at >= 0 && (ops[0].use != Use::keep || (of_itself && last.use != Use::keep)))
        root = &f.regs[ops[0].at];
      else
        root = &(copy = operand(f, ops[0].at));
      if (!write(*root)) return false;
      if (root != &f.regs[in.dst]) f.regs[in.dst] = root == &copy ? std::move(copy) : std::move(*root);
      return true;
    case ir::PlacePath::Root::cell:
      root = &operand(f, ops[0].at).as<Cell>()->value;
      break;
    case ir::PlacePath::Root::global:
      root = f.globals->names.find(path.name);
      break;
  }
  if (!root || root->is_unbound()) {
    if (path.root == ir::PlacePath::Root::cell)
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
  if (kind_of(*root) == ObjectKind::tensor) return write(*root);
  Value held = *root;  // a script may rebind the variable meanwhile
  if (!write(held)) return false;
  if (path.steps.empty()) {
    if (path.root == ir::PlacePath::Root::cell)
      operand(f, ops[0].at).as<Cell>()->value = std::move(held);
    else
      f.globals->names.set(path.name, std::move(held));
  }
  return true;
}

}  // namespace

namespace {

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

// Keys whose hash and equality run no script.
bool plain_key(const Value& k) { return k.is_int() || cast_exact<Str>(k); }

// Where the item of a list or the value of a dict's plain key is; null: not there, or not so simple.
Value* item_slot(Session& s, const Value& container, const Value& k) {
  if (List* l = cast_exact<List>(container)) {
    if (!k.is_int()) return nullptr;
    int64_t i = k.as_int() < 0 ? k.as_int() + static_cast<int64_t>(l->size) : k.as_int();
    return static_cast<uint64_t>(i) < l->size ? &l->items[i] : nullptr;
  }
  Dict* d = plain_key(k) ? cast_exact<Dict>(container) : nullptr;
  Value* v = d ? dict_find(s, d, k) : nullptr;
  if (d && !v && s.has_error()) clear_pending(s);
  return v;
}

// The updated place is the instruction's result.
void pass_root(Frame& f, const Instr& in, const Operand& root) {
  if (in.dst == root.at) return;
  if (root.use != Use::keep)
    f.regs[in.dst] = std::move(f.regs[root.at]);
  else
    f.regs[in.dst] = f.regs[root.at];
}

// a[i][j] = v, a[i][j] op= v, self.a[i] = v and deeper: lists, dicts and attributes of instances on the way.
bool fast_deep_update(Session& s, Frame& f, const Instr& in, const Site& x, const ir::PlacePath& path) {
  if (path.root != ir::PlacePath::Root::value) return false;
  const Operand* ops = f.code->operands.data() + x.first;
  const Operand &last = ops[x.count - 1], *key = ops + 1;
  if (ops[0].at < 0 || last.at == ops[0].at) return false;
  Value* slot = &f.regs[ops[0].at];
  for (const auto& step : path.steps) {
    if (step.is_item) {
      slot = item_slot(s, *slot, operand(f, (key++)->at));
    } else {
      Instance* i = kind_of(*slot) == ObjectKind::instance ? slot->as<Instance>() : nullptr;
      int at = i && i->shape && !i->type->has_setattr && !i->type->has_getattribute ? i->shape->find(step.attr) : -1;
      if (at < 0 || is_data_descriptor(s, type_lookup(s, i->type, step.attr))) return false;
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

// x[i] = v and x[i] op= v of a list, self.a op= v of an instance, n op= v of a cell or global: what most programs do,
// with numbers. False: nothing was done.
bool fast_update(Session& s, Frame& f, const Instr& in) {
  Site& x = site_of(f, in.a);
  const ir::PlacePath& path = f.code->function->paths[x.attr];
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
    slot = item_slot(s, *root, k);
    if (!slot) {  // a new key of a dict
      Dict* d = path.augmented || !plain_key(k) ? nullptr : cast_exact<Dict>(*root);
      if (!d || !dict_set(s, d, k, operand(f, last.at))) {
        clear_pending(s);
        return false;
      }
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
      if (at < 0 || i->type->has_setattr || i->type->has_getattribute ||
          is_data_descriptor(s, type_lookup(s, i->type, name)))
        return false;
      c.key = i->shape->id;
      c.type_key = i->type->version;
      c.slot = at;
    }
    slot = &i->slots[c.slot];
  }
  Value old;
  if (path.augmented) {
    BinOp op = binary_of(path.in_place);
    if (!fast_arithmetic(op, *slot, operand(f, last.at), old)) return false;
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
