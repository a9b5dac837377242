#include "ir/ops/shape_rules.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/rule_help.h"
#include "support/diag.h"

namespace ouro::ir {

namespace {

using namespace rule;

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
bool rule_sum_to(SigCall& c) {
  return repeats_to(in(c, 1), in(c)) ? done(c, in(c, 1)) : do_not_fit(c, in(c), in(c, 1));
}
bool rule_same(SigCall& c) { return unequal(in(c), in(c, 1)) ? do_not_fit(c, in(c), in(c, 1)) : done(c, in(c)); }
bool rule_cast_like(SigCall& c) {
  c.results[0].dtype = c.inputs[1]->scalar ? c.inputs[0]->dtype : c.inputs[1]->dtype;
  return done(c, in(c));
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

// ---------------------------------------------------------------- factorisations, of the last two axes

// The sizes of a matrix, or of each of a batch.
bool matrices(SigCall& c, const Dims& x, Dim& m, Dim& n, bool square) {
  if (x.size() < 2)
    return c.fail("RuntimeError", who(c) + "a matrix, or a batch of them, expected, not the shape " + to_text(x));
  m = x[x.size() - 2], n = x[x.size() - 1];
  return !square || !unequal(m, n) ||
         c.fail("RuntimeError", who(c) + "square matrices expected, not the shape " + to_text(x));
}
Dim smaller(Dim a, Dim b) {
  if (a.known() && b.known()) return dim(std::min(a.c, b.c));
  return !unequal(a, b) && !differs(a, b) && a == b ? a : unknown_dim();
}
// The leading axes of x, and then m (and n).
bool in_batch(SigCall& c, std::initializer_list<Dim> last) {
  Dims d(in(c).begin(), in(c).end() - 2);
  d.insert(d.end(), last);
  return done(c, d);
}
bool rule_square(SigCall& c) {
  Dim m, n;
  return matrices(c, in(c), m, n, true) && done(c, in(c));
}
bool rule_det(SigCall& c) {
  Dim m, n;
  return matrices(c, in(c), m, n, true) && in_batch(c, {});
}
bool rule_solve(SigCall& c) {
  Dim m, n, rows, width;
  if (!matrices(c, in(c), m, n, true) || !matrices(c, in(c, 1), rows, width, false)) return false;
  Dims want(in(c).begin(), in(c).end() - 1);
  want.push_back(width);
  return unequal(want, in(c, 1)) ? do_not_fit(c, in(c), in(c, 1)) : done(c, in(c, 1));
}
bool rule_qr_columns(SigCall& c) {
  Dim m, n;
  if (!matrices(c, in(c), m, n, false)) return false;
  return larger(n, m) ? c.fail("RuntimeError", who(c) + "more columns than rows: " + to_text(in(c))) : done(c, in(c));
}
bool rule_qr_basis(SigCall& c) {
  Dim m, n;
  return matrices(c, in(c), m, n, false) && in_batch(c, {m, m});
}
bool rule_eigh(SigCall& c) {
  Dim m, n;
  return matrices(c, in(c), m, n, true) && in_batch(c, {n + dim(1), n});
}
bool rule_svd(SigCall& c) {
  Dim m, n;
  return matrices(c, in(c), m, n, false) && in_batch(c, {m + n + dim(1), smaller(m, n)});
}
bool rule_pinv(SigCall& c) {
  Dim m, n;
  return matrices(c, in(c), m, n, false) && in_batch(c, {n, m});
}

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
// One vector for all values, or one for each row of values.
bool rule_searchsorted(SigCall& c) {
  const Dims &x = in(c, 0), &values = in(c, 1);
  if (x.empty()) return c.fail("RuntimeError", who(c) + "a vector expected, not a number");
  if (x.size() == 1) return done(c, values);
  bool fits = x.size() == values.size();
  for (size_t k = 0; fits && k + 1 < x.size(); ++k) fits = !unequal(x[k], values[k]);
  return fits ? done(c, values) : do_not_fit(c, x, values);
}
bool rule_nonzero(SigCall& c) { return done(c, {unknown_dim(), dim(static_cast<int64_t>(in(c).size()))}); }

// ---------------------------------------------------------------- products with matrices in compressed rows

// The rows of the matrix from where each of them starts.
bool csr_rows(SigCall& c, const Dims& starts, Dim& rows) {
  if (starts.size() != 1 || is(starts[0], 0))
    return c.fail(
        "ValueError",
        who(c) + "where the rows start is a vector with one number more than there are rows, not " + to_text(starts));
  rows = starts[0].known() ? dim(starts[0].c - 1) : unknown_dim();
  return true;
}
bool csr_dense(SigCall& c, size_t i) {
  return in(c, i).size() == 2 || c.fail("ValueError", who(c) + "a matrix expected, not " + to_text(in(c, i)));
}
bool rule_csr_product(SigCall& c) {
  Dim rows;
  if (!csr_rows(c, in(c, 2), rows) || !csr_dense(c, 3)) return false;
  Dim width = c.param("width").kind == Kind::integer ? c.param("width").integer : unknown_dim();
  const bool across = c.param("across").truthy();
  if (c.param("transposed").truthy()) std::swap(rows, width);
  const Dim inner = in(c, 3)[across ? 1 : 0], lanes = in(c, 3)[across ? 0 : 1];
  if (unequal(inner, width))
    return c.fail("ValueError", who(c) + to_text(Dims{rows, width}) + " and " + to_text(in(c, 3)) + " do not multiply");
  return done(c, across ? Dims{lanes, rows} : Dims{rows, lanes});
}
bool rule_csr_put(SigCall& c) {
  Dim rows;
  const Param& width = c.param("width");
  return csr_rows(c, in(c, 2), rows) && done(c, {rows, width.kind == Kind::integer ? width.integer : unknown_dim()});
}
bool rule_csr_take(SigCall& c) {
  Dim rows;
  if (!csr_rows(c, in(c, 2), rows) || !csr_dense(c, 0)) return false;
  return unequal(rows, in(c, 0)[0]) ? do_not_fit(c, in(c, 0), in(c, 2)) : done(c, in(c, 1));
}
bool rule_csr_sampled(SigCall& c) {
  Dim rows;
  if (!csr_rows(c, in(c, 1), rows) || !csr_dense(c, 2) || !csr_dense(c, 3)) return false;
  const bool across = c.param("across").truthy();
  const Dims &a = in(c, 2), &b = in(c, 3);
  if (unequal(a[across ? 1 : 0], rows) || unequal(a[across ? 0 : 1], b[across ? 0 : 1])) return do_not_fit(c, a, b);
  return done(c, in(c, 0));
}

// ---------------------------------------------------------------- products with matrices in block rows

Dim size_param(SigCall& c, std::string_view name) {
  return c.param(name).kind == Kind::integer ? c.param(name).integer : unknown_dim();
}
// Do blocks with this many rows, whose rows start so, make a matrix of this height?
bool bsr_fits(SigCall& c, const Dims& starts, Dim height, Dim r) {
  Dim rows;
  if (!csr_rows(c, starts, rows)) return false;
  if (is(r, 0)) return c.fail("ValueError", who(c) + "a block has a row and a column at least");
  if (!rows.known() || !height.known() || !r.known() || rows.c == (height.c + r.c - 1) / r.c) return true;
  return c.fail("ValueError", who(c) + "where the rows of blocks start is told for " + std::to_string(rows.c) +
                                  " of them, and " + std::to_string(height.c) + " rows in blocks of " +
                                  std::to_string(r.c) + " are " + std::to_string((height.c + r.c - 1) / r.c));
}
bool bsr_values(SigCall& c) {
  const Dims& values = in(c);
  return !is(values[2], 0) || c.fail("ValueError", who(c) + "a block has a row and a column at least");
}
bool rule_bsr_product(SigCall& c) {
  Dim height = size_param(c, "height"), width = size_param(c, "width");
  if (!bsr_fits(c, in(c, 2), height, in(c)[1]) || !bsr_values(c) || !csr_dense(c, 3)) return false;
  const bool across = c.param("across").truthy();
  if (c.param("transposed").truthy()) std::swap(height, width);
  const Dim inner = in(c, 3)[across ? 1 : 0], lanes = in(c, 3)[across ? 0 : 1];
  if (unequal(inner, width))
    return c.fail("ValueError",
                  who(c) + to_text(Dims{height, width}) + " and " + to_text(in(c, 3)) + " do not multiply");
  return done(c, across ? Dims{lanes, height} : Dims{height, lanes});
}
bool rule_bsr_put(SigCall& c) {
  const Dim height = size_param(c, "height");
  return bsr_fits(c, in(c, 2), height, in(c)[1]) && bsr_values(c) && done(c, {height, size_param(c, "width")});
}
bool rule_bsr_take(SigCall& c) {
  const Dim r = size_param(c, "r");
  return csr_dense(c, 0) && bsr_fits(c, in(c, 2), in(c)[0], r) && done(c, {in(c, 1)[0], r, size_param(c, "c")});
}
bool rule_bsr_sampled(SigCall& c) {
  if (!csr_dense(c, 2) || !csr_dense(c, 3)) return false;
  const bool across = c.param("across").truthy();
  const Dims &a = in(c, 2), &b = in(c, 3);
  const Dim r = size_param(c, "r");
  if (!bsr_fits(c, in(c, 1), a[across ? 1 : 0], r)) return false;
  if (unequal(a[across ? 0 : 1], b[across ? 0 : 1])) return do_not_fit(c, a, b);
  return done(c, {in(c, 0)[0], r, size_param(c, "c")});
}

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
bool rule_extent(SigCall& c) {
  const Dim n = c.param("n").integer;
  return done(c, {n.known() ? dim(std::max<int64_t>(n.c, 0)) : n, dim(0)});
}
bool rule_linspace(SigCall& c) {
  Dims d{c.param("steps").integer};
  return check_size(c, d) && done(c, d);
}
bool rule_vector_n(SigCall& c) {
  Dims d{c.param("n").integer};
  return check_size(c, d) && done(c, d);
}

struct Rule {
  std::string_view name;
  bool (*fn)(SigCall&);
};
constexpr Rule kRules[] = {
    {"reduce", reduced},
    {"sum", rule_sum},
    {"reduce_some", rule_reduce_some},
    {"reduce_one", rule_reduce_some},
    {"scan_sum", rule_scan_sum},
    {"sum_to", rule_sum_to},
    {"same", rule_same},
    {"cast_like", rule_cast_like},
    {"matmul", rule_matmul},
    {"matmul_nt", rule_matmul_nt},
    {"matmul_tn", rule_matmul_tn},
    {"square", rule_square},
    {"det", rule_det},
    {"solve", rule_solve},
    {"qr_columns", rule_qr_columns},
    {"qr_basis", rule_qr_basis},
    {"eigh", rule_eigh},
    {"svd", rule_svd},
    {"pinv", rule_pinv},
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
    {"searchsorted", rule_searchsorted},
    {"index_select", rule_index_select},
    {"nonzero", rule_nonzero},
    {"csr_product", rule_csr_product},
    {"csr_sampled", rule_csr_sampled},
    {"csr_put", rule_csr_put},
    {"csr_take", rule_csr_take},
    {"bsr_product", rule_bsr_product},
    {"bsr_sampled", rule_bsr_sampled},
    {"bsr_put", rule_bsr_put},
    {"bsr_take", rule_bsr_take},
    {"make", rule_make},
    {"full", rule_full},
    {"eye", rule_eye},
    {"arange", rule_arange},
    {"linspace", rule_linspace},
    {"extent", rule_extent},
    {"vector_n", rule_vector_n},
};

}  // namespace

bool apply_shape_rule(std::string_view rule, SigCall& call) {
  for (const Rule& r : kRules)
    if (r.name == rule) return r.fn(call);
  ouro_bug("no shape rule '%s' (row %s)", std::string(rule).c_str(), call.op->name.c_str());
}

}  // namespace ouro::ir
