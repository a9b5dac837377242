// The translation of register code to LLVM's (plain_code.h): places, values and ends; instructions.cpp has the
// instructions. A register is two slots, for ints and bools and for floats, which LLVM turns into machine registers;
// which of them counts at a place is in the place's types.
//
// Numbers are written to the frame's registers, too: not at once, but before an instruction that may leave, and at the
// end of a place, and only those that are read later. So an end is a jump, and there are thousands of them. Functions
// and ranges that are not made are written where it leaves.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>

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

constexpr size_t kMostVersions = 6, kMostGeneral = 2;  // of one place
constexpr size_t kMostPlaces = 600;
constexpr size_t kMostFunctions = 32;
constexpr size_t kWorthACall = 16;            // instructions: what entering a translation takes
constexpr unsigned kSmall = 1000;             // instructions of LLVM's: compiled well in some 20 ms
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
  Types params;  // of an inner one
  bool outer = false;
  bool held = false;  // `closure` is an example: the function that is called is the last argument
  llvm::Function* fn = nullptr;
  llvm::BasicBlock* entry = nullptr;
  std::vector<llvm::AllocaInst*> words, floats;
  std::vector<std::array<llvm::AllocaInst*, 3>> ranges;
  llvm::AllocaInst* spilled = nullptr;  // of an inner one: its registers in memory
  // Where it ends: at the instruction that comes in, to go on or to raise there. `made`: registers whose functions and
  // ranges are written before.
  struct Tail {
    bool raises = false;
    Types made;
    llvm::BasicBlock* block = nullptr;
    llvm::PHINode* pc = nullptr;
  };
  std::map<std::pair<bool, std::vector<uint64_t>>, Tail> tails;
  std::map<std::pair<uint32_t, std::vector<uint64_t>>, llvm::BasicBlock*> blocks;
  std::map<uint32_t, size_t> versions;
  struct Todo {
    uint32_t pc;
    Types types;
    llvm::BasicBlock* block;
  };
  std::deque<Todo> todo, waiting;  // waiting: for the kind of an inner function's result
  std::vector<bool> leaders;
  std::optional<RegType> gives;
  Leaves* leaves = nullptr;  // of an inner one
  runtime::Object* made =
      nullptr;  // where it is an `__init__`: an example of its first argument behind the assignments
};

class Translator {
 public:
  explicit Translator(const Wanted& w)
      : s_(w.session),
        spare_(w.spare),
        own_(w.own),
        most_places_(std::min(w.most_places, kMostPlaces)),
        module_("plain", context_),
        b_(context_) {
    i1_ = b_.getInt1Ty(), i8_ = b_.getInt8Ty(), i32_ = b_.getInt32Ty(), i64_ = b_.getInt64Ty();
    f64_ = b_.getDoubleTy(), ptr_ = b_.getPtrTy();
  }

  bool run(const Wanted& w);

  void watch(std::deque<Leaves>* leaves, const std::unordered_set<const Code*>* alone) {
    leaves_ = leaves, alone_ = alone;
  }
  /// How often nothing was known of what an instruction gives.
  size_t unknown() const { return unknown_; }
  /// An instruction of its own gains about what two steps lose. `anyway`: tests ask for what is slower, too.
  bool gains(bool anyway) const {
    return (turns_ > 0 || bodies_.size() > 1 || instructions_ >= kWorthACall) &&
           (anyway || proportion_.native >= 2 * steps_);
  }
  const Proportion& proportion() const { return proportion_; }
  size_t size() const;
  size_t places() const { return count_; }
  bool is_too_large() const { return count_ > most_places_; }
  /// Ends what belongs to the session: the rest may be another thread's.
  std::vector<Value> take_kept() {
    examples_.clear();
    return std::move(kept_);
  }
  std::vector<ir::FunctionRef> take_codes() { return std::move(codes_); }

  // ---- translate.cpp, on any thread
  std::string object(const backends::HostJit& jit, bool well, std::string& error);

 private:
  // ---------------------------------------------------------------- bodies and places

  void open(Body& body);

  bool finish_all();
  void guess_results();

  void work(Body& body) {
    now_ = &body;
    while (!body.todo.empty()) {
      Body::Todo t = std::move(body.todo.front());
      body.todo.pop_front();
      place(t);
    }
  }

  static std::vector<uint64_t> key_of(const Types& types) {
    std::vector<uint64_t> key;
    for (const RegType& t : types)
      key.push_back(static_cast<uint64_t>(t.kind) |
                    (t.kind == Kind::known              ? reinterpret_cast<uint64_t>(t.object) << 8
                     : t.kind == Kind::held && t.object ? (static_cast<uint64_t>(t.object->object_kind()) + 1) << 8
                                                        : 0));
    return key;
  }
  // Of a function's arguments: one for each class of objects, too.
  static std::vector<uint64_t> key_of_arguments(const Types& types) {
    std::vector<uint64_t> key = key_of(types);
    for (size_t i = 0; i < types.size(); ++i) {
      const runtime::Object* o = types[i].kind == Kind::held ? types[i].object : nullptr;
      if (!o) continue;
      if (o->object_kind() == ObjectKind::instance)
        key[i] = reinterpret_cast<uint64_t>(static_cast<const runtime::Instance*>(o)->shape);
    }
    return key;
  }

  Types live_types(uint32_t pc, Types types) const {
    for (uint32_t r = 0; r < types.size(); ++r)
      if (types[r].kind != Kind::held && types[r].kind != Kind::stale && !now_->live->at(pc, r)) types[r] = {};
    return types;
  }
  // The place for these types; what is dead there has none. What is live there is in memory from here on.
  llvm::BasicBlock* block(uint32_t pc, Types types);

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
  llvm::Value* function_of(const Body& body) {
    return body.held ? static_cast<llvm::Value*>(body.fn->getArg(static_cast<unsigned>(body.fn->arg_size()) - 1))
                     : address(body.closure);
  }
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
  // The register in memory gives up what it owns before the slot counts.
  void release(int32_t r) {
    const Kind k = types_[static_cast<size_t>(r)].kind;
    if (k == Kind::held || k == Kind::stale) let_go(reg_at(r));
  }
  void let_go(llvm::Value* reg);
  void put(int32_t r, RegType t) {
    const auto i = static_cast<size_t>(r);
    if (types_[i].kind == Kind::held || types_[i].kind == Kind::stale) in_memory_[i] = Kind::unset;
    release(r);
    types_[i] = t;
    behind_[i] = is_unboxed(t.kind) || t.kind == Kind::unbound;
    classes_[i] = nullptr;
  }
  // The register holds an object of the kind of `like`, or something that is not known, in memory.
  void holds(int32_t r, runtime::Object* like) {
    if (like && like->object_kind() == ObjectKind::instance)
      instances_.push_back(static_cast<runtime::Instance*>(like));
    types_[static_cast<size_t>(r)] = {Kind::held, like};
    classes_[static_cast<size_t>(r)] = nullptr;
    behind_[static_cast<size_t>(r)] = false;
    in_memory_[static_cast<size_t>(r)] = Kind::unset;
  }
  // Registers whose numbers memory has not yet, and that are live at `pc`, are written there.
  void write_back(uint32_t pc) {
    for (size_t r = 0; r < behind_.size(); ++r)
      if (behind_[r] && now_->live->at(pc, static_cast<uint32_t>(r))) write_back_one(r);
  }
  void write_back_one(size_t r);
  // All numbers of these types are in memory.
  void in_memory(const Types& types) {
    behind_.assign(types.size(), false);
    classes_.assign(types.size(), nullptr);
    in_memory_.clear();
    for (const RegType& t : types) in_memory_.push_back(is_unboxed(t.kind) ? t.kind : Kind::unset);
  }
  void count_up(llvm::Value* object) {
    llvm::Value* refs = load(i32_, object, offsetof(runtime::ObjectHeader, refs));
    store(b_.CreateAdd(refs, b_.getInt32(1)), object, offsetof(runtime::ObjectHeader, refs));
  }
  // Another reference to what stands in memory, an object if `is_object`, in place of what the register holds.
  void copy_into(int32_t r, llvm::Value* from, bool is_object);
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

  void end(End how, llvm::Value* pc) {
    b_.CreateRet(b_.CreateOr(b_.CreateZExt(pc, i64_), b_.getInt64(static_cast<uint64_t>(how) << 32)));
  }
  // A place from which the interpreter goes on at `pc`, or raises the pending exception there.
  llvm::BasicBlock* leave(const Types& types, uint32_t pc, bool raises = false, int32_t but = -1);
  void finish_tail(Body& body, const Body::Tail& tail);
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
  size_t weight_of_step(const Instr& in) const;
  bool may_leave(const Instr& in) const;
  llvm::BasicBlock* bail();
  llvm::Value* requests();
  void look_at_requests(uint32_t mask, uint32_t pc);
  // Where the frame stands, for who looks at the calls that run.
  void stand_at(uint32_t pc) {
    if (now_->outer) store(address(&now_->code->instrs[pc]), frame(), offsetof(runtime::Frame, pc));
  }
  llvm::Value* frame() {  // its registers lie behind it
    return b_.CreateConstInBoundsGEP1_64(i8_, reg_at(0),
                                         static_cast<uint64_t>(-static_cast<int64_t>(sizeof(runtime::Frame))));
  }
  Number number(int32_t a);
  void put_number(int32_t r, Number n);
  llvm::Value* as_float(Number n) { return n.kind == Kind::floating ? n.v : b_.CreateSIToFP(n.v, f64_); }
  llvm::Value* as_bits(Number n) { return n.kind == Kind::floating ? b_.CreateBitCast(n.v, i64_) : n.v; }
  void check_exact(Number n);
  llvm::Value* is_finite(llvm::Value* v);
  Number binary(BinOp op, Number a, Number b);
  Number by_runtime(BinOp op, Number a, Number b);
  llvm::Value* compare(CmpOp op, int32_t a, int32_t b);
  llvm::Value* is(int32_t a, int32_t b);
  llvm::Value* truth(int32_t a);
  llvm::Value* truth_of_object(int32_t a);
  bool ends_operands() const;
  After fork(llvm::Value* cond, uint32_t if_true, uint32_t if_false);
  After jump(uint32_t pc);
  After move(const Instr& in);
  llvm::Value* value_of_cell(int32_t a, const Value*& like);
  After cell_get(const Instr& in);
  After cell_set(const Instr& in);
  After global_get(const Instr& in);
  After global_set(const Instr& in);
  After attr_get(const Instr& in);
  After attr_set(const Instr& in);
  After iter(const Instr& in);
  After for_iter(const Instr& in, uint32_t pc);
  After item_get(const Instr& in);
  // An operand as a value, by tag and bits.
  struct Shared {
    llvm::Value *tag = nullptr, *bits = nullptr;
    explicit operator bool() const { return tag; }
  };
  Shared shared(int32_t a);
  Shared plain_key(int32_t a);
  llvm::Value* entry_of(llvm::Value* dict, const Shared& key);
  After item_of_dict(const Instr& in, const RegType& dict);
  After contains(const Instr& in);
  After dict_set(const Instr& in, const Operand* ops, const Operand& value);
  After dict_get(const Instr& in, const Operand* ops, uint32_t count);
  After tuple_get(const Instr& in, uint32_t pc);
  llvm::Value* place_of(const Site& x, const ir::PlacePath& path, const Operand* ops, const Value*& like);
  After update(const Instr& in);
  After list_append(const Instr& in);
  After return_(const Instr& in);
  void return_held(const Instr& in, llvm::Value* to);
  void from_spare(int32_t r);
  // A function that is called: this one, or one that a register holds, of the same code as `like`.
  struct Callee {
    const runtime::Function* like;
    bool held = false;
    Operand of{};
  };
  // What a parameter gets: an operand of the call, or its default.
  struct Given {
    Operand operand;
    const Value* value = nullptr;
  };
  const ir::CallSig& call_of(const Instr& in) const;
  std::optional<std::vector<Given>> arrange(const Callee& f, const ir::CallSig& call, uint32_t self, const Operand* ops,
                                            uint32_t count, uint32_t first);
  bool captured(const Callee& callee, Types& params, std::vector<llvm::Value*>& values);
  After call_value(const Instr& in, const RegType& callee, const Operand& of, const Operand* args, uint32_t count,
                   uint32_t pc);
  llvm::Value* length_of(int32_t a);
  After call_builtin(const Instr& in, runtime::Object* f, const Operand* args, uint32_t count);
  // The object that a constructor makes, for `__init__`: its class, and where its reference is meanwhile.
  struct New {
    runtime::Type* type;
    runtime::Instance* like;
    llvm::Value* at;
  };
  After call_function(const Instr& in, const Callee& callee, const std::vector<Given>& given,
                      std::span<const Operand> operands, uint32_t pc, const New* made = nullptr);
  void constructed(const Instr& in, const New& made, const Body& body);
  After call_class(const Instr& in, runtime::Type* type, const Operand* args, uint32_t count, uint32_t pc);
  bool is_builtin(const runtime::Object* f, std::string_view name);
  static bool holds_objects(const Value& v);
  RegType module_member(const RegType& module, Symbol name);
  llvm::Value* held_object(int32_t a, ObjectKind kind);
  llvm::Value* instance_like(int32_t a);
  void check_like(llvm::Value* from, const Value& like, llvm::BasicBlock* otherwise);
  llvm::Value* index_in(Number i, llvm::Value* n);
  llvm::Value* item_of(llvm::Value* list, Number i);
  llvm::Value* slot_of(int32_t instance, int32_t slot);
  enum class May : uint8_t { be_what_it_is, be_none, be_checked };
  bool load_value(llvm::Value* from, const Value& like, const Instr& in, int32_t container, uint8_t use,
                  May may = May::be_what_it_is);
  void split_none(llvm::Value* from, const Instr& in, int32_t container, uint8_t use);
  const Value& better_example(const runtime::Instance& i, int32_t slot) const;
  void store_number(llvm::Value* to, Number n);
  bool storable(const Operand& v) const;
  void store_value(llvm::Value* to, const Operand& v, bool fresh = false);
  After add_attribute(const Operand& target, const Operand& value, const runtime::Cache& c);
  Body* inner(const Callee& callee, const Types& params);
  void left_call(const Instr& in, uint32_t pc, llvm::Value* status, const std::function<void()>& used_by_call);
  void left_init(uint32_t pc, llvm::Value* status, const New& made);
  void check_version(const runtime::Type* type);
  runtime::Instance* bare_example(runtime::Type* type);
  llvm::Value* two_words();
  const runtime::Function* method_of(const RegType& receiver, Symbol name);
  const runtime::Native* native_method(const RegType& receiver, Symbol name);
  After method_get(const Instr& in);
  After call_native_method(const Instr& in, ObjectKind of, const std::string& name, const Operand* ops, uint32_t count);
  After call_on(const Instr& in, Symbol method, const Operand* ops, uint32_t count, uint32_t pc);

  // ---------------------------------------------------------------- in place, by the interpreter's code (steps.cpp)

  // What an instruction will give. `like` unbound: an object, or nothing is known of it.
  struct Expected {
    bool object = false;
    Value like;
  };
  bool steps(const Instr& in, uint32_t pc);
  After step(const Instr& in, uint32_t pc);
  runtime::Instance* instance_of(const runtime::Cache& cache) const;
  bool is_any(int32_t a) const { return a >= 0 && type(a).kind == Kind::held && !type(a).object; }
  void guess(const Instr& in, uint32_t pc);
  llvm::Value* step_condition(const Instr& in, uint32_t pc);
  llvm::Value* asked_where_not(llvm::Value* known, llvm::Value* answer, uint32_t pc);
  llvm::Value* truth_in_memory(const Instr& in, uint32_t pc);
  llvm::Value* texts_differ(const Instr& in, uint32_t pc);
  After step_slice(const Instr& in, uint32_t pc);
  After step_iterator(const Instr& in, uint32_t pc);
  Types into_memory(uint32_t pc);
  void to_memory(int32_t r);
  void forget_operands(uint32_t pc);
  llvm::Value* step_call(const void* helper, llvm::Type* gives, uint32_t pc);
  After narrow(int32_t r, const Expected& expected, uint32_t next);
  void narrowed(int32_t r, Tag tag, runtime::Object* like);
  Expected expected(const Instr& in);
  Expected now_in(int32_t r) const;
  Expected item_of_example(const RegType& container, int32_t key);
  Expected next_of_example(const runtime::Iterator& it);
  Expected iterator_of_examples(runtime::Object* maker, const Operand* args, uint32_t count);
  Expected result_of_call(const RegType& callee, const Operand* args, uint32_t count);
  Value example(int32_t a) const;
  bool may_be_tensor(uint32_t pc) const;

  Session& s_;
  Value* spare_;
  runtime::EntryFn own_;
  const size_t most_places_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> b_;
  llvm::Type *i1_, *i8_, *i32_, *i64_, *f64_, *ptr_;
  std::deque<Body> bodies_;
  std::deque<Liveness> lives_;
  Body* now_ = nullptr;
  Types types_;  // where the translation stands
  // The shape that a register's instance has, and that its class is what it was: known until something is called.
  std::vector<const runtime::Shape*> classes_;
  std::vector<bool> behind_;     // registers whose numbers memory has not yet
  std::vector<Kind> in_memory_;  // of the number that a register has in memory; unset: not known
  struct State {
    Types types;
    std::vector<const runtime::Shape*> classes;
    std::vector<bool> behind;
    std::vector<Kind> in_memory;
  };
  State state() const { return {types_, classes_, behind_, in_memory_}; }
  void restore(const State& s) { types_ = s.types, classes_ = s.classes, behind_ = s.behind, in_memory_ = s.in_memory; }
  Types before_;  // as they were before its instruction
  uint32_t at_ = 0;
  llvm::BasicBlock* bail_ = nullptr;
  std::deque<Leaves>* leaves_ = nullptr;
  const std::unordered_set<const Code*>* alone_ = nullptr;
  std::vector<Value> kept_, examples_;
  std::vector<ir::FunctionRef> codes_;         // whose instructions are named
  std::vector<runtime::Instance*> instances_;  // examples that were met
  const Value* frame_now_ = nullptr;
  size_t unknown_ = 0;
  size_t count_ = 0, turns_ = 0, instructions_ = 0;
  Proportion proportion_;  // of the hot loop, or of the function
  size_t steps_ = 0;       // the same, by what they cost
  std::pair<uint32_t, uint32_t> hot_;
  bool is_hot(uint32_t pc) const { return !now_->outer || (pc >= hot_.first && pc <= hot_.second); }
  bool looked_ = false;  // for requests, behind the instruction
  bool unknown_results_ = false, results_moved_ = false;
};

}  // namespace ouro::jit::plain
