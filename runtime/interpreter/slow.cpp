#include "runtime/interpreter/slow.h"
#include "runtime/object/buffer_mark.h"

#include "ir/prim.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/unpack.h"
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
  if (kind_of(slot) == ObjectKind::tensor && s.tensors && s.tensors->is_operand(operand(f, in.b))) {
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
    if (slot >= 0 && is_own_attribute(s, i->type, name)) {
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
    if (before && i->shape && !i->type->has_setattr && is_own_attribute(s, i->type, name)) {
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
        Str* part = cast<Str>(operand(f, ops[i].at));  // of a subclass, where a __format__ gave it
        size += part->size;
        points = points < 0 || part->points < 0 ? -1 : points + part->points;
      }
      Str* out = alloc_str(size);
      out->points = points;
      char* to = out->data;
      for (uint32_t i = 0; i < n; ++i) {
        Str* part = cast<Str>(operand(f, ops[i].at));
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
  const uint32_t attr = site_of(f, in.b).attr;
  const Value a = operand(f, in.a);
  return finish(
      f, in,
      in.op == I::unpack_star ? unpack_star(s, a, ir::before_star(attr), ir::behind_star(attr)) : unpack(s, a, attr));
}

}  // namespace ouro::runtime
