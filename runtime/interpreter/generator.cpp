// Generators: a frame on the heap that is pushed, run until it yields or ends, and taken off again.
#include "runtime/interpreter/frame.h"
#include "runtime/interpreter/interpreter.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/ops.h"

namespace ouro::runtime {

// While a generator runs, its frame's `handled` keeps the handled exception of whoever resumed it; while it waits, its
// own (unbound: the same as outside).
static inline void link_to_caller(Session& s, Generator* g, Frame* f) {
  ++s.depth;
  f->caller = s.interpreter->top;
  s.interpreter->top = f;
  g->running = g->started = true;
  if (f->handled.is_unbound())
    f->handled = s.handled;
  else
    f->handled.swap(s.handled);
}

static inline void unlink_from_caller(Session& s, Generator* g, Frame* f) {
  s.interpreter->top = f->caller;
  --s.depth;
  g->running = false;
  if (f->handled.same(s.handled))
    f->handled = Value();
  else
    f->handled.swap(s.handled);
}

void link_generator(Session& s, Generator* g) { link_to_caller(s, g, g->frame); }
void unlink_generator(Session& s, Generator* g) { unlink_from_caller(s, g, g->frame); }

void finish_generator(Generator* g) {
  if (!g->frame) return;
  Frame* f = g->frame;
  g->frame = nullptr;
  free_generator_frame(f);
}

void stop_iteration_in_generator(Session& s) {
  if (!pending_is(s, ExcKind::StopIteration)) return;
  Value cause = take_pending(s);
  raise_text(s, ExcKind::RuntimeError, "generator raised StopIteration");
  auto* e = s.pending.as<Exception>();
  e->cause = cause;
  e->context = cause;
  e->suppress_context = true;
}

bool enter_generator(Session& s, Generator* g, int32_t result) {
  Frame* f = g->frame;
  if (!f || g->running || s.depth >= s.recursion_limit) return false;
  if (g->started) {
    if (f->pc->op != I::yield) return false;
    f->regs[f->pc->dst] = Value::none();
    ++f->pc;
  }
  link_generator(s, g);
  f->unset(Frame::kEntry);
  f->result = result;
  return true;
}

const Value* delegate_of(Generator* g) {
  Frame* f = g->frame;
  if (!f || !g->started || f->pc->op != I::yield_from) return nullptr;
  int32_t a = f->pc->a;
  return a >= 0 ? &f->regs[a] : &f->code->constants[static_cast<size_t>(~a)];
}

namespace {

// Runs the frame; the generator is finished unless it yielded.
Value run_frame(Session& s, Generator* g, bool raising) {
  Frame* f = g->frame;
  Interpreter& in = *s.interpreter;
  bool handling = !f->handled.is_unbound();
  if (s.depth >= s.recursion_limit) {
    if (raising) clear_pending(s);
    return raise_error(s, ExcKind::RecursionError, "maximum recursion depth exceeded");
  }
  if (!stack_left(s)) return Value::error();
  link_to_caller(s, g, f);
  if (raising && handling) set_pending(s, take_pending(s));  // in the context of what its frame handles
  f->set(Frame::kEntry);
  in.yielded = false;
  ++g->refs;  // it may lose its last owner meanwhile
  Value keep = Value::steal(g);
  s.stop_value = Value();
  Value r = raising ? run_raising(s, f) : run(s, f);
  unlink_from_caller(s, g, f);
  if (in.yielded) {
    in.yielded = false;
    return r;
  }
  finish_generator(g);
  if (r.is_error()) stop_iteration_in_generator(s);
  return r;
}

// The delegate ended with s.stop_value: go on behind the `yield from`.
Value after_delegate(Session& s, Generator* g) {
  Frame* f = g->frame;
  f->regs[f->pc->dst] = s.stop_value.is_unbound() ? Value::none() : std::move(s.stop_value);
  ++f->pc;
  return run_frame(s, g, false);
}

Value stop_to_end(Session& s, Value r) {
  if (!r.is_error() || !pending_is(s, ExcKind::StopIteration)) return r;
  Value e = take_pending(s);
  s.stop_value = e.as<Exception>()->extra1;
  return Value::end();
}

Value send_to_delegate(Session& s, const Value& sub, const Value& v) {
  static const Symbol send = intern("send");
  if (Generator* inner = cast_exact<Generator>(sub)) return resume_generator(s, inner, ResumeMode::send, v);
  if (v.is_none()) return next(s, sub);
  return stop_to_end(s, call_method(s, sub, send, {v}));
}

Value throw_to_delegate(Session& s, const Value& sub, const Value& exc, bool& handled) {
  static const Symbol throw_name = intern("throw"), close = intern("close");
  handled = true;
  Generator* inner = cast_exact<Generator>(sub);
  if (exception_is(s, exc, ExcKind::GeneratorExit)) {
    handled = false;
    Value r;
    if (inner)
      r = resume_generator(s, inner, ResumeMode::close, Value::none());
    else {
      Value f = lookup_attr(s, sub, close);
      if (f.is_error()) return f;
      if (!f.is_unbound()) r = call(s, f, {});
    }
    return r.is_error() ? r : Value::none();
  }
  if (inner) return resume_generator(s, inner, ResumeMode::raise, exc);
  Value f = lookup_attr(s, sub, throw_name);
  if (f.is_error()) return f;
  if (f.is_unbound()) {
    handled = false;
    return Value::none();
  }
  return stop_to_end(s, call(s, f, {exc}));
}

Value send(Session& s, Generator* g, const Value& v) {
  if (!g->frame) {
    s.stop_value = Value();
    return Value::end();
  }
  Frame* f = g->frame;
  if (!g->started) {
    if (!v.is_none()) return raise_type_error(s, "can't send non-None value to a just-started generator");
    return run_frame(s, g, false);
  }
  if (const Value* d = delegate_of(g)) {
    Value sub = *d;
    g->running = true;
    Value r = send_to_delegate(s, sub, v);
    g->running = false;
    if (r.is_end()) return after_delegate(s, g);
    if (r.is_error()) return run_frame(s, g, true);
    return r;
  }
  f->regs[f->pc->dst] = v;
  ++f->pc;
  return run_frame(s, g, false);
}

Value raise_in(Session& s, Generator* g, const Value& exc) {
  if (!g->frame) {
    s.pending = exc;
    return Value::error();
  }
  if (const Value* d = delegate_of(g)) {
    Value sub = *d;
    bool handled = false;
    g->running = true;
    Value r = throw_to_delegate(s, sub, exc, handled);
    g->running = false;
    if (r.is_error()) return run_frame(s, g, true);
    if (handled) return r.is_end() ? after_delegate(s, g) : r;
  }
  s.pending = exc;
  if (!g->started) {
    add_traceback(s, exc, g->frame->code->function, g->frame->code->function->span,
                  g->frame->function.as<Function>()->globals);
    finish_generator(g);
    stop_iteration_in_generator(s);
    return Value::error();
  }
  return run_frame(s, g, true);
}

}  // namespace

Value next_of_generator(Session& s, Generator* g) {
  Frame* f = g->frame;
  if (f && !g->running && g->started && f->pc->op == I::yield) [[likely]] {
    f->regs[f->pc->dst] = Value::none();
    ++f->pc;
    return run_frame(s, g, false);
  }
  return resume_generator(s, g, ResumeMode::send, Value::none());
}

Value resume_generator(Session& s, Generator* g, ResumeMode mode, const Value& v) {
  if (g->running) return raise_value_error(s, "generator already executing");
  switch (mode) {
    case ResumeMode::send:
      return send(s, g, v);
    case ResumeMode::raise:
      return raise_in(s, g, v);
    case ResumeMode::close:
      break;
  }
  if (!g->frame) return Value::none();
  if (!g->started) {
    finish_generator(g);
    return Value::none();
  }
  Value exit = make_exception(s, exception_type(s, ExcKind::GeneratorExit), Value());
  Value r = raise_in(s, g, exit);
  if (r.is_end()) return Value::none();
  if (r.is_error()) {
    if (!pending_is(s, ExcKind::GeneratorExit) && !pending_is(s, ExcKind::StopIteration)) return r;
    clear_pending(s);
    return Value::none();
  }
  return raise_error(s, ExcKind::RuntimeError, "generator ignored GeneratorExit");
}

// ---------------------------------------------------------------- memory rows

namespace {

void visit_generator(Object* o, Visitor& v) {
  auto* g = static_cast<Generator*>(o);
  if (g->frame) visit_frame(*g->frame, v);
}
void clear_generator(Object* o) {
  auto* g = static_cast<Generator*>(o);
  if (!g->frame || g->running) return;
  Frame* f = g->frame;
  g->frame = nullptr;
  free_generator_frame(f);
}

// A generator that waits inside a `try` is closed before it goes, at the next safe point.
void destroy_generator(Object* o) {
  auto* g = static_cast<Generator*>(o);
  Session* s = current_session();
  bool waits = g->frame && g->started && !g->running &&
               g->frame->code->handover_of[g->frame->code->pc_of(g->frame->pc)] != UINT32_MAX;
  if (waits && !(g->flags & kFlagFinalized) && s) {
    g->flags |= kFlagFinalized;
    g->refs = 1;
    s->finalizers.push_back(Value::steal(g));
    s->ask(Session::kFinalizers);
    return;
  }
  destroy_object<Generator>(o);
}

}  // namespace

void register_generator_kind() {
  register_kind(ObjectKind::generator, {destroy_generator, visit_generator, clear_generator});
}

}  // namespace ouro::runtime
