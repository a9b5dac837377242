// The translation of a function: its places in turn, then LLVM's passes and code (translator.h).
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Utils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "backends/llvm/contain.h"
#include "jit/emit/translator.h"
#include "support/process_end.h"

namespace ouro::jit::plain {

bool Translator::run(const Wanted& w) {
  const auto& [pc, types, code] = std::tie(w.pc, w.types, w.code);
  frame_now_ = w.now;
  Body& o = bodies_.emplace_back();
  o.closure = w.closure, o.code = &code, o.globals = w.globals, o.live = &w.live, o.outer = true;
  o.fn = llvm::Function::Create(llvm::FunctionType::get(i64_, {ptr_, ptr_, ptr_}, false),
                                llvm::Function::ExternalLinkage, "entry", module_);
  // What it calls may reach the registers through the frame. It reads no number there: numbers may be written late.
  o.fn->addParamAttr(1, llvm::Attribute::NoAlias);
  open(o);
  for (size_t r = 0; r < types.size(); ++r) {  // what the frame holds into the slots
    llvm::Value* at = reg_at(static_cast<int32_t>(r));
    if (is_word(types[r].kind)) b_.CreateStore(load(i64_, at, kBitsAt), o.words[r]);
    if (types[r].kind == Kind::floating) b_.CreateStore(load(f64_, at, kBitsAt), o.floats[r]);
    if (types[r].kind == Kind::steps) {
      llvm::Value* it = load(ptr_, at, kBitsAt);
      b_.CreateStore(load(i64_, it, offsetof(runtime::Iterator, index)), o.ranges[r][0]);
      b_.CreateStore(load(i64_, it, offsetof(runtime::Iterator, stop)), o.ranges[r][1]);
      b_.CreateStore(load(i64_, it, offsetof(runtime::Iterator, step)), o.ranges[r][2]);
      call(reinterpret_cast<const void*>(&ouro_plain_drop), b_.getVoidTy(), {at});
    }
  }
  types_ = types;
  if (pc == 0) o.params = types;
  hot_ = {pc, static_cast<uint32_t>(code.instrs.size())};
  for (uint32_t i = pc; pc > 0 && i < code.instrs.size(); ++i)
    if (code.instrs[i].op == I::jump_back && code.instrs[i].dst == static_cast<int32_t>(pc)) hot_.second = i;
  in_memory(types);
  for (size_t r = 0; r < types.size(); ++r)
    if (types[r].kind == Kind::held && types[r].object)
      check_like(reg_at(static_cast<int32_t>(r)), Value::share(types[r].object), leave(types, pc));
  b_.CreateBr(block(pc, types));
  return finish_all();
}

size_t Translator::size() const {
  size_t n = 0;
  for (const llvm::Function& f : module_)
    for (const llvm::BasicBlock& block : f) n += block.size();
  return n;
}

namespace {

void prepare(const backends::HostJit& jit, llvm::Module& module) {
  const std::unique_ptr<llvm::TargetMachine> tm = jit.target_machine(2);
  if (!tm) return;
  module.setTargetTriple(tm->getTargetTriple().str());
  module.setDataLayout(tm->createDataLayout());
}

void run(llvm::legacy::FunctionPassManager& passes, llvm::Module& module) {
  passes.doInitialization();
  for (llvm::Function& f : module) passes.run(f);
  passes.doFinalization();
}

// Registers become values, and that is all.
std::string object_quickly(const backends::HostJit& jit, llvm::Module& module, std::string& error) {
  prepare(jit, module);
  llvm::legacy::FunctionPassManager passes(&module);
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createCFGSimplificationPass());
  run(passes, module);
  return jit.compile(module, 0, error);
}

std::string object_well(const backends::HostJit& jit, llvm::Module& module, std::string& error) {
  prepare(jit, module);
  llvm::legacy::FunctionPassManager passes(&module);
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.add(llvm::createGVNPass());
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createCFGSimplificationPass());
  run(passes, module);
  return jit.compile(module, 2, error);
}

}  // namespace

std::string Translator::object(const backends::HostJit& jit, bool well, std::string& error) {
  if (well) return object_well(jit, module_, error);
  return object_quickly(jit, *llvm::CloneModule(module_), error);
}

void Translator::open(Body& body) {
  now_ = &body;
  const size_t n = body.code->nregs;
  body.entry = llvm::BasicBlock::Create(context_, "", body.fn);
  b_.SetInsertPoint(body.entry);
  for (size_t r = 0; r < n; ++r) {
    body.words.push_back(b_.CreateAlloca(i64_));
    body.floats.push_back(b_.CreateAlloca(f64_));
    body.ranges.push_back({b_.CreateAlloca(i64_), b_.CreateAlloca(i64_), b_.CreateAlloca(i64_)});
  }
  if (!body.outer) {
    body.spilled = b_.CreateAlloca(llvm::ArrayType::get(i64_, 2 * n));
    b_.CreateMemSet(body.spilled, b_.getInt8(static_cast<uint8_t>(Tag::unbound)), 2 * n * 8, llvm::MaybeAlign(8));
  }
  body.leaders.assign(body.code->instrs.size() + 1, false);
  for (const Instr& in : body.code->instrs)
    if (jumps(in.op)) body.leaders[static_cast<size_t>(in.dst)] = true;
}

bool Translator::finish_all() {
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < bodies_.size(); ++i) {
      if (bodies_[i].todo.empty()) continue;
      work(bodies_[i]);
      more = true;
    }
    if (more) continue;
    if (!results_moved_) guess_results();
    for (Body& body : bodies_) {  // nothing goes on without the kind of a result: those calls are left
      if (body.waiting.empty()) continue;
      std::swap(body.todo, body.waiting);
      unknown_results_ = unknown_results_ || !results_moved_;
      more = true;
    }
    results_moved_ = false;
    if (count_ > most_places_) return false;
  }
  for (Body& body : bodies_)
    for (const auto& [key, tail] : body.tails) finish_tail(body, tail);
  return count_ <= most_places_;
}

// A recursive function may wait for its own result: the version for a tree's node has no return before its calls, the
// version for None has one. It is taken to give what that gives; another kind is looked at by the caller.
void Translator::guess_results() {
  for (Body& body : bodies_) {
    if (body.outer || body.gives) continue;
    for (const Body& other : bodies_) {
      if (other.outer || other.code != body.code || !other.gives) continue;
      body.gives = other.gives, results_moved_ = true;
      break;
    }
  }
}

llvm::BasicBlock* Translator::block(uint32_t pc, Types types) {
  write_back(pc);
  types = live_types(pc, std::move(types));
  const auto known = [&]() -> llvm::BasicBlock* {
    const auto at = now_->blocks.find({pc, key_of(types)});
    return at == now_->blocks.end() ? nullptr : at->second;
  };
  if (llvm::BasicBlock* there = known()) return there;
  size_t& versions = now_->versions[pc];
  if (versions >= kMostVersions) {  // what is an object here and None there is looked at where it is used
    for (RegType& t : types)
      if (t.kind == Kind::none || t.kind == Kind::held) t = {Kind::held};
    if (llvm::BasicBlock* there = known()) return there;
  }
  if (++count_ > most_places_ || ++versions > kMostVersions + kMostGeneral) return leave(types, pc);
  llvm::BasicBlock* made = llvm::BasicBlock::Create(context_, "", now_->fn);
  now_->blocks.emplace(std::pair(pc, key_of(types)), made);
  now_->todo.push_back({pc, std::move(types), made});
  return made;
}

void Translator::let_go(llvm::Value* reg) {
  llvm::BasicBlock *owns = make(), *last = make(), *others = make(), *on = make();
  b_.CreateCondBr(b_.CreateICmpEQ(load(i8_, reg, kTagAt), b_.getInt8(static_cast<uint8_t>(Tag::object))), owns, on);
  b_.SetInsertPoint(owns);
  llvm::Value* object = load(ptr_, reg, kBitsAt);
  llvm::Value* refs = load(i32_, object, offsetof(runtime::ObjectHeader, refs));
  b_.CreateCondBr(b_.CreateICmpEQ(refs, b_.getInt32(1)), last, others);
  b_.SetInsertPoint(last);
  call(reinterpret_cast<const void*>(&ouro_plain_drop), b_.getVoidTy(), {reg});
  b_.CreateBr(on);
  b_.SetInsertPoint(others);
  store(b_.CreateSub(refs, b_.getInt32(1)), object, offsetof(runtime::ObjectHeader, refs));
  store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg, kTagAt);
  b_.CreateBr(on);
  b_.SetInsertPoint(on);
}

void Translator::copy_into(int32_t r, llvm::Value* from, bool is_object) {
  llvm::Value *bits = load(i64_, from, kBitsAt), *object = b_.CreateIntToPtr(bits, ptr_);
  llvm::Value* tag = b_.getInt8(static_cast<uint8_t>(Tag::object));
  if (is_object) {
    count_up(object);
  } else {
    tag = load(i8_, from, kTagAt);
    llvm::BasicBlock *counted = make(), *on = make();
    b_.CreateCondBr(b_.CreateICmpEQ(tag, b_.getInt8(static_cast<uint8_t>(Tag::object))), counted, on);
    b_.SetInsertPoint(counted);
    count_up(object);
    b_.CreateBr(on);
    b_.SetInsertPoint(on);
  }
  release(r);  // maybe of what it is a part of
  store(tag, reg_at(r), kTagAt);
  store(bits, reg_at(r), kBitsAt);
}

void Translator::write_back_one(size_t r) {
  const Kind k = types_[r].kind;
  behind_[r] = false;
  if (!is_unboxed(k) && k != Kind::unbound) return;
  llvm::Value* reg = reg_at(static_cast<int32_t>(r));
  const Tag tag = k == Kind::unbound ? Tag::unbound : tag_of(k);
  if (in_memory_[r] != k) store(b_.getInt8(static_cast<uint8_t>(tag)), reg, kTagAt);
  if (k == Kind::floating) {
    store(b_.CreateLoad(f64_, now_->floats[r]), reg, kBitsAt);
  } else if (is_word(k)) {
    store(b_.CreateLoad(i64_, now_->words[r]), reg, kBitsAt);
  } else if (in_memory_[r] != k) {
    store(b_.getInt64(0), reg, kBitsAt);
  }
  in_memory_[r] = k;
}

// Numbers are in memory already: write_back().
llvm::BasicBlock* Translator::leave(const Types& types, uint32_t pc, bool raises, int32_t but) {
  Types made(types.size());
  for (size_t r = 0; r < types.size(); ++r) {
    const Kind k = types[r].kind;
    if (static_cast<int32_t>(r) != but && (k == Kind::known || k == Kind::range || k == Kind::steps))
      made[r] = types[r];
  }
  Body::Tail& tail = now_->tails[{raises, key_of(made)}];
  if (!tail.block) {
    tail.raises = raises, tail.made = std::move(made), tail.block = make();
    tail.pc = llvm::PHINode::Create(i32_, 8, "", tail.block);
  }
  llvm::BasicBlock* from = make();
  tail.pc->addIncoming(b_.getInt32(pc), from);
  llvm::BranchInst::Create(tail.block, from);
  return from;
}

void Translator::finish_tail(Body& body, const Body::Tail& tail) {
  now_ = &body;
  b_.SetInsertPoint(tail.block);
  for (size_t r = 0; r < tail.made.size(); ++r) {
    const RegType& t = tail.made[r];
    if (t.kind == Kind::unset) continue;
    llvm::Value* reg = reg_at(static_cast<int32_t>(r));
    if (t.kind == Kind::known) {
      llvm::Value* o = address(t.object);
      count_up(o);
      store(b_.getInt8(static_cast<uint8_t>(Tag::object)), reg, kTagAt);
      store(b_.CreatePtrToInt(o, i64_), reg, kBitsAt);
      continue;
    }
    store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg, kTagAt);
    const auto& three = body.ranges[r];
    call(t.kind == Kind::range ? reinterpret_cast<const void*>(&ouro_plain_range)
                               : reinterpret_cast<const void*>(&ouro_plain_steps),
         b_.getVoidTy(),
         {session(), reg, b_.CreateLoad(i64_, three[0]), b_.CreateLoad(i64_, three[1]), b_.CreateLoad(i64_, three[2])});
  }
  if (body.outer) return end(tail.raises ? End::raised : End::left, tail.pc);
  // A frame does the rest of the call.
  llvm::Value* how = call(
      reinterpret_cast<const void*>(&ouro_plain_leave), i32_,
      {session(), function_of(body), tail.pc, body.spilled, spare(), b_.getInt1(tail.raises), address(body.leaves)});
  if (!body.gives) return give(b_.getInt64(0), how);
  if (body.gives->kind == Kind::held && !body.gives->object)  // anything
    return give(b_.getInt64(0), b_.CreateSelect(b_.CreateICmpEQ(how, b_.getInt32(1)), b_.getInt32(0), how));
  // Of the kind that the caller expects: it goes on. Otherwise it finds the value.
  const bool held = body.gives->kind == Kind::held;
  const Tag tag = held ? Tag::object : tag_of(body.gives->kind);
  llvm::BasicBlock *other = make(), *same = make(), *not_same = make(), *none = make();
  b_.CreateCondBr(b_.CreateICmpEQ(how, b_.getInt32(1)), other, none);
  b_.SetInsertPoint(none);
  give(b_.getInt64(0), how);
  b_.SetInsertPoint(other);
  b_.CreateCondBr(b_.CreateICmpEQ(load(i8_, spare(), kTagAt), b_.getInt8(static_cast<uint8_t>(tag))), same, not_same);
  b_.SetInsertPoint(same);
  if (held && body.gives->object) {
    llvm::BasicBlock* this_kind = make();
    const auto kind = static_cast<uint8_t>(body.gives->object->object_kind());
    b_.CreateCondBr(b_.CreateICmpEQ(load(i8_, load(ptr_, spare(), kBitsAt), kKindAt), b_.getInt8(kind)), this_kind,
                    not_same);
    b_.SetInsertPoint(this_kind);
  }
  if (!held) store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), spare(), kTagAt);  // else the caller takes it
  give(load(i64_, spare(), kBitsAt), b_.getInt32(0));
  b_.SetInsertPoint(not_same);
  give(b_.getInt64(0), b_.getInt32(1));
}

namespace {

class Compiled : public Translation {
 public:
  explicit Compiled(const Wanted& w) : jit_(w.jit) { t_.emplace(w); }
  ~Compiled() override {
    if (t_ && support::process_ends()) t_->leak();
  }
  Translator& translator() { return **t_; }
  void compile_quickly() override { make(quick_, false); }
  void compile_well() override {
    make(well_, true);
    t_.reset();  // its module is not needed any more
  }

 private:
  void make(backends::CodeRef& code, bool well) {
    if (failed()) return;
    if (jit_->given_up()) return failed_.store(true, std::memory_order_release);
    Translator& t = **t_;
    try {
      std::string error, object;
      const std::shared_ptr<backends::HostJit>& jit = jit_->get();  // not contained: it takes a lock
      if (jit && !backends::contain_llvm([&] { object = t.object(*jit, well, error); }, error)) t_->leak();
      const std::string name = "entry";
      if (!object.empty()) code = jit->link(object, std::span(&name, 1), error);
    } catch (const std::bad_alloc&) {
      jit_->give_up();
      t_->leak();
    }
    if (code)
      entry_.store(reinterpret_cast<Entry>(code->entry(0)), std::memory_order_release);
    else
      failed_.store(true, std::memory_order_release);
  }
  const std::shared_ptr<LazyJit> jit_;
  std::optional<backends::Discardable<Translator>> t_;
  backends::CodeRef quick_, well_;  // a call may run in the first one still
};

}  // namespace

const std::shared_ptr<backends::HostJit>& LazyJit::get() {
  std::call_once(once_, [this] {
    std::string error;
    jit_ = backends::HostJit::create(backends::detect_target(cpu_), error);
  });
  return jit_;
}

Translated translate(const Wanted& w) {
  auto made = std::make_shared<Compiled>(w);
  Translator& t = made->translator();
  t.watch(&made->leaves, &w.alone);
  const bool gains = t.run(w) && t.gains(w.anyway);
  made->unknown = t.unknown();
  made->codes = t.take_codes();
  made->size = gains ? t.size() : 0;
  made->small = made->size < kSmall;
  made->mixed = t.proportion().steps * 4 > t.proportion().native;
  Translated out{
      .kept = t.take_kept(), .proportion = t.proportion(), .places = t.places(), .too_large = t.is_too_large()};
  if (gains)
    out.code = std::move(made);
  else
    out.rest = std::move(made);
  return out;
}

}  // namespace ouro::jit::plain
