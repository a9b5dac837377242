// Which registers an instruction of the register code reads and writes, and what becomes of its operands.
#pragma once

#include "jit/emit/plain_code.h"
#include "runtime/interpreter/code.h"

namespace ouro::jit::plain {

// Where an instruction's operands stand: in the instruction, in its Site's list, or otherwise.
enum class Form : uint8_t { own, plain, sited, listed, generic };
struct FormOf {
  Form of[static_cast<size_t>(runtime::I::count_)];
  constexpr FormOf() : of{} {
#define PRIM(id, text, n, attr, effects, location, interpreter, ...) interpreter
#define INTERPRET(form, instr, ...) OURO_OF_##form(instr)
#define OURO_OF_plain(instr) of[static_cast<size_t>(runtime::I::instr)] = Form::plain;
#define OURO_OF_sited(instr) of[static_cast<size_t>(runtime::I::instr)] = Form::sited;
#define OURO_OF_listed(instr) of[static_cast<size_t>(runtime::I::instr)] = Form::listed;
#define OURO_OF_call(instr)
#define OURO_OF_generic(instr)
#include "ir/prims.inc"
#undef OURO_OF_plain
#undef OURO_OF_sited
#undef OURO_OF_listed
#undef OURO_OF_call
#undef OURO_OF_generic
#undef INTERPRET
#undef PRIM
  }
};
inline constexpr FormOf kForms;

/// Calls read(register, use) of each operand that is a register. False: it may read any of them.
template <class Read>
bool operands_of(const runtime::Code& code, uint32_t pc, Read&& read) {
  using runtime::I;
  const runtime::Instr& in = code.instrs[pc];
  const auto one = [&](int32_t at, uint8_t use) {
    if (at >= 0) read(static_cast<uint32_t>(at), static_cast<runtime::Use>(use));
  };
  const auto site = [&](int32_t index) {
    const runtime::Site& x = code.sites[static_cast<size_t>(index)];
    for (uint32_t i = 0; i < x.count; ++i)
      one(code.operands[x.first + i].at, static_cast<uint8_t>(code.operands[x.first + i].use));
  };
  switch (in.op) {
    case I::jump:
    case I::jump_back:
    case I::unreachable:
    case I::reraise:
    case I::drop:
      return true;
    case I::branch:
    case I::branch_not:
    case I::if_not_truth:
    case I::if_truth:
    case I::for_iter:
    case I::switch_:
    case I::return_:
    case I::raise_again:
    case I::move:
    case I::take:
      one(in.a, in.use_a);
      return true;
    case I::if_not_eq:
    case I::if_not_ne:
    case I::if_not_lt:
    case I::if_not_le:
    case I::if_not_gt:
    case I::if_not_ge:
    case I::if_not_is:
    case I::if_is:
    case I::raise:
      one(in.a, in.use_a), one(in.b, in.use_b);
      return true;
    case I::call:
    case I::call_method:
    case I::call_full:
    case I::call_method_full:
    case I::tensor_op:
    case I::slice_get:
      site(in.a);
      return true;
    case I::call_loaded:
    case I::call_loaded_full:
      one(in.b, in.use_b), site(in.a);
      return true;
    case I::unpack_two:
      one(in.a, in.use_a);
      return true;
    default:
      break;
  }
  switch (kForms.of[static_cast<size_t>(in.op)]) {
    case Form::plain:
      one(in.a, in.use_a), one(in.b, in.use_b);
      return true;
    case Form::sited:
      one(in.a, in.use_a);
      return true;
    case Form::listed:
      site(in.a);
      return true;
    default:
      return false;
  }
}

/// The register that it writes; -1: none. (A loop's variable is not written on the way out of the loop.)
inline int32_t written_by(const runtime::Instr& in) {
  using runtime::I;
  if (in.op == I::for_iter) return in.b;
  if (jumps(in.op)) return -1;
  switch (in.op) {
    case I::switch_:
    case I::return_:
    case I::raise:
    case I::raise_again:
    case I::reraise:
    case I::unreachable:
      return -1;
    default:
      return in.dst;
  }
}

}  // namespace ouro::jit::plain
