// Instructions that are done by the interpreter's own code, in place: texts, dicts, tuples, calls of what is not
// translated, whatever else has no machine code of its own (runtime/interpreter/step.cpp). Their operands are put into
// memory, and what they give is looked at: a number goes on unboxed.
//
// What an instruction will give is guessed from examples: what the list, the dict or the instance holds that is there
// at the time of translation, and what the frame's register holds. Where it is something else, the interpreter goes on
// behind the instruction. Where nothing is known, it stays in memory, and what is done with it is a step.
#include <algorithm>

#include "jit/emit/operands.h"
#include "jit/emit/translator.h"
#include "runtime/object/alloc.h"
#include "runtime/object/ops.h"

namespace ouro::jit::plain {

namespace {

constexpr bool is_condition(I op) {
  return (op >= I::if_not_eq && op < I::if_not_truth) || op == I::if_truth || op == I::if_not_truth;
}

}  // namespace

// Tensors are the other compiler's.
bool Translator::may_be_tensor(uint32_t pc) const {
  bool found = false;
  operands_of(*now_->code, pc, [&](uint32_t r, Use) {
    const RegType& t = types_[r];
    found = found || (t.kind == Kind::held && t.object && t.object->object_kind() == ObjectKind::tensor);
  });
  return found;
}

bool Translator::steps(const Instr& in, uint32_t pc) {
  const bool own = is_condition(in.op) || in.op == I::slice_get || in.op == I::for_iter;
  if ((!own && !runtime::step_of(in.op)) || may_be_tensor(pc)) return false;
  const Site* x = in.op == I::global_set ? &now_->code->sites[static_cast<size_t>(in.b)] : nullptr;
  return !x || x->cache.owner == now_->globals;
}

// ---------------------------------------------------------------- operands

void Translator::to_memory(int32_t r) {
  RegType& t = types_[static_cast<size_t>(r)];
  switch (t.kind) {
    case Kind::integer:
    case Kind::floating:
    case Kind::boolean:
    case Kind::none:
    case Kind::unbound:
      if (behind_[static_cast<size_t>(r)]) write_back_one(static_cast<size_t>(r));
      break;
    case Kind::known:
      count_up(address(t.object));
      store(b_.getInt8(static_cast<uint8_t>(Tag::object)), reg_at(r), kTagAt);
      store(b_.getInt64(reinterpret_cast<uint64_t>(t.object)), reg_at(r), kBitsAt);
      holds(r, t.object);
      break;
    case Kind::range:
    case Kind::steps: {
      const auto& three = now_->ranges[static_cast<size_t>(r)];
      const bool range = t.kind == Kind::range;
      store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg_at(r), kTagAt);
      call(range ? reinterpret_cast<const void*>(&ouro_plain_range) : reinterpret_cast<const void*>(&ouro_plain_steps),
           b_.getVoidTy(),
           {session(), reg_at(r), b_.CreateLoad(i64_, three[0]), b_.CreateLoad(i64_, three[1]),
            b_.CreateLoad(i64_, three[2])});
      examples_.push_back(range ? runtime::make_range(0, 1, 1)
                                : runtime::make_iterator(runtime::kRangeIterator, Value(), 0, 1, 1));
      holds(r, examples_.back().object());
      break;
    }
    case Kind::unset:
    case Kind::stale:
    case Kind::held:
      break;
  }
}

// What an instruction reads, and the register that it writes, into memory. What is in the registers where it fails:
// the interpreter's code may have taken operands that die.
Types Translator::into_memory(uint32_t pc) {
  const Instr& in = now_->code->instrs[pc];
  std::vector<uint32_t> dying;
  operands_of(*now_->code, pc, [&](uint32_t r, Use use) {
    to_memory(static_cast<int32_t>(r));
    if (use != Use::keep && types_[r].kind == Kind::held) dying.push_back(r);
  });
  if (in.op == I::slice_get) {
    const Instr& get = now_->code->instrs[pc + 1];
    if (get.a >= 0) to_memory(get.a);
  }
  Types failed = types_;
  for (uint32_t r : dying) failed[r] = {Kind::stale};
  return failed;
}

void Translator::forget_operands(uint32_t pc) {
  operands_of(*now_->code, pc, [&](uint32_t r, Use use) {
    if (use != Use::dies) return;
    RegType& t = types_[r];
    in_memory_[r] = Kind::unset;  // it may have been moved
    t = {t.kind == Kind::held || t.kind == Kind::stale ? Kind::stale : Kind::unset};
  });
}

llvm::Value* Translator::step_call(const void* helper, llvm::Type* gives, uint32_t pc) {
  llvm::Value* closure =
      now_->outer ? static_cast<llvm::Value*>(llvm::ConstantPointerNull::get(b_.getPtrTy())) : function_of(*now_);
  std::ranges::fill(classes_, nullptr);
  return call(helper, gives, {session(), closure, reg_at(0), address(&now_->code->instrs[pc])});
}

// ---------------------------------------------------------------- instructions

Translator::After Translator::step(const Instr& in, uint32_t pc) {
  if (is_condition(in.op)) {
    llvm::Value* r = step_condition(in, pc);
    const auto target = static_cast<uint32_t>(in.dst);
    return in.op == I::if_truth ? fork(r, target, pc + 1) : fork(r, pc + 1, target);
  }
  if (in.op == I::slice_get) return step_slice(in, pc);
  if (in.op == I::for_iter) return step_iterator(in, pc);
  const Expected like = expected(in);
  const int32_t dst = written_by(in);
  const Types failed = into_memory(pc);
  const runtime::Step of = runtime::step_of(in.op);
  llvm::Value* done = nullptr;
  std::ranges::fill(classes_, nullptr);
  if (now_->outer) {
    done = call(reinterpret_cast<const void*>(of), i1_, {session(), frame(), address(&in)});
  } else {
    done = call(reinterpret_cast<const void*>(&ouro_plain_step), i1_,
                {session(), function_of(*now_), reg_at(0), address(&in), address(reinterpret_cast<const void*>(of))});
  }
  check(done, leave(failed, pc, true));
  forget_operands(pc);
  holds(dst, nullptr);
  look_at_requests(Session::kFinalizers, pc);
  looked_ = true;
  if (in.op == I::method_get) {  // mostly there is nothing: the call looks it up
    const auto none = b_.getInt8(static_cast<uint8_t>(Tag::unbound));
    check(b_.CreateICmpEQ(load(i8_, reg_at(dst), kTagAt), none), leave(types_, pc + 1));
    types_[static_cast<size_t>(dst)] = {Kind::unbound};
    return After::next;
  }
  return narrow(dst, like, pc + 1);
}

llvm::Value* Translator::step_condition(const Instr& in, uint32_t pc) {
  if (llvm::Value* r = texts_differ(in, pc)) return r;
  if (llvm::Value* r = truth_in_memory(in, pc)) return r;
  const Types failed = into_memory(pc);
  llvm::Value* r = step_call(reinterpret_cast<const void*>(&ouro_plain_condition), i32_, pc);
  check(b_.CreateICmpSGE(r, b_.getInt32(0)), leave(failed, pc, true));
  forget_operands(pc);
  return b_.CreateICmpNE(r, b_.getInt32(0));
}

// Whether two texts are equal: mostly their sizes or their first bytes tell.
llvm::Value* Translator::texts_differ(const Instr& in, uint32_t pc) {
  if (in.op != I::if_not_eq && in.op != I::if_not_ne) return nullptr;
  const auto text = [&](int32_t a) -> llvm::Value* {
    const RegType t = type(a);
    if (!t.object || t.object->object_kind() != ObjectKind::str || (a >= 0 && t.kind != Kind::held)) return nullptr;
    return a >= 0 ? load(ptr_, reg_at(a), kBitsAt) : address(t.object);
  };
  llvm::Value *a = text(in.a), *b = text(in.b);
  if (!a || !b) return nullptr;
  constexpr uint64_t kSize = offsetof(runtime::Str, size), kData = offsetof(runtime::Str, data);
  llvm::Value* same = b_.CreateICmpEQ(a, b);
  llvm::Value *size = load(i64_, a, kSize), *any = b_.CreateICmpNE(size, b_.getInt64(0));
  llvm::Value* first = b_.CreateAnd(any, b_.CreateICmpNE(load(i8_, a, kData), load(i8_, b, kData)));
  llvm::Value* differ = b_.CreateOr(b_.CreateICmpNE(size, load(i64_, b, kSize)), first);
  return asked_where_not(b_.CreateOr(same, differ), in.op == I::if_not_eq ? same : b_.CreateNot(same), pc);
}

// The truth of something that nothing is known of: of None, numbers, containers and most instances it is read.
llvm::Value* Translator::truth_in_memory(const Instr& in, uint32_t pc) {
  if ((in.op != I::if_truth && in.op != I::if_not_truth) || in.a < 0 || type(in.a).kind != Kind::held) return nullptr;
  llvm::Value* r = call(reinterpret_cast<const void*>(&ouro_plain_truth), i32_, {session(), reg_at(in.a)});
  return asked_where_not(b_.CreateICmpSGE(r, b_.getInt32(0)), b_.CreateICmpEQ(r, b_.getInt32(1)), pc);
}

// A condition's answer, or the interpreter's where it is not known. (The operands are in memory.)
llvm::Value* Translator::asked_where_not(llvm::Value* known, llvm::Value* answer, uint32_t pc) {
  llvm::BasicBlock *others = make(), *alike = make(), *knows = make();
  b_.CreateCondBr(known, knows, others);
  b_.SetInsertPoint(knows);
  operands_of(*now_->code, pc, [&](uint32_t r, Use use) {  // as the interpreter's code lets go of them
    if (use == Use::dies && types_[r].kind == Kind::held) let_go(reg_at(static_cast<int32_t>(r)));
  });
  llvm::BasicBlock* from_known = b_.GetInsertBlock();
  b_.CreateBr(alike);
  b_.SetInsertPoint(others);
  const Types failed = into_memory(pc);
  llvm::Value* r = step_call(reinterpret_cast<const void*>(&ouro_plain_condition), i32_, pc);
  check(b_.CreateICmpSGE(r, b_.getInt32(0)), leave(failed, pc, true));
  llvm::Value* asked = b_.CreateICmpNE(r, b_.getInt32(0));
  llvm::BasicBlock* from_others = b_.GetInsertBlock();
  b_.CreateBr(alike);
  b_.SetInsertPoint(alike);
  llvm::PHINode* out = b_.CreatePHI(i1_, 2);
  out->addIncoming(asked, from_others);
  out->addIncoming(answer, from_known);
  forget_operands(pc);
  return out;
}

// A slice and the item of it, which are one.
Translator::After Translator::step_slice(const Instr&, uint32_t pc) {
  const Instr& get = now_->code->instrs[pc + 1];
  const RegType of = type(get.a);
  const Types failed = into_memory(pc);
  llvm::Value* r = step_call(reinterpret_cast<const void*>(&ouro_plain_slice), i32_, pc);
  check(b_.CreateICmpNE(r, b_.getInt32(0)), leave(types_, pc));
  check(b_.CreateICmpSGT(r, b_.getInt32(0)), leave(failed, pc, true));
  if (get.a >= 0 && get.a != get.dst && get.use_a == static_cast<uint8_t>(Use::dies))
    types_[static_cast<size_t>(get.a)] = {Kind::stale};
  holds(get.dst, nullptr);
  look_at_requests(Session::kFinalizers, pc + 1);
  looked_ = true;
  Expected like;
  if (of.kind == Kind::held && of.object) like = {true, Value::share(of.object)};
  const After after = narrow(get.dst, like, pc + 2);
  return after == After::next ? jump(pc + 2) : after;
}

Translator::After Translator::step_iterator(const Instr& in, uint32_t pc) {
  const RegType of = type(in.a);
  Expected like;
  if (of.kind == Kind::held && of.object)
    if (auto* it = runtime::cast_iterator(Value::share(of.object)); it && it->def) like = next_of_example(*it);
  const Types failed = into_memory(pc);
  llvm::Value* r = step_call(reinterpret_cast<const void*>(&ouro_plain_next), i32_, pc);
  check(b_.CreateICmpSGE(r, b_.getInt32(0)), leave(failed, pc, true));
  llvm::BasicBlock *some = make(), *over = make();
  b_.CreateCondBr(b_.CreateICmpNE(r, b_.getInt32(0)), some, over);
  b_.SetInsertPoint(over);
  const Types as_was = types_;
  types_[static_cast<size_t>(in.a)] = {Kind::stale};
  b_.CreateBr(block(static_cast<uint32_t>(in.dst), types_));
  types_ = as_was;
  b_.SetInsertPoint(some);
  holds(in.b, nullptr);
  const After after = narrow(in.b, like, pc + 1);
  return after == After::next ? jump(pc + 1) : after;
}

// ---------------------------------------------------------------- what comes out

void Translator::narrowed(int32_t r, Tag tag, runtime::Object* like) {
  const Kind k = kind_of_tag(tag);
  if (k == Kind::held) return holds(r, like);
  llvm::Value* v = load(i64_, reg_at(r), kBitsAt);
  types_[static_cast<size_t>(r)] = {k};
  behind_[static_cast<size_t>(r)] = false;
  in_memory_[static_cast<size_t>(r)] = k;
  if (k == Kind::floating) b_.CreateStore(b_.CreateBitCast(v, f64_), now_->floats[static_cast<size_t>(r)]);
  if (is_word(k)) b_.CreateStore(v, now_->words[static_cast<size_t>(r)]);
}

// The register holds what has come out of an instruction, in memory. `next`: where it goes on.
Translator::After Translator::narrow(int32_t r, const Expected& expected, uint32_t next) {
  if (!now_->live->at(next, static_cast<uint32_t>(r))) {
    types_[static_cast<size_t>(r)] = {Kind::stale};
    return After::next;
  }
  llvm::Value* tag = load(i8_, reg_at(r), kTagAt);
  const auto is = [&](Tag t) { return b_.CreateICmpEQ(tag, b_.getInt8(static_cast<uint8_t>(t))); };
  const bool known = !expected.like.is_unbound() && !expected.like.is_error() && !expected.like.is_end();
  if (known || expected.object) {
    const Tag t = known ? expected.like.tag() : Tag::object;
    llvm::BasicBlock* other = leave(types_, next);
    if (known)
      check_like(reg_at(r), expected.like, other);
    else
      check(is(t), other);
    if (known && t == Tag::object) examples_.push_back(expected.like);
    narrowed(r, t, known && t == Tag::object ? expected.like.object() : nullptr);
    return After::next;
  }
  ++unknown_;
  return After::next;
}

// ---------------------------------------------------------------- examples

Value Translator::example(int32_t a) const {
  const RegType t = type(a);
  switch (t.kind) {
    case Kind::integer:
      return Value::integer(0);
    case Kind::floating:
      return Value::floating(0);
    case Kind::boolean:
      return Value::boolean(false);
    case Kind::none:
      return Value::none();
    case Kind::known:
    case Kind::held:
      return t.object ? Value::share(t.object) : Value();
    default:
      return {};
  }
}

Translator::Expected Translator::item_of_example(const RegType& container, int32_t key) {
  if ((container.kind != Kind::held && container.kind != Kind::known) || !container.object) return {};
  const auto among = [&](const Value* items, size_t n) -> Expected {
    if (n == 0) return {};
    size_t i = 0;
    if (key < 0 && constant(key).is_int()) {
      const int64_t asked = constant(key).as_int();
      const int64_t from_start = asked < 0 ? asked + static_cast<int64_t>(n) : asked;
      if (from_start >= 0 && static_cast<size_t>(from_start) < n) i = static_cast<size_t>(from_start);
    }
    return {false, items[i]};
  };
  switch (container.object->object_kind()) {
    case ObjectKind::list: {
      const auto* l = static_cast<const runtime::List*>(container.object);
      return among(l->items, l->size);
    }
    case ObjectKind::tuple: {
      const auto* t = static_cast<const runtime::Tuple*>(container.object);
      return among(t->items(), t->size);
    }
    case ObjectKind::str:
      return {true, Value::share(container.object)};
    case ObjectKind::bytes:
      return {false, Value::integer(0)};
    case ObjectKind::dict: {
      const auto* d = static_cast<const runtime::Dict*>(container.object);
      for (uint32_t i = 0; i < d->filled; ++i)
        if (!d->entries[i].key.is_unbound()) return {false, d->entries[i].value};
      return {};
    }
    default:
      return {};
  }
}

// What an iterator like this gives.
Translator::Expected Translator::next_of_example(const runtime::Iterator& it) {
  if (it.def == &runtime::kRangeIterator) return {false, Value::integer(0)};
  if (it.def == &runtime::kListIterator || it.def == &runtime::kTupleIterator || it.def == &runtime::kAsciiIterator)
    return it.source.is_object() ? item_of_example({Kind::held, it.source.object()}, 0) : Expected{};
  std::vector<Value> items;
  const auto add = [&](const Value& of) {
    auto* one = runtime::cast_iterator(of);
    items.push_back(one && one->def ? next_of_example(*one).like : Value());
  };
  if (it.def && it.def->type_name == "enumerate") {
    items.push_back(Value::integer(0));
    add(it.source);
  } else if (it.def && it.def->type_name == "zip") {
    for (const Value& of : it.more) add(of);
  }
  const bool known = std::ranges::none_of(items, [](const Value& v) { return v.is_unbound(); });
  if (items.empty() || !known) return {};
  return {true, runtime::make_tuple(std::span<const Value>(items))};
}

// An iterator over built-in containers that are there: to make it changes nothing.
Translator::Expected Translator::iterator_of_examples(runtime::Object* maker, const Operand* args, uint32_t count) {
  std::vector<Value> of;
  for (uint32_t i = 0; i < count; ++i) {
    of.push_back(example(args[i].at));
    switch (runtime::kind_of(of.back())) {
      case ObjectKind::list:
      case ObjectKind::tuple:
      case ObjectKind::str:
        break;
      default:
        return {true, {}};
    }
  }
  Value made = maker ? runtime::call(s_, Value::share(maker), of) : runtime::iter(s_, of[0]);
  if (!made.is_error()) return {true, std::move(made)};
  s_.pending = Value();
  return {true, {}};
}

Translator::Expected Translator::result_of_call(const RegType& callee, const Operand* args, uint32_t count) {
  if (callee.kind != Kind::known) return {};
  runtime::Object* f = callee.object;
  for (const char* name : {"enumerate", "zip"})
    if (is_builtin(f, name)) return iterator_of_examples(f, args, count);
  for (const char* name : {"str", "repr", "chr", "sorted", "list", "tuple", "dict", "set", "enumerate", "zip",
                           "reversed", "iter", "bytes"})
    if (is_builtin(f, name)) return {true, {}};
  for (const char* name : {"ord", "len", "hash", "id", "round"})
    if (is_builtin(f, name) && count == 1) return {false, Value::integer(0)};
  for (const char* name : {"isinstance", "bool", "hasattr", "callable", "any", "all"})
    if (is_builtin(f, name)) return {false, Value::boolean(false)};
  if (is_builtin(f, "print")) return {false, Value::none()};
  if (is_builtin(f, "float")) return {false, Value::floating(0)};
  if (is_builtin(f, "int")) return {false, Value::integer(0)};
  if ((is_builtin(f, "abs") || is_builtin(f, "min") || is_builtin(f, "max")) && count >= 2)
    return {false, example(args[0].at)};
  if (f->object_kind() == ObjectKind::type) return {true, {}};
  return {};
}

namespace {
struct MethodGives {
  ObjectKind of;
  std::string_view name;
  enum : uint8_t { none, integer, boolean, object, self, item } gives;
};
constexpr MethodGives kMethods[] = {
    {ObjectKind::list, "append", MethodGives::none},       {ObjectKind::list, "extend", MethodGives::none},
    {ObjectKind::list, "insert", MethodGives::none},       {ObjectKind::list, "sort", MethodGives::none},
    {ObjectKind::list, "reverse", MethodGives::none},      {ObjectKind::list, "remove", MethodGives::none},
    {ObjectKind::list, "clear", MethodGives::none},        {ObjectKind::list, "pop", MethodGives::item},
    {ObjectKind::list, "index", MethodGives::integer},     {ObjectKind::list, "count", MethodGives::integer},
    {ObjectKind::list, "copy", MethodGives::self},         {ObjectKind::dict, "get", MethodGives::item},
    {ObjectKind::dict, "setdefault", MethodGives::item},   {ObjectKind::dict, "items", MethodGives::object},
    {ObjectKind::dict, "keys", MethodGives::object},       {ObjectKind::dict, "values", MethodGives::object},
    {ObjectKind::dict, "update", MethodGives::none},       {ObjectKind::dict, "copy", MethodGives::self},
    {ObjectKind::set, "add", MethodGives::none},           {ObjectKind::set, "discard", MethodGives::none},
    {ObjectKind::set, "remove", MethodGives::none},        {ObjectKind::str, "join", MethodGives::self},
    {ObjectKind::str, "lower", MethodGives::self},         {ObjectKind::str, "upper", MethodGives::self},
    {ObjectKind::str, "strip", MethodGives::self},         {ObjectKind::str, "replace", MethodGives::self},
    {ObjectKind::str, "find", MethodGives::integer},       {ObjectKind::str, "split", MethodGives::object},
    {ObjectKind::str, "isdigit", MethodGives::boolean},    {ObjectKind::str, "isalpha", MethodGives::boolean},
    {ObjectKind::str, "isspace", MethodGives::boolean},    {ObjectKind::str, "isalnum", MethodGives::boolean},
    {ObjectKind::str, "startswith", MethodGives::boolean}, {ObjectKind::str, "endswith", MethodGives::boolean},
};
}  // namespace

// What a variable holds now, from the turn before. (A register of nameless values may have held anything.)
Translator::Expected Translator::now_in(int32_t r) const {
  if (!now_->outer || !frame_now_ || r < 0 || frame_now_[r].is_unbound()) return {};
  const auto& names = now_->code->function->names;
  for (size_t i = 0; i < now_->code->reg_of.size(); ++i)
    if (now_->code->reg_of[i] == r && !names[i].hint) return {};
  return {false, frame_now_[r]};
}

Translator::Expected Translator::expected(const Instr& in) {
  const Code& code = *now_->code;
  const auto site = [&](int32_t i) -> const Site& { return code.sites[static_cast<size_t>(i)]; };
  const auto kind = [&](int32_t a) {
    const RegType t = type(a);
    return (t.kind == Kind::held || t.kind == Kind::known) && t.object ? t.object->object_kind() : ObjectKind::none;
  };
  Expected guess;
  switch (in.op) {
#define COMPARE(id, ...) case I::id:
#include "ir/operators.inc"
    case I::in:
    case I::not_in:
    case I::truth:
    case I::not_:
      return {false, Value::boolean(false)};
    case I::add:
    case I::iadd:
    case I::mul:
    case I::imul:
    case I::mod: {
      const ObjectKind k = kind(in.a);
      if (k == ObjectKind::str || k == ObjectKind::list || k == ObjectKind::tuple) guess = {true, example(in.a)};
      break;
    }
    case I::item_get:
      guess = item_of_example(type(in.a), in.b);
      break;
    case I::tuple:
    case I::list: {
      const Site& x = site(in.a);
      std::vector<Value> items;
      for (uint32_t i = 0; i < x.count; ++i) {
        items.push_back(example(code.operands[x.first + i].at));
        if (items.back().is_unbound()) return {true, {}};
      }
      if (in.op == I::tuple) return {true, runtime::make_tuple(std::span<const Value>(items))};
      return {true, runtime::make_list(std::span<const Value>(items))};
    }
    case I::set:
    case I::dict:
    case I::function:
    case I::cell_new:
    case I::list_to_tuple:
      guess = {true, {}};
      break;
    case I::iter: {
      const Operand of{in.a, Use::keep};
      const Value e = example(in.a);
      guess = runtime::cast_iterator(e) ? Expected{true, e} : iterator_of_examples(nullptr, &of, 1);
      break;
    }
    case I::format:
    case I::str_concat:
      return {true, runtime::make_str("")};
    case I::unpack:
    case I::unpack_two:
    case I::unpack_star:
      guess = {true, kind(in.a) == ObjectKind::tuple && in.op != I::unpack_star ? example(in.a) : Value()};
      break;
    case I::call: {
      const Site& x = site(in.a);
      const Operand* ops = code.operands.data() + x.first;
      guess = result_of_call(type(ops->at), ops + 1, x.count - 1);
      break;
    }
    case I::call_loaded:
    case I::call_method: {
      const Site& x = site(in.a);
      const Operand* ops = code.operands.data() + x.first;
      const ObjectKind k = kind(ops->at);
      const std::string name = code.function->calls[x.attr].method.str();
      for (const MethodGives& m : kMethods) {
        if (m.of != k || m.name != name) continue;
        switch (m.gives) {
          case MethodGives::none:
            return {false, Value::none()};
          case MethodGives::integer:
            return {false, Value::integer(0)};
          case MethodGives::boolean:
            return {false, Value::boolean(false)};
          case MethodGives::object:
            return {true, {}};
          case MethodGives::self:
            return {true, example(ops->at)};
          case MethodGives::item:
            guess = item_of_example(type(ops->at), 0);
            if (k == ObjectKind::dict && x.count == 3 && guess.like.is_unbound()) guess = {false, example(ops[2].at)};
        }
      }
      break;
    }
    case I::update: {  // of a container that stays what it is
      const Operand& root = code.operands[site(in.a).first];
      if (root.at == in.dst) guess = {true, example(in.dst)};
      break;
    }
    default:
      break;
  }
  if (guess.object || !guess.like.is_unbound()) {
    return guess;
  }
  return now_in(written_by(in));
}

}  // namespace ouro::jit::plain
