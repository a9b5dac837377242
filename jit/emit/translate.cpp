// The translation of a function: its places in turn, then LLVM's passes and code (translator.h).
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Utils.h>

#include "backends/llvm/contain.h"
#include "jit/emit/translator.h"

namespace ouro::jit::plain {

bool Translator::run(const runtime::Function* closure, const Code& code, runtime::Module* globals, uint32_t pc,
                     const Types& types, const Liveness& live) {
  Body& o = bodies_.emplace_back();
  o.closure = closure, o.code = &code, o.globals = globals, o.live = &live, o.outer = true;
  o.fn = llvm::Function::Create(llvm::FunctionType::get(i64_, {ptr_, ptr_, ptr_}, false),
                                llvm::Function::ExternalLinkage, "entry", module_);
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
  b_.CreateBr(block(pc, types));
  return finish_all();
}

std::string Translator::compile(std::string& error) {
  std::unique_ptr<llvm::TargetMachine> tm = jit_.target_machine(2);
  if (!tm) {
    error = "no code generator for this machine";
    return {};
  }
  module_.setTargetTriple(tm->getTargetTriple().str());
  module_.setDataLayout(tm->createDataLayout());
  llvm::legacy::FunctionPassManager passes(&module_);
  passes.add(llvm::createSROAPass());
  passes.add(llvm::createEarlyCSEPass());
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.add(llvm::createGVNPass());
  passes.add(llvm::createLICMPass());
  passes.add(llvm::createInstructionCombiningPass());
  passes.add(llvm::createCFGSimplificationPass());
  passes.doInitialization();
  for (llvm::Function& f : module_) passes.run(f);
  passes.doFinalization();
  return jit_.compile(module_, 2, error);
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
  if (!body.outer) body.spilled = b_.CreateAlloca(llvm::ArrayType::get(i64_, 2 * n));
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
    for (Body& body : bodies_) {  // nothing goes on without the kind of a result: those calls are left
      if (body.waiting.empty()) continue;
      std::swap(body.todo, body.waiting);
      unknown_results_ = unknown_results_ || !results_moved_;
      more = true;
    }
    results_moved_ = false;
    if (count_ > kMostBlocks) return false;
  }
  return count_ <= kMostBlocks;
}

void Translator::spill(const Types& types, int32_t but) {
  for (size_t r = 0; r < types.size(); ++r) {
    const auto i = static_cast<int32_t>(r);
    if (i == but) continue;
    const RegType& t = types[r];
    llvm::Value* reg = nullptr;
    const auto put_tag = [&](Tag tag, llvm::Value* v) {
      reg = reg_at(i);
      store(b_.getInt8(static_cast<uint8_t>(tag)), reg, kTagAt);
      store(v, reg, kBitsAt);
    };
    switch (t.kind) {
      case Kind::integer:
      case Kind::boolean:
        put_tag(tag_of(t.kind), b_.CreateLoad(i64_, now_->words[r]));
        break;
      case Kind::floating:
        put_tag(Tag::floating, b_.CreateBitCast(b_.CreateLoad(f64_, now_->floats[r]), i64_));
        break;
      case Kind::none:
        put_tag(Tag::none, b_.getInt64(0));
        break;
      case Kind::known: {
        llvm::Value* o = address(t.object);
        llvm::Value* refs = load(i32_, o, offsetof(runtime::ObjectHeader, refs));
        store(b_.CreateAdd(refs, b_.getInt32(1)), o, offsetof(runtime::ObjectHeader, refs));
        put_tag(Tag::object, b_.CreatePtrToInt(o, i64_));
        break;
      }
      case Kind::range:
      case Kind::steps: {
        reg = reg_at(i);
        store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg, kTagAt);
        const auto& three = now_->ranges[r];
        call(t.kind == Kind::range ? reinterpret_cast<const void*>(&ouro_plain_range)
                                   : reinterpret_cast<const void*>(&ouro_plain_steps),
             b_.getVoidTy(),
             {session(), reg, b_.CreateLoad(i64_, three[0]), b_.CreateLoad(i64_, three[1]),
              b_.CreateLoad(i64_, three[2])});
        break;
      }
      case Kind::unbound:
        store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg_at(i), kTagAt);
        break;
      case Kind::unset:
      case Kind::stale:
      case Kind::held:
        // A frame that is to be made gets nothing there.
        if (!now_->outer) store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), reg_at(i), kTagAt);
        break;
    }
  }
}

void Translator::leave_spilled(uint32_t pc, bool raises) {
  if (now_->outer) return end(raises ? End::raised : End::left, pc);
  llvm::Value* how =
      call(reinterpret_cast<const void*>(&ouro_plain_leave), i32_,
           {session(), address(now_->closure), b_.getInt32(pc), now_->spilled, spare(), b_.getInt1(raises)});
  // Of the kind that the caller expects: it goes on. Otherwise it finds the value.
  if (now_->gives && is_unboxed(*now_->gives)) {
    llvm::BasicBlock *other = make(), *same = make(), *none = make();
    b_.CreateCondBr(b_.CreateICmpEQ(how, b_.getInt32(1)), other, none);
    b_.SetInsertPoint(none);
    give(b_.getInt64(0), how);
    b_.SetInsertPoint(other);
    llvm::BasicBlock* not_same = make();
    b_.CreateCondBr(b_.CreateICmpEQ(load(i8_, spare(), kTagAt), b_.getInt8(static_cast<uint8_t>(tag_of(*now_->gives)))),
                    same, not_same);
    b_.SetInsertPoint(same);
    store(b_.getInt8(static_cast<uint8_t>(Tag::unbound)), spare(), kTagAt);
    give(load(i64_, spare(), kBitsAt), b_.getInt32(0));
    b_.SetInsertPoint(not_same);
    give(b_.getInt64(0), b_.getInt32(1));
  } else {
    give(b_.getInt64(0), how);
  }
}

std::unique_ptr<Translation> translate(Session& s, backends::HostJit& jit, Value* spare,
                                       const runtime::Function* closure, const Code& code, runtime::Module* globals,
                                       uint32_t pc, const std::vector<RegType>& types, const Liveness& live,
                                       std::string& error) {
  auto out = std::make_unique<Translation>();
  backends::Discardable<Translator> t(s, jit, spare);
  if (!t->run(closure, code, globals, pc, types, live) || !t->gains()) return nullptr;
  std::string object;
  if (!backends::contain_llvm([&] { object = t->compile(error); }, error)) {
    t.leak();
    return nullptr;
  }
  if (object.empty()) return nullptr;
  const std::string name = "entry";
  out->code = jit.link(object, std::span(&name, 1), error);
  if (!out->code) return nullptr;
  out->entry = reinterpret_cast<Entry>(out->code->entry(0));
  out->kept = t->take_kept();
  out->blocks = t->blocks();
  return out;
}

}  // namespace ouro::jit::plain
