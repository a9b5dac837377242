// Which registers are live where: backwards over the instructions, until nothing changes.
#include "jit/emit/plain_code.h"

namespace ouro::jit::plain {

using runtime::Code;
using runtime::I;
using runtime::Instr;

namespace {

// Where an instruction's operands stand.
enum class Form : uint8_t { own, plain, sited, listed, generic };
struct FormOf {
  Form of[static_cast<size_t>(I::count_)];
  constexpr FormOf() : of{} {
#define PRIM(id, text, n, attr, effects, location, interpreter, ...) interpreter
#define INTERPRET(form, instr, ...) OURO_OF_##form(instr)
#define OURO_OF_plain(instr) of[static_cast<size_t>(I::instr)] = Form::plain;
#define OURO_OF_sited(instr) of[static_cast<size_t>(I::instr)] = Form::sited;
#define OURO_OF_listed(instr) of[static_cast<size_t>(I::instr)] = Form::listed;
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
constexpr FormOf kForms;

}  // namespace

Liveness::Liveness(const Code& code) : regs_(code.nregs), bits_((code.instrs.size() + 1) * code.nregs) {
  const auto n = static_cast<uint32_t>(code.instrs.size());
  std::vector<bool> out(regs_);
  const auto join = [&](int32_t target) {
    for (size_t r = 0; r < regs_; ++r)
      if (bits_[static_cast<size_t>(target) * regs_ + r]) out[r] = true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t pc = n; pc-- > 0;) {
      const Instr& in = code.instrs[pc];
      out.assign(regs_, false);
      const auto read = [&](int32_t at) {
        if (at >= 0) out[static_cast<size_t>(at)] = true;
      };
      const auto wrote = [&](int32_t at) {
        if (at >= 0) out[static_cast<size_t>(at)] = false;
      };
      const auto read_site = [&](int32_t index) {
        const runtime::Site& x = code.sites[static_cast<size_t>(index)];
        for (uint32_t i = 0; i < x.count; ++i) read(code.operands[x.first + i].at);
      };
      const auto next = [&] { join(static_cast<int32_t>(pc + 1)); };
      bool reads_all = false;
      switch (in.op) {
        case I::jump:
        case I::jump_back:
          join(in.dst);
          break;
        case I::branch:
        case I::branch_not:
        case I::if_not_truth:
        case I::if_truth:
          next(), join(in.dst), read(in.a);
          break;
        case I::if_not_eq:
        case I::if_not_ne:
        case I::if_not_lt:
        case I::if_not_le:
        case I::if_not_gt:
        case I::if_not_ge:
        case I::if_not_is:
        case I::if_is:
          next(), join(in.dst), read(in.a), read(in.b);
          break;
        case I::for_iter:
          next(), wrote(in.b), join(in.dst), read(in.a);
          break;
        case I::switch_:
          for (int32_t way : code.switches[static_cast<size_t>(in.dst)]) join(way);
          read(in.a);
          break;
        case I::return_:
        case I::raise_again:
          read(in.a);
          break;
        case I::raise:
          read(in.a), read(in.b);
          break;
        case I::unreachable:
        case I::reraise:
          break;
        case I::move:
        case I::take:
          next(), wrote(in.dst), read(in.a);
          break;
        case I::drop:
          next(), wrote(in.dst);
          break;
        case I::call:
        case I::call_method:
        case I::tensor_op:
          next(), wrote(in.dst), read_site(in.a);
          break;
        case I::call_loaded:
          next(), wrote(in.dst), read(in.b), read_site(in.a);
          break;
        default:
          switch (kForms.of[static_cast<size_t>(in.op)]) {
            case Form::plain:
              next(), wrote(in.dst), read(in.a), read(in.b);
              break;
            case Form::sited:
              next(), wrote(in.dst), read(in.a);
              break;
            case Form::listed:
              next(), wrote(in.dst), read_site(in.a);
              break;
            default:
              reads_all = true;
          }
      }
      if (reads_all || code.handover_of[pc] != UINT32_MAX) out.assign(regs_, true);
      for (size_t r = 0; r < regs_; ++r)
        if (out[r] != bits_[pc * regs_ + r]) bits_[pc * regs_ + r] = out[r], changed = true;
    }
  }
}

RegType type_of(const Value& v, bool live) {
  if (!live) return {Kind::stale};
  switch (v.tag()) {
    case runtime::Tag::unbound:
      return {Kind::unbound};
    case runtime::Tag::integer:
      return {Kind::integer};
    case runtime::Tag::floating:
      return {Kind::floating};
    case runtime::Tag::boolean:
      return {Kind::boolean};
    case runtime::Tag::none:
      return {Kind::none};
    case runtime::Tag::object:
      return {Kind::held, v.object()};
    default:
      return {Kind::held};
  }
}

}  // namespace ouro::jit::plain
