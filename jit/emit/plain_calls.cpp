#include "jit/emit/plain_calls.h"

#include <new>

#include "runtime/interpreter/slow.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/operators.h"
#include "runtime/object/ops.h"
#include "runtime/object/quick_step.h"

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
  try {
    return runtime::safe_point(*s);
  } catch (const std::bad_alloc&) {
    runtime::raise_memory_error(*s);
    return false;
  }
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

uint32_t ouro_plain_leave(Session* s, runtime::Function* f, uint32_t pc, Value* regs, Value* out, bool raises) {
  const uint32_t n = runtime::compiled(*s, f)->nregs;
  --s->depth;  // the caller has counted the call, and so does the frame
  Value result = Value::error();
  try {
    if (runtime::Frame* frame = runtime::push_frame(*s, Value::share(f))) {
      frame->set(runtime::Frame::kEntry);
      frame->pc = frame->code->instrs.data() + pc;
      for (uint32_t i = 0; i < n; ++i) frame->regs[i] = std::move(regs[i]);
      result = raises ? runtime::run_raising(*s, frame) : runtime::run(*s, frame);
    }
  } catch (const std::bad_alloc&) {
    runtime::raise_memory_error(*s);
  }
  ++s->depth;
  for (uint32_t i = 0; i < n; ++i) regs[i] = Value();
  if (result.is_error()) return 2;
  *out = std::move(result);
  return 1;
}

}  // namespace ouro::jit::plain
