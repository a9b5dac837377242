// Which registers are live where: backwards over the instructions, until nothing changes.
#include "jit/emit/operands.h"

namespace ouro::jit::plain {

using runtime::Code;
using runtime::I;
using runtime::Instr;

Liveness::Liveness(const Code& code) : regs_(code.nregs), bits_((code.instrs.size() + 1) * code.nregs) {
  const auto n = static_cast<uint32_t>(code.instrs.size());
  std::vector<bool> out(regs_);
  const auto join = [&](int32_t target) {
    for (size_t r = 0; r < regs_; ++r)
      if (bits_[static_cast<size_t>(target) * regs_ + r]) out[r] = true;
  };
  const auto live_at = [&](int32_t pc, int32_t r) {
    return bits_[static_cast<size_t>(pc) * regs_ + static_cast<size_t>(r)];
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t pc = n; pc-- > 0;) {
      const Instr& in = code.instrs[pc];
      out.assign(regs_, false);
      const bool ends = in.op == I::return_ || in.op == I::raise || in.op == I::raise_again || in.op == I::reraise ||
                        in.op == I::unreachable;
      const bool leads_on = !ends && in.op != I::jump && in.op != I::jump_back && in.op != I::switch_;
      if (leads_on) join(static_cast<int32_t>(pc + 1));
      if (jumps(in.op)) join(in.dst);
      if (in.op == I::switch_)
        for (int32_t way : code.switches[static_cast<size_t>(in.dst)]) join(way);
      // A loop's variable is not written where the loop ends: it may be read there.
      if (const int32_t to = written_by(in); to >= 0 && !(in.op == I::for_iter && live_at(in.dst, to)))
        out[static_cast<size_t>(to)] = false;
      const bool reads_all = !operands_of(code, pc, [&](uint32_t r, runtime::Use) { out[r] = true; });
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
