#include "ir/loops/schedule.h"

#include <algorithm>
#include <optional>

#include "support/diag.h"

namespace ouro::ir::loops {
namespace {

// Coefficients of two variables in an index; nothing if it is not affine in them.
struct Pair {
  Poly u, w;
};

class Collapser {
 public:
  explicit Collapser(LoweredKernel& k) : k_(k), dependence_(k.kernel) {}

  // May (u, w), w the inner one with extent n, become one variable everywhere?
  bool fits(uint32_t u, uint32_t w, const Poly& n) {
    u_ = u, w_ = w, n_ = n;
    seen_.assign(k_.kernel.nodes.size(), 0);
    return std::all_of(k_.kernel.body.begin(), k_.kernel.body.end(), [this](const Stmt& s) { return statement(s); });
  }

 private:
  bool concerned(NodeId n) const {
    return n != NodeId::none && (dependence_.of(n).vars & (uint64_t{1} << u_ | uint64_t{1} << w_));
  }

  bool statement(const Stmt& s) {
    for (NodeId e : s.extents)
      if (concerned(e)) return false;
    for (NodeId v : s.values)
      if (!value(v)) return false;
    if (s.kind == Stmt::Kind::store && !(place(s.at) && value(s.value))) return false;
    return std::all_of(s.body.begin(), s.body.end(), [this](const Stmt& b) { return statement(b); });
  }

  // An expression that is not an index: it may depend on the variables only through loads.
  bool value(NodeId id) {
    if (!concerned(id)) return true;
    char& known = seen_[index(id)];
    if (known) return known == 1;
    const Node& n = k_.kernel.node(id);
    bool ok = n.kind == Node::Kind::load || n.kind == Node::Kind::leaf;
    for (int a = 0; ok && a < n.nargs; ++a)
      ok = n.kind == Node::Kind::load && a == 0 ? place(n.args[a]) : value(n.args[a]);
    known = ok ? 1 : 2;
    return ok;
  }

  bool place(NodeId id) {
    if (!concerned(id)) return true;
    auto p = affine(id);
    return p && p->u == p->w * n_;
  }

  std::optional<Pair> affine(NodeId id) {
    if (!concerned(id)) return Pair{};
    const Node& n = k_.kernel.node(id);
    if (n.kind == Node::Kind::var) return n.id == u_ ? Pair{1, 0} : Pair{0, 1};
    if (n.kind != Node::Kind::index) return value(id) ? std::optional(Pair{}) : std::nullopt;
    if (n.leaf == Leaf::add || n.leaf == Leaf::sub) {
      auto a = affine(n.args[0]), b = affine(n.args[1]);
      if (!a || !b) return std::nullopt;
      if (n.leaf == Leaf::add) return Pair{a->u + b->u, a->w + b->w};
      return Pair{a->u - b->u, a->w - b->w};
    }
    if (n.leaf == Leaf::mul) {
      for (int side = 0; side < 2; ++side) {
        auto factor = number(n.args[1 - side]);
        if (!factor) continue;
        auto a = affine(n.args[side]);
        if (!a) return std::nullopt;
        return Pair{a->u * *factor, a->w * *factor};
      }
    }
    return std::nullopt;
  }

  // An index of sizes alone, as a polynomial.
  std::optional<Poly> number(NodeId id) {
    const Node& n = k_.kernel.node(id);
    if (n.kind == Node::Kind::constant) return Poly(n.bits);
    if (n.kind == Node::Kind::size) return k_.sizes[n.id];
    return std::nullopt;
  }

  LoweredKernel& k_;
  Dependence dependence_;
  uint32_t u_ = 0, w_ = 0;
  Poly n_;
  std::vector<char> seen_;
};

// A copy of the kernel with variables replaced.
class Rewriter {
 public:
  Rewriter(const LoweredKernel& from, std::vector<NodeId> replacement, KernelBuilder& b)
      : k_(from.kernel), b_(b), replacement_(std::move(replacement)), done_(k_.nodes.size(), NodeId::none) {}

  NodeId node(NodeId id) {
    if (id == NodeId::none) return id;
    NodeId& out = done_[index(id)];
    if (out != NodeId::none) return out;
    const Node& n = k_.node(id);
    NodeId a[3] = {NodeId::none, NodeId::none, NodeId::none};
    for (int i = 0; i < n.nargs; ++i) a[i] = node(n.args[i]);
    switch (n.kind) {
      case Node::Kind::var:
        out = replacement_[n.id] != NodeId::none ? replacement_[n.id] : b_.var_node(n.id);
        break;
      case Node::Kind::index:
        out = b_.ix(n.leaf, a[0], a[1]);
        break;
      case Node::Kind::leaf:
        out = b_.leaf(n.leaf, n.type, a[0], a[1], a[2]);
        break;
      case Node::Kind::load:
        out = n.nargs == 1 ? b_.load(n.id, a[0]) : b_.load_if(n.id, a[0], a[1], a[2]);
        break;
      case Node::Kind::size:
        out = b_.size(n.id);
        break;
      case Node::Kind::result:
        out = b_.result_node(n.id, n.type);
        break;
      case Node::Kind::constant:
        out = b_.copy_constant(n);
        break;
      case Node::Kind::scalar:
        out = b_.scalar_node(n.id);
        break;
    }
    return out;
  }

  Stmt statement(const Stmt& s) {
    Stmt out = s;
    for (NodeId& e : out.extents) e = node(e);
    for (NodeId& v : out.values) v = node(v);
    out.at = node(s.at);
    out.value = node(s.value);
    for (Stmt& b : out.body) b = statement(b);
    return out;
  }

 private:
  const Kernel& k_;
  KernelBuilder& b_;
  std::vector<NodeId> replacement_;
  std::vector<NodeId> done_;
};

class Scheduler {
 public:
  explicit Scheduler(LoweredKernel& k) : k_(k) {}

  void run() {
    while (collapse_one()) {
    }
    while (flatten_one_reduction()) {
    }
    measure();
  }

 private:
  Poly extent(NodeId id) const {
    const Node& n = k_.kernel.node(id);
    if (n.kind == Node::Kind::constant) return Poly(n.bits);
    if (n.kind == Node::Kind::size) return k_.sizes[n.id];
    ouro_bug("a loop's extent is no size");
  }

  uint32_t size_param(KernelBuilder& b, const Poly& p) {
    for (uint32_t i = 0; i < k_.sizes.size(); ++i)
      if (k_.sizes[i] == p) return i;
    k_.sizes.push_back(p);
    b.size(static_cast<uint32_t>(k_.sizes.size() - 1));
    return static_cast<uint32_t>(k_.sizes.size() - 1);
  }
  NodeId size_node(KernelBuilder& b, const Poly& p) {
    if (p.known() && p.number() <= kBakeLimit) return b.ix(p.number());
    return b.size(size_param(b, p));
  }

  // A builder with this kernel's parameters and counters.
  KernelBuilder fresh() const {
    KernelBuilder b;
    for (const Buffer& x : k_.kernel.buffers) b.buffer(x.type, x.access);
    for (uint32_t i = 0; i < k_.kernel.sizes; ++i) b.size(i);
    for (DType t : k_.kernel.scalars) b.scalar(t);
    b.kernel().vars = k_.kernel.vars;
    b.kernel().results = k_.kernel.results;
    return b;
  }

  // A place in the kernel where two variables stand next to each other.
  struct Site {
    std::vector<size_t> path;  // statements from the top
    bool in_reduce = false;
    size_t var = 0;  // of a reduction: the first of the two
  };

  bool find(const std::vector<Stmt>& body, std::vector<size_t>& path, Site& site) {
    for (size_t i = 0; i < body.size(); ++i) {
      const Stmt& s = body[i];
      path.push_back(i);
      if (s.kind == Stmt::Kind::reduce && s.order != ReduceOrder::serial) {
        for (size_t v = 0; v + 1 < s.vars.size(); ++v)
          if (Collapser(k_).fits(s.vars[v], s.vars[v + 1], extent(s.extents[v + 1]))) {
            site = {path, true, v};
            return true;
          }
      } else if (s.body.size() == 1 && s.body[0].kind == s.kind && !s.vars.empty()) {
        const Stmt& in = s.body[0];
        if (Collapser(k_).fits(s.vars[0], in.vars[0], extent(in.extents[0]))) {
          site = {path, false, 0};
          return true;
        }
      }
      if (find(s.body, path, site)) return true;
      path.pop_back();
    }
    return false;
  }

  Stmt& at(std::vector<Stmt>& body, const std::vector<size_t>& path) {
    Stmt* s = &body[path[0]];
    for (size_t i = 1; i < path.size(); ++i) s = &s->body[path[i]];
    return *s;
  }

  bool collapse_one() {
    Site site;
    std::vector<size_t> path;
    if (!find(k_.kernel.body, path, site)) return false;
    Stmt& s = at(k_.kernel.body, site.path);
    uint32_t u = s.vars[site.var], w = site.in_reduce ? s.vars[site.var + 1] : s.body[0].vars[0];
    NodeId inner_extent = site.in_reduce ? s.extents[site.var + 1] : s.body[0].extents[0];
    Poly n = extent(s.extents[site.var]) * extent(inner_extent);
    KernelBuilder b = fresh();
    std::vector<NodeId> replacement(k_.kernel.vars, NodeId::none);
    replacement[u] = b.ix(0);
    Rewriter rewrite(k_, std::move(replacement), b);
    std::vector<Stmt> body;
    for (const Stmt& x : k_.kernel.body) body.push_back(rewrite.statement(x));
    Stmt& t = at(body, site.path);
    if (site.in_reduce) {
      t.vars.erase(t.vars.begin() + site.var);
      t.extents.erase(t.extents.begin() + site.var);
      t.extents[site.var] = size_node(b, n);
    } else {
      Stmt inner = std::move(t.body[0]);
      inner.extents[0] = size_node(b, n);
      t = std::move(inner);
    }
    (void)w;
    b.body() = std::move(body);
    k_.kernel = b.finish();
    return true;
  }

  bool flatten_one_reduction() {
    std::vector<size_t> path;
    if (!find_wide_reduction(k_.kernel.body, path)) return false;
    Stmt& s = at(k_.kernel.body, path);
    KernelBuilder b = fresh();
    uint32_t t = b.var();
    NodeId flat = b.var_node(t);
    std::vector<NodeId> replacement(k_.kernel.vars, NodeId::none);
    Poly stride = 1;
    for (size_t i = s.vars.size(); i-- > 0;) {
      Poly n = extent(s.extents[i]);
      auto divisor = [&](const Poly& p) { return p.known() ? b.ix(p.number()) : b.size(size_param(b, p)); };
      NodeId q = b.ix(Leaf::idiv, flat, divisor(stride));
      replacement[s.vars[i]] = i == 0 ? q : b.ix(Leaf::irem, q, divisor(n));
      stride = stride * n;
    }
    Rewriter rewrite(k_, std::move(replacement), b);
    std::vector<Stmt> body;
    for (const Stmt& x : k_.kernel.body) body.push_back(rewrite.statement(x));
    Stmt& r = at(body, path);
    r.vars = {t};
    r.extents = {size_node(b, stride)};
    b.body() = std::move(body);
    k_.kernel = b.finish();
    return true;
  }

  bool find_wide_reduction(const std::vector<Stmt>& body, std::vector<size_t>& path) {
    for (size_t i = 0; i < body.size(); ++i) {
      path.push_back(i);
      const Stmt& s = body[i];
      if (s.kind == Stmt::Kind::reduce && s.order != ReduceOrder::serial && s.vars.size() > 1) return true;
      if (find_wide_reduction(s.body, path)) return true;
      path.pop_back();
    }
    return false;
  }

  Poly work_of(const std::vector<Stmt>& body) const {
    Poly sum = 0;
    for (const Stmt& s : body) {
      Poly n = 1;
      for (NodeId e : s.extents) n = n * extent(e);
      sum += s.kind == Stmt::Kind::store ? Poly(1) : s.kind == Stmt::Kind::reduce ? n : n * work_of(s.body);
    }
    return sum;
  }

  void measure() {
    const auto& body = k_.kernel.body;
    bool root = body.size() == 1 && body[0].kind == Stmt::Kind::parallel;
    k_.range = root ? extent(body[0].extents[0]) : Poly(1);
    k_.work = work_of(root ? body[0].body : body);
  }

  LoweredKernel& k_;
};

}  // namespace

void schedule(LoweredKernel& k) { Scheduler(k).run(); }

}  // namespace ouro::ir::loops
