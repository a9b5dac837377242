// What translated plain code calls. No exception of C++ passes through it.
#pragma once

#include <cstdint>

#include "runtime/interpreter/slow.h"
#include "runtime/object/session.h"

namespace ouro::jit::plain {

struct Leaves;
using runtime::Session;
using runtime::Value;

extern "C" {
/// Lets go of what the register holds.
void ouro_plain_drop(Value* v);
/// Another reference to the same value. `dies`: a tensor goes from one register to the other.
void ouro_plain_copy(Value* to, Value* from, bool dies);
/// The iterator over a list. False: there is no memory for it.
bool ouro_plain_iter(Value* to, const Value* list);
/// The range, or the iterator over it with `count` turns to go.
void ouro_plain_range(Session* s, Value* to, int64_t start, int64_t stop, int64_t step);
void ouro_plain_steps(Session* s, Value* to, int64_t next, int64_t count, int64_t step);
/// The list's iterator has given all its items; who else holds it sees that.
void ouro_plain_end(Value* iterator);
/// Does what the session's requests ask for. False: an exception is pending.
bool ouro_plain_safe_point(Session* s);
/// A binary operation on numbers, of which tags and bits are given. False: it raises, or gives no number of the tag
/// `want`; nothing is pending.
bool ouro_plain_binary(Session* s, uint32_t op, uint32_t want, uint32_t a_tag, int64_t a, uint32_t b_tag, int64_t b,
                       int64_t* out);
/// A built-in function of one or two numbers, likewise.
bool ouro_plain_native(Session* s, const runtime::Native* f, uint32_t count, uint32_t want, uint32_t a_tag, int64_t a,
                       uint32_t b_tag, int64_t b, int64_t* out);
/// Does the instruction of a function that has no frame, and whose registers these are, by the interpreter's code
/// (runtime/interpreter/step.cpp). False: an exception is pending.
bool ouro_plain_step(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in, runtime::Step step);
/// Those of jumps. `f` null: the frame on top.
int32_t ouro_plain_condition(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in);
int32_t ouro_plain_slice(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in);
int32_t ouro_plain_next(Session* s, runtime::Function* f, Value* regs, const runtime::Instr* in);
/// The truth of what a register holds. -1: a script says what it is, or it is nothing that is read here.
int32_t ouro_plain_truth(Session* s, const Value* v);
int64_t ouro_plain_length(runtime::Str* text);
/// What a dict has for an int or a text, given by tag and bits. Null: nothing, or a script would have to be asked.
const Value* ouro_plain_entry(runtime::Dict* d, uint32_t tag, int64_t bits);
/// Puts a value there. 1: done; 0: a script would have to be asked; 2: an exception is pending.
uint32_t ouro_plain_dict_set(Session* s, runtime::Dict* d, uint32_t key_tag, int64_t key, uint32_t tag, int64_t bits);
/// Does a dict hold an int or a text? -1: a script would have to be asked.
int32_t ouro_plain_contains(runtime::Dict* d, uint32_t tag, int64_t bits);
/// Makes room for one more item in the list in a register. False: an exception is pending.
bool ouro_plain_grow(Session* s, Value* list);
/// A new object of a class, without attributes, into `to`. False: an exception is pending.
bool ouro_plain_new(Session* s, runtime::Type* type, Value* to);
/// Room for so many attributes. False: an exception is pending.
bool ouro_plain_grow_slots(Session* s, runtime::Instance* instance, uint32_t count);
/// Raises since an `__init__` gave something, which is let go of.
void ouro_plain_no_init(Session* s, Value* given);
/// The character of a text at an index. False: it has none there, or others than ASCII's.
bool ouro_plain_char(Value* to, const Value* text, int64_t index);
/// Appends a number, or what another register holds, to the list in a register. False: there is no memory for it.
bool ouro_plain_append(Value* list, uint32_t tag, int64_t bits);
bool ouro_plain_append_held(Value* list, Value* item, bool dies);
/// A call without a frame is left: makes the frame, with these registers (`regs`, whose references it takes), at the
/// instruction, and interprets the rest of it. 1: the result is in `out`; 2: an exception is pending. `raises`: the
/// pending exception is raised there.
uint32_t ouro_plain_leave(Session* s, runtime::Function* f, uint32_t pc, Value* regs, Value* out, bool raises,
                          Leaves* leaves);
}

}  // namespace ouro::jit::plain
