#include "ir/loops/lower.h"

#include <algorithm>
#include <map>

#include "ir/loops/schedule.h"
#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

using Index = std::vector<NodeId>;

class Lowering {
 public:
  Lowering(const Graph& g, const Cluster& c, const std::vector<ValueId>& root)
      : g_(g), c_(c), root_(root), member_(g.values.size()) {
    for (ValueId v : c.members) member_[v] = true;
  }

  LoweredKernel run() {
    for (ValueId v : c_.outputs) output_buffer(v);
    Index outer, inner;
    std::vector<uint32_t> outer_vars, inner_vars;
    for (const Poly& n : c_.outer) outer.push_back(loop_index(n, outer_vars));
    outer_depth_ = b_.kernel().vars;
    for (const Poly& n : c_.inner) inner.push_back(loop_index(n, inner_vars));
    inner_depth_ = b_.kernel().vars;

    // Rows: what is stored once a row stands before the loop over the row.
    std::vector<Stmt> row_stores, element_stores;
    for (ValueId v : c_.outputs) {
      bool whole = is_inner_output(v);
      Index at = outer;
      if (whole) at.insert(at.end(), inner.begin(), inner.end());
      at.resize(g_[v].dims.size(), b_.ix(0));
      NodeId value = element(v, at);
      Stmt s{.kind = Stmt::Kind::store, .buffer = output_buffer(v), .at = linear(at, g_[v].dims), .value = value};
      (whole && !c_.inner.empty() ? element_stores : row_stores).push_back(std::move(s));
    }
    std::vector<Stmt> body = std::move(outer_body_);
    append(body, std::move(row_stores));
    if (!element_stores.empty()) {
      std::vector<Stmt> inside = std::move(inner_body_);
      append(inside, std::move(element_stores));
      append(body, nest(Stmt::Kind::loop, inner_vars, c_.inner, std::move(inside)));
    }
    b_.body() = nest(Stmt::Kind::parallel, outer_vars, c_.outer, std::move(body));
    out_.kernel = b_.finish();
    schedule(out_);
    return std::move(out_);
  }

 private:
  static void append(std::vector<Stmt>& to, std::vector<Stmt>&& from) {
    for (Stmt& s : from) to.push_back(std::move(s));
  }

  // A dim of one element needs no loop.
  NodeId loop_index(const Poly& extent, std::vector<uint32_t>& vars) {
    vars.push_back(extent.is(1) ? UINT32_MAX : b_.var());
    return extent.is(1) ? b_.ix(0) : b_.var_node(vars.back());
  }

  std::vector<Stmt> nest(Stmt::Kind kind, const std::vector<uint32_t>& vars, const Polys& extents,
                         std::vector<Stmt> body) {
    for (size_t i = vars.size(); i-- > 0;) {
      if (vars[i] == UINT32_MAX) continue;
      Stmt loop{.kind = kind, .vars = {vars[i]}, .extents = {size(extents[i])}, .body = std::move(body)};
      body.clear();
      body.push_back(std::move(loop));
    }
    return body;
  }

  bool is_inner_output(ValueId v) const {
    if (c_.inner.empty()) return false;
    const Polys& d = g_[v].dims;
    if (d.size() != c_.outer.size() + c_.inner.size()) return false;
    return std::equal(c_.inner.begin(), c_.inner.end(), d.begin() + static_cast<std::ptrdiff_t>(c_.outer.size()));
  }

  // ---- parameters
  NodeId size(const Poly& p) { return p.known() && p.number() <= kBakeLimit ? b_.ix(p.number()) : offset(p); }
  // Where a slice begins is a parameter, so that the slices of a sequence, one after the other, are one kernel.
  NodeId offset(const Poly& p) {
    if (p.is(0)) return b_.ix(0);
    const auto at = std::find(out_.sizes.begin(), out_.sizes.end(), p);
    const auto i = static_cast<uint32_t>(at - out_.sizes.begin());
    if (at == out_.sizes.end()) out_.sizes.push_back(p);
    return b_.size(i);
  }
  // Divisors are always baked where they are known.
  NodeId divisor(const Poly& p) { return p.known() ? b_.ix(p.number()) : size(p); }

  uint32_t buffer_of(ValueId v, Access access) {
    ValueId r = root_[v];
    for (size_t i = 0; i < out_.buffers.size(); ++i)
      if (out_.buffers[i] == r) return static_cast<uint32_t>(i);
    out_.buffers.push_back(r);
    return b_.buffer(g_[r].type, access);
  }
  uint32_t output_buffer(ValueId v) { return buffer_of(v, Access::out); }

  NodeId scalar(const Use& u, DType type) {
    if (u.kind == Use::Kind::number && type == DType::boolean)
      return b_.integer(type, is_float(u.type) ? u.f != 0 : u.i != 0);
    if (u.kind == Use::Kind::number) return is_float(u.type) ? b_.constant(type, u.f) : b_.integer(type, u.i);
    DType stored = is_float(u.type) ? DType::f64 : DType::i64;
    NodeId n = NodeId::none;
    for (size_t i = 0; i < out_.scalars.size(); ++i)
      if (out_.scalars[i] == u) n = scalar_nodes_[i];
    if (n == NodeId::none) {
      n = b_.scalar(stored);
      out_.scalars.push_back(u);
      scalar_nodes_.push_back(n);
    }
    return b_.cast(n, type);
  }

  // ---- indices
  NodeId linear(const Index& at, const Polys& dims) {
    Polys strides = dense_strides(dims);
    NodeId sum = b_.ix(0);
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a].is(1)) continue;
      sum = b_.ix_add(sum, b_.ix_mul(at[a], size(strides[a])));
    }
    return sum;
  }
  // The index in `dims` of element number n.
  Index split(NodeId n, const Polys& dims) {
    Index out(dims.size(), b_.ix(0));
    Polys strides = dense_strides(dims);
    bool first = true;
    for (size_t a = 0; a < dims.size(); ++a) {
      if (dims[a].is(1)) continue;
      NodeId q = b_.ix(Leaf::idiv, n, divisor(strides[a]));
      out[a] = first ? q : b_.ix(Leaf::irem, q, divisor(dims[a]));
      first = false;
    }
    return out;
  }
  NodeId compare(Leaf op, NodeId a, NodeId b) { return b_.leaf(op, DType::boolean, a, b); }
  NodeId both(NodeId a, NodeId b) { return a == NodeId::none ? b : b_.leaf(Leaf::and_, DType::boolean, a, b); }

  // ---- elements
  NodeId element(ValueId v, const Index& at) {
    auto key = std::pair(v, at);
    if (auto it = done_.find(key); it != done_.end()) return it->second;
    NodeId n = member_[v] ? compute(g_[v], at) : load(v, at);
    done_[key] = n;
    return n;
  }

  // Conditions under which the elements asked for exist (inside of `place` and `cat`).
  NodeId load(ValueId v, const Index& at) {
    uint32_t buffer = buffer_of(v, Access::in);
    NodeId where = linear(at, g_[v].dims);
    if (guard_ == NodeId::none) return b_.load(buffer, where);
    return b_.load_if(buffer, where, guard_, b_.constant(loaded_type(g_[v].type), 0));
  }

  NodeId compute(const Value& v, const Index& at) {
    return std::visit([&](const auto& form) { return compute(form, v, at); }, v.form);
  }
  NodeId compute(const form::Input&, const Value&, const Index&) { not_in_kernels(); }
  NodeId compute(const form::Opaque&, const Value&, const Index&) { not_in_kernels(); }
  NodeId compute(const form::Matmul&, const Value&, const Index&) { not_in_kernels(); }
  NodeId compute(const form::Convolve&, const Value&, const Index&) { not_in_kernels(); }
  [[noreturn]] static void not_in_kernels() { ouro_bug("a value of this kind is not computed in a kernel"); }

  NodeId compute(const form::Read& read, const Value& v, const Index& at) {
    Index in;
    for (const AxisAt& a : read.at) {
      const Poly start = a.start;
      if (a.axis < 0)
        in.push_back(offset(start));
      else if (a.step < 0)
        in.push_back(b_.ix(Leaf::sub, offset(start), at[static_cast<size_t>(a.axis)]));
      else if (start.is(0))
        in.push_back(at[static_cast<size_t>(a.axis)]);
      else
        in.push_back(b_.ix_add(at[static_cast<size_t>(a.axis)], offset(start)));
    }
    return element(v.inputs[0].value, in);
  }
  NodeId compute(const form::Iota& iota, const Value& v, const Index& at) {
    NodeId i = b_.leaf(Leaf::mul, DType::i64, at[0], scalar(iota.step, DType::i64));
    return b_.cast(b_.leaf(Leaf::add, DType::i64, i, scalar(iota.first, DType::i64)), v.type);
  }

  NodeId use(const Use& u, const Polys& dims, const Index& at, DType scalar_type) {
    if (u.kind != Use::Kind::value) return scalar(u, scalar_type);
    const Polys& in = g_[u.value].dims;
    Index sub;
    size_t lead = dims.size() - in.size();
    for (size_t a = 0; a < in.size(); ++a) sub.push_back(in[a].is(1) ? b_.ix(0) : at[a + lead]);
    return element(u.value, sub);
  }

  NodeId compute(const form::Elementwise& e, const Value& v, const Index& at) {
    return run_program(e.program, v.type, [&](const ExprStep& s) {
      return s.leaf == Leaf::arg ? use(v.inputs[s.index], v.dims, at, s.type) : scalar(e.params[s.index], s.type);
    });
  }

  // Half floats are rounded where the operation's result is one, and go on as f32.
  NodeId rounded(NodeId n, DType t) {
    if (t != DType::f16 && t != DType::bf16) return n;
    return b_.leaf(Leaf::cast, DType::f32, b_.leaf(Leaf::cast, t, n));
  }

  // An operand's element as one of the result: operands of several types come together in the promoted one.
  NodeId converted(NodeId n, DType t) {
    return b_.node(n).type == loaded_type(t) ? n : rounded(b_.cast(n, loaded_type(t)), t);
  }

  template <class Fn>
  NodeId run_program(const ExprProgram& p, DType result, Fn&& operand) {
    std::vector<NodeId> steps;
    for (const ExprStep& s : p.steps) {
      NodeId n;
      auto arg = [&](int16_t i) { return i < 0 ? NodeId::none : steps[static_cast<size_t>(i)]; };
      if (s.leaf == Leaf::arg || s.leaf == Leaf::param)
        n = operand(s);
      else if (s.leaf == Leaf::constant)
        n = b_.constant(s.type, s.imm);
      else if (s.leaf == Leaf::cast)
        n = compute_type(s.type) == s.type ? b_.cast(arg(s.a), s.type) : rounded(b_.cast(arg(s.a), DType::f32), s.type);
      else
        n = b_.leaf(s.leaf, s.type, arg(s.a), arg(s.b), arg(s.c));
      steps.push_back(n);
    }
    NodeId n = steps[static_cast<size_t>(p.result)];
    bool ends_rounded = p.steps[static_cast<size_t>(p.result)].type == result;
    return ends_rounded ? n : rounded(n, result);
  }

  // The statement goes where its index allows: once per row, or for each element.
  NodeId compute(const form::Reduce& r, const Value& v, const Index& at) {
    const Value& in = g_[v.inputs[0].value];
    Stmt s{.kind = Stmt::Kind::reduce};
    s.order = r.last ? ReduceOrder::fold : ReduceOrder::blocks;
    Index sub(in.dims.size(), b_.ix(0));
    size_t next = 0;
    std::vector<bool> reduced(in.dims.size());
    for (int a : r.axes) reduced[static_cast<size_t>(a)] = true;
    for (size_t a = 0; a < in.dims.size(); ++a) {
      if (reduced[a]) {
        if (r.keepdim) ++next;
        uint32_t var = b_.var();
        s.vars.push_back(var);
        s.extents.push_back(size(in.dims[a]));
        sub[a] = b_.var_node(var);
      } else {
        sub[a] = at[next++];
      }
    }
    if (s.vars.empty()) {  // over no axis: one element
      s.vars.push_back(b_.var());
      s.extents.push_back(b_.ix(1));
      b_.var_node(s.vars[0]);
    }
    NodeId e = element(v.inputs[0].value, sub);
    if (!r.before.steps.empty()) e = run_program(r.before, b_.node(e).type, [&](const ExprStep&) { return e; });
    DType t = b_.node(e).type;
    s.combine.push_back(r.combine);
    s.values.push_back(e);
    uint32_t number = b_.result();
    s.results.push_back(number);
    NodeId result = b_.result_node(number, t);
    body_for(at).push_back(std::move(s));
    return rounded(b_.cast(result, loaded_type(v.type)), v.type);
  }

  std::vector<Stmt>& body_for(const Index& at) {
    Dependence d(b_.kernel());
    uint64_t inner_bits = (uint64_t{1} << inner_depth_) - (uint64_t{1} << outer_depth_);
    for (NodeId n : at)
      if (d.of(n).vars & inner_bits) return inner_body_;
    return outer_body_;
  }

  NodeId compute(const form::Reshape&, const Value& v, const Index& at) {
    ValueId source = v.inputs[0].value;
    const Polys& from = g_[source].dims;
    return element(source, split(linear(at, v.dims), from));
  }

  // The map is solved for the input's index: the first axis of the result that follows one of the input's says it, any
  // other one must say the same. The element is there if it lies in the input, else it is the fill.
  NodeId compute(const form::Place& place, const Value& v, const Index& at) {
    const Value& in = g_[v.inputs[0].value];
    Index sub(in.dims.size(), NodeId::none);
    NodeId inside = NodeId::none;
    for (size_t a = 0; a < place.at.size(); ++a) {
      const Poly start = place.at[a].start;
      if (place.at[a].axis < 0) {
        inside = both(inside, compare(Leaf::eq, at[a], offset(start)));
        continue;
      }
      const size_t k = static_cast<size_t>(place.at[a].axis);
      const NodeId here = start.is(0) ? at[a] : b_.ix(Leaf::sub, at[a], offset(start));
      if (sub[k] != NodeId::none) {
        inside = both(inside, compare(Leaf::eq, sub[k], here));
        continue;
      }
      sub[k] = here;
      if (start.is(0) && in.dims[k] == v.dims[a]) continue;
      inside = both(inside, compare(Leaf::ge, at[a], offset(start)));
      inside = both(inside, compare(Leaf::lt, here, size(in.dims[k])));
    }
    if (inside == NodeId::none) return element(v.inputs[0].value, sub);
    NodeId e = guarded(inside, v.inputs[0].value, sub);
    return b_.leaf(Leaf::select, loaded_type(v.type), inside, e, scalar(place.fill, loaded_type(v.type)));
  }

  NodeId guarded(NodeId condition, ValueId v, const Index& at) {
    NodeId before = guard_;
    guard_ = both(before, condition);
    // Elements under a condition are other expressions than those without one.
    auto saved = std::exchange(done_, {});
    NodeId e = element(v, at);
    done_ = std::move(saved);
    guard_ = before;
    return e;
  }

  NodeId compute(const form::Cat& cat, const Value& v, const Index& at) {
    size_t k = static_cast<size_t>(cat.axis);
    Poly start = 0;
    std::vector<std::pair<NodeId, NodeId>> parts;  // end of the part, element
    for (const Use& u : v.inputs) {
      Index sub = at;
      sub[k] = b_.ix(Leaf::sub, at[k], size(start));
      Poly end = start + g_[u.value].dims[k];
      NodeId below = compare(Leaf::lt, at[k], size(end));
      NodeId inside = parts.empty() ? below : both(compare(Leaf::ge, at[k], size(start)), below);
      parts.emplace_back(below, converted(guarded(inside, u.value, sub), v.type));
      start = end;
    }
    NodeId e = parts.back().second;
    for (size_t i = parts.size() - 1; i-- > 0;)
      e = b_.leaf(Leaf::select, loaded_type(v.type), parts[i].first, parts[i].second, e);
    return e;
  }

  NodeId compute(const form::Triangle& t, const Value& v, const Index& at) {
    size_t r = at.size();
    NodeId bound = b_.leaf(Leaf::add, DType::i64, at[r - 2], scalar(t.diagonal, DType::i64));
    NodeId keep = compare(t.upper ? Leaf::ge : Leaf::le, at[r - 1], bound);
    NodeId e = element(v.inputs[0].value, at);
    return b_.leaf(Leaf::select, loaded_type(v.type), keep, e, b_.constant(loaded_type(v.type), 0));
  }

  // Negative places count from the end.
  NodeId from_end(NodeId place, const Poly& n) {
    NodeId negative = compare(Leaf::lt, place, b_.ix(0));
    return b_.leaf(Leaf::select, DType::i64, negative, b_.leaf(Leaf::add, DType::i64, place, size(n)), place);
  }

  NodeId compute(const form::Gather& g, const Value& v, const Index& at) {
    size_t k = static_cast<size_t>(g.axis);
    NodeId place = from_end(element(v.inputs[1].value, g.along ? at : Index{at[k]}), g_[v.inputs[0].value].dims[k]);
    Index sub = at;
    sub[k] = place;
    return element(v.inputs[0].value, sub);
  }

  NodeId compute(const form::ScatterOne& s, const Value& v, const Index& at) {
    size_t k = static_cast<size_t>(s.axis);
    Index line = at;
    line[k] = b_.ix(0);
    NodeId here = compare(Leaf::eq, from_end(element(v.inputs[1].value, line), v.dims[k]), at[k]);
    NodeId old = element(v.inputs[0].value, at);
    NodeId source =
        v.inputs[2].kind == Use::Kind::value ? element(v.inputs[2].value, line) : scalar(v.inputs[2], v.type);
    if (s.add) source = b_.leaf(Leaf::add, v.type, old, source);
    return b_.leaf(Leaf::select, v.type, here, source, old);
  }

  // The elements of a window in row-major order: the largest (NaN wins, the first one wins) and its place in the plane.
  struct Best {
    NodeId best, place;
  };
  NodeId compute(const form::Window& w, const Value& v, const Index& at) { return best(w.dims, v, at, false).best; }
  NodeId compute(const form::WindowIndex& w, const Value& v, const Index& at) {
    return best(w.dims, v, at, true).place;
  }
  Best best(const std::vector<form::WindowDim>& window, const Value& v, const Index& at, bool want_place) {
    const Polys& dims = g_[v.inputs[0].value].dims;
    size_t n = window.size(), lead = dims.size() - n;
    DType t = loaded_type(v.inputs[0].kind == Use::Kind::value ? g_[v.inputs[0].value].type : v.type);
    std::vector<int64_t> k(n, 0);
    Best b{NodeId::none, NodeId::none};
    for (;;) {
      Index sub(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead));
      NodeId flat = b_.ix(0);
      for (size_t i = 0; i < n; ++i) {
        NodeId p = b_.ix_add(b_.ix_mul(at[lead + i], b_.ix(window[i].stride)), b_.ix(k[i] * window[i].dilation));
        sub.push_back(p);
        if (want_place) flat = b_.ix_add(b_.ix_mul(flat, size(dims[lead + i])), p);
      }
      NodeId e = element(v.inputs[0].value, sub);
      if (b.best == NodeId::none) {
        b = {e, flat};
      } else {
        NodeId larger = compare(Leaf::gt, e, b.best);
        if (is_float(t))
          larger = b_.leaf(Leaf::or_, DType::boolean, larger,
                           both(compare(Leaf::ne, e, e), compare(Leaf::eq, b.best, b.best)));
        if (want_place) b.place = b_.leaf(Leaf::select, DType::i64, larger, flat, b.place);
        b.best = want_place ? b_.leaf(Leaf::select, t, larger, e, b.best) : b_.leaf(Leaf::max, t, b.best, e);
      }
      size_t i = n;
      while (i-- > 0 && ++k[i] == window[i].size) k[i] = 0;
      if (i == SIZE_MAX) break;
    }
    return b;
  }

  // The one window that may have put something here.
  NodeId compute(const form::Unpool& u, const Value& v, const Index& at) {
    const Polys& windows = g_[v.inputs[0].value].dims;
    size_t n = u.dims.size(), lead = windows.size() - n;
    Index sub(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead));
    NodeId inside = NodeId::none, flat = b_.ix(0);
    for (size_t i = 0; i < n; ++i) {
      int64_t stride = u.dims[i].stride;
      NodeId w = b_.ix(Leaf::idiv, at[lead + i], b_.ix(stride));
      sub.push_back(w);
      if (!(windows[lead + i] * Poly(stride) == v.dims[lead + i]))
        inside = both(inside, compare(Leaf::lt, w, size(windows[lead + i])));
      flat = b_.ix_add(b_.ix_mul(flat, size(v.dims[lead + i])), at[lead + i]);
    }
    auto of = [&](ValueId x) { return inside == NodeId::none ? element(x, sub) : guarded(inside, x, sub); };
    NodeId here = compare(Leaf::eq, of(v.inputs[1].value), flat);
    if (inside != NodeId::none) here = both(inside, here);
    DType t = loaded_type(v.type);
    NodeId zero = b_.constant(t, 0);
    NodeId sum = rounded(b_.leaf(Leaf::add, t, zero, of(v.inputs[0].value)), v.type);
    return b_.leaf(Leaf::select, t, here, sum, zero);
  }

  const Graph& g_;
  const Cluster& c_;
  const std::vector<ValueId>& root_;
  std::vector<bool> member_;
  KernelBuilder b_;
  LoweredKernel out_;
  std::vector<NodeId> scalar_nodes_;
  std::map<std::pair<ValueId, Index>, NodeId> done_;
  std::vector<Stmt> outer_body_, inner_body_;
  uint32_t outer_depth_ = 0, inner_depth_ = 0;
  NodeId guard_ = NodeId::none;
};

}  // namespace

LoweredKernel lower(const Graph& g, const Cluster& c, const std::vector<ValueId>& root) {
  return Lowering(g, c, root).run();
}

}  // namespace ouro::ir::loops
