// The instructions of the register code, each for the kinds that its operands have (translator.h). What an instruction
// does here is what runtime/interpreter/run.cpp does for these kinds, and where that goes a slow way, it is left to it.
#include "jit/emit/operands.h"
#include "jit/emit/translator.h"

#include <algorithm>

#include "runtime/object/ops.h"

namespace ouro::jit::plain {

namespace {

std::optional<BinOp> operator_of(I op) {
  switch (op) {
#define BINARY(id, ...) \
  case I::id:           \
  case I::i##id:        \
    return BinOp::id;
#include "ir/operators.inc"
    default:
      return std::nullopt;
  }
}

std::optional<CmpOp> comparison_of(I op) {
  switch (op) {
#define COMPARE(id, ...) \
  case I::id:            \
  case I::if_not_##id:   \
    return CmpOp::id;
#include "ir/operators.inc"
    default:
      return std::nullopt;
  }
}

// Instructions behind which the interpreter looks for finalizers.
bool lets_go(I op) {
  return op == I::rebind || op == I::update || op == I::global_set || op == I::call || op == I::call_loaded ||
         op == I::call_method || op == I::attr_set || op == I::cell_set || op == I::tuple_get;
}

bool is_jump_on_comparison(I op) { return op >= I::if_not_eq && op < I::if_not_truth; }

}  // namespace

void Translator::place(const Body::Todo& t) {
  b_.SetInsertPoint(t.block);
  types_ = t.types;
  in_memory(types_);
  for (uint32_t pc = t.pc;; ++pc) {
    if (pc != t.pc && now_->leaders[pc]) {
      b_.CreateBr(block(pc, types_));
      return;
    }
    before_ = types_;
    at_ = pc;
    looked_ = false;
    bail_ = nullptr;
    if (may_leave(now_->code->instrs[pc])) write_back(pc);
    guess(now_->code->instrs[pc], pc);
    After after = instruction(now_->code->instrs[pc], pc);
    if (after == After::untranslated && types_ == before_ && steps(now_->code->instrs[pc], pc)) {
      after = step(now_->code->instrs[pc], pc);
      if (is_hot(pc)) {
        steps_ += weight_of_step(now_->code->instrs[pc]);
        ++proportion_.steps;
        proportion_.stepped.push_back(now_->code->spans[pc]);
      }
    } else if (after != After::untranslated && after != After::waits && is_hot(pc)) {
      ++proportion_.native;
    }
    switch (after) {
      case After::next:
        ++instructions_;
        // Where the interpreter ends what it has let go of.
        if (const I op = now_->code->instrs[pc].op; !looked_ && lets_go(op)) look_at_requests(Session::kFinalizers, pc);
        break;
      case After::ended:
        ++instructions_;
        return;
      case After::untranslated:
        write_back(pc);
        b_.CreateBr(leave(before_, pc));
        return;
      case After::waits: {
        write_back(pc);
        llvm::BasicBlock* later = make();
        b_.CreateBr(later);
        now_->waiting.push_back({pc, live_types(pc, before_), later});
        return;
      }
    }
  }
}

// A step that enters another function by the interpreter costs the way there and back.
size_t Translator::weight_of_step(const Instr& in) const {
  constexpr size_t kEnters = 2;
  if (in.op == I::for_iter) {
    const RegType of = before_[static_cast<size_t>(in.a)];
    const auto* it = of.object ? runtime::cast_iterator(Value::share(of.object)) : nullptr;
    return it && it->def ? 1 : kEnters;
  }
  if (in.op != I::call && in.op != I::call_full) return 1;
  const int32_t at = now_->code->operands[now_->code->sites[static_cast<size_t>(in.a)].first].at;
  const RegType callee = at < 0 ? type(at) : before_[static_cast<size_t>(at)];
  return callee.kind == Kind::known && callee.object->object_kind() == ObjectKind::native ? 1 : kEnters;
}

// What has no check: floats, comparisons and moves of numbers. Their operands' values may stay where they are.
bool Translator::may_leave(const Instr& in) const {
  const auto is_float = [&](int32_t a) { return type(a).kind == Kind::floating; };
  const auto numbers = [&] { return is_number(type(in.a).kind) && is_number(type(in.b).kind); };
  if (const auto op = operator_of(in.op)) {
    const bool exact = *op == BinOp::add || *op == BinOp::sub || *op == BinOp::mul;
    return !exact || !numbers() || (!is_float(in.a) && !is_float(in.b));
  }
  if (comparison_of(in.op)) return !numbers() || is_float(in.a) != is_float(in.b);
  switch (in.op) {
    case I::move:
    case I::rebind:
    case I::take:
      return !is_unboxed(type(in.a).kind);
    case I::jump:
    case I::drop:
    case I::branch:
    case I::branch_not:
      return false;
    case I::neg:
      return !is_float(in.a);
    default:
      return true;
  }
}

// Other threads and signals write it: each look reads it.
llvm::Value* Translator::requests() {
  llvm::LoadInst* v = b_.CreateLoad(i32_, address(&s_.poll));
  v->setVolatile(true);
  return v;
}

// An operand of which nothing is known is guessed from what stands beside it: a number, a place's cache, a function's
// parameter. Where it is something else, the instruction is a step.
void Translator::guess(const Instr& in, uint32_t pc) {
  const Site* x = nullptr;
  int32_t a = in.a;
  Value like;
  const auto site = [&](int32_t i) { return &now_->code->sites[static_cast<size_t>(i)]; };
  if (operator_of(in.op) || comparison_of(in.op)) {
    if (is_any(in.b)) a = in.b;
    const Kind other = type(a == in.a ? in.b : in.a).kind;
    if (!is_number(other) || other == Kind::boolean) return;
    like = other == Kind::integer ? Value::integer(0) : Value::floating(0);
  } else if (in.op == I::item_get) {
    const runtime::Object* of = type(in.a).object;
    if (!of || (of->object_kind() != ObjectKind::list && of->object_kind() != ObjectKind::tuple)) return;
    a = in.b, like = Value::integer(0);
  } else if (in.op == I::attr_get || in.op == I::method_get) {
    if (runtime::Instance* i = instance_of(site(in.b)->cache)) like = Value::share(i);
  } else if (in.op == I::attr_set || in.op == I::update || in.op == I::call_method || in.op == I::call_loaded) {
    x = site(in.a);
    a = now_->code->operands[x->first].at;
    if (runtime::Instance* i = instance_of(x->cache)) like = Value::share(i);
  } else if (in.op == I::call) {  // mostly of itself
    x = site(in.a);
    const Operand* ops = now_->code->operands.data() + x->first;
    const RegType callee = type(ops->at);
    const auto* f = callee.object && callee.object->object_kind() == ObjectKind::function
                        ? static_cast<const runtime::Function*>(callee.object)
                        : nullptr;
    for (const Body& b : bodies_) {
      if (!f || b.code != f->compiled || !like.is_unbound()) continue;
      for (uint32_t i = 1; i < x->count && i <= b.params.size(); ++i)
        if (is_any(ops[i].at) && b.params[i - 1].kind == Kind::held && b.params[i - 1].object)
          a = ops[i].at, like = Value::share(b.params[i - 1].object);
    }
  }
  if (like.is_unbound() || !is_any(a)) return;
  llvm::BasicBlock *other = make(), *none = nullptr;
  if (in.op == I::call) {
    none = make();
    llvm::BasicBlock* some = make();
    b_.CreateCondBr(b_.CreateICmpEQ(load(i8_, reg_at(a), kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::none))), none,
                    some);
    b_.SetInsertPoint(some);
  }
  check_like(reg_at(a), like, other);
  const auto as_guessed = b_.saveIP();
  const State before = state();
  if (none) {
    b_.SetInsertPoint(none);
    types_[static_cast<size_t>(a)] = {Kind::none};
    in_memory_[static_cast<size_t>(a)] = Kind::none;
    b_.CreateBr(block(pc, types_));
    restore(before);
  }
  b_.SetInsertPoint(other);
  if (step(in, pc) == After::next) b_.CreateBr(block(pc + 1, types_));
  restore(before);
  looked_ = false;
  b_.restoreIP(as_guessed);
  narrowed(a, like.tag(), like.is_object() ? like.object() : nullptr);
  before_ = types_;
}

// An instance of the shape that a site has met.
runtime::Instance* Translator::instance_of(const runtime::Cache& cache) const {
  for (size_t i = instances_.size(); i-- > 0;)
    if (instances_[i]->shape && instances_[i]->shape->id == cache.key) return instances_[i];
  return nullptr;
}

// Requests of these kinds are done at once, behind the instruction; then the interpreter goes on, since anything may
// have changed.
void Translator::look_at_requests(uint32_t mask, uint32_t pc) {
  write_back(pc + 1);
  llvm::BasicBlock* asked = make();
  check(b_.CreateICmpEQ(b_.CreateAnd(requests(), b_.getInt32(mask)), b_.getInt32(0)), asked);
  const auto on = b_.saveIP();
  b_.SetInsertPoint(asked);
  stand_at(pc);
  b_.CreateCondBr(call(reinterpret_cast<const void*>(&ouro_plain_safe_point), i1_, {session()}), leave(types_, pc + 1),
                  leave(types_, pc, true));
  b_.restoreIP(on);
}

llvm::BasicBlock* Translator::bail() {
  if (!bail_) {
    write_back(at_);
    bail_ = leave(before_, at_);
  }
  return bail_;
}

Translator::After Translator::jump(uint32_t pc) {
  b_.CreateBr(block(pc, types_));
  return After::ended;
}

// Does a condition let go of an object that may hold others? (In a text there are none.)
bool Translator::ends_operands() const {
  bool any = false;
  operands_of(*now_->code, at_, [&](uint32_t r, Use use) {
    const RegType& t = before_[r];
    const bool text = t.object && t.object->object_kind() == ObjectKind::str;
    any = any || (use == Use::dies && t.kind == Kind::held && !text);
  });
  return any;
}

Translator::After Translator::fork(llvm::Value* cond, uint32_t if_true, uint32_t if_false) {
  if (!cond) return After::untranslated;
  if (ends_operands()) {  // requests are looked at behind the condition: the interpreter goes on on its way
    write_back(if_true), write_back(if_false);
    llvm::BasicBlock *asked = make(), *goes_on = make();
    check(b_.CreateICmpEQ(b_.CreateAnd(requests(), b_.getInt32(Session::kFinalizers)), b_.getInt32(0)), asked);
    const auto on = b_.saveIP();
    b_.SetInsertPoint(asked);
    stand_at(at_);
    llvm::Value* done = call(reinterpret_cast<const void*>(&ouro_plain_safe_point), i1_, {session()});
    b_.CreateCondBr(done, goes_on, leave(types_, at_, true));
    b_.SetInsertPoint(goes_on);
    b_.CreateCondBr(cond, leave(types_, if_true), leave(types_, if_false));
    b_.restoreIP(on);
  }
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(cond)) return jump(known->isOne() ? if_true : if_false);
  llvm::BasicBlock *t = block(if_true, types_), *f = block(if_false, types_);
  b_.CreateCondBr(cond, t, f);
  return After::ended;
}

Translator::After Translator::instruction(const Instr& in, uint32_t pc) {
  const auto target = static_cast<uint32_t>(in.dst);
  if (const auto op = comparison_of(in.op)) {
    llvm::Value* r = compare(*op, in.a, in.b);
    if (!r) return After::untranslated;
    used(in.a, in.use_a), used(in.b, in.use_b);
    if (is_jump_on_comparison(in.op)) return fork(r, pc + 1, target);
    put_bool(in.dst, r);
    return After::next;
  }
  if (const auto op = operator_of(in.op)) {
    const Number a = number(in.a), b = number(in.b);
    if (!a || !b) return After::untranslated;
    const Number r = binary(*op, a, b);
    if (!r) return After::untranslated;
    used(in.a, in.use_a), used(in.b, in.use_b);
    put_number(in.dst, r);
    return After::next;
  }
  switch (in.op) {
    case I::jump:
      return jump(target);
    case I::jump_back:
      ++turns_;
      check(b_.CreateICmpEQ(requests(), b_.getInt32(0)), bail());
      return jump(target);
    case I::branch:
    case I::branch_not: {
      if (type(in.a).kind != Kind::boolean) return After::untranslated;
      llvm::Value* r = b_.CreateICmpNE(word(in.a), b_.getInt64(0));
      used(in.a, in.use_a);
      return in.op == I::branch ? fork(r, target, pc + 1) : fork(r, pc + 1, target);
    }
    case I::if_truth:
    case I::if_not_truth: {
      llvm::Value* r = truth(in.a);
      if (!r) return After::untranslated;
      used(in.a, in.use_a);
      return in.op == I::if_truth ? fork(r, target, pc + 1) : fork(r, pc + 1, target);
    }
    case I::if_is:
    case I::if_not_is: {
      llvm::Value* r = is(in.a, in.b);
      return in.op == I::if_is ? fork(r, target, pc + 1) : fork(r, pc + 1, target);
    }
    case I::is:
    case I::is_not: {
      llvm::Value* r = is(in.a, in.b);
      if (!r) return After::untranslated;
      put_bool(in.dst, in.op == I::is ? r : b_.CreateNot(r));
      return After::next;
    }
    case I::truth:
    case I::not_: {
      llvm::Value* r = truth(in.a);
      if (!r) return After::untranslated;
      used(in.a, in.use_a);
      put_bool(in.dst, in.op == I::truth ? r : b_.CreateNot(r));
      return After::next;
    }
    case I::in:
    case I::not_in:
      return contains(in);
    case I::neg: {
      const Number a = number(in.a);
      if (!a) return After::untranslated;
      if (a.kind == Kind::floating) {
        used(in.a, in.use_a);
        put_float(in.dst, b_.CreateFNeg(a.v));
        return After::next;
      }
      const Number r = binary(BinOp::sub, {Kind::integer, b_.getInt64(0)}, a);
      used(in.a, in.use_a);
      put_number(in.dst, r);
      return After::next;
    }
    case I::move:
    case I::rebind:
    case I::take:
      return move(in);
    case I::drop:
      put(in.dst, {});
      return After::next;
    case I::check_bound: {
      const Kind k = type(in.a).kind;
      if (k == Kind::unset || k == Kind::unbound || k == Kind::stale) return After::untranslated;
      if (k == Kind::held)
        check(b_.CreateICmpNE(load(i8_, reg_at(in.a), kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::unbound))), bail());
      return in.dst == in.a ? After::next : move(in);
    }
    case I::cell_get:
      return cell_get(in);
    case I::cell_set:
      return cell_set(in);
    case I::global_get:
      return global_get(in);
    case I::global_set:
      return global_set(in);
    case I::attr_get:
      return attr_get(in);
    case I::attr_set:
      return attr_set(in);
    case I::method_get:
      return method_get(in);
    case I::iter:
      return iter(in);
    case I::for_iter:
      return for_iter(in, pc);
    case I::item_get:
      return item_get(in);
    case I::tuple_get:
      return tuple_get(in, pc);
    case I::update:
      return update(in);
    case I::list_append:
      return list_append(in);
    case I::call:
    case I::call_full: {
      const Site& x = now_->code->sites[static_cast<size_t>(in.a)];
      const Operand* ops = now_->code->operands.data() + x.first;
      return call_value(in, type(ops->at), *ops, ops + 1, x.count - 1, pc);
    }
    case I::call_loaded:
    case I::call_loaded_full:
    case I::call_method:
    case I::call_method_full: {
      const Site& x = now_->code->sites[static_cast<size_t>(in.a)];
      const Operand* ops = now_->code->operands.data() + x.first;
      const bool loaded = in.op == I::call_loaded || in.op == I::call_loaded_full;
      if (loaded && type(in.b).kind == Kind::held) return After::untranslated;
      if (loaded && type(in.b).kind != Kind::unbound)
        return call_value(in, type(in.b), {in.b, static_cast<Use>(in.use_b)}, ops + 1, x.count - 1, pc);
      return call_on(in, now_->code->function->calls[x.attr].method, ops, x.count, pc);
    }
    case I::return_:
      return return_(in);
    default:
      return After::untranslated;
  }
}

// ---------------------------------------------------------------- numbers

Translator::Number Translator::number(int32_t a) {
  const Kind k = type(a).kind;
  if (is_word(k)) return {k, word(a)};
  if (k == Kind::floating) return {k, floating(a)};
  return {};
}

void Translator::put_number(int32_t r, Number n) {
  if (n.kind == Kind::floating)
    put_float(r, n.v);
  else
    put_word(r, n.v, n.kind);
}

// An int that a float holds exactly.
void Translator::check_exact(Number n) {
  if (n.kind != Kind::integer) return;
  llvm::Value* shifted = b_.CreateAdd(n.v, b_.getInt64(kExact));
  check(b_.CreateICmpULE(shifted, b_.getInt64(2 * kExact)), bail());
}

// What is not finite may be an error: the interpreter looks at it.
llvm::Value* Translator::is_finite(llvm::Value* v) {
  llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v);
  return b_.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(f64_));
}

Translator::Number Translator::by_runtime(BinOp op, Number a, Number b) {
  const Kind gives = is_word(a.kind) && is_word(b.kind) ? Kind::integer : Kind::floating;
  llvm::IRBuilder<> at_entry(now_->entry, now_->entry->begin());
  llvm::Value* out = at_entry.CreateAlloca(i64_);
  llvm::Value* ok =
      call(reinterpret_cast<const void*>(&ouro_plain_binary), i1_,
           {session(), b_.getInt32(static_cast<uint32_t>(op)), b_.getInt32(static_cast<uint32_t>(tag_of(gives))),
            b_.getInt32(static_cast<uint32_t>(tag_of(a.kind))), as_bits(a),
            b_.getInt32(static_cast<uint32_t>(tag_of(b.kind))), as_bits(b), out});
  check(ok, bail());
  llvm::Value* bits = b_.CreateLoad(i64_, out);
  return {gives, gives == Kind::floating ? b_.CreateBitCast(bits, f64_) : bits};
}

Translator::Number Translator::binary(BinOp op, Number a, Number b) {
  const bool words = is_word(a.kind) && is_word(b.kind);
  const auto overflowing = [&](llvm::Intrinsic::ID id) -> Number {
    llvm::Value* r = b_.CreateBinaryIntrinsic(id, a.v, b.v);
    check(b_.CreateNot(b_.CreateExtractValue(r, {1})), bail());
    return {Kind::integer, b_.CreateExtractValue(r, {0})};
  };
  switch (op) {
    case BinOp::add:
      if (words) return overflowing(llvm::Intrinsic::sadd_with_overflow);
      return {Kind::floating, b_.CreateFAdd(as_float(a), as_float(b))};
    case BinOp::sub:
      if (words) return overflowing(llvm::Intrinsic::ssub_with_overflow);
      return {Kind::floating, b_.CreateFSub(as_float(a), as_float(b))};
    case BinOp::mul:
      if (words) return overflowing(llvm::Intrinsic::smul_with_overflow);
      return {Kind::floating, b_.CreateFMul(as_float(a), as_float(b))};
    case BinOp::truediv: {
      if (words) check_exact(a), check_exact(b);
      llvm::Value *x = as_float(a), *y = as_float(b);
      check(b_.CreateFCmpUNE(y, llvm::ConstantFP::get(f64_, 0.0)), bail());
      return {Kind::floating, b_.CreateFDiv(x, y)};
    }
    case BinOp::floordiv:
    case BinOp::mod: {
      if (!words) return by_runtime(op, a, b);
      llvm::Value *zero = b_.getInt64(0), *minus = b_.getInt64(static_cast<uint64_t>(-1));
      check(b_.CreateICmpUGT(b_.CreateAdd(b.v, b_.getInt64(1)), b_.getInt64(1)), bail());  // neither 0 nor -1
      llvm::Value* rest = b_.CreateSRem(a.v, b.v);
      // The remainder has the divisor's sign.
      llvm::Value* off = b_.CreateAnd(b_.CreateICmpNE(rest, zero), b_.CreateICmpSLT(b_.CreateXor(rest, b.v), zero));
      if (op == BinOp::mod) return {Kind::integer, b_.CreateSelect(off, b_.CreateAdd(rest, b.v), rest)};
      llvm::Value* q = b_.CreateSDiv(a.v, b.v);
      return {Kind::integer, b_.CreateSelect(off, b_.CreateAdd(q, minus), q)};
    }
    case BinOp::and_:
    case BinOp::or_:
    case BinOp::xor_: {
      if (!words) return {};
      const Kind gives = a.kind == Kind::boolean && b.kind == Kind::boolean ? Kind::boolean : Kind::integer;
      llvm::Value* r = op == BinOp::and_  ? b_.CreateAnd(a.v, b.v)
                       : op == BinOp::or_ ? b_.CreateOr(a.v, b.v)
                                          : b_.CreateXor(a.v, b.v);
      return {gives, r};
    }
    case BinOp::rshift:
      if (!words) return {};
      check(b_.CreateICmpULT(b.v, b_.getInt64(63)), bail());
      return {Kind::integer, b_.CreateAShr(a.v, b.v)};
    case BinOp::lshift: {
      if (!words) return {};
      check(b_.CreateICmpULT(b.v, b_.getInt64(31)), bail());
      llvm::Value* small = b_.CreateAdd(a.v, b_.getInt64(int64_t{1} << 31));
      check(b_.CreateICmpULT(small, b_.getInt64(int64_t{1} << 32)), bail());
      return {Kind::integer, b_.CreateShl(a.v, b.v)};
    }
    case BinOp::pow: {
      if (words) return by_runtime(op, a, b);
      constexpr double (*kPow)(double, double) = std::pow;
      check_exact(a), check_exact(b);
      const Number r{Kind::floating, call(reinterpret_cast<const void*>(kPow), f64_, {as_float(a), as_float(b)})};
      check(is_finite(r.v), bail());
      return r;
    }
    default:
      return {};
  }
}

llvm::Value* Translator::compare(CmpOp op, int32_t a, int32_t b) {
  const Number x = number(a), y = number(b);
  if (!x || !y) return nullptr;
  const auto which = [&](std::array<Pred, 6> of) { return of[static_cast<size_t>(op)]; };
  if (is_word(x.kind) && is_word(y.kind))
    return b_.CreateICmp(
        which({Pred::ICMP_EQ, Pred::ICMP_NE, Pred::ICMP_SLT, Pred::ICMP_SLE, Pred::ICMP_SGT, Pred::ICMP_SGE}), x.v,
        y.v);
  check_exact(x), check_exact(y);
  return b_.CreateFCmp(
      which({Pred::FCMP_OEQ, Pred::FCMP_UNE, Pred::FCMP_OLT, Pred::FCMP_OLE, Pred::FCMP_OGT, Pred::FCMP_OGE}),
      as_float(x), as_float(y));
}

llvm::Value* Translator::is(int32_t a, int32_t b) {
  RegType x = type(a), y = type(b);
  if (y.kind == Kind::held) std::swap(a, b), std::swap(x, y);
  if (is_unboxed(x.kind) && is_unboxed(y.kind)) {
    if (x.kind != y.kind) return b_.getInt1(false);
    if (x.kind == Kind::none) return b_.getInt1(true);
    return b_.CreateICmpEQ(bits(a), bits(b));
  }
  if (x.kind != Kind::held) return nullptr;
  if (y.kind == Kind::none) {
    if (x.object) return b_.getInt1(false);
    return b_.CreateICmpEQ(load(i8_, reg_at(a), kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::none)));
  }
  if (!x.object) return nullptr;
  if (y.kind == Kind::held && y.object)
    return b_.CreateICmpEQ(load(i64_, reg_at(a), kBitsAt), load(i64_, reg_at(b), kBitsAt));
  return is_unboxed(y.kind) ? b_.getInt1(false) : nullptr;
}

llvm::Value* Translator::truth(int32_t a) {
  const RegType t = type(a);
  if (is_word(t.kind)) return b_.CreateICmpNE(word(a), b_.getInt64(0));
  if (t.kind == Kind::floating) return b_.CreateFCmpUNE(floating(a), llvm::ConstantFP::get(f64_, 0.0));
  if (t.kind == Kind::none) return b_.getInt1(false);
  return t.kind == Kind::held && t.object && a >= 0 ? truth_of_object(a) : nullptr;
}

// A container is true if it holds something, and an instance whose class does not say otherwise always.
llvm::Value* Translator::truth_of_object(int32_t a) {
  const runtime::Object* like = type(a).object;
  const auto holds_some = [&](llvm::Type* type, uint64_t at) {
    return b_.CreateICmpNE(load(type, held_object(a, like->object_kind()), at), llvm::ConstantInt::get(type, 0));
  };
  switch (like->object_kind()) {
    case ObjectKind::list:
      return holds_some(i64_, offsetof(runtime::List, size));
    case ObjectKind::str:
      return holds_some(i64_, offsetof(runtime::Str, size));
    case ObjectKind::tuple:
      return holds_some(i64_, offsetof(runtime::Tuple, size));
    case ObjectKind::dict:
      return holds_some(i32_, offsetof(runtime::Dict, used));
    case ObjectKind::set:
      return holds_some(i64_, offsetof(runtime::Set, used));
    case ObjectKind::instance: {
      const auto* i = static_cast<const runtime::Instance*>(like);
      const auto says = [&](const char* name) { return !runtime::type_lookup(s_, i->type, intern(name)).is_unbound(); };
      if (!i->shape || !i->native.is_unbound() || says("__bool__") || says("__len__")) return nullptr;
      (void)instance_like(a);
      return b_.getInt1(true);
    }
    default:
      return nullptr;
  }
}

// ---------------------------------------------------------------- registers and variables

Translator::After Translator::move(const Instr& in) {
  const RegType t = type(in.a);
  const bool taken = in.op == I::take;
  const bool dies = taken || in.use_a != static_cast<uint8_t>(Use::keep);
  if (in.a == in.dst) return After::next;
  if (is_number(t.kind)) {
    const Number n = number(in.a);
    if (taken) types_[static_cast<size_t>(in.a)] = {};
    used(in.a, in.use_a);
    put_number(in.dst, n);
    return After::next;
  }
  switch (t.kind) {
    case Kind::unbound:
    case Kind::none:
    case Kind::known:
      if (t.kind == Kind::known) keep(t.object);
      used(in.a, taken ? static_cast<uint8_t>(Use::dies) : in.use_a);
      put(in.dst, t);
      return After::next;
    case Kind::held: {
      if (t.object && t.object->object_kind() == ObjectKind::tensor) {
        call(reinterpret_cast<const void*>(&ouro_plain_copy), b_.getVoidTy(),
             {reg_at(in.dst), reg_at(in.a), b_.getInt1(dies)});
      } else if (taken || in.use_a == static_cast<uint8_t>(Use::dies)) {
        release(in.dst);
        llvm::Value *to = reg_at(in.dst), *from = reg_at(in.a);
        store(load(i64_, from, kTagAt), to, kTagAt);
        store(load(i64_, from, kBitsAt), to, kBitsAt);
        store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), from, kTagAt);
        types_[static_cast<size_t>(in.a)] = {};
      } else {
        copy_into(in.dst, reg_at(in.a), false);
      }
      holds(in.dst, t.object);
      if (taken) put(in.a, {});
      return After::next;
    }
    case Kind::range:
    case Kind::steps: {
      if (!dies) return After::untranslated;  // two registers would hold the same object
      put(in.dst, t);
      for (size_t i = 0; i < 3; ++i)
        b_.CreateStore(b_.CreateLoad(i64_, now_->ranges[static_cast<size_t>(in.a)][i]),
                       now_->ranges[static_cast<size_t>(in.dst)][i]);
      types_[static_cast<size_t>(in.a)] = {};
      return After::next;
    }
    default:
      return After::untranslated;
  }
}

}  // namespace ouro::jit::plain
