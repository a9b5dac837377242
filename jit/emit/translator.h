// The translation of register code to LLVM's (plain_code.h): places, values and ends; instructions.cpp has the
// instructions. A register is two slots of memory, for ints and bools and for floats, which
// LLVM turns into machine registers; which of them counts at a place is in the place's types.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/emit/plain_calls.h"
#include "jit/emit/plain_code.h"
#include "runtime/object/native.h"
#include "runtime/object/operators.h"
#include "runtime/object/quick_step.h"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace ouro::jit::plain {

using runtime::BinOp;
using runtime::CmpOp;
using runtime::Code;
using runtime::I;
using runtime::Instr;
using runtime::ObjectKind;
using runtime::Operand;
using runtime::Site;
using runtime::Tag;
using runtime::Use;

constexpr size_t kMostVersions = 6;  // of one place
constexpr size_t kMostBlocks = 600;
constexpr size_t kMostFunctions = 32;
constexpr size_t kWorthACall = 16;            // instructions: what entering a translation takes
constexpr int64_t kExact = int64_t{1} << 53;  // below this a float holds every int
constexpr uint64_t kTagAt = 0, kBitsAt = 8, kKindAt = offsetof(runtime::ObjectHeader, kind);
static_assert(sizeof(Value) == 16);

using Types = std::vector<RegType>;
using Pred = llvm::CmpInst::Predicate;

constexpr bool is_number(Kind k) { return k == Kind::integer || k == Kind::floating || k == Kind::boolean; }
constexpr bool is_word(Kind k) { return k == Kind::integer || k == Kind::boolean; }
constexpr bool is_unboxed(Kind k) { return is_number(k) || k == Kind::none; }
constexpr Tag tag_of(Kind k) {
  return k == Kind::integer    ? Tag::integer
         : k == Kind::floating ? Tag::floating
         : k == Kind::boolean  ? Tag::boolean
                               : Tag::none;
}
inline Kind kind_of_tag(Tag t) {
  return t == Tag::integer    ? Kind::integer
         : t == Tag::floating ? Kind::floating
         : t == Tag::boolean  ? Kind::boolean
         : t == Tag::none     ? Kind::none
                              : Kind::held;
}

// One function being translated: the frame's own (`outer`), or one of numbers that it calls.
struct Body {
  const runtime::Function* closure = nullptr;
  const Code* code = nullptr;
  runtime::Module* globals = nullptr;
  const Liveness* live = nullptr;
  std::vector<Kind> params;  // of an inner one
  bool outer = false;
  llvm::Function* fn = nullptr;
  llvm::BasicBlock* entry = nullptr;
  std::vector<llvm::AllocaInst*> words, floats;
  std::vector<std::array<llvm::AllocaInst*, 3>> ranges;
  llvm::AllocaInst* spilled = nullptr;  // of an inner one: the registers that a frame gets
  std::map<std::pair<uint32_t, std::vector<uint64_t>>, llvm::BasicBlock*> blocks;
  std::map<uint32_t, size_t> versions;
  struct Todo {
    uint32_t pc;
    Types types;
    llvm::BasicBlock* block;
  };
  std::deque<Todo> todo, waiting;  // waiting: for the kind of an inner function's result
  std::vector<bool> leaders;
  std::optional<Kind> gives;
};

class Translator {
 public:
  Translator(Session& s, backends::HostJit& jit, Value* spare)
      : s_(s), jit_(jit), spare_(spare), module_("plain", context_), b_(context_) {
    i1_ = b_.getInt1Ty(), i8_ = b_.getInt8Ty(), i32_ = b_.getInt32Ty(), i64_ = b_.getInt64Ty();
    f64_ = b_.getDoubleTy(), ptr_ = b_.getPtrTy();
  }

  bool run(const runtime::Function* closure, const Code& code, runtime::Module* globals, uint32_t pc,
           const Types& types, const Liveness& live);

  bool gains() const { return turns_ > 0 || bodies_.size() > 1 || instructions_ >= kWorthACall; }
  size_t blocks() const { return count_; }
  std::vector<Value> take_kept() { return std::move(kept_); }

  std::string compile(std::string& error);

 private:
  // ---------------------------------------------------------------- bodies and places

  void open(Body& body);

  bool finish_all();

  void work(Body& body) {
    now_ = &body;
    while (!body.todo.empty()) {
      Body::Todo t = std::move(body.todo.front());
      body.todo.pop_front();
      place(t);
    }
  }

  std::vector<uint64_t> key_of(const Types& types) const {
    std::vector<uint64_t> key;
    for (const RegType& t : types)
      key.push_back(static_cast<uint64_t>(t.kind) |
                    (t.kind == Kind::known ? reinterpret_cast<uint64_t>(t.object) << 8 : 0));
    return key;
  }

  // The place for these types; what is dead there has none.
  llvm::BasicBlock* block(uint32_t pc, Types types) {
    for (uint32_t r = 0; r < types.size(); ++r)
      if (types[r].kind != Kind::held && types[r].kind != Kind::stale && !now_->live->at(pc, r)) types[r] = {};
    const std::pair key(pc, key_of(types));
    if (auto known = now_->blocks.find(key); known != now_->blocks.end()) return known->second;
    if (++count_ > kMostBlocks || ++now_->versions[pc] > kMostVersions) return leave(types, pc);
    llvm::BasicBlock* made = llvm::BasicBlock::Create(context_, "", now_->fn);
    now_->blocks.emplace(key, made);
    now_->todo.push_back({pc, std::move(types), made});
    return made;
  }

  // ---------------------------------------------------------------- values

  llvm::Value* address(const void* p) { return b_.CreateIntToPtr(b_.getInt64(reinterpret_cast<uint64_t>(p)), ptr_); }
  llvm::Value* at(llvm::Value* base, uint64_t offset) {
    return offset ? b_.CreateConstInBoundsGEP1_64(i8_, base, offset) : base;
  }
  llvm::Value* load(llvm::Type* type, llvm::Value* base, uint64_t offset) {
    return b_.CreateLoad(type, at(base, offset));
  }
  void store(llvm::Value* v, llvm::Value* base, uint64_t offset) { b_.CreateStore(v, at(base, offset)); }
  llvm::Value* call(const void* f, llvm::Type* result, std::initializer_list<llvm::Value*> args) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* a : args) types.push_back(a->getType());
    return b_.CreateCall(llvm::FunctionType::get(result, types, false), address(f), args);
  }
  llvm::Value* session() { return now_->fn->getArg(0); }
  // A register of the frame, or of those that a frame is to get.
  llvm::Value* reg_at(int32_t r) {
    return at(now_->outer ? static_cast<llvm::Value*>(now_->fn->getArg(1)) : now_->spilled,
              static_cast<uint64_t>(r) * sizeof(Value));
  }

  const Value& constant(int32_t a) const { return now_->code->constants[static_cast<size_t>(~a)]; }
  RegType type(int32_t a) const {
    if (a >= 0) return types_[static_cast<size_t>(a)];
    const Value& v = constant(a);
    if (v.is_object()) return {Kind::known, v.object()};
    const Kind k = kind_of_tag(v.tag());
    return {k != Kind::held ? k : v.is_unbound() ? Kind::unbound : Kind::unset};
  }
  llvm::Value* word(int32_t a) {
    if (a < 0) return b_.getInt64(static_cast<uint64_t>(constant(a).bits()));
    return b_.CreateLoad(i64_, now_->words[static_cast<size_t>(a)]);
  }
  llvm::Value* floating(int32_t a) {  // an int that is not exact is rounded, as the interpreter does
    if (is_word(type(a).kind)) return b_.CreateSIToFP(word(a), f64_);
    if (a < 0) return llvm::ConstantFP::get(f64_, constant(a).as_float());
    return b_.CreateLoad(f64_, now_->floats[static_cast<size_t>(a)]);
  }
  llvm::Value* bits(int32_t a) {
    const Kind k = type(a).kind;
    return k == Kind::floating ? b_.CreateBitCast(floating(a), i64_) : is_word(k) ? word(a) : b_.getInt64(0);
  }
  // The frame's register gives up what it owns before the slot counts.
  void release(int32_t r) {
    const Kind k = types_[static_cast<size_t>(r)].kind;
    if (k != Kind::held && k != Kind::stale) return;
    llvm::Value* reg = reg_at(r);
    llvm::BasicBlock *owns = make(), *on = make();
    b_.CreateCondBr(b_.CreateICmpEQ(load(i8_, reg, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), owns, on);
    b_.SetInsertPoint(owns);
    call(reinterpret_cast<const void*>(&ouro_plain_drop), b_.getVoidTy(), {reg});
    b_.CreateBr(on);
    b_.SetInsertPoint(on);
  }
  void put(int32_t r, RegType t) {
    release(r);
    types_[static_cast<size_t>(r)] = t;
  }
  void put_word(int32_t r, llvm::Value* v, Kind k = Kind::integer) {
    put(r, {k});
    b_.CreateStore(v, now_->words[static_cast<size_t>(r)]);
  }
  void put_float(int32_t r, llvm::Value* v) {
    put(r, {Kind::floating});
    b_.CreateStore(v, now_->floats[static_cast<size_t>(r)]);
  }
  void put_bool(int32_t r, llvm::Value* v) { put_word(r, b_.CreateZExt(v, i64_), Kind::boolean); }
  void put_bits(int32_t r, llvm::Value* v, Kind k) {
    if (k == Kind::floating)
      put_float(r, b_.CreateBitCast(v, f64_));
    else if (k == Kind::none)
      put(r, {Kind::none});
    else
      put_word(r, v, k);
  }
  // An operand that dies: a number needs no more than to be forgotten.
  void used(int32_t a, uint8_t use) {
    if (a < 0 || use == static_cast<uint8_t>(Use::keep)) return;
    RegType& t = types_[static_cast<size_t>(a)];
    if (t.kind == Kind::held) {
      if (use != static_cast<uint8_t>(Use::dies)) return;
      put(a, {});
    } else if (t.kind != Kind::stale) {
      t = {};
    }
  }

  llvm::BasicBlock* make() { return llvm::BasicBlock::Create(context_, "", now_->fn); }
  // Goes on where `ok`, which is nearly always.
  void check(llvm::Value* ok, llvm::BasicBlock* otherwise) {
    llvm::BasicBlock* on = make();
    b_.CreateCondBr(ok, on, otherwise, llvm::MDBuilder(context_).createBranchWeights(4000, 1));
    b_.SetInsertPoint(on);
  }

  // ---------------------------------------------------------------- ends

  void keep(runtime::Object* o) { kept_.push_back(Value::share(o)); }

  // The slots into the registers of the frame, which own nothing where a slot counts.
  void spill(const Types& types, int32_t but = -1);

  void end(End how, uint32_t pc) { b_.CreateRet(b_.getInt64(static_cast<uint64_t>(how) << 32 | pc)); }

  // A place from which the interpreter goes on at `pc`.
  llvm::BasicBlock* leave(const Types& types, uint32_t pc) {
    llvm::BasicBlock* made = make();
    const auto back = b_.saveIP();
    b_.SetInsertPoint(made);
    spill(types);
    leave_spilled(pc, false);
    b_.restoreIP(back);
    return made;
  }
  void leave_spilled(uint32_t pc, bool raises);
  // Where a value is that is not of the expected kind.
  llvm::Value* spare() { return address(spare_); }
  llvm::StructType* result_type() { return llvm::StructType::get(context_, {i64_, i32_}); }
  void give(llvm::Value* value, llvm::Value* status) {
    llvm::Value* r = llvm::PoisonValue::get(result_type());
    r = b_.CreateInsertValue(r, value, {0});
    b_.CreateRet(b_.CreateInsertValue(r, status, {1}));
  }

  // ---------------------------------------------------------------- instructions (instructions.cpp)

  enum class After : uint8_t { next, ended, untranslated, waits };
  struct Number {
    Kind kind = Kind::unset;  // unset: not translated
    llvm::Value* v = nullptr;
    explicit operator bool() const { return kind != Kind::unset; }
  };
  void place(const Body::Todo& t);
  After instruction(const Instr& in, uint32_t pc);
  llvm::BasicBlock* bail();
  llvm::Value* requests();
  void look_at_requests(uint32_t mask, uint32_t pc);
  Number number(int32_t a);
  void put_number(int32_t r, Number n);
  llvm::Value* as_float(Number n) { return n.kind == Kind::floating ? n.v : b_.CreateSIToFP(n.v, f64_); }
  llvm::Value* as_bits(Number n) { return n.kind == Kind::floating ? b_.CreateBitCast(n.v, i64_) : n.v; }
  void check_exact(Number n);
  Number binary(BinOp op, Number a, Number b);
  Number by_runtime(BinOp op, Number a, Number b);
  llvm::Value* compare(CmpOp op, int32_t a, int32_t b);
  llvm::Value* is(int32_t a, int32_t b);
  llvm::Value* truth(int32_t a);
  After fork(llvm::Value* cond, uint32_t if_true, uint32_t if_false);
  After jump(uint32_t pc);
  After move(const Instr& in);
  After global_get(const Instr& in);
  After global_set(const Instr& in);
  After attr_get(const Instr& in);
  After attr_set(const Instr& in);
  After iter(const Instr& in);
  After for_iter(const Instr& in, uint32_t pc);
  After item_get(const Instr& in);
  llvm::Value* place_of(const Site& x, const ir::PlacePath& path, const Operand* ops, const Value*& like);
  After update(const Instr& in);
  After list_append(const Instr& in);
  After return_(const Instr& in);
  After call_known(const Instr& in, const RegType& callee, const Operand* args, uint32_t count, uint32_t pc);
  After call_builtin(const Instr& in, runtime::Object* f, const Operand* args, uint32_t count);
  After call_function(const Instr& in, const runtime::Function* f, const Operand* args, uint32_t count, uint32_t pc);
  bool is_builtin(const runtime::Object* f, std::string_view name);
  RegType module_member(const RegType& module, Symbol name);
  llvm::Value* held_object(int32_t a, ObjectKind kind);
  llvm::Value* item_of(llvm::Value* list, Number i);
  llvm::Value* slot_of(llvm::Value* instance, const runtime::Instance* like, int32_t slot);
  bool load_value(llvm::Value* from, const Value& like, const Instr& in, int32_t container, uint8_t use);
  void store_number(llvm::Value* to, Number n);
  Body* inner(const runtime::Function* f, const std::vector<Kind>& params);
  After left_call(const Instr& in, uint32_t pc, llvm::Value* status);

  Session& s_;
  backends::HostJit& jit_;
  Value* spare_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> b_;
  llvm::Type *i1_, *i8_, *i32_, *i64_, *f64_, *ptr_;
  std::deque<Body> bodies_;
  std::deque<Liveness> lives_;
  Body* now_ = nullptr;
  Types types_;   // where the translation stands
  Types before_;  // as they were before its instruction
  uint32_t at_ = 0;
  llvm::BasicBlock* bail_ = nullptr;
  std::vector<Value> kept_, examples_;
  size_t count_ = 0, turns_ = 0, instructions_ = 0;
  bool looked_ = false;  // for requests, behind the instruction
  bool unknown_results_ = false, results_moved_ = false;
};

}  // namespace ouro::jit::plain
