// The interpreter's loop: threaded code over register instructions. Numbers take fast paths here; everything else is in
// slow.h. Calls from script to script push a frame and go on in the same activation of run().
#include <cmath>
#include <new>
#include <stdexcept>

#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/interrupt.h"
#include "runtime/protocol/lookup.h"
#include "support/diag.h"

namespace ouro::runtime {

namespace {

// Puts the handler's parameters in place. All sources are read before any is written.
void hand_over(Frame& f, const HandoverTo& h, Value exception) {
  Value few[8];
  std::vector<Value> many;
  size_t n = h.moves.size();
  Value* values = few;
  if (n > 8) {
    many.resize(n);
    values = many.data();
  }
  for (size_t i = 0; i < n; ++i) values[i] = operand(f, h.moves[i].src.at);
  for (size_t i = 0; i < n; ++i) f.regs[h.moves[i].dst] = std::move(values[i]);
  f.regs[h.exception] = std::move(exception);
}

}  // namespace

void add_error_traceback(Session& s, Frame& f) {
  Span& error = s.interpreter->error_span;
  const Span span = error.known() ? error : f.code->spans[f.code->pc_of(f.pc)];
  add_traceback(s, s.pending, f.code->function, span, f.function.as<Function>()->globals);
  error = {};
}

bool check_constructed(Session& s, Frame* f, Value& result) {
  if (!result.is_none()) {
    raise_wrong_init(s, result);
    result = Value::error();
    return false;
  }
  result = std::move(f->instance);
  return true;
}

// A computed goto runs no destructors: no Value that still owns something may be in scope at OURO_NEXT or OURO_GO.
// Clang (the fuzzers') wants no Value at all in scope there: one computed goto for all instructions.
#ifdef __clang__
#define OURO_DISPATCH goto dispatch
#else
#define OURO_DISPATCH goto* kLabels[static_cast<uint16_t>(pc->op)]
#endif
#define OURO_A operand_ref(regs, constants, pc->a)
#define OURO_B operand_ref(regs, constants, pc->b)
#define OURO_D regs[pc->dst]
#define OURO_NEXT  \
  do {             \
    ++pc;          \
    OURO_DISPATCH; \
  } while (0)
#define OURO_GO(target)         \
  do {                          \
    pc = code_begin + (target); \
    OURO_DISPATCH;              \
  } while (0)
#define OURO_SLOW(expr)       \
  do {                        \
    f->pc = pc;               \
    if (!(expr)) goto failed; \
    OURO_NEXT;                \
  } while (0)
// A copy; of a tensor whose register dies here, the tensor itself.
#define OURO_MOVE                                                                      \
  do {                                                                                 \
    const Value& a = OURO_A;                                                           \
    if (pc->use_a && a.is_object() && a.object()->object_kind() == ObjectKind::tensor) \
      OURO_D = std::move(regs[pc->a]);                                                 \
    else                                                                               \
      OURO_D = a;                                                                      \
  } while (0)
// OURO_SLOW for what may let go of an object.
#define OURO_SLOW_STORE(expr) \
  do {                        \
    f->pc = pc;               \
    if (!(expr)) goto failed; \
    goto slow_done;           \
  } while (0)

#define OURO_ARITH(name, OP, overflow, float_op)                                    \
  L_##name : {                                                                      \
    const Value &a = OURO_A, &b = OURO_B;                                           \
    if (a.is_int() && b.is_int()) [[likely]] {                                      \
      int64_t r;                                                                    \
      if (!overflow(a.as_int(), b.as_int(), &r)) {                                  \
        OURO_D.set_integer(r);                                                      \
        OURO_NEXT;                                                                  \
      }                                                                             \
    } else if (a.is_float()) {                                                      \
      if (b.is_float()) {                                                           \
        OURO_D.set_floating(a.as_float() float_op b.as_float());                    \
        OURO_NEXT;                                                                  \
      }                                                                             \
      if (b.is_int()) {                                                             \
        OURO_D.set_floating(a.as_float() float_op static_cast<double>(b.as_int())); \
        OURO_NEXT;                                                                  \
      }                                                                             \
    } else if (a.is_int() && b.is_float()) {                                        \
      OURO_D.set_floating(static_cast<double>(a.as_int()) float_op b.as_float());   \
      OURO_NEXT;                                                                    \
    }                                                                               \
    OURO_SLOW(do_##OP);                                                             \
  }

// An int and a float: the slow, exact way.
#define OURO_COMPARE(name, cmp, op)                     \
  L_##name : {                                          \
    const Value &a = OURO_A, &b = OURO_B;               \
    if (a.is_int() && b.is_int()) [[likely]] {          \
      OURO_D.set_boolean(a.as_int() op b.as_int());     \
      OURO_NEXT;                                        \
    }                                                   \
    if (a.is_float() && b.is_float()) {                 \
      OURO_D.set_boolean(a.as_float() op b.as_float()); \
      OURO_NEXT;                                        \
    }                                                   \
    OURO_SLOW(do_compare(s, *f, *pc, CmpOp::cmp));      \
  }                                                     \
  L_if_not_##name : {                                   \
    const Value &a = OURO_A, &b = OURO_B;               \
    bool r;                                             \
    if (a.is_int() && b.is_int()) [[likely]]            \
      r = a.as_int() op b.as_int();                     \
    else if (a.is_float() && b.is_float())              \
      r = a.as_float() op b.as_float();                 \
    else {                                              \
      f->pc = pc;                                       \
      int t = do_compare_bool(s, *f, *pc, CmpOp::cmp);  \
      if (t < 0) goto failed;                           \
      r = t != 0;                                       \
    }                                                   \
    if (r) OURO_NEXT;                                   \
    OURO_GO(pc->dst);                                   \
  }

static inline const Value& operand_ref(Value* regs, const Value* constants, int32_t at) {
  return at >= 0 ? regs[at] : constants[~at];
}

static inline bool enterable(const Session& s, const Interpreter& in, const Function* fn, uint32_t given) {
  const Code* code = fn->compiled;
  return code && code->plain && code->positional == given && room_for_frame(s, in, code);
}

static inline void pop_plain_frame(Session& s, Interpreter& in, Frame* f) {
  --s.depth;
  in.top = f->caller;
  std::atomic_signal_fence(std::memory_order_release);
  drop_registers(f);
  in.free = reinterpret_cast<char*>(f);
  f->function.~Value();
}

// `pending`: starts by raising the pending exception at the frame's position.
static Value run_loop(Session& s, Frame* f, bool pending) {
  static const void* const kLabels[] = {
#define INSTR(n) &&L_##n,
#include "runtime/interpreter/instrs.inc"
  };
  Interpreter& interpreter = *s.interpreter;
  const Instr* code_begin = f->code->instrs.data();
  const Instr* pc = f->pc;
  Value* regs = f->regs;
  const Value* constants = f->code->constants.data();
  Frame* pushed = nullptr;
  bool traced = true;
  Value returned;  // declared here: a computed goto may not jump into the scope of a Value

#define OURO_LOAD()                        \
  do {                                     \
    code_begin = f->code->instrs.data();   \
    regs = f->regs;                        \
    constants = f->code->constants.data(); \
    pc = f->pc;                            \
  } while (0)

  if (pending) goto failed;
#ifdef __clang__
dispatch:
#endif
  goto* kLabels[static_cast<uint16_t>(pc->op)];

L_move:
  OURO_MOVE;
  OURO_NEXT;
// A variable's own move: the old value goes, and its __del__ runs before anything else does.
L_rebind:
  OURO_MOVE;
  goto slow_done;
L_take:
  OURO_D = std::move(regs[pc->a]);
  OURO_NEXT;
L_drop:
  OURO_D = Value();
  OURO_NEXT;
L_jump:
  OURO_GO(pc->dst);
L_jump_back:
  if (--interpreter.turns_left == 0) [[unlikely]] {
    f->pc = pc;
    const Outcome o = look_at_loop(s, *f, returned);
    if (o == Outcome::returned) goto have_result;
    if (o != Outcome::not_taken) goto failed;
    if (f->pc != pc) OURO_GO(f->code->pc_of(f->pc));
  }
  if (s.poll.load(std::memory_order_relaxed)) [[unlikely]] {
    f->pc = pc;
    if (!safe_point(s)) goto failed;
  }
  OURO_GO(pc->dst);
L_branch:
  if (OURO_A.as_bool()) OURO_GO(pc->dst);
  OURO_NEXT;
L_branch_not:
  if (OURO_A.as_bool()) OURO_NEXT;
  OURO_GO(pc->dst);
L_switch_ : {
  const auto& ways = f->code->switches[static_cast<size_t>(pc->dst)];
  const auto way = static_cast<size_t>(OURO_A.as_int());
  if (way >= ways.size()) [[unlikely]] {  // a number that a script may have written (grad_rules.generator)
    f->pc = pc;
    raise_error(s, ExcKind::RuntimeError, "a generator has no such step");
    goto failed;
  }
  OURO_GO(ways[way]);
}

return_stop_value:
  returned = std::move(s.stop_value);
  goto have_result;
L_return_:
  if (!f->special) [[likely]] {
    Frame* caller = f->caller;
    Value& result = caller->regs[f->result];
    if (pc->use_a && pc->a >= 0)
      result = std::move(regs[pc->a]);
    else
      result = OURO_A;
    pop_plain_frame(s, interpreter, f);
    f = caller;
    OURO_LOAD();
    if (s.poll.load(std::memory_order_relaxed) && !safe_point(s)) goto failed;
    OURO_NEXT;
  }
  if (pc->use_a && pc->a >= 0)
    returned = std::move(regs[pc->a]);
  else
    returned = OURO_A;
have_result : {
  f->pc = pc;
  const bool constructed = !f->is(Frame::kConstructor) || check_constructed(s, f, returned);
  bool entry = f->is(Frame::kEntry);
  int32_t dst = f->result;
  if (Generator* g = f->is(Frame::kGenerator) ? f->generator : nullptr) {
    if (entry) {
      s.stop_value = std::move(returned);
      return Value::end();
    }
    returned = Value();
    unlink_generator(s, g);
    finish_generator(g);
    f = interpreter.top;
    OURO_LOAD();
    OURO_GO(pc->dst);
  }
  if (f->is(Frame::kTimed)) s.executor->call_ended(*f);
  pop_frame(s);
  if (entry) return returned;
  f = interpreter.top;
  OURO_LOAD();
  if (!constructed) [[unlikely]] {  // raised where the class is called
    returned = Value();
    goto failed;
  }
  if (dst >= 0)
    regs[dst] = std::move(returned);
  else
    returned = Value();
  if (s.poll.load(std::memory_order_relaxed)) {
    if (!safe_point(s)) goto failed;
  }
}
  OURO_NEXT;

L_raise : {
  f->pc = pc;
  raise_value(s, OURO_A, pc->dst ? OURO_B : Value());
  goto failed;
}
L_raise_again:
  f->pc = pc;
  s.pending = OURO_A;
  traced = false;
  goto failed;
L_reraise:
  f->pc = pc;
  if (s.handled.is_none()) {
    raise_error(s, ExcKind::RuntimeError, "No active exception to reraise");
  } else {
    s.pending = s.handled;
    traced = false;
  }
  goto failed;
L_yield:
  f->pc = pc;
  returned = take_operand(*f, {pc->a, static_cast<Use>(pc->use_a)});
yielded:
  if (f->is(Frame::kEntry)) {
    interpreter.yielded = true;
    return returned;
  }
  unlink_generator(s, f->generator);  // the loop below goes on with the value
  {
    int32_t dst = f->result;
    f = interpreter.top;
    OURO_LOAD();
    regs[dst] = std::move(returned);
  }
  OURO_NEXT;
L_yield_from : {
  f->pc = pc;
  s.stop_value = Value();
  Value v = next(s, OURO_A);
  if (v.is_error()) goto failed;
  if (v.is_end()) {
    OURO_D = s.stop_value.is_unbound() ? Value::none() : std::move(s.stop_value);
    OURO_NEXT;
  }
  returned = std::move(v);
  goto yielded;
}
// What an operation let go of is finalized here.
slow_done:
  if (s.poll.load(std::memory_order_relaxed) & Session::kFinalizers) [[unlikely]] {
    f->pc = pc;
    if (!safe_point(s)) goto failed;
  }
  OURO_NEXT;
L_unreachable:
  ouro_bug("unreachable code was reached in %s", f->code->function->name.c_str());

  OURO_ARITH(add, binary(s, *f, *pc, BinOp::add), __builtin_add_overflow, +)
  OURO_ARITH(sub, binary(s, *f, *pc, BinOp::sub), __builtin_sub_overflow, -)
  OURO_ARITH(mul, binary(s, *f, *pc, BinOp::mul), __builtin_mul_overflow, *)
  OURO_ARITH(iadd, inplace(s, *f, *pc, BinOp::add), __builtin_add_overflow, +)
  OURO_ARITH(isub, inplace(s, *f, *pc, BinOp::sub), __builtin_sub_overflow, -)
  OURO_ARITH(imul, inplace(s, *f, *pc, BinOp::mul), __builtin_mul_overflow, *)

L_truediv:
L_itruediv : {
  const Value &a = OURO_A, &b = OURO_B;
  if (a.is_float() && b.is_float() && b.as_float() != 0) {
    OURO_D.set_floating(a.as_float() / b.as_float());
    OURO_NEXT;
  }
  if (pc->op == I::truediv) OURO_SLOW(do_binary(s, *f, *pc, BinOp::truediv));
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::truediv));
}
L_floordiv:
L_ifloordiv : {
  const Value &a = OURO_A, &b = OURO_B;
  if (a.is_int() && b.is_int() && b.as_int() > 0) {
    int64_t x = a.as_int(), y = b.as_int(), q = x / y;
    OURO_D.set_integer(q - (x % y < 0));
    OURO_NEXT;
  }
  if (pc->op == I::floordiv) OURO_SLOW(do_binary(s, *f, *pc, BinOp::floordiv));
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::floordiv));
}
L_mod:
L_imod : {
  const Value &a = OURO_A, &b = OURO_B;
  if (a.is_int() && b.is_int() && b.as_int() > 0) {
    int64_t r = a.as_int() % b.as_int();
    OURO_D.set_integer(r < 0 ? r + b.as_int() : r);
    OURO_NEXT;
  }
  if (pc->op == I::mod) OURO_SLOW(do_binary(s, *f, *pc, BinOp::mod));
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::mod));
}
#define OURO_BITS(name, iname, OP, SIGN)                                \
  L_##name : L_##iname : {                                              \
    const Value &a = OURO_A, &b = OURO_B;                               \
    if (a.is_int() && b.is_int()) {                                     \
      OURO_D.set_integer(a.as_int() SIGN b.as_int());                   \
      OURO_NEXT;                                                        \
    }                                                                   \
    if (pc->op == I::name) OURO_SLOW(do_binary(s, *f, *pc, BinOp::OP)); \
    OURO_SLOW(do_inplace(s, *f, *pc, BinOp::OP));                       \
  }
  OURO_BITS(and_, iand_, and_, &)
  OURO_BITS(or_, ior_, or_, |)
  OURO_BITS(xor_, ixor_, xor_, ^)
L_rshift : {
  const Value &a = OURO_A, &b = OURO_B;
  if (a.is_int() && b.is_int() && static_cast<uint64_t>(b.as_int()) < 63) {
    OURO_D.set_integer(a.as_int() >> b.as_int());
    OURO_NEXT;
  }
  OURO_SLOW(do_binary(s, *f, *pc, BinOp::rshift));
}
L_lshift : {
  const Value &a = OURO_A, &b = OURO_B;
  if (a.is_int() && b.is_int() && static_cast<uint64_t>(b.as_int()) < 31 &&
      a.as_int() == static_cast<int32_t>(a.as_int())) {
    OURO_D.set_integer(a.as_int() * (int64_t{1} << b.as_int()));
    OURO_NEXT;
  }
  OURO_SLOW(do_binary(s, *f, *pc, BinOp::lshift));
}
L_matmul:
  OURO_SLOW(do_binary(s, *f, *pc, BinOp::matmul));
L_pow:
  OURO_SLOW(do_binary(s, *f, *pc, BinOp::pow));
L_imatmul:
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::matmul));
L_ipow:
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::pow));
L_ilshift:
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::lshift));
L_irshift:
  OURO_SLOW(do_inplace(s, *f, *pc, BinOp::rshift));
L_neg : {
  const Value& a = OURO_A;
  if (a.is_int() && a.as_int() != INT64_MIN) {
    OURO_D.set_integer(-a.as_int());
    OURO_NEXT;
  }
  if (a.is_float()) {
    OURO_D.set_floating(-a.as_float());
    OURO_NEXT;
  }
  OURO_SLOW(do_unary(s, *f, *pc, UnOp::neg));
}
L_pos:
  OURO_SLOW(do_unary(s, *f, *pc, UnOp::pos));
L_invert:
  OURO_SLOW(do_unary(s, *f, *pc, UnOp::invert));

  OURO_COMPARE(eq, eq, ==)
  OURO_COMPARE(ne, ne, !=)
  OURO_COMPARE(lt, lt, <)
  OURO_COMPARE(le, le, <=)
  OURO_COMPARE(gt, gt, >)
  OURO_COMPARE(ge, ge, >=)

L_is : {
  bool r = OURO_A.same(OURO_B);
  OURO_D.set_boolean(r);
  OURO_NEXT;
}
L_is_not : {
  bool r = !OURO_A.same(OURO_B);
  OURO_D.set_boolean(r);
  OURO_NEXT;
}
L_if_not_is:
  if (OURO_A.same(OURO_B)) OURO_NEXT;
  OURO_GO(pc->dst);
L_if_is:
  if (!OURO_A.same(OURO_B)) OURO_NEXT;
  OURO_GO(pc->dst);
L_in:
L_not_in : {
  f->pc = pc;
  int r = contains(s, OURO_B, OURO_A);
  if (r < 0) goto failed;
  drop_operand(*f, pc->a, pc->use_a);
  drop_operand(*f, pc->b, pc->use_b);
  OURO_D.set_boolean((r != 0) == (pc->op == I::in));
  OURO_NEXT;
}
L_truth:
L_not_ : {
  const Value& a = OURO_A;
  int r;
  if (a.is_bool())
    r = a.as_bool();
  else {
    f->pc = pc;
    r = truth(s, a);
    if (r < 0) goto failed;
    drop_operand(*f, pc->a, pc->use_a);
  }
  OURO_D.set_boolean((r != 0) == (pc->op == I::truth));
  OURO_NEXT;
}
L_if_not_truth:
L_if_truth : {
  const Value& a = OURO_A;
  int r;
  if (a.is_bool())
    r = a.as_bool();
  else {
    f->pc = pc;
    r = truth(s, a);
    if (r < 0) goto failed;
    drop_operand(*f, pc->a, pc->use_a);
  }
  if ((r != 0) == (pc->op == I::if_not_truth)) OURO_NEXT;
  OURO_GO(pc->dst);
}

L_check_bound : {
  const Value& a = OURO_A;
  if (!a.is_unbound()) {
    if (pc->dst != pc->a) OURO_D = a;
    OURO_NEXT;
  }
  f->pc = pc;
  Symbol name = Symbol::from_id(f->code->sites[static_cast<size_t>(pc->b)].attr);
  raise_text(s, ExcKind::UnboundLocalError,
             "cannot access local variable '" + name.str() + "' where it is not associated with a value");
  goto failed;
}
L_global_get : {
  const Cache& c = f->code->sites.data()[pc->b].cache;
  if (c.owner == f->globals) [[likely]] {
    if (c.object == nullptr) {
      const Value& v = f->globals->names.at(static_cast<uint32_t>(c.slot));
      if (!v.is_unbound()) {
        OURO_D = v;
        OURO_NEXT;
      }
    } else if (c.key == f->globals->version) {
      OURO_D = Value::share(c.object);
      OURO_NEXT;
    }
  }
  OURO_SLOW(do_global_get(s, *f, *pc));
}
L_global_set : {
  Cache& c = f->code->sites[static_cast<size_t>(pc->b)].cache;
  if (c.owner != f->globals) {
    Symbol name = Symbol::from_id(f->code->sites[static_cast<size_t>(pc->b)].attr);
    uint32_t before = static_cast<uint32_t>(f->globals->names.size());
    c.slot = static_cast<int32_t>(f->globals->names.add(name, Value()));
    if (f->globals->names.size() != before) f->globals->version = s.next_version++;
    c.owner = f->globals;
  }
  Value v = take_operand(*f, {pc->a, static_cast<Use>(pc->use_a)});
  Value& slot = f->globals->names.at(static_cast<uint32_t>(c.slot));
  if (slot.is_unbound()) f->globals->version = s.next_version++;
  slot.swap(v);
}
  goto slow_done;
L_global_del : {
  Symbol name = Symbol::from_id(f->code->sites[static_cast<size_t>(pc->b)].attr);
  Value* v = f->globals->names.find(name);
  f->pc = pc;
  if (!v || v->is_unbound()) {
    raise_text(s, ExcKind::NameError, "name '" + name.str() + "' is not defined");
    s.pending.as<Exception>()->extra1 = s.str(name);
    goto failed;
  }
  f->globals->version = s.next_version++;
  Value old = std::move(*v);
}
  goto slow_done;
L_cell_new : {
  Value v = take_operand(*f, {pc->a, static_cast<Use>(pc->use_a)});
  OURO_D = make_cell(std::move(v));
  OURO_NEXT;
}
L_cell_get : {
  const Value& v = OURO_A.as<Cell>()->value;
  if (!v.is_unbound()) {
    OURO_D = v;
    OURO_NEXT;
  }
  OURO_SLOW(do_generic(s, *f, *pc));
}
L_cell_set : {
  Value v = take_operand(*f, {pc->b, static_cast<Use>(pc->use_b)});
  OURO_A.as<Cell>()->value.swap(v);
}
  goto slow_done;
L_attr_get : {
  const Value& a = OURO_A;
  if (a.is_object() && a.object()->object_kind() == ObjectKind::instance) {
    const Cache& c = f->code->sites.data()[pc->b].cache;
    Instance* i = a.as<Instance>();
    if (i->shape && i->shape->id == c.key && i->type->version == c.type_key && c.slot >= 0) {
      const Value& v = i->slots[c.slot];
      if (!v.is_unbound()) {
        if (pc->use_a) {
          Value keep = v;
          drop_operand(*f, pc->a, pc->use_a);
          OURO_D = std::move(keep);
        } else {
          OURO_D = v;
        }
        OURO_NEXT;
      }
    }
  }
  OURO_SLOW(do_attr_get(s, *f, *pc));
}
L_method_get : {
  const Value& a = OURO_A;
  const Cache& c = f->code->sites.data()[pc->b].cache;
  if (c.slot == Cache::kMethod && a.is_object()) [[likely]] {
    if (c.key != 0) {
      Instance* i = a.object()->object_kind() == ObjectKind::instance ? a.as<Instance>() : nullptr;
      if (i && i->shape && i->shape->id == c.key && i->type->version == c.type_key) {
        OURO_D = Value();
        OURO_NEXT;
      }
    } else if (is_cached_kind(s, c, a.object()->object_kind())) {
      OURO_D = Value();
      OURO_NEXT;
    }
  }
  OURO_SLOW(do_method_get(s, *f, *pc));
}
L_attr_set : {
  const Site& x = f->code->sites.data()[pc->a];
  const Operand *target = f->code->operands.data() + x.first, *value = target + 1;
  const Value &a = operand_ref(regs, constants, target->at), &v = operand_ref(regs, constants, value->at);
  if (kind_of(a) == ObjectKind::instance && !x.cache.owner && target->use == Use::keep &&
      (!v.is_object() || v.object()->object_kind() != ObjectKind::tensor)) {
    Instance* i = a.as<Instance>();
    if (i->shape && i->shape->id == x.cache.key && i->type->version == x.cache.type_key) {
      Value& slot = i->slots[x.cache.slot];
      const bool lets_go = slot.is_object();
      if (value->use == Use::dies && value->at >= 0)
        slot = std::move(regs[value->at]);
      else
        slot = v;
      if (lets_go) goto slow_done;
      OURO_NEXT;
    }
  }
  OURO_SLOW_STORE(do_attr_set(s, *f, *pc));
}
L_item_get : {
  const Value &a = OURO_A, &b = OURO_B;
  if (b.is_int() && a.is_object()) {
    Object* o = a.object();
    int64_t i = b.as_int();
    const Value* items = nullptr;
    size_t n = 0;
    if (o->object_kind() == ObjectKind::list)
      items = static_cast<List*>(o)->items, n = static_cast<List*>(o)->size;
    else if (o->object_kind() == ObjectKind::tuple)
      items = static_cast<Tuple*>(o)->items(), n = static_cast<Tuple*>(o)->size;
    if (i < 0) i += static_cast<int64_t>(n);
    if (items && static_cast<uint64_t>(i) < n) {
      if (pc->use_a) {
        Value keep = items[i];
        drop_operand(*f, pc->a, pc->use_a);
        OURO_D = std::move(keep);
      } else {
        OURO_D = items[i];
      }
      OURO_NEXT;
    }
  }
  f->pc = pc;
  Value r;
  if (Str* t = cast_exact<Str>(a); t && b.is_int() && t->ascii()) {
    int64_t i = b.as_int() < 0 ? b.as_int() + static_cast<int64_t>(t->size) : b.as_int();
    r = static_cast<uint64_t>(i) < t->size ? make_char(static_cast<unsigned char>(t->data[i])) : get_item(s, a, b);
  } else {
    r = get_item(s, a, b);
  }
  if (r.is_error()) goto failed;
  drop_operand(*f, pc->a, pc->use_a);
  drop_operand(*f, pc->b, pc->use_b);
  OURO_D = std::move(r);
  OURO_NEXT;
}
L_update:
  OURO_SLOW_STORE(do_update(s, *f, *pc));
L_make_class:
  OURO_SLOW(do_make_class(s, *f, *pc));
L_function:
  OURO_SLOW(do_function(s, *f, *pc));
L_tensor_op:
  OURO_SLOW(do_tensor_op(s, *f, *pc));
L_tuple:
L_list:
L_set:
L_dict:
L_format:
L_str_concat:
  OURO_SLOW(do_container(s, *f, *pc));
L_slice_get:
  if (quick_slice(s, *f, *pc)) {
    ++pc;
    goto slow_done;
  }
L_slice : {
  const Operand* ops = f->code->operands.data() + f->code->sites.data()[pc->a].first;
  Value made = make_slice(take_operand(*f, ops[0]), take_operand(*f, ops[1]), take_operand(*f, ops[2]));
  OURO_D = std::move(made);
  OURO_NEXT;
}
L_unpack : {
  const Value& a = OURO_A;
  if (kind_of(a) == ObjectKind::tuple && a.as<Tuple>()->size == f->code->sites.data()[pc->b].attr) [[likely]] {
    if (pc->use_a == static_cast<uint8_t>(Use::dies))
      OURO_D = std::move(regs[pc->a]);
    else
      OURO_D = a;
    OURO_NEXT;
  }
  OURO_SLOW(do_unpack(s, *f, *pc));
}
L_unpack_two : {
  const Value& a = OURO_A;
  if (kind_of(a) != ObjectKind::tuple || a.as<Tuple>()->size != 2) goto L_unpack;
  Tuple& t = *a.as<Tuple>();
  regs[pc[1].dst] = t[0];
  regs[pc[2].dst] = t[1];
  if (pc->use_a == static_cast<uint8_t>(Use::dies)) regs[pc->a] = Value();
  pc += 2;
  goto slow_done;
}
L_unpack_star:
  OURO_SLOW(do_unpack(s, *f, *pc));
L_tuple_get : {
  Tuple* t = OURO_A.as<Tuple>();
  OURO_D = (*t)[f->code->sites.data()[pc->b].attr];
  if (pc->use_a == static_cast<uint8_t>(Use::dies) && pc->dst != pc->a) regs[pc->a] = Value();
  goto slow_done;
}
L_list_append : {
  Value v = take_operand(*f, {pc->b, static_cast<Use>(pc->use_b)});
  OURO_A.as<List>()->push(std::move(v));
  OURO_NEXT;
}
L_iter:
  OURO_SLOW(do_iter(s, *f, *pc));
L_iter_next : {
  f->pc = pc;
  Value v = next(s, OURO_A);
  if (v.is_error()) goto failed;
  OURO_D = std::move(v);
  OURO_NEXT;
}
L_is_end : {
  bool r = OURO_A.is_end();
  OURO_D.set_boolean(r);
  OURO_NEXT;
}
L_for_iter : {
  const Value& a = regs[pc->a];
  if (quick_step(s, a, regs[pc->b])) OURO_NEXT;
  f->pc = pc;
  if (Iterator* it = cast_iterator(a); it && it->def) {
    Value v = it->def->next(s, *it);
    if (v.is_error()) v = end_of(s, std::move(v));
    if (v.is_error()) goto failed;
    if (v.is_end()) {
      regs[pc->a] = Value();  // it may hold more than what it went through
      OURO_GO(pc->dst);
    }
    regs[pc->b] = std::move(v);
    OURO_NEXT;
  }
  if (kind_of(a) == ObjectKind::generator && enter_generator(s, a.as<Generator>(), pc->b)) {
    f = interpreter.top;
    OURO_LOAD();
    OURO_DISPATCH;
  }
  Value v = next(s, a);
  if (v.is_error()) goto failed;
  if (v.is_end()) {
    regs[pc->a] = Value();
    OURO_GO(pc->dst);
  }
  regs[pc->b] = std::move(v);
  OURO_NEXT;
}
L_exc_match : {
  f->pc = pc;
  int r = exception_matches(s, OURO_A, OURO_B);
  if (r < 0) goto failed;
  OURO_D.set_boolean(r != 0);
  OURO_NEXT;
}
L_exc_enter : {
  Value before = s.handled;
  s.handled = OURO_A;
  OURO_D = std::move(before);
  OURO_NEXT;
}
L_exc_leave:
  s.handled = OURO_A;
  OURO_NEXT;
L_exc_current:
  OURO_D = s.handled;
  OURO_NEXT;

L_attr_del:
L_item_del:
L_item_set:
L_builtin_get:
L_class_get:
L_class_set:
L_class_del:
L_list_extend:
L_list_to_tuple:
L_set_add:
L_set_update:
L_dict_set:
L_dict_update:
L_generic:
  OURO_SLOW_STORE(do_generic(s, *f, *pc));

L_call : {
  const Site& x = f->code->sites.data()[pc->a];
  const Operand* ops = f->code->operands.data() + x.first;
  const Value& callee = operand_ref(regs, constants, ops->at);
  if (kind_of(callee) == ObjectKind::function && !s.poll.load(std::memory_order_relaxed)) {
    Function* fn = callee.as<Function>();
    if (enterable(s, interpreter, fn, x.count - 1)) {
      f->pc = pc;
      pushed = ops->use == Use::dies
                   ? enter(s, interpreter, *f, std::move(regs[ops->at]), nullptr, ops + 1, x.count - 1)
                   : enter(s, interpreter, *f, callee, nullptr, ops + 1, x.count - 1);
      goto entered;
    }
  }
  if (kind_of(callee) == ObjectKind::native && !s.poll.load(std::memory_order_relaxed)) {
    f->pc = pc;
    Quick q = short_native(s, *f, callee.as<Native>(), ops + 1, x.count - 1);
    if (q == Quick::done) [[likely]]
      goto slow_done;
    if (q == Quick::no) q = quick_native(s, *f, callee.as<Native>(), ops + 1, x.count - 1, false);
    if (q == Quick::done) [[likely]]
      goto slow_done;
    if (q == Quick::failed) goto failed;
  }
  goto L_call_full;
}
L_call_loaded:
  if (!OURO_B.is_unbound()) {
    f->pc = pc;
    Quick q = quick_loaded(s, *f);
    if (q == Quick::done) [[likely]]
      goto slow_done;
    if (q == Quick::failed) goto failed;
    goto L_call_full;
  }
L_call_method : {
  const Site& x = f->code->sites.data()[pc->a];
  const Operand* ops = f->code->operands.data() + x.first;
  const Value& self = operand_ref(regs, constants, ops->at);
  if (kind_of(self) == ObjectKind::instance && !s.poll.load(std::memory_order_relaxed)) {
    Instance* i = self.as<Instance>();
    if (x.cache.object && i->shape && i->shape->id == x.cache.key && i->type->version == x.cache.type_key &&
        x.cache.object->object_kind() == ObjectKind::function &&
        enterable(s, interpreter, static_cast<Function*>(x.cache.object), x.count)) {
      f->pc = pc;
      pushed = enter(s, interpreter, *f, Value::share(x.cache.object), nullptr, ops, x.count);
      goto entered;
    }
  } else if (x.cache.object && x.cache.key == 0 && x.cache.object->object_kind() == ObjectKind::native &&
             self.is_object() && !s.poll.load(std::memory_order_relaxed)) {
    ObjectKind kind = self.object()->object_kind();
    Type* t = s.type(kind);
    if (t && t->version == x.cache.type_key && kind != ObjectKind::iterator) {
      f->pc = pc;
      auto* native = static_cast<Native*>(x.cache.object);
      Quick q = short_native(s, *f, native, ops, x.count);
      if (q == Quick::done) [[likely]]
        goto slow_done;
      if (q == Quick::no) q = quick_native(s, *f, native, ops, x.count, true);
      if (q == Quick::done) [[likely]]
        goto slow_done;
      if (q == Quick::failed) goto failed;
    }
  }
}
L_call_full:
L_call_method_full:
L_call_loaded_full:
  f->pc = pc;
  pushed = nullptr;
  if (s.poll.load(std::memory_order_relaxed) && !safe_point(s)) goto failed;
  if (!do_call(s, *f, *pc, pushed)) goto failed;
  if (!pushed) goto slow_done;
entered:
  pushed->result = pc->dst;
  f = pushed;
  OURO_LOAD();
  if (++f->code->calls >= f->code->call_trigger || f->code->entry) {
    Value result;
    Outcome o = Outcome::not_taken;
    if (f->code->calls >= f->code->call_trigger && s.executor) o = s.executor->hot_function(s, *f, result);
    if (o == Outcome::not_taken && f->code->entry) o = f->code->entry(s, *f, f->code->entry_data, result);
    if (o == Outcome::returned) {
      s.stop_value = std::move(result);
      goto return_stop_value;
    }
    f = interpreter.top;
    OURO_LOAD();
    if (o == Outcome::raised) {
      add_error_traceback(s, *f);
      const bool entry = f->is(Frame::kEntry);
      pop_frame(s);
      if (entry) return Value::error();
      f = interpreter.top;
    }
    if (o != Outcome::not_taken) goto failed;
  }
  OURO_DISPATCH;

failed:
  for (;;) {
    uint32_t at = f->code->pc_of(f->pc);
    if (traced) add_error_traceback(s, *f);
    interpreter.error_span = {};
    traced = true;
    if (uint32_t h = f->code->handover_of[at]; h != UINT32_MAX && !s.ending()) {
      const HandoverTo& to = f->code->handovers[h];
      hand_over(*f, to, take_pending(s));
      f->pc = f->code->instrs.data() + to.pc;
      OURO_LOAD();
      OURO_DISPATCH;
    }
    bool entry = f->is(Frame::kEntry);
    if (Generator* g = f->is(Frame::kGenerator) ? f->generator : nullptr) {
      if (entry) return Value::error();
      unlink_generator(s, g);
      finish_generator(g);
      stop_iteration_in_generator(s);
      f = interpreter.top;
      continue;
    }
    pop_frame(s);
    if (entry) return Value::error();
    f = interpreter.top;
  }
}

// An operation that found no memory left the loop: its exception is raised where the frame on top stands, which belongs
// to this activation.
static Value run_guarded(Session& s, Frame* f, bool pending) {
  MemoryLimited limited(s.memory);
  for (;; f = s.interpreter->top, pending = true) {
    try {
      return run_loop(s, f, pending);
    } catch (const Interrupted&) {
      raise_interrupt(s);
      continue;
    } catch (const std::bad_alloc&) {
    } catch (const std::length_error&) {
    }
    raise_memory_error(s);
  }
}

Value run(Session& s, Frame* frame) { return run_guarded(s, frame, false); }
Value run_raising(Session& s, Frame* frame) { return run_guarded(s, frame, true); }

}  // namespace ouro::runtime
