#include "ir/ops/view.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/rule_help.h"

namespace ouro::ir::view {

using namespace rule;
using At = SmallVec<AxisAt, 6>;
using Way = IndexMap::Way;

namespace {

bool moved(SigCall& c, Way way, At at, Dims dims) {
  c.map = {.way = way, .at = std::move(at)};
  return done(c, std::move(dims));
}
bool flat(SigCall& c, Dims dims) { return moved(c, Way::flat, {}, std::move(dims)); }

// Each axis where it is.
At as_it_is(size_t rank) {
  At at(rank);
  for (size_t a = 0; a < rank; ++a) at[a].axis = static_cast<int>(a);
  return at;
}

// An integer; what is not known when a program is compiled is a size of its own.
Dim integer(const SigCall& c, const char* name) {
  const Param& p = c.param(name);
  return p.kind == Param::Kind::integer || p.kind == Param::Kind::boolean ? p.integer : unknown_dim();
}

}  // namespace

// ---------------------------------------------------------------- in another shape

bool reshape(SigCall& c) {
  Dims want;
  if (!int_list(c, c.param("shape"), want)) return false;
  int hole = -1;
  Dim rest = dim(1);
  for (size_t i = 0; i < want.size(); ++i) {
    if (is(want[i], -1)) {
      if (hole >= 0) return c.fail("ValueError", who(c) + "only one size may be -1");
      hole = static_cast<int>(i);
    } else {
      if (want[i].known() && want[i].c < 0)
        return c.fail("ValueError", who(c) + "negative size " + std::to_string(want[i].c));
      rest = rest * want[i];
    }
  }
  Dim total = product(in(c));
  auto wrong = [&] {
    return c.fail("ValueError", who(c) + "a tensor of shape " + to_text(in(c)) + " has " +
                                    (total.known() ? std::to_string(total.c) : "?") + " elements, which do not fit " +
                                    to_text(want));
  };
  if (hole < 0) {
    if (total.known() && rest.known() ? total.c != rest.c : differs(total, rest)) return wrong();
    return flat(c, want);
  }
  if (total == rest) {
    if (is(rest, 0)) return c.fail("ValueError", who(c) + "-1 has no meaning beside 0 elements");
    want[hole] = dim(1);
  } else if (rest.known()) {
    if (rest.c == 0) return c.fail("ValueError", who(c) + "-1 has no meaning beside 0 elements");
    if (total.known() && total.c % rest.c != 0) return wrong();
    want[hole] = floor_div(total, rest);
  } else {
    // Symbolic on both sides: take away the factors that stand on both.
    Dims left = in(c), right;
    for (size_t i = 0; i < want.size(); ++i) {
      if (static_cast<int>(i) == hole) continue;
      auto it = std::find(left.begin(), left.end(), want[i]);
      if (it != left.end())
        left.erase(it);
      else
        right.push_back(want[i]);
    }
    Dim r = product(right);
    want[hole] = r.known() && r.c > 0 ? floor_div(product(left), r) : unknown_dim();
  }
  return flat(c, want);
}

bool flatten(SigCall& c) {
  const Dims& x = in(c);
  int rank = static_cast<int>(x.size()), a, b;
  if (!axis_of(c, "start_dim", rank, a) || !axis_of(c, "end_dim", rank, b)) return false;
  if (rank == 0) return flat(c, {dim(1)});
  if (a > b) return c.fail("RuntimeError", "flatten: start_dim cannot come after end_dim");
  Dims d(x.begin(), x.begin() + a);
  d.push_back(product(std::span(x).subspan(a, b - a + 1)));
  d.insert(d.end(), x.begin() + b + 1, x.end());
  return flat(c, d);
}

bool unflatten(SigCall& c) {
  const Dims& x = in(c);
  int a;
  Dims sizes;
  if (!axis_of(c, "axis", static_cast<int>(x.size()), a) || !int_list(c, c.param("sizes"), sizes)) return false;
  if (x.empty()) return c.fail("ValueError", who(c) + "a tensor without dimensions");
  Dim rest = dim(1);
  int hole = -1;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!is(sizes[i], -1))
      rest = rest * sizes[i];
    else if (hole >= 0)
      return c.fail("ValueError", who(c) + "only one size may be -1");
    else
      hole = static_cast<int>(i);
  if (hole >= 0 && is(rest, 0)) return c.fail("ValueError", who(c) + "-1 has no meaning beside 0 elements");
  if (hole >= 0) sizes[hole] = floor_div(x[a], rest);
  Dim all = product(sizes);
  if (all.known() && x[a].known() && all.c != x[a].c)
    return c.fail("ValueError", who(c) + to_text(sizes) + " does not multiply up to " + std::to_string(x[a].c));
  Dims d(x.begin(), x.begin() + a);
  d.insert(d.end(), sizes.begin(), sizes.end());
  d.insert(d.end(), x.begin() + a + 1, x.end());
  return flat(c, d);
}

bool squeeze(SigCall& c) {
  const Dims& x = in(c);
  std::vector<int> axes;
  const Param& p = c.param("axis");
  if (!resolve_axes(c, p, static_cast<int>(x.size()), axes)) return false;
  Dims d;
  for (size_t i = 0; i < x.size(); ++i)
    if (!(is(x[i], 1) && std::binary_search(axes.begin(), axes.end(), static_cast<int>(i)))) d.push_back(x[i]);
  return flat(c, d);
}

bool unsqueeze(SigCall& c) {
  Dims d = in(c);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(d.size()) + 1, a)) return false;
  d.insert(d.begin() + a, dim(1));
  return flat(c, d);
}

bool only_shape(ViewRule rule) {
  constexpr ViewRule kFlat[] = {reshape, flatten, unflatten, squeeze, unsqueeze};
  return std::ranges::find(kFlat, rule) != std::end(kFlat);
}

// ---------------------------------------------------------------- axes in another order

namespace {

// Result axis k is axis order[k] of x.
bool ordered(SigCall& c, const std::vector<int>& order) {
  At at(order.size());
  Dims dims;
  for (size_t k = 0; k < order.size(); ++k) {
    at[static_cast<size_t>(order[k])].axis = static_cast<int>(k);
    dims.push_back(in(c)[static_cast<size_t>(order[k])]);
  }
  return moved(c, Way::reads, std::move(at), std::move(dims));
}
std::vector<int> in_order(const SigCall& c) {
  std::vector<int> order(in(c).size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  return order;
}
bool permutation(SigCall& c, std::vector<int>& order) {
  Dims p;
  int rank = static_cast<int>(in(c).size());
  if (!int_list(c, c.param("dims"), p)) return false;
  if (static_cast<int>(p.size()) != rank)
    return c.fail("ValueError",
                  who(c) + std::to_string(p.size()) + " axes for a tensor of " + std::to_string(rank) + " dimensions");
  std::vector<bool> seen(rank);
  order.clear();
  for (Dim d : p) {
    int a;
    if (!resolve_axis(c, Param::of_dim(d), rank, a)) return false;
    if (seen[a]) return c.fail("ValueError", who(c) + "axis " + std::to_string(a) + " appears twice");
    seen[a] = true;
    order.push_back(a);
  }
  return true;
}

}  // namespace

bool permute(SigCall& c) {
  std::vector<int> order;
  return permutation(c, order) && ordered(c, order);
}

bool permute_back(SigCall& c) {
  std::vector<int> forward;
  if (!permutation(c, forward)) return false;
  std::vector<int> order(forward.size());
  for (size_t i = 0; i < forward.size(); ++i) order[static_cast<size_t>(forward[i])] = static_cast<int>(i);
  return ordered(c, order);
}

bool transpose(SigCall& c) {
  std::vector<int> order = in_order(c);
  const int rank = static_cast<int>(order.size());
  int a, b;
  if (!axis_of(c, "dim0", rank, a) || !axis_of(c, "dim1", rank, b)) return false;
  if (rank) std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return ordered(c, order);
}

bool reverse_axes(SigCall& c) {
  std::vector<int> order = in_order(c);
  std::reverse(order.begin(), order.end());
  return ordered(c, order);
}

// The moved axes at their destinations, the others in order.
bool movedim(SigCall& c) {
  const int rank = static_cast<int>(in(c).size());
  Dims from, to;
  if (!int_list(c, c.param("source"), from) || !int_list(c, c.param("destination"), to)) return false;
  if (from.size() != to.size()) return c.fail("ValueError", who(c) + "as many destinations as sources expected");
  if (rank == 0) return ordered(c, {});
  std::vector<int> place(static_cast<size_t>(rank), -1);
  std::vector<bool> taken(static_cast<size_t>(rank));
  for (size_t i = 0; i < from.size(); ++i) {
    int a, b;
    if (!resolve_axis(c, Param::of_dim(from[i]), rank, a) || !resolve_axis(c, Param::of_dim(to[i]), rank, b))
      return false;
    place[static_cast<size_t>(b)] = a, taken[static_cast<size_t>(a)] = true;
  }
  size_t next = 0;
  for (int& p : place) {
    if (p >= 0) continue;
    while (taken[next]) ++next;
    p = static_cast<int>(next++);
  }
  return ordered(c, place);
}

// ---------------------------------------------------------------- elements repeated

namespace {

// Axes of size 1 are repeated, and new ones stand in front.
bool repeated(SigCall& c, Dims dims) {
  const Dims& x = in(c);
  At at(x.size());
  for (size_t a = 0; a < x.size(); ++a)
    if (!is(x[a], 1)) at[a].axis = static_cast<int>(a + dims.size() - x.size());
  return moved(c, Way::reads, std::move(at), std::move(dims));
}

}  // namespace

bool expand(SigCall& c) {
  const Dims& x = in(c);
  Dims want;
  if (!int_list(c, c.param("sizes"), want)) return false;
  if (want.size() < x.size())
    return c.fail("RuntimeError", who(c) + to_text(x) + " has more dimensions than " + to_text(want));
  size_t off = want.size() - x.size();
  for (size_t i = 0; i < want.size(); ++i) {
    if (is(want[i], -1)) {
      if (i < off) return c.fail("RuntimeError", who(c) + "-1 stands for no axis of " + to_text(x));
      want[i] = x[i - off];
    } else if (i >= off && !is(x[i - off], 1) && unequal(x[i - off], want[i])) {
      return c.fail("RuntimeError",
                    who(c) + to_text(x) + " cannot become " + to_text(want) + ": only axes of size 1 are repeated");
    }
  }
  return check_size(c, want) && repeated(c, want);
}

bool expand_as(SigCall& c) {
  return repeats_to(in(c), in(c, 1)) ? repeated(c, in(c, 1)) : do_not_fit(c, in(c), in(c, 1));
}

// x: what a reduction of `like` gives, with or without the axes; or one number.
bool unreduce(SigCall& c) {
  const Dims &x = in(c), &like = in(c, 1);
  std::vector<int> axes;
  if (!resolve_axes(c, c.param("axis"), static_cast<int>(like.size()), axes)) return false;
  const bool keep = c.param("keepdim").truthy();
  Dims kept;
  At at;
  for (size_t i = 0; i < like.size(); ++i) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (gone && !keep) continue;
    const bool one = gone || (keep && kept.size() < x.size() && is(x[kept.size()], 1));
    at.push_back({.axis = one ? -1 : static_cast<int>(i)});
    kept.push_back(gone ? dim(1) : like[i]);
  }
  bool fits = x.empty() || x.size() == kept.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = (keep && is(x[i], 1)) || !unequal(x[i], kept[i]);
  if (!fits) return do_not_fit(c, x, like);
  if (x.empty()) at.clear();
  return moved(c, Way::reads, std::move(at), like);
}

// ---------------------------------------------------------------- a part, and a part in a whole

bool flip(SigCall& c) {
  const Dims& x = in(c);
  const int rank = static_cast<int>(x.size());
  Dims axes;
  if (!int_list(c, c.param("dims"), axes)) return false;
  At at = as_it_is(x.size());
  for (Dim d : axes) {
    int a;
    if (!resolve_axis(c, Param::of_dim(d), rank, a)) return false;
    if (rank == 0) continue;
    AxisAt& one = at[static_cast<size_t>(a)];
    if (one.step < 0) return c.fail("RuntimeError", who(c) + "axis " + std::to_string(d.c) + " appears twice");
    one = {.axis = a, .step = -1, .start = x[static_cast<size_t>(a)] - dim(1)};
  }
  return moved(c, Way::reads, std::move(at), x);
}

namespace {

// Lie the n places from `start` on (from the end if it is negative) in an axis?
bool in_range(SigCall& c, Dim start, Dim n, Dim size) {
  if (!start.known() || !n.known() || !size.known()) return true;
  const int64_t s = start.c < 0 ? start.c + size.c : start.c;
  if (s >= 0 && n.c >= 0 && s <= size.c && n.c <= size.c - s) return true;
  return c.fail("IndexError", who(c) + std::to_string(start.c) + " to " + std::to_string((start + n).c) +
                                  " is out of range for an axis of " + std::to_string(size.c));
}
// Axis a from `start` on, in an axis of that size.
At from_start(size_t rank, int a, Dim start, Dim size) {
  At at = as_it_is(rank);
  at[static_cast<size_t>(a)].start = start.known() && start.c < 0 ? start + size : start;
  return at;
}

}  // namespace

bool narrow(SigCall& c) {
  Dims d = in(c);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(d.size()), a)) return false;
  if (d.empty()) return c.fail("RuntimeError", "narrow: a tensor without dimensions");
  Dim &size = d[static_cast<size_t>(a)], start = integer(c, "start"), n = integer(c, "length");
  if (!in_range(c, start, n, size)) return false;
  At at = from_start(d.size(), a, start, size);
  size = n;
  return moved(c, Way::reads, std::move(at), std::move(d));
}

bool narrow_back(SigCall& c) {
  const Dims &x = in(c), &like = in(c, 1);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(like.size()), a)) return false;
  if (x.empty() || x.size() != like.size()) return do_not_fit(c, x, like);
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<int>(i) != a && unequal(x[i], like[i])) return do_not_fit(c, x, like);
  const Dim start = integer(c, "start"), size = like[static_cast<size_t>(a)];
  return in_range(c, start, x[static_cast<size_t>(a)], size) &&
         moved(c, Way::places, from_start(x.size(), a, start, size), like);
}

bool pad(SigCall& c) {
  Dims d = in(c), p;
  if (!int_list(c, c.param("pad"), p)) return false;
  if (p.size() % 2 || p.size() / 2 > d.size())
    return c.fail("ValueError", who(c) + "pairs of sizes for at most " + std::to_string(d.size()) +
                                    " axes expected, got " + std::to_string(p.size()) + " numbers");
  At at = as_it_is(d.size());
  for (size_t k = 0; k < p.size() / 2; ++k) {
    const size_t a = d.size() - 1 - k;
    d[a] = d[a] + p[2 * k] + p[2 * k + 1];
    at[a].start = p[2 * k];
  }
  return check_size(c, d) && moved(c, Way::places, std::move(at), std::move(d));
}

namespace {

// The diagonal of a tensor of shape x: its own shape, and where it lies.
bool diagonal_of(SigCall& c, const Dims& x, Dims& d, At& at) {
  int a, b, rank = static_cast<int>(x.size());
  if (rank < 2) return c.fail("ValueError", who(c) + "at least 2 dimensions expected, got " + to_text(x));
  if (!axis_of(c, "dim1", rank, a) || !axis_of(c, "dim2", rank, b)) return false;
  if (a == b) return c.fail("ValueError", who(c) + "the two axes are the same");
  const Dim off = integer(c, "offset");
  d.clear();
  at = At(x.size());
  for (int i = 0; i < rank; ++i) {
    if (i == a || i == b) continue;
    at[static_cast<size_t>(i)].axis = static_cast<int>(d.size());
    d.push_back(x[i]);
  }
  auto beside = [&](int64_t sign) {
    const Dim start = off.known() ? dim(std::max<int64_t>(0, sign * off.c)) : unknown_dim();
    return AxisAt{.axis = static_cast<int>(d.size()), .start = start};
  };
  at[static_cast<size_t>(a)] = beside(-1);
  at[static_cast<size_t>(b)] = beside(1);
  if (off.known() && x[a].known() && x[b].known())
    d.push_back(
        dim(std::max<int64_t>(0, off.c >= 0 ? std::min(x[a].c, x[b].c - off.c) : std::min(x[a].c + off.c, x[b].c))));
  else
    d.push_back(is(off, 0) && x[a] == x[b] ? x[a] : unknown_dim());
  return true;
}

}  // namespace

bool diagonal(SigCall& c) {
  Dims d;
  At at;
  return diagonal_of(c, in(c), d, at) && moved(c, Way::reads, std::move(at), std::move(d));
}

bool diagonal_back(SigCall& c) {
  Dims d;
  At at;
  if (!diagonal_of(c, in(c, 1), d, at)) return false;
  return unequal(in(c), d) ? do_not_fit(c, in(c), in(c, 1)) : moved(c, Way::places, std::move(at), in(c, 1));
}

bool cat(SigCall& c) {
  if (c.inputs.empty()) return c.fail("RuntimeError", "cat: at least one tensor expected");
  size_t first = 0;
  auto legacy_empty = [&](size_t i) { return in(c, i).size() == 1 && is(in(c, i)[0], 0); };
  while (first + 1 < c.inputs.size() && legacy_empty(first)) ++first;
  Dims d = in(c, first);
  int a;
  if (d.empty()) return c.fail("RuntimeError", "cat: a tensor without dimensions cannot be joined");
  if (!axis_of(c, "axis", static_cast<int>(d.size()), a)) return false;
  d[a] = dim(0);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Dims& x = in(c, i);
    if (legacy_empty(i) && d.size() != 1) continue;
    bool fits = x.size() == d.size();
    for (size_t k = 0; fits && k < x.size(); ++k)
      if (static_cast<int>(k) != a && unequal(x[k], d[k])) fits = false;
    if (!fits)
      return c.fail("RuntimeError", who(c) + to_text(in(c, first)) + " and " + to_text(x) + " do not fit along axis " +
                                        std::to_string(a));
    d[a] = d[a] + x[a];
  }
  c.map = {.way = Way::joins, .axis = a};
  return done(c, std::move(d));
}

namespace {

bool band(SigCall& c, bool upper) {
  if (in(c).size() < 2) return c.fail("RuntimeError", who(c) + "a matrix expected, not " + to_text(in(c)));
  c.map = {.way = Way::band, .upper = upper};
  return done(c, in(c));
}

}  // namespace

bool lower_band(SigCall& c) { return band(c, false); }
bool upper_band(SigCall& c) { return band(c, true); }

}  // namespace ouro::ir::view
