#include "jit/emit/plain_calls.h"

#include <new>
#include <stdexcept>
#include <utility>

#include "jit/emit/plain_code.h"
#include "runtime/interpreter/slow.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/interrupt.h"
#include "runtime/object/operators.h"
#include "runtime/object/ops.h"
#include "runtime/object/quick_step.h"
#include "runtime/protocol/lookup.h"

namespace ouro::jit::plain {

using runtime::Tag;

namespace {

Value number(uint32_t tag, int64_t bits) {
  double f;
  std::memcpy(&f, &bits, 8);
  return static_cast<Tag>(tag) == Tag::floating  ? Value::floating(f)
         : static_cast<Tag>(tag) == Tag::boolean ? Value::boolean(bits != 0)
                                                 : Value::integer(bits);
}

template <class F>
bool with_memory(F&& f) {
  try {
    f();
    return true;
  } catch (...) {
    return false;
  }
}

// What passes through it as an exception of C++ becomes the pending one.
template <class F>
void raising(Session& s, F&& f) {
  try {
    f();
  } catch (const runtime::Interrupted&) {
    runtime::raise_interrupt(s);
  } catch (const std::bad_alloc&) {
    runtime::raise_memory_error(s);
  } catch (const std::length_error&) {
    runtime::raise_memory_error(s);
  }
}

// The interpreter does again what comes to nothing here.
bool give(Session& s, const Value& r, uint32_t want, int64_t* out) {
  if (r.is_error()) s.pending = Value();
  if (r.tag() != static_cast<Tag>(want)) return false;
  *out = r.bits();
  return true;
}

}  // namespace

void ouro_plain_drop(Value* v) { *v = Value(); }
void ouro_plain_copy(Value* to, Value* from, bool dies) {
  if (dies && runtime::kind_of(*from) == runtime::ObjectKind::tensor)
    *to = std::move(*from);
  else
    *to = *from;
}
bool ouro_plain_iter(Value* to, const Value* list) {
  return with_memory([&] { *to = runtime::make_iterator(runtime::kListIterator, *list); });
}

// A register has to be given back: what that takes is not counted.
void ouro_plain_range(Session* s, Value* to, int64_t start, int64_t stop, int64_t step) {
  runtime::MemoryUnlimited unlimited(s->memory);
  *to = runtime::make_range(start, stop, step);
}
void ouro_plain_steps(Session* s, Value* to, int64_t next, int64_t count, int64_t step) {
  runtime::MemoryUnlimited unlimited(s->memory);
  *to = runtime::make_iterator(runtime::kRangeIterator, Value(), next, count, step);
}

void ouro_plain_end(Value* iterator) {
  iterator->as<runtime::Iterator>()->source = Value();
  *iterator = Value();
}
bool ouro_plain_safe_point(Session* s) {
  bool done = false;
  raising(*s, [&] { done = runtime::safe_point(*s); });
  return done;
}

bool ouro_plain_binary(Session* s, uint32_t op, uint32_t want, uint32_t a_tag, int64_t a, uint32_t b_tag, int64_t b,
                       int64_t* out) {
  try {
    return give(*s, runtime::binary(*s, static_cast<runtime::BinOp>(op), number(a_tag, a), number(b_tag, b)), want,
                out);
  } catch (...) {  // no memory, or an interrupt: the interpreter meets it again
    return false;
  }
}

bool ouro_plain_native(Session* s, const runtime::Native* f, uint32_t count, uint32_t want, uint32_t a_tag, int64_t a,
                       uint32_t b_tag, int64_t b, int64_t* out) {
  try {
    const Value args[] = {number(a_tag, a), number(b_tag, b)};
    return give(*s, f->def->fn(*s, {.positional = std::span(args, count), .keywords = {}, .names = {}}), want, out);
  } catch (...) {  // no memory, or an interrupt: the interpreter meets it again
    return false;
  }
}

namespace {

// A function that has no frame gets one on top as long as the instruction takes: what it calls finds its caller.
template <class F>
auto in_frame(Session& s, runtime::Function* f, Value* regs, F&& work) {
  runtime::Interpreter& in = *s.interpreter;
  if (!f) return work(*in.top);
  runtime::Frame frame(runtime::compiled(s, f), Value::share(f), in.top);
  frame.regs = regs;
  std::atomic_signal_fence(std::memory_order_release);
  in.top = &frame;
  const auto result = work(frame);
  in.top = frame.caller;
  std::atomic_signal_fence(std::memory_order_release);
  return result;
}

}  // namespace

bool ouro_plain_step(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in, runtime::Step step) {
  return in_frame(*s, f, regs, [&](runtime::Frame& frame) { return step(*s, frame, *in); });
}
int32_t ouro_plain_condition(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in) {
  return in_frame(*s, f, regs, [&](runtime::Frame& frame) { return runtime::step_condition(*s, frame, *in); });
}
int32_t ouro_plain_slice(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in) {
  return in_frame(*s, f, regs, [&](runtime::Frame& frame) { return runtime::step_slice(*s, frame, *in); });
}
int32_t ouro_plain_next(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in) {
  return in_frame(*s, f, regs, [&](runtime::Frame& frame) { return runtime::step_iterator(*s, frame, *in); });
}

namespace {

// Another reference to a value that is given by tag and bits.
Value shared(uint32_t tag, int64_t bits) {
  if (static_cast<Tag>(tag) == Tag::object) return Value::share(reinterpret_cast<runtime::Object*>(bits));
  return static_cast<Tag>(tag) == Tag::none ? Value::none() : number(tag, bits);
}

}  // namespace

int64_t ouro_plain_length(runtime::Str* text) { return runtime::str_length(text); }

const Value* ouro_plain_entry(runtime::Dict* d, uint32_t tag, int64_t bits) {
  bool asks = false;
  const runtime::Dict::Entry* e = runtime::dict_plain_entry(d, shared(tag, bits), asks);
  return e ? &e->value : nullptr;
}

uint32_t ouro_plain_dict_set(Session* s, runtime::Dict* d, uint32_t key_tag, int64_t key_bits, uint32_t tag,
                             int64_t bits) {
  const Value key = shared(key_tag, key_bits);
  bool asks = false;
  if (runtime::Dict::Entry* e = runtime::dict_plain_entry(d, key, asks)) {
    Value v = shared(tag, bits);
    e->value.swap(v);  // what was there may end
    return 1;
  }
  if (asks) return 0;
  bool done = false;
  raising(*s, [&] { done = runtime::dict_set(*s, d, key, shared(tag, bits)); });
  return done ? 1 : 2;
}

int32_t ouro_plain_contains(runtime::Dict* d, uint32_t tag, int64_t bits) {
  bool asks = false;
  const runtime::Dict::Entry* e = runtime::dict_plain_entry(d, shared(tag, bits), asks);
  return e ? 1 : asks ? -1 : 0;
}

int32_t ouro_plain_truth(Session* s, const Value* v) {
  using runtime::ObjectKind;
  switch (v->tag()) {
    case Tag::none:
      return 0;
    case Tag::integer:
    case Tag::boolean:
      return v->bits() != 0;
    case Tag::floating:
      return v->as_float() != 0;
    case Tag::object:
      break;
    default:
      return -1;
  }
  switch (v->object()->object_kind()) {
    case ObjectKind::list:
      return v->as<runtime::List>()->size != 0;
    case ObjectKind::str:
      return v->as<runtime::Str>()->size != 0;
    case ObjectKind::tuple:
      return v->as<runtime::Tuple>()->size != 0;
    case ObjectKind::dict:
      return v->as<runtime::Dict>()->used != 0;
    case ObjectKind::set:
      return v->as<runtime::Set>()->used != 0;
    case ObjectKind::instance: {
      const auto* i = v->as<runtime::Instance>();
      const auto says = [&](runtime::Dunder d) { return !runtime::find_dunder(*s, i->type, d).is_unbound(); };
      return !i->native.is_unbound() || says(runtime::Dunder::bool_) || says(runtime::Dunder::len_) ? -1 : 1;
    }
    default:
      return -1;
  }
}

bool ouro_plain_char(Value* to, const Value* text, int64_t index) {
  auto* t = text->as<runtime::Str>();
  return with_memory([&] {
    const int64_t n = runtime::str_length(t);
    const int64_t i = index < 0 ? index + n : index;
    if (!t->ascii() || static_cast<uint64_t>(i) >= static_cast<uint64_t>(n)) throw std::bad_alloc();
    *to = runtime::make_char(static_cast<unsigned char>(t->data[i]));
  });
}
bool ouro_plain_grow(Session* s, Value* list) {
  auto* l = list->as<runtime::List>();
  bool done = false;
  raising(*s, [&] { l->reserve(l->size + 1), done = true; });
  return done;
}
bool ouro_plain_new(Session* s, runtime::Type* type, Value* to) {
  bool done = false;
  raising(*s, [&] { new (to) Value(runtime::new_instance(*s, type)), done = true; });
  return done;
}
bool ouro_plain_grow_slots(Session* s, runtime::Instance* instance, uint32_t count) {
  bool done = false;
  raising(*s, [&] { runtime::grow_slots(instance, count), done = true; });
  return done;
}
void ouro_plain_no_init(Session* s, Value* given) {
  const Value v = std::move(*given);
  raising(*s, [&] { runtime::raise_wrong_init(*s, v); });
}
bool ouro_plain_append(Value* list, uint32_t tag, int64_t bits) {
  return with_memory([&] { list->as<runtime::List>()->push(number(tag, bits)); });
}
bool ouro_plain_append_held(Value* list, Value* item, bool dies) {
  auto* l = list->as<runtime::List>();
  return with_memory([&] {
    if (l->size == l->capacity) l->reserve(l->size + 1);
    l->push(dies ? std::move(*item) : *item);
  });
}

uint32_t ouro_plain_leave(Session* s, runtime::Function* f, uint32_t pc, Value* regs, Value* out, bool raises,
                          Leaves* leaves) {
  if (++leaves->count % Leaves::kMany == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (now - leaves->since < Leaves::kShort && !std::exchange(leaves->often, true))
      s->poll.fetch_or(Session::kTranslated);  // the loop asks for other code
    leaves->since = now;
  }
  const uint32_t n = runtime::compiled(*s, f)->nregs;
  --s->depth;  // the caller has counted the call, and so does the frame
  Value result = Value::error();
  raising(*s, [&] {
    if (runtime::Frame* frame = runtime::push_frame(*s, Value::share(f))) {
      frame->set(runtime::Frame::kEntry);
      frame->pc = frame->code->instrs.data() + pc;
      for (uint32_t i = 0; i < n; ++i) frame->regs[i] = std::move(regs[i]);
      result = raises ? runtime::run_raising(*s, frame) : runtime::run(*s, frame);
    }
  });
  ++s->depth;
  for (uint32_t i = 0; i < n; ++i) regs[i] = Value();
  if (result.is_error()) return 2;
  *out = std::move(result);
  return 1;
}

}  // namespace ouro::jit::plain
