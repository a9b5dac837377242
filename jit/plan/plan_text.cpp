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
  std::string out;
  for (size_t at = 0; at < p.code.size(); ++at) {
    const Instr& i = p.code[at];
    std::string line = fmt::format("{:>3} {}", at, kNames[static_cast<int>(i.kind)]);
    if (i.kind == Instr::Kind::kernel)
      line += fmt::format(" k{} range {} work {}", i.kernel, p.sizes[i.range].text(), p.sizes[i.work].text());
    if (i.kind == Instr::Kind::row || i.kind == Instr::Kind::prim)
      line += fmt::format(" {} -> %{}", ir::loops::name_of(i.op), i.result);
    if (i.kind == Instr::Kind::share) line += fmt::format(" %{} -> %{}", i.source, i.result);
    if (!i.buffers.empty()) line += " [" + list(i.buffers, [](const BufferRef& b) { return text(b); }) + "]";
    if (!i.scalars.empty())
      line += " scalars " + list(i.scalars, [](const ScalarRef& s) { return fmt::format("%{}", s.reg); });
    if (!i.args.empty()) line += " (" + list(i.args, [](const Operand& o) { return text(o); }) + ")";
    for (const MakeTensor& m : i.make) {
      line += fmt::format(" make %{}", m.reg);
      if (!m.donors.empty()) line += " from " + list(m.donors, [](Reg r) { return fmt::format("%{}", r); });
      if (m.keep.count) line += " kept";
    }
    if (i.keep.count) line += " kept";
    if (!i.condition.reg || i.condition.reg != kNoReg) line += " if " + text(i.condition);
    for (const Instr::Edge& e : i.edges)
      line +=
          fmt::format(" -> {}({})", e.target,
                      list(e.moves, [](const auto& m) { return fmt::format("%{} = {}", m.first, text(m.second)); }));
    if (!i.why.empty()) line += " '" + i.why + "'";
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
