// One instruction by itself, for frames whose other instructions are machine code (jit/emit): what the loop in run.cpp
// does where it has no fast way. A call that has to be interpreted is run to its end.
#include <new>
#include <stdexcept>

#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/quick_step.h"
#include "runtime/protocol/lookup.h"
#include "support/diag.h"

namespace ouro::runtime {

namespace {

bool put_boolean(Frame& f, const Instr& in, int r, bool wanted, bool two = false) {
  if (r < 0) return false;
  drop_operand(f, in.a, in.use_a);
  if (two) drop_operand(f, in.b, in.use_b);
  f.regs[in.dst].set_boolean((r != 0) == wanted);
  return true;
}

bool item_get(Session& s, Frame& f, const Instr& in) {
  Value r = get_item(s, operand(f, in.a), operand(f, in.b));
  if (r.is_error()) return false;
  drop_operand(f, in.a, in.use_a);
  drop_operand(f, in.b, in.use_b);
  f.regs[in.dst] = std::move(r);
  return true;
}

bool global_set(Session& s, Frame& f, const Instr& in) {
  const Cache& c = site_of(f, in.b).cache;
  Value v = take_operand(f, {in.a, static_cast<Use>(in.use_a)});
  Value& slot = f.globals->names.at(static_cast<uint32_t>(c.slot));
  if (slot.is_unbound()) f.globals->version = s.next_version++;
  slot.swap(v);
  return true;
}

// A built-in function or method whose arguments need no binding.
Quick quick_call(Session& s, Frame& f, const Instr& in) {
  const Site& x = site_of(f, in.a);
  const Operand* ops = f.code->operands.data() + x.first;
  if (in.op == I::call_loaded && !operand(f, in.b).is_unbound()) return quick_loaded(s, f);
  if (in.op == I::call) {
    const Value& callee = operand(f, ops->at);
    if (kind_of(callee) != ObjectKind::native) return Quick::no;
    const Quick q = short_native(s, f, callee.as<Native>(), ops + 1, x.count - 1);
    return q != Quick::no ? q : quick_native(s, f, callee.as<Native>(), ops + 1, x.count - 1, false);
  }
  if (in.op != I::call_method && in.op != I::call_loaded) return Quick::no;
  const Value& self = operand(f, ops->at);
  if (!x.cache.object || x.cache.key != 0 || x.cache.object->object_kind() != ObjectKind::native || !self.is_object() ||
      !is_cached_kind(s, x.cache, self.object()->object_kind()))
    return Quick::no;
  auto* native = static_cast<Native*>(x.cache.object);
  const Quick q = short_native(s, f, native, ops, x.count);
  return q != Quick::no ? q : quick_native(s, f, native, ops, x.count, true);
}

bool call_of(Session& s, Frame& f, const Instr& in) {
  if (!stack_left(s)) return false;
  if (s.poll.load(std::memory_order_relaxed) && !safe_point(s)) return false;
  if (const Quick q = quick_call(s, f, in); q != Quick::no) return q == Quick::done;
  Frame* pushed = nullptr;
  if (!do_call(s, f, in, pushed)) return false;
  if (!pushed) return true;
  Value result = run_pushed(s, pushed);
  if (result.is_error()) return false;
  f.regs[in.dst] = std::move(result);
  return true;
}

// What takes a few lines.
bool do_instruction(Session& s, Frame& f, const Instr& in) {
  switch (in.op) {
#define BINARY(id, ...)                    \
  case I::id:                              \
    return do_binary(s, f, in, BinOp::id); \
  case I::i##id:                           \
    return do_inplace(s, f, in, BinOp::id);
#define COMPARE(id, ...) \
  case I::id:            \
    return do_compare(s, f, in, CmpOp::id);
#include "ir/operators.inc"
    case I::neg:
      return do_unary(s, f, in, UnOp::neg);
    case I::pos:
      return do_unary(s, f, in, UnOp::pos);
    case I::invert:
      return do_unary(s, f, in, UnOp::invert);
    case I::truth:
    case I::not_:
      return put_boolean(f, in, truth(s, operand(f, in.a)), in.op == I::truth);
    case I::cell_new: {
      Value v = take_operand(f, {in.a, static_cast<Use>(in.use_a)});
      f.regs[in.dst] = make_cell(std::move(v));
      return true;
    }
    case I::cell_set: {
      Value v = take_operand(f, {in.b, static_cast<Use>(in.use_b)});
      operand(f, in.a).as<Cell>()->value.swap(v);
      return true;
    }
    case I::list_append: {
      Value v = take_operand(f, {in.b, static_cast<Use>(in.use_b)});
      operand(f, in.a).as<List>()->push(std::move(v));
      return true;
    }
    default:
      ouro_bug("an instruction that is no step");
  }
}

// What comes out of the work of an instruction, as in the loop: -1 where an exception is pending.
template <class F>
int guarded(Session& s, F&& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    raise_interrupt(s);
  } catch (const std::bad_alloc&) {
    raise_memory_error(s);
  } catch (const std::length_error&) {
    raise_memory_error(s);
  }
  return -1;
}

}  // namespace

namespace {

template <bool (*work)(Session&, Frame&, const Instr&)>
bool one(Session& s, Frame& f, const Instr& in) {
  f.pc = &in;
  return guarded(s, [&] { return work(s, f, in) ? 1 : -1; }) > 0;
}

bool contains_of(Session& s, Frame& f, const Instr& in) {
  return put_boolean(f, in, contains(s, operand(f, in.b), operand(f, in.a)), in.op == I::in, true);
}

}  // namespace

Step step_of(I op) {
  switch (op) {
    case I::in:
    case I::not_in:
      return one<contains_of>;
    case I::item_get:
      return one<item_get>;
    case I::update:
      return one<do_update>;
    case I::attr_get:
      return one<do_attr_get>;
    case I::attr_set:
      return one<do_attr_set>;
    case I::method_get:
      return one<do_method_get>;
    case I::global_get:
      return one<do_global_get>;
    case I::global_set:
      return one<global_set>;
    case I::function:
      return one<do_function>;
    case I::iter:
      return one<do_iter>;
    case I::tuple:
    case I::list:
    case I::set:
    case I::dict:
    case I::format:
    case I::str_concat:
      return one<do_container>;
    case I::unpack:
    case I::unpack_two:
    case I::unpack_star:
      return one<do_unpack>;
    case I::call:
    case I::call_loaded:
    case I::call_method:
    case I::call_full:
    case I::call_loaded_full:
    case I::call_method_full:
      return one<call_of>;
    case I::cell_get:
    case I::item_set:
    case I::item_del:
    case I::list_extend:
    case I::list_to_tuple:
    case I::set_add:
    case I::set_update:
    case I::dict_set:
    case I::dict_update:
    case I::builtin_get:
      return one<do_generic>;
#define BINARY(id, ...) \
  case I::id:           \
  case I::i##id:
#define COMPARE(id, ...) case I::id:
#include "ir/operators.inc"
    case I::neg:
    case I::pos:
    case I::invert:
    case I::truth:
    case I::not_:
    case I::cell_new:
    case I::cell_set:
    case I::list_append:
      return one<do_instruction>;
    default:
      return nullptr;
  }
}

int step_condition(Session& s, Frame& f, const Instr& in) {
  f.pc = &in;
  return guarded(s, [&] {
    switch (in.op) {
#define COMPARE(id, ...) \
  case I::if_not_##id:   \
    return do_compare_bool(s, f, in, CmpOp::id);
#include "ir/operators.inc"
      default: {
        const int r = truth(s, operand(f, in.a));
        if (r >= 0) drop_operand(f, in.a, in.use_a);
        return r;
      }
    }
  });
}

int step_slice(Session& s, Frame& f, const Instr& in) {
  f.pc = &in;
  return guarded(s, [&] { return quick_slice(s, f, in) ? 1 : 0; });
}

int step_iterator(Session& s, Frame& f, const Instr& in) {
  f.pc = &in;
  return guarded(s, [&] {
    const Value& iterator = f.regs[in.a];
    Value& item = f.regs[in.b];
    if (quick_step(s, iterator, item)) return 1;
    Value v = next(s, iterator);
    if (v.is_error()) return -1;
    if (v.is_end()) {
      f.regs[in.a] = Value();
      return 0;
    }
    item = std::move(v);
    return 1;
  });
}

}  // namespace ouro::runtime
