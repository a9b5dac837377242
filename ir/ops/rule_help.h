// What shape rules and index maps are written with. Internal to ir/ops.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "ir/ops/sig.h"

namespace ouro::ir::rule {

using Kind = Param::Kind;

inline const Dims& in(const SigCall& c, size_t i = 0) { return c.inputs[i]->dims; }
inline Dims& out(SigCall& c) { return c.results[0].dims; }
inline std::string who(const SigCall& c) { return c.op->shown + ": "; }

inline bool done(SigCall& c, Dims d) {
  out(c) = std::move(d);
  return true;
}

// A parameter that is a list of ints, or one int, or (variadic) a list whose only part is a list.
inline bool int_list(SigCall& c, const Param& p, Dims& list) {
  list.clear();
  const Param* l = &p;
  if (l->kind == Kind::list && l->list.size() == 1 && l->list[0].kind == Kind::list) l = &l->list[0];
  if (l->kind == Kind::integer || l->kind == Kind::boolean) return list.push_back(l->integer), true;
  if (l->kind != Kind::list) return c.fail("TypeError", who(c) + "ints expected");
  for (const Param& q : l->list) {
    if (q.kind == Kind::unknown) {
      list.push_back(unknown_dim());
      continue;
    }
    if (q.kind == Kind::floating && std::abs(q.floating) > 0x1p1000)  // what an int of many digits becomes
      return c.fail("OverflowError", who(c) + "an int too large for a size");
    if (q.kind != Kind::integer && q.kind != Kind::boolean) return c.fail("TypeError", who(c) + "ints expected");
    list.push_back(q.integer);
  }
  return true;
}
inline bool check_size(SigCall& c, const Dims& d) {
  for (Dim x : d)
    if (x.known() && x.c < 0) return c.fail("ValueError", who(c) + "negative dimension " + std::to_string(x.c));
  return true;
}
// Sizes of one axis that cannot be the same, as far as they are known.
inline bool unequal(Dim a, Dim b) { return differs(a, b) || (a.known() && b.known() && a.c != b.c); }
inline bool larger(Dim a, Dim b) { return a.known() && b.known() && a.c > b.c; }
inline bool unequal(const Dims& a, const Dims& b) {
  return a.size() != b.size() || !std::ranges::equal(a, b, [](Dim x, Dim y) { return !unequal(x, y); });
}
inline bool do_not_fit(SigCall& c, const Dims& a, const Dims& b) {
  return c.fail("ValueError", who(c) + to_text(a) + " and " + to_text(b) + " do not fit");
}
// Can a tensor of shape `small` be repeated along axes to `big`?
inline bool repeats_to(const Dims& small, const Dims& big) {
  if (small.size() > big.size()) return false;
  const size_t lead = big.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i)
    if (!is(small[i], 1) && unequal(small[i], big[lead + i])) return false;
  return true;
}
inline bool axis_of(SigCall& c, const char* name, int rank, int& a) { return resolve_axis(c, c.param(name), rank, a); }

}  // namespace ouro::ir::rule
