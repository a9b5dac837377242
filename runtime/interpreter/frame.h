// Frames: one per running call of a script function. They lie on the interpreter's own stack (a generator's on the
// heap), a frame's registers behind it, so that calls between scripts push and pop without recursion in C++.
#pragma once

#include <unordered_map>

#include "runtime/interpreter/code.h"
#include "runtime/session.h"
#include "runtime/type_slots.h"

namespace ouro::runtime {

struct Frame {
  Code* code = nullptr;
  const Instr* pc = nullptr;  // the instruction to run next, or the call being waited for
  Value* regs = nullptr;
  Frame* caller = nullptr;
  Module* globals = nullptr;  // borrowed from the function
  Value function;
  Value instance;        // of a constructor call: the result instead of __init__'s None
  Value handled;         // s.handled when the call began; put back when an exception leaves
  int32_t result = -1;   // the caller's register for the result
  bool entry = false;    // returning from it leaves run()
  bool discard = false;  // the result is dropped
  Generator* generator = nullptr;
};

struct Interpreter {
  Session& s;
  Frame* top = nullptr;
  char* stack = nullptr;  // of frames
  char* free = nullptr;
  char* end = nullptr;
  size_t mapped = 0;
  Span error_span{};     // of the operation that just failed, where it is finer than the instruction's
  bool yielded = false;  // run() returned because its generator yielded
  std::unordered_map<const ir::Function*, std::unique_ptr<Code>> codes;

  // Counters (trace, tests).
  uint64_t frames_pushed = 0;

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

Frame* no_frame(Session& s);  // RecursionError
// A frame for calling `function` (a script function), registers unbound, linked above `top`. Null with RecursionError
// set.
inline Frame* push_frame(Session& s, const Value& function) {
  Interpreter& in = *s.interpreter;
  Function* fn = function.as<Function>();
  Code* code = compiled(s, fn);
  size_t bytes = sizeof(Frame) + code->nregs * sizeof(Value);
  if (s.depth >= s.recursion_limit || in.free + bytes > in.end) [[unlikely]]
    return no_frame(s);
  ++s.depth;
  ++in.frames_pushed;
  Frame* f = new (in.free) Frame;
  in.free += bytes;
  f->code = code;
  f->regs = new (static_cast<void*>(f + 1)) Value[code->nregs];
  f->pc = code->instrs.data();
  f->function = function;
  f->globals = fn->globals.as<Module>();
  f->caller = in.top;
  in.top = f;
  return f;
}
inline void pop_frame(Session& s) {
  Interpreter& in = *s.interpreter;
  Frame* f = in.top;
  --s.depth;
  in.top = f->caller;
  for (Value *r = f->regs, *end = r + f->code->nregs; r != end; ++r) r->~Value();
  if (!f->generator) in.free = reinterpret_cast<char*>(f);
  f->~Frame();
}

// Runs from `frame` (the top, marked `entry`) until it returns or yields.
Value run(Session& s, Frame* frame);
Value run_raising(Session& s, Frame* frame);  // begins by raising the pending exception where the frame stands

}  // namespace ouro::runtime
