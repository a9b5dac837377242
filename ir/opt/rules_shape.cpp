// Rearrangements that do nothing, undo each other, or can be one.
#include "ir/ops/registry.h"
#include "ir/opt/rules.h"
#include "ir/type.h"

namespace ouro::ir::opt {
namespace {

bool reshapes(const Match& m, Atom a, const Let*& inner) {
  for (std::string_view name : {"reshape", "flatten", "unflatten", "squeeze", "unsqueeze"})
    if ((inner = m.row(a, name))) return true;
  return false;
}

constexpr Rule kRules[] = {
    {"reshape flatten unflatten squeeze unsqueeze expand expand_as unreduce sum_to", "to the shape it has",
     [](const Match& m) { return m.same(m.arg(0)) && m.become(m.arg(0)); }},
    {"reshape flatten unflatten squeeze unsqueeze", "a reshape of a reshape back to the first shape",
     [](const Match& m) {
       const Let* inner;
       return reshapes(m, m.arg(0), inner) && m.same(m.f.args(*inner)[0]) && m.become(m.f.args(*inner)[0]);
     }},
    {"t", "(x^T)^T = x",
     [](const Match& m) {
       const Let* inner = m.row(m.arg(0), "t");
       return inner && m.same(m.f.args(*inner)[0]) && m.become(m.f.args(*inner)[0]);
     }},
    {"transpose", "the same two axes twice",
     [](const Match& m) {
       const Let* inner = m.row(m.arg(0), "transpose");
       if (!inner || inner->nargs != 3 || m.nargs() != 3) return false;
       const Atom* a = m.f.args(*inner);
       return a[1] == m.arg(1) && a[2] == m.arg(2) && m.same(a[0]) && m.become(a[0]);
     }},
    {"permute_back permute", "one undoes the other",
     [](const Match& m) {
       bool back = op_info(m.let.op).name == "permute_back";
       const Let* inner = m.row(m.arg(0), back ? "permute" : "permute_back");
       if (!inner || inner->nargs != m.nargs()) return false;
       const Atom* a = m.f.args(*inner);
       for (size_t i = 1; i < m.nargs(); ++i)
         if (!(a[i] == m.arg(i))) return false;
       return m.same(a[0]) && m.become(a[0]);
     }},
};

}  // namespace

std::span<const Rule> shape_rules_of_simplify() { return kRules; }

}  // namespace ouro::ir::opt
