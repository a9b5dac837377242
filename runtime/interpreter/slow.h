// The parts of the interpreter that are not in its loop: each does one instruction's work for a frame. False or error:
// an exception is pending.
#pragma once

#include "runtime/interpreter/frame.h"
#include "runtime/object/native.h"
#include "runtime/object/ops.h"
#include "runtime/types/iterator_types.h"

namespace ouro::runtime {

[[gnu::always_inline]] inline const Value& operand(const Frame& f, int32_t at) {
  return at >= 0 ? f.regs[at] : f.code->constants[static_cast<size_t>(~at)];
}
inline Site& site_of(const Frame& f, int32_t i) { return f.code->sites[static_cast<size_t>(i)]; }

// The operand as an owned value: moved out of its register if it dies.
inline Value take_operand(Frame& f, Operand o) {
  if (o.at < 0) return f.code->constants[static_cast<size_t>(~o.at)];
  Value& r = f.regs[o.at];
  if (o.use == Use::dies || (o.use == Use::dies_named && kind_of(r) == ObjectKind::tensor)) return std::move(r);
  return r;
}

// A frame for an enterable function (Code::plain, as many arguments as parameters, room for it), its arguments taken
// from the operands of `from`, after `self` if given.
[[gnu::always_inline]] inline Frame* enter(Session& s, Interpreter& in, Frame& from, Value function, const Value* self,
                                           const Operand* args, uint32_t n) {
  Function* fn = function.as<Function>();
  Code* code = fn->compiled;
  Frame* to = stack_frame(s, in, code, std::move(function));
  Value *out = to->regs, *end = out + code->nregs;
  if (self) new (out++) Value(*self);
  for (const Operand* last = args + n; args != last; ++args) new (out++) Value(take_operand(from, *args));
  for (const Value& c : fn->captures) new (out++) Value(c);
  for (; out != end; ++out) new (out) Value;
  return to;
}
// After an operation that only borrowed: lets go of an operand that dies.
[[gnu::always_inline]] inline void drop_operand(Frame& f, int32_t at, uint8_t use) {
  if (use == static_cast<uint8_t>(Use::keep) || at < 0) return;
  Value& r = f.regs[at];
  if (r.is_object() && (use == static_cast<uint8_t>(Use::dies) || r.object()->object_kind() == ObjectKind::tensor))
    r = Value();
}

/// Do calls of the class make a bare object, and call a script's `init` with it?
bool plain_class(Session& s, Type* t, Value& init);
/// Raises since an `__init__` gave something.
void raise_wrong_init(Session& s, const Value& result);
bool do_binary(Session& s, Frame& f, const Instr& in, BinOp op);
bool do_inplace(Session& s, Frame& f, const Instr& in, BinOp op);
bool do_unary(Session& s, Frame& f, const Instr& in, UnOp op);
bool do_compare(Session& s, Frame& f, const Instr& in, CmpOp op);
int do_compare_bool(Session& s, Frame& f, const Instr& in, CmpOp op);  // for if_not_*: 1, 0, -1
bool do_attr_get(Session& s, Frame& f, const Instr& in);
bool do_method_get(Session& s, Frame& f, const Instr& in);
bool do_attr_set(Session& s, Frame& f, const Instr& in);
bool do_global_get(Session& s, Frame& f, const Instr& in);
bool quick_slice(Session& s, Frame& f, const Instr& in);  // of list or str; false: nothing is done yet
bool do_update(Session& s, Frame& f, const Instr& in);
bool do_make_class(Session& s, Frame& f, const Instr& in);
bool do_generic(Session& s, Frame& f, const Instr& in);
bool do_tensor_op(Session& s, Frame& f, const Instr& in);
bool do_function(Session& s, Frame& f, const Instr& in);
bool do_iter(Session& s, Frame& f, const Instr& in);
bool do_unpack(Session& s, Frame& f, const Instr& in);
bool do_container(Session& s, Frame& f, const Instr& in);  // tuple list set dict slice format str_concat ...

// Is a method cached for values that are no instances good for those of `kind`? (Iterators differ in their classes.)
inline bool is_cached_kind(const Session& s, const Cache& c, ObjectKind kind) {
  const Type* t = s.type(kind);
  return t && t->version == c.type_key && kind != ObjectKind::iterator && kind != ObjectKind::instance;
}

// One call. If a script function is to run, its frame is pushed and true returned with `pushed` set; else the result is
// in place.
bool do_call(Session& s, Frame& f, const Instr& in, Frame*& pushed);

// What __init__ of the frame has returned becomes the instance; false: it was no None.
bool check_constructed(Session& s, Frame* f, Value& result);
// A frame that a call pushed, from its entry to its end; error: an exception is pending, and the frame is gone.
Value run_pushed(Session& s, Frame* pushed);

// ---- one instruction of a frame whose others are machine code (step.cpp). No exception of C++ comes out.

// What does instructions of this kind; null: they are the loop's alone (what raises, yields, imports, makes classes, or
// is an operation of tensors or of reverse mode). The result is in place; false: an exception is pending.
using Step = bool (*)(Session& s, Frame& f, const Instr& in);
Step step_of(I op);
// Of a jump on a comparison or a test: is it true? -1: an exception is pending.
int step_condition(Session& s, Frame& f, const Instr& in);
// slice_get with the item_get behind it: 1: done; 0: nothing is done.
int step_slice(Session& s, Frame& f, const Instr& in);
// for_iter: 1: the next item is in place; 0: there is none.
int step_iterator(Session& s, Frame& f, const Instr& in);

// A native whose arguments need no binding, called with the operands; `fits`: the receiver is known to be one of its
// owner's. Six parameters: with more the loop would need a frame pointer.
enum class Quick : uint8_t { done, failed, no };  // no: it is to be called the general way
Quick quick_native(Session& s, Frame& f, Native* native, const Operand* ops, uint32_t given, bool fits);
Quick quick_loaded(Session& s, Frame& f);  // of what method.get found, at the frame's instruction

// A native's short way, where it has one for so many arguments.
[[gnu::always_inline]] inline Quick finish_short(Frame& f, Value r, const Operand* ops, uint32_t given) {
  if (r.is_unbound()) [[unlikely]]
    return Quick::no;
  if (r.is_error()) [[unlikely]]
    return Quick::failed;
  for (uint32_t i = 0; i < given; ++i) drop_operand(f, ops[i].at, static_cast<uint8_t>(ops[i].use));
  f.regs[f.pc->dst] = std::move(r);
  return Quick::done;
}
[[gnu::always_inline]] inline Quick short_native(Session& s, Frame& f, const Native* native, const Operand* ops,
                                                 uint32_t given) {
  const NativeDef& def = *native->def;
  if (given == 1 && def.one && native->self.is_unbound())
    return finish_short(f, def.one(s, operand(f, ops[0].at)), ops, 1);
  if (given == 2 && def.two && native->self.is_unbound())
    return finish_short(f, def.two(s, operand(f, ops[0].at), operand(f, ops[1].at)), ops, 2);
  if (given == 3 && def.three && native->self.is_unbound())
    return finish_short(f, def.three(s, operand(f, ops[0].at), operand(f, ops[1].at), operand(f, ops[2].at)), ops, 3);
  return Quick::no;
}

// A generator whose next value is wanted by a loop runs in the loop's own activation: its frame is put on top and taken
// off again. True if it can be entered so (it stands at its start or at a yield), and then it has been.
bool enter_generator(Session& s, Generator* g, int32_t result);
void link_generator(Session& s, Generator* g);
void unlink_generator(Session& s, Generator* g);  // it yielded, returned or raised
void finish_generator(Generator* g);              // frees its frame
void stop_iteration_in_generator(Session& s);     // a pending StopIteration becomes RuntimeError

// A loop came back to its head for the last of Interpreter::turns_left times: the executor is asked.
Outcome look_at_loop(Session& s, Frame& f, Value& result);
// Interrupts, finalizers, collection, the executor. False: an exception is pending.
bool safe_point(Session& s);

}  // namespace ouro::runtime
