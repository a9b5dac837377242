// Rearrangements that do nothing, undo each other, or can be one.
#include "ir/ops/let_args.h"
#include "ir/opt/rules.h"
#include "ir/type.h"

namespace ouro::ir::opt {
namespace {

// Where the view of a view reads: the two index maps, one after the other.
SmallVec<AxisAt, 6> composed(const IndexMap& inner, const IndexMap& outer) {
  SmallVec<AxisAt, 6> at;
  for (const AxisAt& i : inner.at) {
    AxisAt a = i;
    if (i.axis >= 0) {
      const AxisAt& o = outer.at[static_cast<size_t>(i.axis)];
      a = {.axis = o.axis, .step = i.step * o.step, .start = add(i.start, multiply(SymDim::number(i.step), o.start))};
    }
    at.push_back(a);
  }
  return at;
}

// Every element of x at its own place. (Of an axis with one element it does not matter which axis it follows.)
bool in_place(std::span<const AxisAt> at, const Type& x) {
  for (size_t a = 0; a < at.size(); ++a) {
    if (!(at[a].start == SymDim::number(0))) return false;
    const bool one = x.dims[a] == SymDim::number(1);
    if (!one && (at[a].axis != static_cast<int>(a) || at[a].step != 1)) return false;
  }
  return true;
}

// A part that is all of it, an order that is the same.
bool moves_nothing(const Match& m) {
  LetCall made;
  return m.same(m.arg(0)) && made.infer(m.f, m.let) && made.call.map.way == IndexMap::Way::reads &&
         in_place(made.call.map.at, *m.type(m.arg(0))) && m.become(m.arg(0));
}

bool undone(const Match& m) {
  const Let* inner = m.view(m.arg(0));
  if (!inner) return false;
  const Atom x = m.f.args(*inner)[0];
  if (!m.same(x)) return false;
  LetCall first, second;
  if (!first.infer(m.f, *inner) || !second.infer(m.f, m.let)) return false;
  using Way = IndexMap::Way;
  const IndexMap &in = first.call.map, &out = second.call.map;
  if (in.way != out.way || (in.way != Way::flat && in.way != Way::reads)) return false;
  return (in.way == Way::flat || in_place(composed(in, out), *m.type(x))) && m.become(x);
}

constexpr Rule kShapes[] = {
    {"reshape flatten unflatten squeeze unsqueeze expand expand_as unreduce sum_to", "to the shape it has",
     [](const Match& m) { return m.same(m.arg(0)) && m.become(m.arg(0)); }},
    {"reshape flatten unflatten squeeze unsqueeze permute permute_back transpose t movedim expand expand_as flip "
     "narrow",
     "a view of a view that has every element where it was", undone},
    {"permute permute_back transpose t movedim flip narrow", "a view that has every element where it was",
     moves_nothing},
};

}  // namespace

std::span<const Rule> shape_rules_of_simplify() { return kShapes; }

}  // namespace ouro::ir::opt
