#include "ir/ops/shape_rules.h"

#include <algorithm>
#include <cmath>

#include "support/diag.h"

namespace ouro::ir {

namespace {

using Kind = Param::Kind;

const Dims& in(const SigCall& c, size_t i = 0) { return c.inputs[i]->dims; }
Dims& out(SigCall& c) { return c.results[0].dims; }
std::string who(const SigCall& c) { return c.op->name + ": "; }

bool done(SigCall& c, Dims d) {
  out(c) = std::move(d);
  return true;
}

// A parameter that is a list of ints, or one int, or (variadic) a list whose only part is a list.
bool int_list(SigCall& c, const Param& p, Dims& list) {
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
bool check_size(SigCall& c, const Dims& d) {
  for (Dim x : d)
    if (x.known() && x.c < 0) return c.fail("ValueError", who(c) + "negative dimension " + std::to_string(x.c));
  return true;
}
// Sizes of one axis that cannot be the same, as far as they are known.
bool unequal(Dim a, Dim b) { return differs(a, b) || (a.known() && b.known() && a.c != b.c); }
bool larger(Dim a, Dim b) { return a.known() && b.known() && a.c > b.c; }
bool unequal(const Dims& a, const Dims& b) {
  return a.size() != b.size() || !std::ranges::equal(a, b, [](Dim x, Dim y) { return !unequal(x, y); });
}
bool do_not_fit(SigCall& c, const Dims& a, const Dims& b) {
  return c.fail("ValueError", who(c) + to_text(a) + " and " + to_text(b) + " do not fit");
}
// Can a tensor of shape `small` be repeated along axes to `big`?
bool repeats_to(const Dims& small, const Dims& big) {
  if (small.size() > big.size()) return false;
  const size_t lead = big.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i)
    if (!is(small[i], 1) && unequal(small[i], big[lead + i])) return false;
  return true;
}
bool axis_of(SigCall& c, const char* name, int rank, int& a) { return resolve_axis(c, c.param(name), rank, a); }

// ---------------------------------------------------------------- reductions

bool reduced(SigCall& c) {
  std::vector<int> axes;
  const Dims& x = in(c);
  if (!resolve_axes(c, c.param("axis"), static_cast<int>(x.size()), axes)) return false;
  bool keep = c.param("keepdim").truthy();
  Dims d;
  for (size_t i = 0; i < x.size(); ++i) {
    bool gone = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (!gone)
      d.push_back(x[i]);
    else if (keep)
      d.push_back(dim(1));
  }
  return done(c, d);
}
bool not_empty(SigCall& c) {  // of the reduced axes
  std::vector<int> axes;
  const Dims& x = in(c);
  if (!resolve_axes(c, c.param("axis"), static_cast<int>(x.size()), axes)) return false;
  for (int a : axes)
    if (is(x[a], 0)) return c.fail("ValueError", who(c) + "an empty axis has no extremum; the shape is " + to_text(x));
  return true;
}
bool rule_sum(SigCall& c) {
  if (c.param("dtype").kind != Kind::dtype && !is_float(c.results[0].dtype)) c.results[0].dtype = DType::i64;
  return reduced(c);
}
bool rule_reduce_some(SigCall& c) { return not_empty(c) && reduced(c); }
bool rule_scan_sum(SigCall& c) {
  if (c.param("dtype").kind != Kind::dtype && !is_float(c.results[0].dtype)) c.results[0].dtype = DType::i64;
  int a;
  return axis_of(c, "axis", static_cast<int>(in(c).size()), a) && done(c, in(c));
}
bool rule_scan(SigCall& c) {
  int a;
  return axis_of(c, "axis", static_cast<int>(in(c).size()), a) && done(c, in(c));
}
bool rule_topk(SigCall& c) {
  int a;
  if (!axis_of(c, "axis", static_cast<int>(in(c).size()), a)) return false;
  Dims d = in(c);
  const Dim k = c.param("k").integer;
  if (larger(k, d.empty() ? dim(1) : d[a])) return c.fail("RuntimeError", "topk: k is larger than the axis");
  if (!d.empty()) d[a] = k;
  if (c.results.size() > 1) c.results[1].dims = d;
  return done(c, d);
}
// x: what a reduction of `like` gives, with or without the axes; or one number.
bool rule_unreduce(SigCall& c) {
  const Dims &x = in(c), &like = in(c, 1);
  std::vector<int> axes;
  if (!resolve_axes(c, c.param("axis"), static_cast<int>(like.size()), axes)) return false;
  const bool keep = c.param("keepdim").truthy();
  Dims kept;
  for (size_t i = 0; i < like.size(); ++i) {
    const bool gone = std::binary_search(axes.begin(), axes.end(), static_cast<int>(i));
    if (!gone || keep) kept.push_back(gone ? dim(1) : like[i]);
  }
  bool fits = x.empty() || x.size() == kept.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = (keep && is(x[i], 1)) || !unequal(x[i], kept[i]);
  return fits ? done(c, like) : do_not_fit(c, x, like);
}
bool rule_expand_as(SigCall& c) {
  return repeats_to(in(c), in(c, 1)) ? done(c, in(c, 1)) : do_not_fit(c, in(c), in(c, 1));
}
bool rule_sum_to(SigCall& c) {
  return repeats_to(in(c, 1), in(c)) ? done(c, in(c, 1)) : do_not_fit(c, in(c), in(c, 1));
}
bool rule_same(SigCall& c) { return unequal(in(c), in(c, 1)) ? do_not_fit(c, in(c), in(c, 1)) : done(c, in(c)); }
bool rule_cast_like(SigCall& c) {
  c.results[0].dtype = c.inputs[1]->scalar ? c.inputs[0]->dtype : c.inputs[1]->dtype;
  return done(c, in(c));
}

// ---------------------------------------------------------------- shapes

bool rule_reshape(SigCall& c) {
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
    return done(c, want);
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
  return done(c, want);
}
bool rule_flatten(SigCall& c) {
  const Dims& x = in(c);
  int rank = static_cast<int>(x.size()), a, b;
  if (!axis_of(c, "start_dim", rank, a) || !axis_of(c, "end_dim", rank, b)) return false;
  if (rank == 0) return done(c, {dim(1)});
  if (a > b) return c.fail("RuntimeError", "flatten: start_dim cannot come after end_dim");
  Dims d(x.begin(), x.begin() + a);
  d.push_back(product(std::span(x).subspan(a, b - a + 1)));
  d.insert(d.end(), x.begin() + b + 1, x.end());
  return done(c, d);
}
bool rule_unflatten(SigCall& c) {
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
  return done(c, d);
}
bool rule_squeeze(SigCall& c) {
  const Dims& x = in(c);
  std::vector<int> axes;
  const Param& p = c.param("axis");
  if (!resolve_axes(c, p, static_cast<int>(x.size()), axes)) return false;
  Dims d;
  for (size_t i = 0; i < x.size(); ++i)
    if (!(is(x[i], 1) && std::binary_search(axes.begin(), axes.end(), static_cast<int>(i)))) d.push_back(x[i]);
  return done(c, d);
}
bool rule_unsqueeze(SigCall& c) {
  Dims d = in(c);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(d.size()) + 1, a)) return false;
  d.insert(d.begin() + a, dim(1));
  return done(c, d);
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
bool rule_permute_any(SigCall& c) {
  std::vector<int> order;
  if (!permute_order(c, order)) return false;
  Dims d;
  for (int a : order) d.push_back(in(c)[a]);
  return done(c, d);
}
bool rule_expand(SigCall& c) {
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
  return check_size(c, want) && done(c, want);
}
// Lie the n places from `start` on (from the end if it is negative) in an axis?
bool in_range(SigCall& c, Dim start, Dim n, Dim size) {
  if (!start.known() || !n.known() || !size.known()) return true;
  const int64_t s = start.c < 0 ? start.c + size.c : start.c;
  if (s >= 0 && n.c >= 0 && s <= size.c && n.c <= size.c - s) return true;
  return c.fail("IndexError", who(c) + std::to_string(start.c) + " to " + std::to_string((start + n).c) +
                                  " is out of range for an axis of " + std::to_string(size.c));
}
bool rule_narrow(SigCall& c) {
  Dims d = in(c);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(d.size()), a)) return false;
  if (d.empty()) return c.fail("RuntimeError", "narrow: a tensor without dimensions");
  Dim start = c.param("start").integer, n = c.param("length").integer;
  if (!in_range(c, start, n, d[a])) return false;
  d[a] = n;
  return done(c, d);
}
// x: the part of `like` from `start` on.
bool rule_narrow_back(SigCall& c) {
  const Dims &x = in(c), &like = in(c, 1);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(like.size()), a)) return false;
  if (x.empty() || x.size() != like.size()) return do_not_fit(c, x, like);
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<int>(i) != a && unequal(x[i], like[i])) return do_not_fit(c, x, like);
  return in_range(c, c.param("start").integer, x[static_cast<size_t>(a)], like[static_cast<size_t>(a)]) &&
         done(c, like);
}
bool rule_pad(SigCall& c) {
  Dims d = in(c), p;
  if (!int_list(c, c.param("pad"), p)) return false;
  if (p.size() % 2 || p.size() / 2 > d.size())
    return c.fail("ValueError", who(c) + "pairs of sizes for at most " + std::to_string(d.size()) +
                                    " axes expected, got " + std::to_string(p.size()) + " numbers");
  for (size_t k = 0; k < p.size() / 2; ++k) d[d.size() - 1 - k] = d[d.size() - 1 - k] + p[2 * k] + p[2 * k + 1];
  return check_size(c, d) && done(c, d);
}
bool rule_cat(SigCall& c) {
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
  return done(c, d);
}
bool rule_stack(SigCall& c) {
  if (c.inputs.empty()) return c.fail("RuntimeError", "stack: at least one tensor expected");
  Dims d = in(c);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(d.size()) + 1, a)) return false;
  for (size_t i = 1; i < c.inputs.size(); ++i)
    if (unequal(in(c, i), d)) return do_not_fit(c, d, in(c, i));
  d.insert(d.begin() + a, dim(static_cast<int64_t>(c.inputs.size())));
  return done(c, d);
}
bool diagonal_of(SigCall& c, const Dims& x, Dims& d) {
  int a, b, rank = static_cast<int>(x.size());
  if (rank < 2) return c.fail("ValueError", who(c) + "at least 2 dimensions expected, got " + to_text(x));
  if (!axis_of(c, "dim1", rank, a) || !axis_of(c, "dim2", rank, b)) return false;
  if (a == b) return c.fail("ValueError", who(c) + "the two axes are the same");
  Dim off = c.param("offset").integer;
  d.clear();
  for (int i = 0; i < rank; ++i)
    if (i != a && i != b) d.push_back(x[i]);
  if (off.known() && x[a].known() && x[b].known())
    d.push_back(
        dim(std::max<int64_t>(0, off.c >= 0 ? std::min(x[a].c, x[b].c - off.c) : std::min(x[a].c + off.c, x[b].c))));
  else
    d.push_back(is(off, 0) && x[a] == x[b] ? x[a] : unknown_dim());
  return true;
}
bool rule_diagonal(SigCall& c) {
  Dims d;
  return diagonal_of(c, in(c), d) && done(c, d);
}
bool rule_diagonal_back(SigCall& c) {
  Dims d;
  if (!diagonal_of(c, in(c, 1), d)) return false;
  return unequal(in(c), d) ? do_not_fit(c, in(c), in(c, 1)) : done(c, in(c, 1));
}

// ---------------------------------------------------------------- products

bool product_shape(SigCall& c, bool ta, bool tb) {
  const Dims &a = in(c, 0), &b = in(c, 1);
  std::string what = c.op->name == "matmul" ? "matmul: " : who(c);
  if (a.empty() || b.empty())
    return c.fail("ValueError",
                  what + to_text(a) + " and " + to_text(b) + " do not multiply: both need at least one dimension");
  if ((ta || tb) && (a.size() < 2 || b.size() < 2))
    return c.fail("ValueError", what + to_text(a) + " and " + to_text(b) + " do not multiply: matrices expected");
  bool va = a.size() == 1, vb = b.size() == 1;
  Dim m = va ? dim(1) : a[a.size() - (ta ? 1 : 2)], ka = va ? a[0] : a[a.size() - (ta ? 2 : 1)];
  Dim n = vb ? dim(1) : b[b.size() - (tb ? 2 : 1)], kb = vb ? b[0] : b[b.size() - (tb ? 1 : 2)];
  if (unequal(ka, kb)) {
    Dims one{ka}, two{kb};
    auto bare = [](std::string s) { return s.substr(1, s.size() - 3); };
    return c.fail("ValueError", what + to_text(a) + " and " + to_text(b) + " do not multiply: " + bare(to_text(one)) +
                                    " is not " + bare(to_text(two)));
  }
  Dims lead;
  Dims la(a.begin(), a.end() - (va ? 1 : 2)), lb(b.begin(), b.end() - (vb ? 1 : 2));
  if (!broadcast(la, lb, lead))
    return c.fail("ValueError", what + to_text(a) + " and " + to_text(b) + " do not multiply: " + to_text(la) +
                                    " and " + to_text(lb) + " do not broadcast");
  if (!va) lead.push_back(m);
  if (!vb) lead.push_back(n);
  return done(c, lead);
}
bool rule_matmul(SigCall& c) { return product_shape(c, false, false); }
bool rule_matmul_nt(SigCall& c) { return product_shape(c, false, true); }
bool rule_matmul_tn(SigCall& c) { return product_shape(c, true, false); }

// Size of a window's walk over an axis.
bool window(SigCall& c, Dim n, Dim k, Dim s, Dim p, Dim d, bool ceil_mode, Dim& o) {
  if (s.known() && s.c <= 0) return c.fail("ValueError", who(c) + "the stride must be positive");
  Dim room = n + p * dim(2) - d * (k - dim(1)) - dim(1);
  if (room.known() && room.c < 0)
    return c.fail("ValueError", who(c) + "the window of " + to_text(Dims{k}) + " is larger than the padded axis of " +
                                    to_text(Dims{n + p * dim(2)}));
  o = ceil_mode ? floor_div(room + s - dim(1), s) + dim(1) : floor_div(room, s) + dim(1);
  if (ceil_mode && o.known() && n.known() && (o.c - 1) * s.c >= n.c + p.c)
    o.c -= 1;  // the last window must start inside
  return true;
}
bool rule_convolve(SigCall& c) {
  const Dims &x = in(c, 0), &w = in(c, 1);
  Dims s, p, d;
  if (!int_list(c, c.param("stride"), s) || !int_list(c, c.param("padding"), p) || !int_list(c, c.param("dilation"), d))
    return false;
  size_t n = s.size();
  if (x.size() != n + 2 || w.size() != n + 2 || p.size() != n || d.size() != n)
    return c.fail("ValueError", who(c) + to_text(x) + " and " + to_text(w) + " do not fit " + std::to_string(n) +
                                    " spatial dimensions");
  Dim g = c.param("groups").integer;
  Dim channels = w[1] * g;
  if (x[1].known() && channels.known() && x[1].c != channels.c)
    return c.fail("ValueError", who(c) + to_text(x) + " and " + to_text(w) + " do not fit: " + std::to_string(x[1].c) +
                                    " channels are not " + std::to_string(channels.c));
  if (g.known() && w[0].known() && (g.c <= 0 || w[0].c % g.c != 0))
    return c.fail("ValueError", who(c) + std::to_string(w[0].c) + " output channels do not divide into " +
                                    std::to_string(g.c) + " groups");
  Dims r{x[0], w[0]};
  for (size_t i = 0; i < n; ++i) {
    Dim o;
    if (!window(c, x[2 + i], w[2 + i], s[i], p[i], d[i], false, o)) return false;
    r.push_back(o);
  }
  return done(c, r);
}
constexpr size_t kMostSpatial = 3;

// Where windows walk over the last axes of r.
bool pooled(SigCall& c, Dims& r) {
  Dims k, s, p, d;
  if (!int_list(c, c.param("kernel"), k) || !int_list(c, c.param("stride"), s) || !int_list(c, c.param("padding"), p))
    return false;
  if (!c.param("dilation").is_none()) {
    if (!int_list(c, c.param("dilation"), d)) return false;
  } else {
    d.assign(k.size(), dim(1));
  }
  const size_t n = k.size();
  if (n == 0 || n > kMostSpatial || s.size() != n || p.size() != n || d.size() != n)
    return c.fail("ValueError", who(c) + "kernel, stride, padding and dilation of one length up to " +
                                    std::to_string(kMostSpatial) + " expected");
  if (r.size() < k.size() + 1)
    return c.fail("ValueError",
                  who(c) + "expected at least " + std::to_string(k.size() + 1) + " dimensions, got " + to_text(r));
  for (size_t i = 0; i < k.size(); ++i) {
    if (p[i].known() && k[i].known() && p[i].c * 2 > k[i].c)
      return c.fail("ValueError", who(c) + "the padding may be at most half the window");
    Dim& axis = r[r.size() - k.size() + i];
    if (!window(c, axis, k[i], s[i], p[i], d[i], c.param("ceil_mode").truthy(), axis)) return false;
  }
  return true;
}
bool rule_pool(SigCall& c) {
  Dims r = in(c);
  return pooled(c, r) && done(c, r);
}
// x: as large as what pooling `like` gives.
bool rule_pool_back(SigCall& c) {
  Dims r = in(c, 1);
  if (!pooled(c, r)) return false;
  return unequal(in(c), r) ? do_not_fit(c, in(c), in(c, 1)) : done(c, in(c, 1));
}
// Planes, the last n axes, of places in planes: the axes before are the same.
bool planes_fit(SigCall& c, const Dims& index, const Dims& plane) {
  const Dim n = c.param("n").integer;
  if (!n.known() || n.c > static_cast<int64_t>(index.size()) || index.size() != plane.size())
    return do_not_fit(c, index, plane);
  for (size_t i = 0; i + static_cast<size_t>(n.c) < index.size(); ++i)
    if (unequal(index[i], plane[i])) return do_not_fit(c, index, plane);
  return true;
}
bool rule_pool_gather(SigCall& c) { return planes_fit(c, in(c, 1), in(c)) && done(c, in(c, 1)); }
bool rule_pool_scatter(SigCall& c) {
  if (unequal(in(c), in(c, 1))) return do_not_fit(c, in(c), in(c, 1));
  return planes_fit(c, in(c, 1), in(c, 2)) && done(c, in(c, 2));
}
bool rule_given(SigCall& c) {
  Dims d;
  return int_list(c, c.param("shape"), d) && check_size(c, d) && done(c, d);
}

// ---------------------------------------------------------------- indexing

bool rule_getitem(SigCall& c) {
  (void)c;
  return done(c, {unknown_dim()});  // a key is structure, not a Param: eager and compiler know better
                                    // (runtime/tensor/indexing.h, ir/loops)
}
// An index that replaces `axis` of x: nowhere else larger.
bool index_fits(SigCall& c, const Dims& x, const Dims& i) {
  int a;
  if (!axis_of(c, "axis", static_cast<int>(x.size()), a)) return false;
  if (std::max<size_t>(x.size(), 1) != std::max<size_t>(i.size(), 1))
    return c.fail("RuntimeError", who(c) + "index " + to_text(i) + " must have as many dimensions as " + to_text(x));
  for (size_t k = 0; k < std::min(x.size(), i.size()); ++k)
    if (static_cast<int>(k) != a && larger(i[k], x[k]))
      return c.fail("RuntimeError", who(c) + "index " + to_text(i) + " is larger than " + to_text(x) +
                                        " apart from axis " + std::to_string(a));
  return true;
}
bool rule_gather(SigCall& c) { return index_fits(c, in(c, 0), in(c, 1)) && done(c, in(c, 1)); }
bool rule_scatter(SigCall& c) {
  const Dims &x = in(c, 0), &i = in(c, 1), &src = in(c, 2);
  if (x.size() != i.size())
    return c.fail("RuntimeError", who(c) + "index " + to_text(i) + " must have as many dimensions as " + to_text(x));
  if (!index_fits(c, x, i)) return false;
  bool fits = src.empty() || src.size() == i.size();
  for (size_t k = 0; fits && k < src.size(); ++k) fits = !larger(i[k], src[k]);
  if (!fits) return c.fail("RuntimeError", who(c) + "index " + to_text(i) + " is larger than src " + to_text(src));
  return done(c, x);
}
bool rule_index_add(SigCall& c) {
  const Dims &x = in(c, 0), &i = in(c, 1), &source = in(c, 2);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(x.size()), a)) return false;
  if (i.size() > 1) return c.fail("IndexError", who(c) + "index must be a vector, not " + to_text(i));
  const Dim n = i.empty() ? dim(1) : i[0];
  Dims want = x;
  if (x.empty())
    want = {n};
  else
    want[static_cast<size_t>(a)] = n;
  if (unequal(source, want) && !(x.empty() && source.empty() && is(n, 1)))
    return c.fail("RuntimeError", who(c) + "source " + to_text(source) + " does not fit an index of " +
                                      to_text(Dims{n}) + " and " + to_text(x));
  return done(c, x);
}
bool rule_index_select(SigCall& c) {
  Dims d = in(c, 0);
  int a;
  if (!axis_of(c, "axis", static_cast<int>(d.size()), a)) return false;
  if (in(c, 1).size() > 1) return c.fail("IndexError", who(c) + "index must be a vector, not " + to_text(in(c, 1)));
  const Dim n = in(c, 1).empty() ? dim(1) : in(c, 1)[0];
  if (d.empty() && !is(n, 1))
    return c.fail("IndexError", who(c) + "one index expected for a tensor without dimensions");
  if (!d.empty()) d[a] = n;
  return done(c, d);
}
bool rule_nonzero(SigCall& c) { return done(c, {unknown_dim(), dim(static_cast<int64_t>(in(c).size()))}); }
bool rule_one_hot(SigCall& c) {
  Dims d = in(c);
  Dim n = c.param("num_classes").integer;
  d.push_back(is(n, -1) ? unknown_dim() : n);
  return done(c, d);
}
bool rule_embedding(SigCall& c) {
  Dims d = in(c, 0);
  if (in(c, 1).size() != 2) return c.fail("ValueError", who(c) + "weight must be a matrix, not " + to_text(in(c, 1)));
  d.push_back(in(c, 1)[1]);
  return done(c, d);
}
bool rule_take_along(SigCall& c) { return done(c, in(c, 1)); }

// ---------------------------------------------------------------- constructors

bool rule_make(SigCall& c) {
  Dims d;
  return int_list(c, c.param("size"), d) && check_size(c, d) && done(c, d);
}
bool rule_full(SigCall& c) {
  const Param& v = c.param("value");
  if (c.param("dtype").kind != Kind::dtype)
    c.results[0].dtype = v.kind == Kind::boolean   ? DType::boolean
                         : v.kind == Kind::integer ? DType::i64
                                                   : kDefaultFloat;
  return rule_make(c);
}
bool rule_eye(SigCall& c) {
  Dim n = c.param("n").integer;
  const Param& m = c.param("m");
  Dims d{n, m.is_none() ? n : m.integer};
  return check_size(c, d) && done(c, d);
}
bool rule_arange(SigCall& c) {
  Param start = c.param("start"), stop = c.param("stop");
  const Param& step = c.param("step");
  if (stop.is_none()) stop = start, start = Param::of(0);
  bool floats = start.kind == Kind::floating || stop.kind == Kind::floating || step.kind == Kind::floating;
  if (c.param("dtype").kind != Kind::dtype) c.results[0].dtype = floats ? kDefaultFloat : DType::i64;
  auto number = [](const Param& p) { return p.kind == Kind::floating ? p.floating : static_cast<double>(p.integer.c); };
  auto known = [](const Param& p) {
    return p.kind == Kind::floating ? !p.later : p.kind != Kind::unknown && p.integer.known();
  };
  if (!known(start) || !known(stop) || !known(step)) {
    bool plain = !floats && step.kind == Kind::integer && is(step.integer, 1) && start.kind == Kind::integer &&
                 is(start.integer, 0);
    return done(c, {plain ? stop.integer : unknown_dim()});
  }
  double st = number(step);
  if (st == 0) return c.fail("RuntimeError", "arange: the step must not be 0");
  if (!floats) {
    const __int128 a = start.integer.c, b = stop.integer.c, s = step.integer.c;
    const __int128 n = s > 0 ? (a < b ? (b - a - 1) / s + 1 : 0) : (a > b ? (a - b - 1) / -s + 1 : 0);
    return done(c, {dim(static_cast<int64_t>(std::min<__int128>(n, kTooLarge)))});
  }
  double n = std::ceil((number(stop) - number(start)) / st);
  if (!(n < 1e18)) return c.fail("RuntimeError", "arange: unsupported range");
  return done(c, {dim(static_cast<int64_t>(std::max(0.0, n)))});
}
bool rule_linspace(SigCall& c) {
  Dims d{c.param("steps").integer};
  return check_size(c, d) && done(c, d);
}
bool rule_vector_n(SigCall& c) {
  Dims d{c.param("n").integer};
  return check_size(c, d) && done(c, d);
}
bool rule_unknown1(SigCall& c) { return done(c, {unknown_dim()}); }
bool rule_unknown(SigCall& c) { return done(c, {}); }  // of Ouro rows, whose text says

struct Rule {
  std::string_view name;
  bool (*fn)(SigCall&);
};
constexpr Rule kRules[] = {
    {"reduce", reduced},
    {"sum", rule_sum},
    {"reduce_some", rule_reduce_some},
    {"reduce_one", rule_reduce_some},
    {"scan", rule_scan},
    {"scan_sum", rule_scan_sum},
    {"topk", rule_topk},
    {"unreduce", rule_unreduce},
    {"expand_as", rule_expand_as},
    {"sum_to", rule_sum_to},
    {"same", rule_same},
    {"cast_like", rule_cast_like},
    {"reshape", rule_reshape},
    {"flatten", rule_flatten},
    {"unflatten", rule_unflatten},
    {"squeeze", rule_squeeze},
    {"unsqueeze", rule_unsqueeze},
    {"permute", rule_permute_any},
    {"permute_back", rule_permute_any},
    {"transpose", rule_permute_any},
    {"reverse_axes", rule_permute_any},
    {"movedim", rule_permute_any},
    {"expand", rule_expand},
    {"narrow", rule_narrow},
    {"narrow_back", rule_narrow_back},
    {"pad", rule_pad},
    {"cat", rule_cat},
    {"stack", rule_stack},
    {"diagonal", rule_diagonal},
    {"diagonal_back", rule_diagonal_back},
    {"matmul", rule_matmul},
    {"matmul_nt", rule_matmul_nt},
    {"matmul_tn", rule_matmul_tn},
    {"convolve", rule_convolve},
    {"pool", rule_pool},
    {"pool_back", rule_pool_back},
    {"pool_gather", rule_pool_gather},
    {"pool_scatter", rule_pool_scatter},
    {"given", rule_given},
    {"given_size", rule_make},
    {"getitem", rule_getitem},
    {"gather", rule_gather},
    {"scatter", rule_scatter},
    {"index_add", rule_index_add},
    {"index_select", rule_index_select},
    {"nonzero", rule_nonzero},
    {"one_hot", rule_one_hot},
    {"embedding", rule_embedding},
    {"take_along", rule_take_along},
    {"make", rule_make},
    {"full", rule_full},
    {"eye", rule_eye},
    {"arange", rule_arange},
    {"linspace", rule_linspace},
    {"vector_n", rule_vector_n},
    {"unknown1", rule_unknown1},
    {"unknown", rule_unknown},
};

}  // namespace

bool permute_order(SigCall& c, std::vector<int>& order) {
  int rank = static_cast<int>(in(c).size());
  std::string_view rule = c.op->def->shape;
  order.resize(rank);
  for (int i = 0; i < rank; ++i) order[i] = i;
  if (rule == "permute") return permutation(c, order);
  if (rule == "permute_back") {
    std::vector<int> forward;
    if (!permutation(c, forward)) return false;
    for (int i = 0; i < rank; ++i) order[forward[i]] = i;
    return true;
  }
  if (rule == "reverse_axes") return std::reverse(order.begin(), order.end()), true;
  if (rule == "transpose") {
    int a, b;
    if (!axis_of(c, "dim0", rank, a) || !axis_of(c, "dim1", rank, b)) return false;
    if (rank) std::swap(order[a], order[b]);
    return true;
  }
  // movedim: the moved axes at their destinations, the others in order
  Dims from, to;
  if (!int_list(c, c.param("source"), from) || !int_list(c, c.param("destination"), to)) return false;
  if (from.size() != to.size()) return c.fail("ValueError", who(c) + "as many destinations as sources expected");
  if (rank == 0) return true;
  std::vector<int> place(rank, -1);
  std::vector<bool> moved(rank);
  for (size_t i = 0; i < from.size(); ++i) {
    int a, b;
    if (!resolve_axis(c, Param::of_dim(from[i]), rank, a) || !resolve_axis(c, Param::of_dim(to[i]), rank, b))
      return false;
    place[b] = a, moved[a] = true;
  }
  for (int i = 0, next = 0; i < rank; ++i) {
    if (place[i] >= 0) continue;
    while (moved[next]) ++next;
    place[i] = next++;
  }
  order = place;
  return true;
}

bool apply_shape_rule(std::string_view rule, SigCall& call) {
  for (const Rule& r : kRules)
    if (r.name == rule) return r.fn(call);
  ouro_bug("no shape rule '%s' (row %s)", std::string(rule).c_str(), call.op->name.c_str());
}

}  // namespace ouro::ir
