#include "ir/loops/axes.h"

#include <algorithm>

#include "ir/ops/let_args.h"
#include "ir/ops/registry.h"
#include "ir/prim.h"
#include "ir/walk.h"

namespace ouro::ir::loops {
namespace {

using Role = AxisUse::Role;

// Products with a sparse matrix. Their dense operands run along one axis: the last, or the first where the product is
// taken across. The result has it, too, or is a sum over it.
struct SparseProduct {
  std::string_view name;
  size_t first = 0, last = 0;  // the dense operands
  bool sums = false;
};
constexpr SparseProduct kSparseProducts[] = {
    {"csr_product", 3, 3}, {"bsr_product", 3, 3}, {"csr_sampled", 2, 3, true}, {"bsr_sampled", 2, 3, true}};

class Mapper {
 public:
  Mapper(const Graph& g, ValueId v) : g_(g), v_(g[v]), dims_(v_.dims) { m_.repeats.assign(dims_.size(), false); }

  AxisMap run() {
    if (v_.is<form::Opaque>()) {
      opaque();
      return std::move(m_);
    }
    for (const Use& u : v_.inputs)
      if (u.kind == Use::Kind::value) operand(u.value);
    std::visit([&](const auto& form) { follow(form); }, v_.form);
    shape_operands();
    return std::move(m_);
  }

 private:
  // ---- what is said
  size_t operand(ValueId u) {
    m_.operands.push_back({u, std::vector<AxisUse>(g_[u].dims.size())});
    return m_.operands.size() - 1;
  }
  const Polys& dims_of(size_t i) const { return g_[m_.operands[i].value].dims; }
  size_t rank_of(size_t i) const { return dims_of(i).size(); }
  // Axis `a` of operand `i` is axis `to` of the result. Sizes that differ: it is no axis of its own.
  void keep(size_t i, size_t a, size_t to) {
    if (i < m_.operands.size() && a < rank_of(i) && to < dims_.size() && dims_of(i)[a] == dims_[to])
      m_.operands[i].uses[a] = {Role::kept, static_cast<int>(to)};
  }
  void sum(size_t i, size_t a) { m_.operands[i].uses[a] = {Role::summed, -1}; }
  void run_along(size_t i, size_t a, size_t j, size_t b) { m_.together.push_back({i, a, j, b}); }
  void keep_leading(size_t i, size_t trailing) {
    for (size_t a = 0; a + trailing < rank_of(i); ++a) keep(i, a, a);
  }
  void keep_but(size_t i, size_t axis) {
    for (size_t a = 0; a < rank_of(i); ++a)
      if (a != axis) keep(i, a, a);
  }
  // NumPy's broadcasting: axes from the last on; one of size 1 is repeated.
  void broadcast(size_t i) {
    const size_t rank = rank_of(i);
    for (size_t a = 0; a < rank && rank <= dims_.size(); ++a) keep(i, a, a + dims_.size() - rank);
  }
  void all_repeat() { m_.repeats.assign(dims_.size(), true); }

  // ---- forms of the graph
  void follow(const form::Input&) {}
  void follow(const form::Opaque&) {}
  void follow(const form::Elementwise&) {
    all_repeat();
    for (size_t i = 0; i < m_.operands.size(); ++i) broadcast(i);
  }
  void follow(const form::Read& read) { reads(0, read.at); }
  void follow(const form::Reshape&) { reshape(0); }
  void follow(const form::Place& place) { places(0, place.at); }
  void follow(const form::Cat& cat) {
    for (size_t i = 0; i < m_.operands.size(); ++i) keep_but(i, static_cast<size_t>(cat.axis));
  }
  void follow(const form::Triangle&) { keep_leading(0, 2); }
  void follow(const form::Reduce& r) {
    size_t to = 0;
    for (size_t a = 0; a < rank_of(0); ++a) {
      if (std::ranges::find(r.axes, static_cast<int>(a)) == r.axes.end()) {
        keep(0, a, to++);
        continue;
      }
      if (r.combine == Leaf::add) sum(0, a);
      to += r.keepdim;
    }
  }
  void follow(const form::Iota&) {}
  void follow(const form::Gather& gather) { this->gather(gather.axis, gather.along); }
  void follow(const form::ScatterOne& s) {
    for (size_t i = 0; i < m_.operands.size(); ++i) keep_but(i, static_cast<size_t>(s.axis));
  }
  void follow(const form::Window& w) { keep_leading(0, w.dims.size()); }
  void follow(const form::WindowIndex& w) { keep_leading(0, w.dims.size()); }
  void follow(const form::Unpool& w) {
    for (size_t i = 0; i < m_.operands.size(); ++i) keep_leading(i, w.dims.size());
  }
  void follow(const form::Matmul& m) { matmul(m.a_transposed, m.b_transposed); }
  void follow(const form::Convolve& c) {
    using Result = form::Convolve::Result;
    if (c.result != Result::weight) {  // [n, channels, ...] with [out, in, ...]
      keep(0, 0, 0);
      if (c.result == Result::forward) keep(1, 0, 1);
      return;
    }
    sum(0, 0), sum(1, 0), run_along(0, 0, 1, 0);
    keep(0, 1, 0);
  }

  // ---- kinds of maps
  void reads(size_t i, std::span<const AxisAt> at) {
    all_repeat();
    for (size_t a = 0; a < at.size() && a < rank_of(i); ++a) {
      if (at[a].axis < 0) continue;
      m_.repeats[static_cast<size_t>(at[a].axis)] = false;
      if (at[a].step == 1 && at[a].start == SymDim{}) keep(i, a, static_cast<size_t>(at[a].axis));
    }
  }
  void places(size_t i, std::span<const AxisAt> at) {
    for (size_t r = 0; r < at.size(); ++r)
      if (at[r].axis >= 0 && at[r].step == 1 && at[r].start == SymDim{}) keep(i, static_cast<size_t>(at[r].axis), r);
  }
  // Groups of axes with as many elements on both sides; the first axis of a group is the slow one.
  void reshape(size_t i) {
    const Polys& from = dims_of(i);
    size_t a = 0, r = 0;
    auto skip_ones = [](const Polys& d, size_t& at) {
      while (at < d.size() && d[at].is(1)) ++at;
    };
    for (skip_ones(from, a), skip_ones(dims_, r); a < from.size() && r < dims_.size();) {
      const size_t first = a, to = r;
      Poly in = from[a++], out = dims_[r++];
      while (!(in == out)) {
        // The smaller side takes one more axis. Which one it is cannot be told of symbols where neither divides the
        // other; then the rest is mixed.
        const bool take_in = a < from.size() && (r == dims_.size() || smaller(in, out));
        if (!take_in && r == dims_.size()) return;
        if (take_in)
          in = in * from[a++];
        else
          out = out * dims_[r++];
      }
      m_.operands[i].uses[first] = {Role::kept, static_cast<int>(to)};
      skip_ones(from, a), skip_ones(dims_, r);
    }
  }
  static bool smaller(const Poly& x, const Poly& y) {
    if (x.known() && y.known()) return x.number() < y.number();
    auto likely = [](uint32_t) -> int64_t { return 1021; };  // a prime: equal products are equal factors, mostly
    return x.evaluate(likely) < y.evaluate(likely);
  }
  void gather(int axis, bool along) {
    const size_t on = static_cast<size_t>(axis);
    keep_but(0, on);
    if (along)
      for (size_t a = 0; a < rank_of(1); ++a) keep(1, a, a);
    else
      keep(1, 0, on);
  }
  void matmul(bool a_transposed, bool b_transposed) {
    if (m_.operands.size() != 2) return;
    const size_t ra = rank_of(0), rb = rank_of(1), rank = dims_.size();
    if (ra == 0 || rb == 0 || (ra == 1 && a_transposed) || (rb == 1 && b_transposed)) return;
    const size_t a_sum = ra == 1 ? 0 : ra - (a_transposed ? 2 : 1), b_sum = rb == 1 ? 0 : rb - (b_transposed ? 1 : 2);
    const size_t own = (ra > 1) + (rb > 1);
    if (rank < own) return;
    if (ra > 1) keep(0, ra - (a_transposed ? 1 : 2), rank - own);
    if (rb > 1) keep(1, rb - (b_transposed ? 2 : 1), rank - 1);
    const size_t lead = rank - own;
    for (size_t i = 0; i < 2; ++i) {
      const size_t n = rank_of(i) > 2 ? rank_of(i) - 2 : 0;
      for (size_t a = 0; a < n && n <= lead; ++a) keep(i, a, a + lead - n);
    }
    for (size_t r = 0; r < lead; ++r) m_.repeats[r] = true;
    sum(0, a_sum), sum(1, b_sum), run_along(0, a_sum, 1, b_sum);
  }

  // ---- operands that are looked at for their shape
  void shape_operands() {
    if (v_.let == UINT32_MAX || v_.name == NameId::none) return;
    const Let& l = g_.function->block(g_.block).lets[v_.let];
    for_each_tensor(l, [&](ValueId u) {
      if (std::ranges::any_of(m_.operands, [&](const AxisMap::Operand& o) { return o.value == u; })) return;
      if (is_read_by_part(u)) return;
      const size_t i = operand(u);
      m_.operands[i].shape_only = true;
      if (v_.is<form::Elementwise>() || g_[u].dims == dims_) broadcast(i);
    });
  }
  // Of a reduction over several groups of axes: by one of the stages before this one.
  bool is_read_by_part(ValueId u) const {
    for (const Value& x : g_.values)
      if (x.let == v_.let &&
          std::ranges::any_of(x.inputs, [&](const Use& use) { return use.kind == Use::Kind::value && use.value == u; }))
        return true;
    return false;
  }
  template <class Fn>
  void for_each_tensor(const Let& l, Fn&& fn) const {
    for_each_arg(*g_.function, l, [&](Atom a) {
      if (a.is_name() && g_.of_name[index(a.name())] != kNoValue) fn(g_.of_name[index(a.name())]);
    });
  }

  // ---- rows that the runtime carries out: the same maps, from the row itself
  void opaque() {
    const Let& l = g_.function->block(g_.block).lets[v_.let];
    for_each_tensor(l, [&](ValueId u) { operand(u); });
    if (!is_tensor_op(l.op)) return;
    const LetArgs args(*g_.function, l);
    const OpInfo& op = args.op();
    if (op.def->effect == OpEffect::rng && m_.operands.size() == 1) return draws(op);
    if (op.def->effect != OpEffect::none || m_.operands.empty()) return;
    if (op.elementwise()) return follow(form::Elementwise{});
    if (const auto row = std::ranges::find(kSparseProducts, op.name, &SparseProduct::name);
        row != std::end(kSparseProducts))
      return sparse_product(*row, args.flag("across") ? 0 : 1);
    const LoopSpec& loop = op.def->loop;
    switch (loop.kind) {
      case LoopKind::view:
        return view(l);
      case LoopKind::contract:
        return matmul(loop.index.starts_with("km"), loop.index.substr(3, 2) == "nk");
      case LoopKind::arg:
      case LoopKind::scan:
        return along_axis(args, loop.kind == LoopKind::arg && !args.flag("keepdim"));
      case LoopKind::gather:
        return gathers(args, loop.index);
      case LoopKind::scatter:
        return scatters(args, loop.index);
      case LoopKind::window:
        if (const auto kernel = args.integers("kernel"))
          for (size_t i = 0; i < m_.operands.size(); ++i) keep_leading(i, kernel->size());
        return;
      default:
        return;
    }
  }
  void sparse_product(const SparseProduct& p, size_t axis) {
    if (m_.operands.size() != 4) return;  // one tensor twice
    for (size_t i = p.first; i <= p.last; ++i) {
      if (rank_of(i) != 2) return;
      if (p.sums)
        sum(i, axis);
      else
        keep(i, axis, axis);
    }
    if (p.sums) run_along(p.first, axis, p.last, axis);
  }
  // In the shape of its operand: a number for each element in row-major order.
  void draws(const OpInfo& op) {
    if (!op.name.ends_with("_like")) return;
    m_.drawn_by = find_op(op.name.substr(0, op.name.size() - 5) + "_drawn");
    m_.operands[0].shape_only = true;
    if (m_.drawn_by) keep(0, 0, 0);
  }
  std::optional<size_t> axis_of(const LetArgs& args) const {
    const auto axis = args.known_integer("axis");
    const auto rank = static_cast<int64_t>(rank_of(0));
    if (!axis || *axis < -rank || *axis >= rank) return std::nullopt;
    return static_cast<size_t>(*axis < 0 ? *axis + rank : *axis);
  }
  void along_axis(const LetArgs& args, bool drops) {
    const auto axis = axis_of(args);
    if (!axis) return;
    for (size_t a = 0; a < rank_of(0); ++a)
      if (a != *axis) keep(0, a, a - (drops && a > *axis));
  }
  void view(const Let& l) {
    LetCall made;
    if (!made.infer(*g_.function, l)) return;
    const IndexMap& map = made.call.map;
    using Way = IndexMap::Way;
    if (map.way == Way::reads) reads(0, map.at);
    if (map.way == Way::places) places(0, map.at);
    if (map.way == Way::flat) reshape(0);
    if (map.way == Way::band) keep_leading(0, 2);
  }
  void gathers(const LetArgs& args, std::string_view rule) {
    if (rule == "plane") {
      if (const auto n = args.known_integer("n"))
        for (size_t i = 0; i < m_.operands.size(); ++i) keep_leading(i, static_cast<size_t>(*n));
      return;
    }
    const auto axis = axis_of(args);
    if (axis && m_.operands.size() == 2 && (rule == "axis" || rule == "select"))
      gather(static_cast<int>(*axis), rule == "axis");
  }
  void scatters(const LetArgs& args, std::string_view rule) {
    if (rule == "plane add") {
      if (const auto n = args.known_integer("n"))
        for (size_t i = 0; i < m_.operands.size(); ++i) keep_leading(i, static_cast<size_t>(*n));
      return;
    }
    const auto axis = axis_of(args);
    if (!axis || m_.operands.size() != 3) return;
    keep_but(0, *axis), keep_but(2, *axis);
    if (rule == "axis add" || rule == "axis set") keep_but(1, *axis);
    if (rule == "axis add" && rank_of(1) == rank_of(0)) {
      sum(1, *axis), sum(2, *axis), run_along(1, *axis, 2, *axis);
      m_.onto = 0;
    }
    if (rule == "select add" && rank_of(1) == 1) {
      sum(1, 0), sum(2, *axis), run_along(1, 0, 2, *axis);
      m_.onto = 0;
    }
  }

  const Graph& g_;
  const Value& v_;
  const Polys& dims_;
  AxisMap m_;
};

}  // namespace

bool is_sparse_product(const Graph& g, ValueId v) {
  const Let& l = g.function->block(g.block).lets[g[v].let];
  return is_tensor_op(l.op) &&
         std::ranges::find(kSparseProducts, name_of(l.op), &SparseProduct::name) != std::end(kSparseProducts);
}

AxisMap axis_map(const Graph& g, ValueId v) { return Mapper(g, v).run(); }

}  // namespace ouro::ir::loops
