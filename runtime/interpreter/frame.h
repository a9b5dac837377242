// Frames: one per running call of a script function. They lie on the interpreter's own stack (a generator's on the
// heap), a frame's registers behind it, so that calls between scripts push and pop without recursion in C++.
#pragma once

#include <atomic>
#include <unordered_map>

#include "runtime/interpreter/code.h"
#include "runtime/interpreter/sweep.h"
#include "runtime/object/session.h"
#include "runtime/object/type_slots.h"

namespace ouro::runtime {

struct Frame {
  // What makes returning from it more than handing its result to the caller's register.
  enum Special : uint8_t {
    kEntry = 1,        // it leaves run()
    kConstructor = 4,  // the result is `instance`, __init__'s None goes
    kGenerator = 8,    // the frame is `generator`'s
    kTimed = 16,       // the executor is told when it returns
  };
  Code* code;
  const Instr* pc;  // the instruction to run next, or the call being waited for
  Value* regs;
  Frame* caller;
  Module* globals;  // borrowed from the function
  Value function;
  int32_t result = -1;  // the caller's register for the result
  uint8_t special = 0;
  Generator* generator = nullptr;
  Value instance;
  Value handled;  // of a generator (generator.cpp)

  // The registers lie behind it and are the caller's to make.
  Frame(Code* c, Value fn, Frame* below)
      : code(c),
        pc(c->instrs.data()),
        regs(reinterpret_cast<Value*>(this + 1)),
        caller(below),
        globals(fn.as<Function>()->globals.as<Module>()),
        function(std::move(fn)) {}
  bool is(Special x) const { return special & x; }
  void set(Special x) { special |= x; }
  void unset(Special x) { special &= static_cast<uint8_t>(~x); }
};

struct Interpreter {
  Session& s;
  Frame* top = nullptr;
  char* stack = nullptr;  // of frames
  char* free = nullptr;
  char* end = nullptr;  // so far its memory is counted; it goes up to stack + mapped
  size_t mapped = 0;
  Span error_span{};  // of the operation that just failed, where it is finer than the instruction's
  // Jumps back until the executor is asked for the loop (Executor::hot_loop), and from one time to the next.
  uint32_t turns_left = kTurns, turns_between = kTurns;
  static constexpr uint32_t kTurns = 512;
  uint64_t frames = 0;   // pushed so far: how long a call is, whatever the kernels in it take
  bool yielded = false;  // run() returned because its generator yielded
  std::unordered_map<const ir::Function*, std::unique_ptr<Code>> codes;
  std::vector<TextUse> texts;  // that are let go with their functions (sweep.h)
  size_t sweep_at = 0;

  explicit Interpreter(Session& session);
  ~Interpreter();
};

Frame* new_generator_frame(Session& s, const Value& function);
void free_generator_frame(Frame* f);
void visit_frame(Frame& f, Visitor& v);

Code* code_of(Session& s, const ir::FunctionRef& f);
inline Code* compiled(Session& s, Function* f) {
  if (!f->compiled) f->compiled = code_of(s, f->code);
  return f->compiled;
}

inline size_t frame_bytes(const Code* code) { return sizeof(Frame) + code->nregs * sizeof(Value); }
inline bool room_for_frame(const Session& s, const Interpreter& in, const Code* code) {
  return s.depth < s.recursion_limit && in.free + frame_bytes(code) <= in.end;
}
inline Frame* stack_frame(Session& s, Interpreter& in, Code* code, Value function) {
  ++s.depth;
  Frame* f = new (in.free) Frame(code, std::move(function), in.top);
  in.free += frame_bytes(code);
  std::atomic_signal_fence(std::memory_order_release);  // a signal's handler (sampler.h) finds a complete frame
  in.top = f;
  return f;
}
inline void drop_registers(Frame* f) {
  for (Value *r = f->regs, *end = r + f->code->nregs; r != end; ++r) r->~Value();
}

bool make_room(Session& s, const Code* code);  // false: RecursionError or MemoryError
// A frame for calling `function` (a script function), registers unbound, linked above `top`. Null with RecursionError
// or MemoryError set.
inline Frame* push_frame(Session& s, const Value& function) {
  Interpreter& in = *s.interpreter;
  Function* fn = function.as<Function>();
  Code* code = compiled(s, fn);
  if (!room_for_frame(s, in, code) && !make_room(s, code)) [[unlikely]]
    return nullptr;
  Frame* f = stack_frame(s, in, code, function);
  ++in.frames;
  new (static_cast<void*>(f->regs)) Value[code->nregs];
  return f;
}
inline void pop_frame(Session& s) {
  Interpreter& in = *s.interpreter;
  Frame* f = in.top;
  --s.depth;
  in.top = f->caller;
  std::atomic_signal_fence(std::memory_order_release);
  drop_registers(f);
  if (!f->is(Frame::kGenerator)) in.free = reinterpret_cast<char*>(f);
  f->~Frame();
}

// Runs from `frame` (the top, marked `entry`) until it returns or yields.
Value run(Session& s, Frame* frame);
Value run_raising(Session& s, Frame* frame);  // begins by raising the pending exception where the frame stands
// The pending exception passes through f, where f stands or, if it is known, at error_span, which is cleared.
void add_error_traceback(Session& s, Frame& f);

}  // namespace ouro::runtime
