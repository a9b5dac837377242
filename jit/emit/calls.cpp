// Calls of built-in functions, and of functions of numbers, which are translated with their caller (translator.h).
#include "jit/emit/translator.h"

#include <utility>

#include "runtime/object/ops.h"
#include "runtime/protocol/metaclass.h"

namespace ouro::jit::plain {

bool Translator::is_builtin(const runtime::Object* f, std::string_view name) {
  for (bool ouro_names : {false, true})
    if (const Value v = runtime::builtin(s_, intern(name), ouro_names); v.is_object() && v.object() == f) return true;
  return false;
}

// The function that objects like this have under that name from their class, if it is a script's and they have no
// attribute of that name; behind a check that this is one of them.
const runtime::Function* Translator::method_of(const RegType& receiver, Symbol name) {
  if (receiver.kind != Kind::held || !receiver.object || receiver.object->object_kind() != ObjectKind::instance)
    return nullptr;
  const auto* like = static_cast<const runtime::Instance*>(receiver.object);
  if (!like->shape || like->type->has_getattribute || like->shape->find(name) >= 0) return nullptr;
  const Value found = runtime::type_lookup(s_, like->type, name);
  if (runtime::kind_of(found) != ObjectKind::function || holds_objects(found)) return nullptr;
  return found.as<runtime::Function>();
}

Translator::After Translator::method_get(const Instr& in) {
  const Symbol name = Symbol::from_id(now_->code->sites[static_cast<size_t>(in.b)].attr);
  const RegType t = type(in.a), member = module_member(t, name);
  if (member.kind == Kind::known) {
    put(in.dst, member);
    return After::next;
  }
  // The call looks it up, as in the interpreter.
  const bool of_script = method_of(t, name);
  if (!of_script && !native_method(t, name)) return After::untranslated;
  if (of_script) (void)instance_like(in.a);
  put(in.dst, {Kind::unbound});
  return After::next;
}

// The built-in method that objects of this kind have under that name; their classes do not change.
const runtime::Native* Translator::native_method(const RegType& receiver, Symbol name) {
  if (receiver.kind != Kind::held || !receiver.object) return nullptr;
  const ObjectKind k = receiver.object->object_kind();
  constexpr ObjectKind kBuiltIn[] = {ObjectKind::list,  ObjectKind::dict,  ObjectKind::set,      ObjectKind::str,
                                     ObjectKind::tuple, ObjectKind::bytes, ObjectKind::bytearray};
  if (std::ranges::find(kBuiltIn, k) == std::end(kBuiltIn)) return nullptr;
  const Value found = runtime::type_lookup(s_, s_.type(k), name);
  if (runtime::kind_of(found) != ObjectKind::native || !found.as<runtime::Native>()->self.is_unbound()) return nullptr;
  return found.as<runtime::Native>();
}

// What lists and dicts do all the time; the rest is a step.
Translator::After Translator::call_native_method(const Instr& in, ObjectKind of, const std::string& name,
                                                 const Operand* ops, uint32_t count) {
  if (of == ObjectKind::dict && name == "get" && (count == 2 || count == 3)) return dict_get(in, ops, count);
  if (of != ObjectKind::list) return After::untranslated;
  if (name == "append" && count == 2) {
    const int32_t item = ops[1].at;
    const RegType t = type(item);
    const Number n = number(item);
    if (!n && t.kind != Kind::none && (t.kind != Kind::held || !t.object || item < 0)) return After::untranslated;
    llvm::Value* list = held_object(ops->at, ObjectKind::list);
    llvm::Value* size = load(i64_, list, offsetof(runtime::List, size));
    llvm::BasicBlock *full = make(), *room = make();
    llvm::Value* fits = b_.CreateICmpULT(size, load(i64_, list, offsetof(runtime::List, capacity)));
    b_.CreateCondBr(fits, room, full, llvm::MDBuilder(context_).createBranchWeights(100, 1));
    b_.SetInsertPoint(full);
    check(call(reinterpret_cast<const void*>(&ouro_plain_grow), i1_, {session(), reg_at(ops->at)}),
          leave(before_, at_, true));
    b_.CreateBr(room);
    b_.SetInsertPoint(room);
    llvm::Value* to =
        b_.CreateInBoundsGEP(i8_, load(ptr_, list, offsetof(runtime::List, items)), b_.CreateShl(size, b_.getInt64(4)));
    if (t.kind == Kind::held) {
      llvm::Value* bits = load(i64_, reg_at(item), kBitsAt);
      store(b_.getInt8(static_cast<uint8_t>(Tag::object)), to, kTagAt);
      store(bits, to, kBitsAt);
      if (ops[1].use == Use::dies) {
        store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg_at(item), kTagAt);
        types_[static_cast<size_t>(item)] = {};
      } else {
        count_up(b_.CreateIntToPtr(bits, ptr_));
      }
    } else if (n) {
      store_number(to, n);
    } else {
      store(b_.getInt8(static_cast<uint8_t>(Tag::none)), to, kTagAt);
      store(b_.getInt64(0), to, kBitsAt);
    }
    store(b_.CreateAdd(size, b_.getInt64(1)), list, offsetof(runtime::List, size));
    used(ops->at, static_cast<uint8_t>(ops->use));
    if (t.kind != Kind::held) used(item, static_cast<uint8_t>(ops[1].use));
    put(in.dst, {Kind::none});
    return After::next;
  }
  return After::untranslated;
}

// A method is called: `ops` are its receiver and its arguments.
Translator::After Translator::call_on(const Instr& in, Symbol method, const Operand* ops, uint32_t count, uint32_t pc) {
  const RegType t = type(ops->at), member = module_member(t, method);
  if (member.kind == Kind::known) return call_value(in, member, {}, ops + 1, count - 1, pc);
  if (native_method(t, method)) {
    if (!call_of(in).simple()) return After::untranslated;
    return call_native_method(in, t.object->object_kind(), method.str(), ops, count);
  }
  const runtime::Function* f = method_of(t, method);
  if (!f) return After::untranslated;
  const auto given = arrange({f}, call_of(in), 1, ops, count, 0);
  if (!given) return After::untranslated;
  (void)instance_like(ops->at);
  return call_function(in, {f}, *given, {ops, count}, pc);
}

const ir::CallSig& Translator::call_of(const Instr& in) const {
  return now_->code->function->calls[now_->code->sites[static_cast<size_t>(in.a)].attr];
}

// What a register, or the code itself, says is called. `of`: the register.
Translator::After Translator::call_value(const Instr& in, const RegType& callee, const Operand& of, const Operand* args,
                                         uint32_t count, uint32_t pc) {
  if ((callee.kind != Kind::known && callee.kind != Kind::held) || !callee.object) return After::untranslated;
  const ObjectKind k = callee.object->object_kind();
  if (k == ObjectKind::function) {
    const Callee f{static_cast<const runtime::Function*>(callee.object), callee.kind == Kind::held, of};
    if (f.held && of.at < 0) return After::untranslated;
    const auto given = arrange(f, call_of(in), 0, args, count, 0);
    return given ? call_function(in, f, *given, {args, count}, pc) : After::untranslated;
  }
  if (callee.kind == Kind::held) return After::untranslated;
  if (k == ObjectKind::type && !static_cast<runtime::Type*>(callee.object)->builtin)
    return call_class(in, static_cast<runtime::Type*>(callee.object), args, count, pc);
  return call_of(in).simple() ? call_builtin(in, callee.object, args, count) : After::untranslated;
}

// Which operand, or which default, each parameter gets; behind `first`, which get something else. The call's own
// arguments begin after `self` operands. Null: that is not known here, or an error.
std::optional<std::vector<Translator::Given>> Translator::arrange(const Callee& f, const ir::CallSig& call,
                                                                  uint32_t self, const Operand* ops, uint32_t count,
                                                                  uint32_t first) {
  const Code* code = f.like->compiled;
  if (!code || !code->plain || code->positional < first) return std::nullopt;
  const ir::Signature& sig = f.like->code->sig;
  std::vector<Given> out(code->positional - first);
  std::vector<bool> has(out.size());
  size_t next = 0;
  for (uint32_t i = 0; i < count; ++i) {
    size_t at = next;
    const bool own = i >= self;
    if (own && call.args[i - self].kind == ir::CallSig::Kind::keyword) {
      const auto name = std::find(sig.names.begin() + sig.posonly, sig.names.end(), call.args[i - self].name);
      at = static_cast<size_t>(name - sig.names.begin()) - first;
    } else if (own && call.args[i - self].kind != ir::CallSig::Kind::positional) {
      return std::nullopt;
    } else {
      ++next;
    }
    if (at >= out.size() || has[at]) return std::nullopt;
    out[at].operand = ops[i], has[at] = true;
  }
  // Defaults of a function that is known are numbers and None (holds_objects).
  auto* defaults = f.held ? nullptr : runtime::cast_exact<runtime::Tuple>(f.like->defaults);
  bool any = false;
  for (size_t at = 0; at < out.size(); ++at) {
    if (has[at]) continue;
    const size_t from_end = out.size() - at;
    if (!defaults || from_end > defaults->size) return std::nullopt;
    out[at].value = &(*defaults)[defaults->size - from_end];
    any = true;
  }
  if (any) {
    keep(const_cast<runtime::Function*>(f.like));
    keep(defaults);
    llvm::Value* now = load(i64_, address(f.like), offsetof(runtime::Function, defaults) + kBitsAt);
    check(b_.CreateICmpEQ(now, b_.getInt64(reinterpret_cast<uint64_t>(defaults))), bail());
  }
  return out;
}

// A text knows it once somebody has asked.
llvm::Value* Translator::length_of(int32_t a) {
  const runtime::Object* like = type(a).object;
  if (!like || a < 0) return nullptr;
  const auto size = [&](llvm::Type* type, uint64_t at) { return load(type, held_object(a, like->object_kind()), at); };
  switch (like->object_kind()) {
    case ObjectKind::list:
      return size(i64_, offsetof(runtime::List, size));
    case ObjectKind::tuple:
      return size(i64_, offsetof(runtime::Tuple, size));
    case ObjectKind::set:
      return size(i64_, offsetof(runtime::Set, used));
    case ObjectKind::dict:
      return b_.CreateZExt(size(i32_, offsetof(runtime::Dict, used)), i64_);
    case ObjectKind::str: {
      llvm::Value* text = held_object(a, ObjectKind::str);
      llvm::BasicBlock *count = make(), *known = make(), *from = b_.GetInsertBlock();
      llvm::Value* points = load(i64_, text, offsetof(runtime::Str, points));
      b_.CreateCondBr(b_.CreateICmpSGE(points, b_.getInt64(0)), known, count);
      b_.SetInsertPoint(count);
      llvm::Value* counted = call(reinterpret_cast<const void*>(&ouro_plain_length), i64_, {text});
      b_.CreateBr(known);
      b_.SetInsertPoint(known);
      llvm::PHINode* n = b_.CreatePHI(i64_, 2);
      n->addIncoming(points, from), n->addIncoming(counted, count);
      return n;
    }
    default:
      return nullptr;
  }
}

Translator::After Translator::call_builtin(const Instr& in, runtime::Object* f, const Operand* args, uint32_t count) {
  const auto done = [&] {
    for (uint32_t i = 0; i < count; ++i) used(args[i].at, static_cast<uint8_t>(args[i].use));
  };
  if (count < 1 || count > 3) return After::untranslated;
  if (is_builtin(f, "len") && count == 1 && type(args[0].at).kind == Kind::held) {
    llvm::Value* n = length_of(args[0].at);
    if (!n) return After::untranslated;
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
  } else if (count >= 2 && n[0].kind == n[1].kind && n[count - 1].kind == n[0].kind &&
             (is_builtin(f, "min") || is_builtin(f, "max"))) {
    // A later one only where it is less, or more, than those before.
    const bool least = is_builtin(f, "min");
    r = n[0];
    for (uint32_t i = 1; i < count; ++i) {
      llvm::Value* later = r.kind == Kind::floating
                               ? (least ? b_.CreateFCmpOLT(n[i].v, r.v) : b_.CreateFCmpOGT(n[i].v, r.v))
                               : (least ? b_.CreateICmpSLT(n[i].v, r.v) : b_.CreateICmpSGT(n[i].v, r.v));
      r.v = b_.CreateSelect(later, n[i].v, r.v);
    }
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
    } else if (def.computes && count == 1 && gives == Kind::floating) {
      r = {Kind::floating, call(reinterpret_cast<const void*>(def.computes), f64_, {as_float(n[0])})};
      check(is_finite(r.v), bail());
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

// The function for arguments like these; null: there is none.
Body* Translator::inner(const Callee& callee, const Types& params) {
  const runtime::Function* f = callee.like;
  const auto key = key_of_arguments(params);
  for (Body& b : bodies_)
    if (!b.outer && b.held == callee.held && (b.held ? b.code == f->compiled : b.closure == f) &&
        key_of_arguments(b.params) == key)
      return &b;
  if (bodies_.size() > kMostFunctions || alone_->contains(f->compiled)) return nullptr;
  Body* caller = now_;
  const auto ip = b_.saveIP();
  Body& body = bodies_.emplace_back();
  body.closure = f, body.code = f->compiled, body.globals = f->globals.as<runtime::Module>(), body.params = params;
  body.held = callee.held;
  body.live = &lives_.emplace_back(*f->compiled);
  body.leaves = &leaves_->emplace_back(Leaves{.code = f->compiled});
  if (!callee.held) keep(const_cast<runtime::Function*>(f));
  codes_.push_back(f->code);
  std::vector<llvm::Type*> types = {ptr_};
  for (const RegType& t : params) types.push_back(t.kind == Kind::floating ? f64_ : i64_);
  if (callee.held) types.push_back(ptr_);
  body.fn = llvm::Function::Create(llvm::FunctionType::get(result_type(), types, false),
                                   llvm::Function::InternalLinkage, "ouro." + f->code->name.str(), module_);
  open(body);
  const State of_caller = state();
  types_ = Types(body.code->nregs);
  in_memory(types_);
  for (size_t i = 0; i < params.size(); ++i) {
    llvm::Value* given = body.fn->getArg(static_cast<unsigned>(i) + 1);
    const auto r = static_cast<int32_t>(i);
    types_[i] = params[i];
    behind_[i] = is_unboxed(params[i].kind);
    if (params[i].kind == Kind::floating) b_.CreateStore(given, body.floats[i]);
    if (is_word(params[i].kind)) b_.CreateStore(given, body.words[i]);
    if (params[i].kind != Kind::held) continue;
    holds(r, params[i].object);
    store(b_.getInt8(static_cast<uint8_t>(Tag::object)), reg_at(r), kTagAt);
    store(given, reg_at(r), kBitsAt);
  }
  // A frame is made where the stack ends. (Requests are looked at behind each call.)
  for (size_t r = 0; r < params.size(); ++r)
    if (behind_[r]) write_back_one(r);
  llvm::BasicBlock* other = leave(types_, 0);
  llvm::Value* frame = b_.CreateIntrinsic(llvm::Intrinsic::frameaddress, {ptr_}, {b_.getInt32(0)});
  llvm::Value* stack = b_.CreateICmpUGE(b_.CreatePtrToInt(frame, i64_), load(i64_, address(&s_.stack_limit), 0));
  check(stack, other);
  b_.CreateBr(block(0, types_));
  restore(of_caller);
  now_ = caller;
  b_.restoreIP(ip);
  return &body;
}

// Works on tensors, as far as that can be seen here.
static bool has_tensors(const runtime::Object* o) {
  const auto tensor = [](const Value& v) { return runtime::kind_of(v) == ObjectKind::tensor; };
  switch (o->object_kind()) {
    case ObjectKind::tensor:
      return true;
    case ObjectKind::cell:
      return tensor(static_cast<const runtime::Cell*>(o)->value);
    case ObjectKind::list: {
      const auto* l = static_cast<const runtime::List*>(o);
      return l->size > 0 && tensor(l->items[0]);
    }
    case ObjectKind::tuple: {
      const auto* t = static_cast<const runtime::Tuple*>(o);
      return t->size > 0 && tensor((*t)[0]);
    }
    case ObjectKind::instance: {
      const auto* i = static_cast<const runtime::Instance*>(o);
      return i->shape && std::any_of(i->slots, i->slots + i->shape->count, tensor);
    }
    default:
      return false;
  }
}

// A function that is in a register: one of the same code and module. The objects that it captured become operands of
// the call.
bool Translator::captured(const Callee& callee, Types& params, std::vector<llvm::Value*>& values) {
  const runtime::Function* like = callee.like;
  llvm::Value* f = load(ptr_, reg_at(callee.of.at), kBitsAt);
  check(b_.CreateICmpEQ(load(ptr_, f, offsetof(runtime::Function, compiled)), address(like->compiled)), bail());
  llvm::Value* globals = load(i64_, f, offsetof(runtime::Function, globals) + kBitsAt);
  check(b_.CreateICmpEQ(globals, b_.getInt64(static_cast<uint64_t>(like->globals.bits()))), bail());
  llvm::Value* from = load(ptr_, f, offsetof(runtime::Function, captures));  // a vector's first word
  for (const Value& capture : like->captures) {
    const Kind k = kind_of_tag(capture.tag());
    if (k == Kind::held && (!capture.is_object() || has_tensors(capture.object()))) return false;
    check_like(from, capture, bail());
    params.push_back({k, k == Kind::held ? capture.object() : nullptr});
    values.push_back(load(k == Kind::floating ? f64_ : i64_, from, kBitsAt));
    from = at(from, sizeof(Value));
  }
  return true;
}

Translator::After Translator::call_function(const Instr& in, const Callee& callee, const std::vector<Given>& given,
                                            std::span<const Operand> operands, uint32_t pc, const New* made) {
  const runtime::Function* f = callee.like;
  const Code* code = f->compiled;
  const uint32_t first = made ? 1 : 0;  // of the parameters, that are given otherwise
  if (!callee.held && !f->captures.empty()) return After::untranslated;
  if (code->of_library || (code->entry && code->entry != own_)) return After::untranslated;
  Types params;
  std::vector<llvm::Value*> values = {session()};
  if (made) params.push_back({Kind::held, made->like}), values.push_back(nullptr);
  for (const Given& g : given) {
    const int32_t at = g.operand.at;
    const RegType t = g.value ? RegType{kind_of_tag(g.value->tag())} : type(at);
    if (!is_unboxed(t.kind) && t.kind != Kind::known && (t.kind != Kind::held || at < 0 || !t.object))
      return After::untranslated;
    if (t.kind == Kind::held && has_tensors(t.object)) return After::untranslated;
    params.push_back(t);
    if (g.value && t.kind == Kind::floating)
      values.push_back(llvm::ConstantFP::get(f64_, g.value->as_float()));
    else if (g.value)
      values.push_back(b_.getInt64(is_word(t.kind) ? static_cast<uint64_t>(g.value->bits()) : 0));
    else if (t.kind == Kind::held)
      values.push_back(load(i64_, reg_at(at), kBitsAt));
    else
      values.push_back(t.kind == Kind::floating ? floating(at)
                       : is_word(t.kind)        ? word(at)
                                                : static_cast<llvm::Value*>(b_.getInt64(0)));
  }
  if (callee.held && !captured(callee, params, values)) return After::untranslated;
  Body* body = inner(callee, params);
  if (!body) return After::untranslated;
  if (!body->gives) return unknown_results_ ? After::untranslated : After::waits;
  if (made && body->gives->kind != Kind::none) return After::untranslated;
  llvm::Value* entry = load(ptr_, address(&code->entry), 0);  // another compiler may have taken it meanwhile
  check(b_.CreateOr(b_.CreateIsNull(entry), b_.CreateICmpEQ(entry, address(reinterpret_cast<const void*>(own_)))),
        bail());
  if (made) check_version(made->type);
  llvm::Value* depth = load(i32_, address(&s_.depth), 0);
  check(b_.CreateICmpSLT(depth, load(i32_, address(&s_.recursion_limit), 0)), bail());
  if (made) {  // the function has a reference, and who made it has another
    const auto* maker = reinterpret_cast<const void*>(&ouro_plain_new);
    check(call(maker, i1_, {session(), address(made->type), made->at}), leave(before_, pc, true));
    values[1] = load(i64_, made->at, kBitsAt);
    count_up(b_.CreateIntToPtr(values[1], ptr_));
  }
  b_.CreateStore(b_.CreateAdd(depth, b_.getInt32(1)), address(&s_.depth));
  for (size_t i = first; i < params.size(); ++i) {  // the function owns its arguments: one that dies is handed over
    if (params[i].kind != Kind::held) continue;
    const bool argument = i - first < given.size();
    if (argument && given[i - first].operand.use == Use::dies)
      store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg_at(given[i - first].operand.at), kTagAt);
    else
      count_up(b_.CreateIntToPtr(values[i + 1], ptr_));
  }
  stand_at(pc);
  if (callee.held) values.push_back(load(ptr_, reg_at(callee.of.at), kBitsAt));
  llvm::Value* r = b_.CreateCall(body->fn, values);
  std::ranges::fill(classes_, nullptr);
  b_.CreateStore(depth, address(&s_.depth));
  llvm::Value* status = b_.CreateExtractValue(r, {1});
  llvm::BasicBlock* other = make();
  check(b_.CreateICmpEQ(status, b_.getInt32(0)), other);
  const auto used_by_call = [&] {
    for (const Operand& o : operands) used(o.at, static_cast<uint8_t>(o.use));
    if (callee.held) used(callee.of.at, static_cast<uint8_t>(callee.of.use));
  };
  const auto ip = b_.saveIP();
  const State at_call = state();
  b_.SetInsertPoint(other);
  if (made)
    left_init(pc, status, *made);
  else
    left_call(in, pc, status, used_by_call);
  restore(at_call);
  b_.restoreIP(ip);
  used_by_call();
  if (made) {
    constructed(in, *made, *body);
  } else if (body->gives->kind == Kind::held) {
    release(in.dst);
    from_spare(in.dst);
    holds(in.dst, body->gives->object);
  } else {
    put_bits(in.dst, b_.CreateExtractValue(r, {0}), body->gives->kind);
  }
  look_at_requests(UINT32_MAX, pc);
  looked_ = true;
  return After::next;
}

void Translator::from_spare(int32_t r) {
  llvm::Value* reg = reg_at(r);
  store(load(i64_, spare(), 0), reg, 0);
  store(load(i64_, spare(), kBitsAt), reg, kBitsAt);
  store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), spare(), kTagAt);
}

// A class without a `__new__` of its own: its object is made here, and `__init__` is called as any function.
Translator::After Translator::call_class(const Instr& in, runtime::Type* type, const Operand* args, uint32_t count,
                                         uint32_t pc) {
  Value init;
  if (!type->shape || type->has_del || !runtime::plain_class(s_, type, init)) return After::untranslated;
  if (runtime::metaclass_of(s_, type) != s_.type(ObjectKind::type)) return After::untranslated;
  const runtime::Function* f = init.as<runtime::Function>();
  if (holds_objects(init)) return After::untranslated;
  const auto given = arrange({f}, call_of(in), 0, args, count, 1);
  if (!given) return After::untranslated;
  const New made{type, bare_example(type), two_words()};
  keep(type);
  return call_function(in, {f}, *given, {args, count}, pc, &made);
}

runtime::Instance* Translator::bare_example(runtime::Type* type) {
  for (const Value& v : examples_)
    if (auto* i = runtime::cast_exact<runtime::Instance>(v); i && i->type == type && i->shape == type->shape) return i;
  examples_.push_back(runtime::new_instance(s_, type));
  return examples_.back().as<runtime::Instance>();
}

// The class, its bases and what stands in them are what they were.
void Translator::check_version(const runtime::Type* type) {
  check(b_.CreateICmpEQ(load(i32_, address(&type->version), 0), b_.getInt32(type->version)), bail());
}

// The register gets the object that was made.
void Translator::constructed(const Instr& in, const New& made, const Body& body) {
  release(in.dst);
  store(load(i64_, made.at, kTagAt), reg_at(in.dst), kTagAt);
  store(load(i64_, made.at, kBitsAt), reg_at(in.dst), kBitsAt);
  holds(in.dst, body.made ? body.made : made.like);
}

// An `__init__` raised, 2, or gave something, 1.
void Translator::left_init(uint32_t pc, llvm::Value* status, const New& made) {
  llvm::BasicBlock *value = make(), *raised = leave(before_, pc, true);
  let_go(made.at);
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(1)), value, raised);
  b_.SetInsertPoint(value);
  call(reinterpret_cast<const void*>(&ouro_plain_no_init), b_.getVoidTy(), {session(), spare()});
  b_.CreateBr(raised);
}

// The called function gave something of another kind: 1, a value for the call's register, or 2, an exception.
void Translator::left_call(const Instr& in, uint32_t pc, llvm::Value* status,
                           const std::function<void()>& used_by_call) {
  llvm::BasicBlock* value = make();
  b_.CreateCondBr(b_.CreateICmpEQ(status, b_.getInt32(1)), value, leave(before_, pc, true));
  b_.SetInsertPoint(value);
  used_by_call();
  release(in.dst);
  from_spare(in.dst);
  holds(in.dst, nullptr);
  look_at_requests(UINT32_MAX, pc);
  if (narrow(in.dst, {}, pc + 1) == After::next) b_.CreateBr(block(pc + 1, types_));
}

// What the register holds goes to `to`, and what other registers own is let go of where there is no frame to do it.
void Translator::return_held(const Instr& in, llvm::Value* to) {
  if (in.a < 0) {
    count_up(address(constant(in.a).object()));
    store(b_.getInt8(static_cast<uint8_t>(Tag::object)), to, kTagAt);
    store(b_.getInt64(static_cast<uint64_t>(constant(in.a).bits())), to, kBitsAt);
  } else if (type(in.a).kind == Kind::known) {
    llvm::Value* o = address(type(in.a).object);
    count_up(o);
    store(b_.getInt8(static_cast<uint8_t>(Tag::object)), to, kTagAt);
    store(b_.CreatePtrToInt(o, i64_), to, kBitsAt);
  } else {
    llvm::Value* from = reg_at(in.a);
    store(load(i64_, from, 0), to, 0);
    store(load(i64_, from, kBitsAt), to, kBitsAt);
    store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), from, kTagAt);
    types_[static_cast<size_t>(in.a)] = {};
  }
}

Translator::After Translator::return_(const Instr& in) {
  const RegType t = type(in.a);
  const bool object = t.kind == Kind::held || t.kind == Kind::known;
  if (!is_unboxed(t.kind) && !object) return After::untranslated;
  if (now_->outer) {
    llvm::Value* to = now_->fn->getArg(2);
    if (object) {
      if (t.kind == Kind::held)
        check(b_.CreateICmpNE(load(i8_, reg_at(in.a), kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::unbound))), bail());
      return_held(in, to);
    } else {
      store(b_.getInt8(static_cast<uint8_t>(tag_of(t.kind))), to, kTagAt);
      store(bits(in.a), to, kBitsAt);
    }
    end(End::returned, b_.getInt32(at_));
    return After::ended;
  }
  if (!now_->gives) now_->gives = object ? RegType{Kind::held, t.object} : RegType{t.kind}, results_moved_ = true;
  // Of a kind that is not known: anything is expected, and is where objects are.
  const bool any = now_->gives->kind == Kind::held && !now_->gives->object;
  const bool same =
      object && t.object && now_->gives->object && now_->gives->object->object_kind() == t.object->object_kind();
  const bool expected = any || (object ? now_->gives->kind == Kind::held && same : now_->gives->kind == t.kind);
  if (object) {
    return_held(in, spare());
  } else if (!expected || any) {
    store(b_.getInt8(static_cast<uint8_t>(tag_of(t.kind))), spare(), kTagAt);
    store(bits(in.a), spare(), kBitsAt);
  }
  llvm::Value* value = object || !expected || any ? b_.getInt64(0) : bits(in.a);
  for (size_t r = 0; r < types_.size(); ++r) release(static_cast<int32_t>(r));
  give(value, b_.getInt32(expected ? 0 : 1));
  return After::ended;
}

}  // namespace ouro::jit::plain
