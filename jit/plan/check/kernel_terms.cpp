#include "jit/plan/check/kernel_terms.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "jit/plan/check/meaning.h"

namespace ouro::jit::check {
namespace {

using ir::Leaf;
using ir::loops::Kernel;
using ir::loops::Node;
using ir::loops::NodeId;
using ir::loops::ReduceOrder;
using ir::loops::Stmt;

size_t at(NodeId n) { return static_cast<size_t>(n); }

constexpr double kLongestReduction = 3e5;  // nodes; a kernel with a longer one is not checked

// A statement with the nodes that are computed before it, and inside of a reduction.
struct Step {
  const Stmt* s;
  std::vector<NodeId> before, inside;
  std::vector<Step> body;
};

class Runner {
 public:
  Runner(const KernelRun& run, Terms& terms) : run_(run), k_(run.kernel), t_(terms) {
    const size_t n = k_.nodes.size();
    needs_vars_.resize(n);
    needs_results_.resize(n);
    values_.assign(n, Term::none);
    vars_.assign(k_.vars, 0);
    results_.assign(k_.results, Term::none);
    placed_.assign(n, false);
    for (size_t i = 0; i < n; ++i) {
      const Node& node = k_.nodes[i];
      if (node.kind == Node::Kind::var) needs_vars_[i] = bit(node.id);
      if (node.kind == Node::Kind::result) needs_results_[i] = bit(node.id);
      for (int a = 0; a < node.nargs; ++a) {
        needs_vars_[i] |= needs_vars_[at(node.args[a])];
        needs_results_[i] |= needs_results_[at(node.args[a])];
      }
    }
  }

  bool run() {
    std::vector<Step> steps = plan(k_.body, 0, 0);
    const double cost = weigh(steps);
    // Each level of loops is thinned alike.
    thin_ = 1;
    if (cost > static_cast<double>(run_.budget)) thin_ = static_cast<double>(run_.budget) / cost;
    execute(steps);
    return thin_ == 1;
  }

 private:
  static uint64_t bit(uint32_t i) { return uint64_t{1} << i; }

  // ---- where nodes are computed
  bool available(NodeId n, uint64_t vars, uint64_t results) const {
    return !(needs_vars_[at(n)] & ~vars) && !(needs_results_[at(n)] & ~results);
  }
  void want(NodeId n, uint64_t vars, uint64_t results, std::vector<NodeId>& out) {
    if (n == NodeId::none || placed_[at(n)] || visited_[at(n)]) return;
    visited_[at(n)] = true;
    const Node& node = k_.node(n);
    for (int a = 0; a < node.nargs; ++a) want(node.args[a], vars, results, out);
    if (node.nargs == 0 || !available(n, vars, results)) return;
    placed_[at(n)] = true;
    out.push_back(n);
  }
  void want_all(const Stmt& s, uint64_t vars, uint64_t results, std::vector<NodeId>& out) {
    for (NodeId n : s.extents) want(n, vars, results, out);
    for (NodeId n : s.values) want(n, vars, results, out);
    for (const Stmt& inner : s.body) want_all(inner, vars, results, out);
    want(s.at, vars, results, out);
    want(s.value, vars, results, out);
  }
  std::vector<Step> plan(const std::vector<Stmt>& body, uint64_t vars, uint64_t results) {
    std::vector<Step> steps;
    for (const Stmt& s : body) {
      Step step{&s, {}, {}, {}};
      visited_.assign(k_.nodes.size(), false);
      want_all(s, vars, results, step.before);
      uint64_t inner = vars;
      for (uint32_t v : s.vars) inner |= bit(v);
      const std::vector<bool> outside = placed_;
      if (s.kind == Stmt::Kind::reduce) {
        visited_.assign(k_.nodes.size(), false);
        for (NodeId n : s.values) want(n, inner, results, step.inside);
      } else if (s.kind != Stmt::Kind::store) {
        step.body = plan(s.body, inner, results);
      }
      placed_ = outside;  // what was computed inside is not there behind it
      for (uint32_t r : s.results) results |= bit(r);
      steps.push_back(std::move(step));
    }
    return steps;
  }

  // ---- how much there is to do
  double weigh(const std::vector<Step>& steps) {
    double sum = 0;
    for (const Step& step : steps) {
      double n = 1;
      for (NodeId e : step.s->extents) n *= static_cast<double>(std::max<int64_t>(0, number(of_sizes(e), "an extent")));
      if (step.s->kind == Stmt::Kind::reduce && n * static_cast<double>(step.inside.size() + 1) > kLongestReduction)
        throw TooLong();
      const double each = static_cast<double>(step.inside.size()) + 1 + weigh(step.body);
      sum += static_cast<double>(step.before.size()) + n * each;
    }
    return sum;
  }

  // A node of sizes and constants alone.
  Term of_sizes(NodeId id) {
    const Node& n = k_.node(id);
    if (n.nargs == 0) return compute(id);
    Term args[3];
    for (int a = 0; a < n.nargs; ++a) args[a] = of_sizes(n.args[a]);
    return t_.leaf(n.leaf, n.type, {args, static_cast<size_t>(n.nargs)});
  }

  // The iterations of a loop that are run.
  std::vector<int64_t> iterations(int64_t extent) const {
    std::vector<int64_t> out;
    const double share = std::max(thin_, 1e-9);
    const int64_t most =
        thin_ == 1 ? extent : std::max<int64_t>(8, static_cast<int64_t>(share * static_cast<double>(extent)));
    if (extent <= most) {
      for (int64_t i = 0; i < extent; ++i) out.push_back(i);
      return out;
    }
    // Both ends and pairs of neighbours in between.
    for (int64_t i : {int64_t{0}, int64_t{1}, extent - 2, extent - 1}) out.push_back(i);
    const int64_t pairs = std::max<int64_t>(2, (most - 4) / 2);
    for (int64_t p = 0; p < pairs; ++p) {
      const auto begin = static_cast<int64_t>(static_cast<__int128>(p) * (extent - 4) / pairs);
      const int64_t i = 2 + begin + (p * 7919) % std::max<int64_t>(1, (extent - 4) / pairs);
      out.push_back(std::min(i, extent - 2));
      out.push_back(std::min(i + 1, extent - 1));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // ---- nodes
  int64_t number(Term t, const char* what) const {
    auto k = t_.known(t);
    if (!k) throw Violation(fmt::format("{} depends on numbers: {}", what, t_.text(t)));
    return *k;
  }

  Term value(NodeId n) {
    const Node& node = k_.node(n);
    return node.nargs == 0 ? compute(n) : values_[at(n)];
  }

  Term compute(NodeId id) {
    const Node& n = k_.node(id);
    switch (n.kind) {
      case Node::Kind::constant: {
        if (!is_float(n.type)) return t_.number(n.type, n.bits);
        double d;
        std::memcpy(&d, &n.bits, 8);
        return t_.constant(n.type, d);
      }
      case Node::Kind::size:
        return t_.number(DType::i64, run_.sizes.at(n.id));
      case Node::Kind::scalar:
        return run_.scalars.at(n.id);
      case Node::Kind::var:
        return t_.number(DType::i64, vars_[n.id]);
      case Node::Kind::result:
        return results_[n.id];
      case Node::Kind::load:
        return load(n);
      case Node::Kind::leaf:
      case Node::Kind::index:
        break;
    }
    Term args[3];
    for (int a = 0; a < n.nargs; ++a) args[a] = value(n.args[a]);
    return t_.leaf(n.leaf, n.type, {args, static_cast<size_t>(n.nargs)});
  }

  Term load(const Node& n) {
    if (n.nargs == 3) {
      if (auto c = t_.known(value(n.args[1])); c && !*c) return value(n.args[2]);
    }
    const int64_t i = number(value(n.args[0]), "the index of a load");
    if (i < 0 || i >= run_.buffer_elements.at(n.id))
      throw Violation(
          fmt::format("a load of b{}[{}], which has {} elements{}", n.id, i, run_.buffer_elements[n.id], where()));
    run_.access({.buffer = n.id, .at = i, .iterations = iterations_});
    Term t = run_.load(n.id, i);
    if (n.nargs == 3 && !t_.known(value(n.args[1]))) {
      const Term arms[] = {value(n.args[1]), t, value(n.args[2])};
      t = t_.leaf(Leaf::select, n.type, arms);
    }
    return t;
  }

  std::string where() const {
    std::string out;
    for (const auto& [var, i] : iterations_) out += fmt::format("{}i{} = {}", out.empty() ? ", at " : ", ", var, i);
    return out;
  }

  void compute_all(const std::vector<NodeId>& nodes) {
    for (NodeId n : nodes) values_[at(n)] = compute(n);
  }

  // ---- statements
  void execute(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const Stmt& s = *step.s;
      compute_all(step.before);
      switch (s.kind) {
        case Stmt::Kind::parallel:
        case Stmt::Kind::loop: {
          const int64_t extent = number(value(s.extents[0]), "an extent");
          iterations_.emplace_back(s.vars[0], 0);
          for (int64_t i : iterations(extent)) {
            vars_[s.vars[0]] = i;
            iterations_.back().second = i;
            execute(step.body);
          }
          iterations_.pop_back();
          break;
        }
        case Stmt::Kind::reduce:
          reduce(step);
          break;
        case Stmt::Kind::store:
          store(s);
          break;
      }
    }
  }

  void reduce(const Step& step) {
    const Stmt& s = *step.s;
    std::vector<int64_t> extents;
    for (NodeId e : s.extents) extents.push_back(number(value(e), "an extent"));
    std::vector<std::vector<Term>> parts(s.values.size());
    const int64_t n = elements(extents);
    for (int64_t i = 0; i < n; ++i) {
      const Index in = unflat(i, extents);
      for (size_t v = 0; v < s.vars.size(); ++v) vars_[s.vars[v]] = in[v];
      compute_all(step.inside);
      for (size_t r = 0; r < s.values.size(); ++r) parts[r].push_back(value(s.values[r]));
    }
    if (s.order == ReduceOrder::serial) throw Violation("a serial reduction in a kernel of a cluster");
    for (size_t r = 0; r < s.values.size(); ++r)
      results_[s.results[r]] =
          t_.reduction(s.combine[r], s.order == ReduceOrder::fold, k_.node(s.values[r]).type, parts[r]);
  }

  void store(const Stmt& s) {
    const int64_t i = number(value(s.at), "the index of a store");
    if (i < 0 || i >= run_.buffer_elements.at(s.buffer))
      throw Violation(fmt::format("a store to b{}[{}], which has {} elements{}", s.buffer, i,
                                  run_.buffer_elements[s.buffer], where()));
    run_.access({.buffer = s.buffer, .at = i, .store = true, .value = value(s.value), .iterations = iterations_});
  }

  const KernelRun& run_;
  const Kernel& k_;
  Terms& t_;
  std::vector<uint64_t> needs_vars_, needs_results_;
  std::vector<Term> values_, results_;
  std::vector<int64_t> vars_;
  std::vector<bool> placed_, visited_;
  std::vector<std::pair<uint32_t, int64_t>> iterations_;
  double thin_ = 1;
};

}  // namespace

bool run_kernel(const KernelRun& run, Terms& terms) { return Runner(run, terms).run(); }

int64_t first_extent(const Kernel& kernel, const std::vector<int64_t>& sizes) {
  if (kernel.body.size() != 1 || kernel.body[0].kind != Stmt::Kind::parallel) return 1;
  const Node& e = kernel.node(kernel.body[0].extents[0]);
  return e.kind == Node::Kind::constant ? e.bits : e.kind == Node::Kind::size ? sizes.at(e.id) : -1;
}

}  // namespace ouro::jit::check
