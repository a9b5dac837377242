#include "runtime/interpreter/frame.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/interpreter/flatten.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/exception.h"
#include "support/diag.h"

namespace ouro::runtime {

namespace {

constexpr size_t kStackBytes = size_t{1} << 30, kSmallStackBytes = size_t{64} << 20;
constexpr size_t kFirstBytes = size_t{256} << 10;  // not counted: every session has them

}  // namespace

// The stack is address space; the system gives memory where it is touched, and the session counts it before.
Interpreter::Interpreter(Session& session) : s(session) {
  for (size_t bytes : {kStackBytes, kSmallStackBytes}) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    stack = free = static_cast<char*>(p);
    mapped = bytes;
    end = stack + kFirstBytes;
    return;
  }
  ouro_bug("no address space for the interpreter's stack");
}
Interpreter::~Interpreter() {
  if (stack) munmap(stack, mapped);
}

Interpreter* make_interpreter(Session& s) { return new Interpreter(s); }
void destroy_interpreter(Interpreter* i) { delete i; }

Code* code_of(Session& s, const ir::FunctionRef& f) {
  std::unique_ptr<Code>& c = s.interpreter->codes[f.get()];
  if (!c) {
    c = flatten(s, f);
    if (s.executor) c->call_trigger = s.options.mode == Mode::graph ? 1 : 2;
  }
  return c.get();
}

bool make_room(Session& s, const Code* code) {
  Interpreter& in = *s.interpreter;
  char* const most = in.stack + in.mapped;
  if (s.depth >= s.recursion_limit || frame_bytes(code) > static_cast<size_t>(most - in.free)) {
    raise_error(s, ExcKind::RecursionError, "maximum recursion depth exceeded");
    return false;
  }
  while (!room_for_frame(s, in, code)) {
    // A quarter more each time. Charging may give back what was free: then once more.
    const size_t needed = frame_bytes(code) - static_cast<size_t>(in.end - in.free);
    const size_t more =
        std::min(std::max(needed, static_cast<size_t>(in.end - in.stack) / 4), static_cast<size_t>(most - in.end));
    if (!s.memory.try_charge(more)) {
      raise_memory_error(s);
      return false;
    }
    in.end += more;
  }
  return true;
}

// Calls have returned, and the memory is wanted.
void give_back_frames(Session& s) {
  if (!s.interpreter) return;
  Interpreter& in = *s.interpreter;
  constexpr size_t kPage = 4096;
  const size_t used = (static_cast<size_t>(in.free - in.stack) + kPage - 1) / kPage * kPage;
  char* const keep = in.stack + std::max(used, kFirstBytes);
  if (keep >= in.end) return;
  const auto spare = static_cast<size_t>(in.end - keep);
  in.end = keep;
  madvise(keep, spare, MADV_DONTNEED);
  s.memory.release(spare);
}

Frame* new_generator_frame(Session& s, const Value& function) {
  Code* code = compiled(s, function.as<Function>());
  Frame* f = new (allocate_memory(frame_bytes(code))) Frame(code, function, nullptr);
  new (static_cast<void*>(f->regs)) Value[code->nregs];
  return f;
}

void free_generator_frame(Frame* f) {
  drop_registers(f);
  size_t bytes = frame_bytes(f->code);
  f->~Frame();
  free_memory(f, bytes);
}

void visit_frame(Frame& f, Visitor& v) {
  v.visit(f.function);
  v.visit(f.instance);
  v.visit(f.handled);
  for (uint32_t i = 0; i < f.code->nregs; ++i) v.visit(f.regs[i]);
}

Generator::~Generator() {
  if (frame) free_generator_frame(frame);
}

// ---------------------------------------------------------------- for executors

static constexpr int kMostCallers = 16;  // that are looked at

Function* frame_closure(const Frame& f) { return f.function.as<Function>(); }
Code* frame_code(const Frame& f) { return f.code; }
bool called_by_itself(const Frame& f) {
  int looked_at = 0;
  for (const Frame* c = f.caller; c && looked_at < kMostCallers; c = c->caller, ++looked_at)
    if (c->code == f.code) return true;
  return false;
}
void each_caller(const Frame& f, const std::function<bool(const ir::Function&)>& next) {
  int looked_at = 0;
  for (const Frame* c = f.caller; c && looked_at < kMostCallers && next(*c->code->function); c = c->caller) ++looked_at;
}
Value& frame_value(Frame& f, ir::NameId name) {
  int32_t r = f.code->reg_of[ir::index(name)];
  if (r < 0) ouro_bug("name %u is not in a register", ir::index(name));
  return f.regs[r];
}

Outcome look_at_loop(Session& s, Frame& f, Value& result) {
  s.interpreter->turns_left = s.interpreter->turns_between;
  return s.executor ? s.executor->hot_loop(s, f, result) : Outcome::not_taken;
}

}  // namespace ouro::runtime
