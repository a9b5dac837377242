// Calls of built-in functions, and of functions of numbers, which are translated with their caller (translator.h).
#include "jit/emit/translator.h"

#include <utility>

#include "runtime/object/ops.h"

namespace ouro::jit::plain {

bool Translator::is_builtin(const runtime::Object* f, std::string_view name) {
  for (bool ouro_names : {false, true})
    if (const Value v = runtime::builtin(s_, intern(name), ouro_names); v.is_object() && v.object() == f) return true;
  return false;
}

Translator::After Translator::call_known(const Instr& in, const RegType& callee, const Operand* args, uint32_t count,
                                         uint32_t pc) {
  if (callee.kind != Kind::known) return After::untranslated;
  if (callee.object->object_kind() == ObjectKind::function)
    return call_function(in, static_cast<const runtime::Function*>(callee.object), args, count, pc);
  return call_builtin(in, callee.object, args, count);
}

Translator::After Translator::call_builtin(const Instr& in, runtime::Object* f, const Operand* args, uint32_t count) {
  const auto done = [&] {
    for (uint32_t i = 0; i < count; ++i) used(args[i].at, static_cast<uint8_t>(args[i].use));
  };
  if (count < 1 || count > 3) return After::untranslated;
  if (is_builtin(f, "len") && count == 1 && type(args[0].at).kind == Kind::held) {
    const RegType t = type(args[0].at);
    if (!t.object || t.object->object_kind() != ObjectKind::list) return After::untranslated;
    llvm::Value* n = load(i64_, held_object(args[0].at, ObjectKind::list), offsetof(runtime::List, size));
    done();
    put_word(in.dst, n);
    return After::next;
  }
  Number n[3];
  for (uint32_t i = 0; i < count; ++i)
    if (n[i] = number(args[i].at); !n[i]) return After::untranslated;
  if (is_builtin(f, "range")) {
    for (uint32_t i = 0; i < count; ++i)
      if (n[i].kind != Kind::integer) return After::untranslated;
    if (count == 3) check(b_.CreateICmpNE(n[2].v, b_.getInt64(0)), bail());
    done();
    put(in.dst, {Kind::range});
    const auto& to = now_->ranges[static_cast<size_t>(in.dst)];
    b_.CreateStore(count == 1 ? b_.getInt64(0) : n[0].v, to[0]);
    b_.CreateStore(count == 1 ? n[0].v : n[1].v, to[1]);
    b_.CreateStore(count == 3 ? n[2].v : b_.getInt64(1), to[2]);
    return After::next;
  }
  Number r;
  if (count == 1 && is_builtin(f, "float")) {
    r = {Kind::floating, as_float(n[0])};
  } else if (count == 1 && is_builtin(f, "int")) {
    if (n[0].kind == Kind::floating) {
      llvm::Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, n[0].v);
      check(b_.CreateFCmpOLT(size, llvm::ConstantFP::get(f64_, 0x1p62)), bail());
      r = {Kind::integer, b_.CreateFPToSI(n[0].v, i64_)};
    } else {
      r = {Kind::integer, n[0].v};
    }
  } else if (count == 1 && n[0].kind != Kind::boolean && is_builtin(f, "abs")) {
    if (n[0].kind == Kind::floating) {
      r = {Kind::floating, b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, n[0].v)};
    } else {
      check(b_.CreateICmpNE(n[0].v, b_.getInt64(static_cast<uint64_t>(INT64_MIN))), bail());
      llvm::Value* negative = b_.CreateICmpSLT(n[0].v, b_.getInt64(0));
      r = {Kind::integer, b_.CreateSelect(negative, b_.CreateNeg(n[0].v), n[0].v)};
    }
  } else if (count == 2 && n[0].kind == n[1].kind && (is_builtin(f, "min") || is_builtin(f, "max"))) {
    // The second one only where it is less, or more, than the first.
    const bool least = is_builtin(f, "min");
    llvm::Value* second = n[0].kind == Kind::floating
                              ? (least ? b_.CreateFCmpOLT(n[1].v, n[0].v) : b_.CreateFCmpOGT(n[1].v, n[0].v))
                              : (least ? b_.CreateICmpSLT(n[1].v, n[0].v) : b_.CreateICmpSGT(n[1].v, n[0].v));
    r = {n[0].kind, b_.CreateSelect(second, n[1].v, n[0].v)};
  } else if (f->object_kind() == ObjectKind::native && count <= 2) {
    const auto* native = static_cast<const runtime::Native*>(f);
    const runtime::NativeDef& def = *native->def;
    if (def.effect != runtime::NativeEffect::pure || def.gives == runtime::NativeGives::any || !def.params.empty() ||
        !native->self.is_unbound() || native->owner)
      return After::untranslated;
    const Kind gives = def.gives == runtime::NativeGives::floating  ? Kind::floating
                       : def.gives == runtime::NativeGives::integer ? Kind::integer
                                                                    : Kind::boolean;
    if (def.name == "sqrt" && count == 1 && gives == Kind::floating) {
      llvm::Value* x = as_float(n[0]);
      check(b_.CreateFCmpOGE(x, llvm::ConstantFP::get(f64_, 0.0)), bail());
      r = {Kind::floating, b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)};
    } else {
      llvm::IRBuilder<> at_entry(now_->entry, now_->entry->begin());
      llvm::Value* out = at_entry.CreateAlloca(i64_);
      const Number second = count == 2 ? n[1] : Number{Kind::integer, b_.getInt64(0)};
      llvm::Value* ok =
          call(reinterpret_cast<const void*>(&ouro_plain_native), i1_,
               {session(), address(native), b_.getInt32(count), b_.getInt32(static_cast<uint32_t>(tag_of(gives))),
                b_.getInt32(static_cast<uint32_t>(tag_of(n[0].kind))), as_bits(n[0]),
                b_.getInt32(static_cast<uint32_t>(tag_of(second.kind))), as_bits(second), out});
      check(ok, bail());
      llvm::Value* bits = b_.CreateLoad(i64_, out);
      r = {gives, gives == Kind::floating ? b_.CreateBitCast(bits, f64_) : bits};
    }
  } else {
    return After::untranslated;
  }
  done();
  put_number(in.dst, r);
  return After::next;
}

// The function for arguments of these kinds; null: there is none.
Body* Translator::inner(const runtime::Function* f, const std::vector<Kind>& params) {
  for (Body& b : bodies_)
    if (!b.outer && b.closure == f && b.params == params) return &b;
  if (bodies_.size() > kMostFunctions) return nullptr;
  Body* caller = now_;
  const auto ip = b_.saveIP();
  Body& body = bodies_.emplace_back();
  body.closure = f, body.code = f->compiled, body.globals = f->globals.as<runtime::Module>(), body.params = params;
  body.live = &lives_.emplace_back(*f->compiled);
  keep(const_cast<runtime::Function*>(f));
  std::vector<llvm::Type*> types = {ptr_};
  for (Kind k : params) types.push_back(k == Kind::floating ? f64_ : i64_);
  body.fn = llvm::Function::Create(llvm::FunctionType::get(result_type(), types, false),
                                   llvm::Function::InternalLinkage, f->code->name.str(), module_);
  open(body);
  Types regs(body.code->nregs);
  for (size_t i = 0; i < params.size(); ++i) {
    regs[i] = {params[i]};
    if (params[i] != Kind::none)
      b_.CreateStore(body.fn->getArg(static_cast<unsigned>(i) + 1),
                     params[i] == Kind::floating ? body.floats[i] : body.words[i]);
  }
  // A frame is made where the stack ends. (Requests are looked at behind each call.)
  const Types types_of_caller = std::exchange(types_, regs);
  llvm::BasicBlock* other = leave(regs, 0);
  llvm::Value* frame = b_.CreateIntrinsic(llvm::Intrinsic::frameaddress, {ptr_}, {b_.getInt32(0)});
  llvm::Value* stack = b_.CreateICmpUGE(b_.CreatePtrToInt(frame, i64_), load(i64_, address(&s_.stack_limit), 0));
  check(stack, other);
  b_.CreateBr(block(0, regs));
  types_ = types_of_caller;
  now_ = caller;
  b_.restoreIP(ip);
  return &body;
}

Translator::After Translator::call_function(const Instr& in, const runtime::Function* f, const Operand* args,
                                            uint32_t count, uint32_t pc) {
  const Code* code = f->compiled;
  if (!code || !code->plain || code->positional != count || !f->captures.empty()) return After::untranslated;
  std::vector<Kind> kinds;
  for (uint32_t i = 0; i < count; ++i) {
    kinds.push_back(type(args[i].at).kind);
    if (!is_unboxed(kinds.back())) return After::untranslated;
  }
  Body* body = inner(f, kinds);
  if (!body) return After::untranslated;
  if (!body->gives) return unknown_results_ ? After::untranslated : After::waits;
  llvm::Value* depth = load(i32_, address(&s_.depth), 0);
  check(b_.CreateICmpSLT(depth, load(i32_, address(&s_.recursion_limit), 0)), bail());
  b_.CreateStore(b_.CreateAdd(depth, b_.getInt32(1)), address(&s_.depth));
  std::vector<llvm::Value*> values = {session()};
  for (uint32_t i = 0; i < count; ++i)
    values.push_back(kinds[i] == Kind::floating ? floating(args[i].at)
                     : kinds[i] == Kind::none   ? static_cast<llvm::Value*>(b_.getInt64(0))
                                                : word(args[i].at));
  llvm::Value* r = b_.CreateCall(body->fn, values);
  b_.CreateStore(depth, address(&s_.depth));
  llvm::Value* status = b_.CreateExtractValue(r, {1});
  llvm::BasicBlock* other = make();
  check(b_.CreateICmpEQ(status, b_.getInt32(0)), other);
  const auto ip = b_.saveIP();
  b_.SetInsertPoint(other);
  (void)left_call(in, pc, status);
  b_.restoreIP(ip);
  for (uint32_t i = 0; i < count; ++i) used(args[i].at, static_cast<uint8_t>(args[i].use));
  put_bits(in.dst, b_.CreateExtractValue(r, {0}), *body->gives);
  look_at_requests(UINT32_MAX, pc);
  looked_ = true;
  return After::next;
}

// The called function gave no number of the expected kind: 1, a value for the call's register, or 2, an exception.
Translator::After Translator::left_call(const Instr& in, uint32_t pc, llvm::Value* status) {
  llvm::BasicBlock *value = make(), *raised = make();
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(1)), value, raised);
  b_.SetInsertPoint(raised);
  spill(before_);
  leave_spilled(pc, true);
  b_.SetInsertPoint(value);
  const Types at_call = std::exchange(types_, before_);
  release(in.dst);
  types_ = at_call;
  spill(before_, in.dst);
  llvm::Value* reg = reg_at(in.dst);
  store(load(i64_, spare(), 0), reg, 0);
  store(load(i64_, spare(), kBitsAt), reg, kBitsAt);
  store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), spare(), kTagAt);
  leave_spilled(pc + 1, false);
  return After::ended;
}

Translator::After Translator::return_(const Instr& in) {
  const RegType t = type(in.a);
  if (!is_unboxed(t.kind)) return After::untranslated;
  if (now_->outer) {
    llvm::Value* to = now_->fn->getArg(2);
    store(b_.getInt8(static_cast<uint8_t>(tag_of(t.kind))), to, kTagAt);
    store(bits(in.a), to, kBitsAt);
    end(End::returned, at_);
    return After::ended;
  }
  if (!now_->gives) now_->gives = t.kind, results_moved_ = true;
  if (*now_->gives == t.kind) {
    give(bits(in.a), b_.getInt32(0));
    return After::ended;
  }
  store(b_.getInt8(static_cast<uint8_t>(tag_of(t.kind))), spare(), kTagAt);
  store(bits(in.a), spare(), kBitsAt);
  give(b_.getInt64(0), b_.getInt32(1));
  return After::ended;
}

}  // namespace ouro::jit::plain
