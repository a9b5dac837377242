// A program as text, for dumps and tests.
#include <fmt/format.h>

#include "ir/effect.h"
#include "jit/plan/plan_program.h"

namespace ouro::jit {
namespace {

std::string text(const BufferRef& b) { return fmt::format("{}{}", b.arena ? "a" : "%", b.index); }
std::string text(const Operand& o) {
  return o.reg != kNoReg                   ? fmt::format("%{}", o.reg)
         : o.constant == ir::ConstId::none ? "none"
                                           : fmt::format("c{}", index(o.constant));
}
template <class T, class F>
std::string list(const T& items, F&& one) {
  std::string s;
  for (const auto& i : items) s += (s.empty() ? "" : ", ") + one(i);
  return s;
}

}  // namespace

std::string print(const Program& p) {
  constexpr std::string_view kNames[] = {"kernel", "matmul", "convolve", "check_places", "share",  "row",
                                         "prim",   "bind",   "jump",     "branch",       "return", "leave"};
  static_assert(std::size(kNames) == std::variant_size_v<Work>);
  std::string out;
  for (size_t at = 0; at < p.code.size(); ++at) {
    const Instr& i = p.code[at];
    std::string line = fmt::format("{:>3} {}", at, kNames[i.work.index()]);
    const auto* launch = i.get<work::Kernel>();
    const auto* operation = i.operation();
    if (launch)
      line += fmt::format(" k{} range {} work {}", launch->kernel, p.sizes[launch->range].text(),
                          p.sizes[launch->work].text());
    if (const auto* prim = i.get<work::Prim>(); prim && prim->ahead) line += " ahead";
    if (operation) line += fmt::format(" {} -> %{}", ir::loops::name_of(operation->op), operation->result);
    if (const auto* share = i.get<work::Share>()) line += fmt::format(" %{} -> %{}", share->source, share->result);
    if (!i.buffers.empty()) line += " [" + list(i.buffers, [](const BufferRef& b) { return text(b); }) + "]";
    if (launch && !launch->scalars.empty())
      line += " scalars " + list(launch->scalars, [](const ScalarRef& s) { return fmt::format("%{}", s.reg); });
    const auto* back = i.get<work::Return>();
    if (const auto* operands = operation ? &operation->args
                               : back    ? &back->values
                                         : nullptr;
        operands && !operands->empty())
      line += " (" + list(*operands, [](const Operand& o) { return text(o); }) + ")";
    for (const MakeTensor& m : i.make) {
      line += fmt::format(" make %{}", m.reg);
      if (!m.donors.empty()) line += " from " + list(m.donors, [](Reg r) { return fmt::format("%{}", r); });
      if (m.keep.count) line += " kept";
    }
    if (const auto* row = i.get<work::Row>(); row && row->keep.count) line += " kept";
    if (const auto* branch = i.get<work::Branch>(); branch && branch->condition.reg != kNoReg)
      line += " if " + text(branch->condition);
    for (const Edge* e : i.edges())
      line +=
          fmt::format(" -> {}({})", e->target,
                      list(e->moves, [](const auto& m) { return fmt::format("%{} = {}", m.first, text(m.second)); }));
    if (const auto* leave = i.get<work::Leave>()) line += " '" + leave->why + "'";
    if (!i.drop.empty()) line += " drop " + list(i.drop, [](Reg r) { return fmt::format("%{}", r); });
    out += line + "\n";
  }
  for (size_t a = 0; a < p.arena.size(); ++a)
    out += fmt::format("a{}: {} bytes, {} to {}{}\n", a, p.sizes[p.arena[a].bytes].text(), p.arena[a].first,
                       p.arena[a].last,
                       p.arena[a].in_place_of >= 0 ? fmt::format(", in place of a{}", p.arena[a].in_place_of) : "");
  return out;
}

}  // namespace ouro::jit
