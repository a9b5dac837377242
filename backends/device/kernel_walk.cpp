#include "backends/device/kernel_walk.h"

#include <algorithm>

#include "backends/device/node_values.h"
#include "backends/reference/fold_levels.h"
#include "ir/loops/placement.h"
#include "support/diag.h"

namespace ouro::backends::device {
namespace {
using namespace ir::loops;
using ir::kReduceBlock;
using ir::kReduceLanes;
using ir::kReduceRows;
using ir::Leaf;
using Value = KernelWriter::Value;
using Variable = KernelWriter::Variable;

bool is_fold(const Stmt& s) { return s.kind == Stmt::Kind::reduce && s.order == ReduceOrder::fold; }

bool holds_fold(const std::vector<Stmt>& body) {
  for (const Stmt& s : body)
    if (is_fold(s) || holds_fold(s.body)) return true;
  return false;
}

// Local arrays that the widest fold needs.
uint32_t fold_width(const std::vector<Stmt>& body) {
  size_t n = 0;
  for (const Stmt& s : body)
    n = std::max<size_t>({n, is_fold(s) ? s.values.size() : 0, static_cast<size_t>(fold_width(s.body))});
  return static_cast<uint32_t>(n);
}

class Walk {
 public:
  Walk(const Kernel& k, const Grid& g, KernelWriter& w) : k_(k), g_(g), w_(w), placement_(k), values_(k, w) {
    for (const Node& n : k.nodes)
      reads_own_writes_ |= n.kind == Node::Kind::load && k.buffers[n.id].access != Access::in;
  }

  void run() {
    uniform_ = g_.grouped;
    Scope scope;
    Value total = w_.i64(1);
    std::vector<Value> extents;
    for (const Stmt* s : g_.loops) {
      // An extent depends on sizes only: grid_of() saw to that.
      extents.push_back(value(s->extents[0]));
      total = w_.index(Leaf::mul, total, extents.back());
    }
    Value at = g_.grouped ? w_.group() : w_.item();
    auto iteration = [&] {
      for (size_t i = g_.loops.size(); i-- > 0;) {
        uint32_t var = g_.loops[i]->vars[0];
        values_.set_var(var, i == 0 ? at : w_.index(Leaf::irem, at, extents[i]));
        if (i > 0) at = w_.index(Leaf::idiv, at, extents[i]);
        scope.vars |= uint64_t{1} << var;
      }
      body(*g_.body, scope);
    };
    // There are as many groups as iterations, but whole groups of single items.
    if (g_.grouped)
      iteration();
    else
      w_.when(w_.less(at, total), iteration);
  }

 private:
  using Scope = Placement::Scope;

  // ---- nodes
  Value value(NodeId id) { return values_.of(id); }
  void place(const std::vector<NodeId>& nodes) {
    for (NodeId n : nodes) value(n);
  }

  // What `fn` computes is in its scope only.
  template <class Fn>
  void scoped(Fn&& fn) {
    size_t placed = placement_.mark();
    values_.scoped(fn);
    placement_.forget(placed);
  }

  // ---- statements
  void body(const std::vector<Stmt>& stmts, Scope scope) {
    for (const Stmt& s : stmts) {
      place(placement_.before(s, scope));
      Scope inner = scope;
      for (uint32_t v : s.vars) inner.vars |= uint64_t{1} << v;
      if (s.kind == Stmt::Kind::store)
        store(s);
      else
        scoped([&] { s.kind == Stmt::Kind::reduce ? reduce(s, inner) : loop(s, inner); });
      if (uniform_ && reads_own_writes_ && s.kind != Stmt::Kind::reduce) w_.barrier(true);
      for (uint32_t r : s.results) scope.results |= uint64_t{1} << r;
    }
  }

  void store(const Stmt& s) {
    Value at = value(s.at), v = value(s.value);
    if (!uniform_) return w_.store(s.buffer, at, v);
    w_.when(w_.less(w_.lane(), w_.i64(1)), [&] { w_.store(s.buffer, at, v); });
  }

  void loop(const Stmt& s, const Scope& inner) {
    Value extent = value(s.extents[0]);
    auto each = [&](Value i) {
      values_.set_var(s.vars[0], i);
      scoped([&] { body(s.body, inner); });
    };
    if (!uniform_ || holds_fold(s.body)) return w_.loop(w_.i64(0), extent, 1, each);
    uniform_ = false;
    w_.loop(w_.lane(), extent, kGroup, each);
    uniform_ = true;
  }

  // ---- reductions
  DType type_of(const Stmt& s, size_t r) const { return k_.node(s.values[r]).type; }
  Value combine(const Stmt& s, size_t r, Value a, Value b) {
    Value args[3] = {a, b, Value::none};
    return w_.leaf(s.combine[r], type_of(s, r), type_of(s, r), args);
  }
  std::vector<Variable> accumulators(const Stmt& s) {
    std::vector<Variable> out;
    for (size_t r = 0; r < s.values.size(); ++r)
      out.push_back(w_.variable(type_of(s, r), w_.constant(type_of(s, r), identity_bits(s.combine[r], type_of(s, r)))));
    return out;
  }
  void accumulate(const Stmt& s, size_t r, Variable into, Value v) { w_.set(into, combine(s, r, w_.get(into), v)); }

  // into[r] = op(into[r], value[r]) for the variables as they stand; all values are made before the first is combined.
  void step(const Stmt& s, const Scope& inner, const std::vector<Variable>& into) {
    scoped([&] {
      place(placement_.inside_reduce(s, inner));
      std::vector<Value> v;
      for (NodeId n : s.values) v.push_back(value(n));
      for (size_t r = 0; r < v.size(); ++r) accumulate(s, r, into[r], v[r]);
    });
  }

  void reduce(const Stmt& s, const Scope& inner) {
    if (is_fold(s)) return fold(s, inner);
    std::vector<Variable> acc = accumulators(s);
    if (s.order == ReduceOrder::serial) {
      serial(s, inner, 0, acc);
    } else {
      Value extent = value(s.extents[0]);
      w_.loop(w_.i64(0), extent, kReduceRows, [&](Value start) {
        std::vector<Variable> block = accumulators(s);
        Value end = w_.index(Leaf::min, extent, w_.index(Leaf::add, start, w_.i64(kReduceRows)));
        w_.loop(start, end, 1, [&](Value i) {
          values_.set_var(s.vars[0], i);
          step(s, inner, block);
        });
        for (size_t r = 0; r < acc.size(); ++r) accumulate(s, r, acc[r], w_.get(block[r]));
      });
    }
    for (size_t r = 0; r < acc.size(); ++r) values_.set_result(s.results[r], w_.get(acc[r]));
  }

  void serial(const Stmt& s, const Scope& inner, size_t level, const std::vector<Variable>& acc) {
    if (level == s.vars.size()) return step(s, inner, acc);
    w_.loop(w_.i64(0), value(s.extents[level]), 1, [&](Value i) {
      values_.set_var(s.vars[level], i);
      serial(s, inner, level + 1, acc);
    });
  }

  // The lanes' values, folded by halves; every item gets the result.
  std::vector<Value> fold_lanes(const Stmt& s, const std::vector<Variable>& lanes) {
    Value lane = w_.lane();
    for (uint32_t r = 0; r < lanes.size(); ++r) w_.shared_put(r, type_of(s, r), lane, w_.get(lanes[r]));
    w_.barrier(false);
    for (int64_t h = kReduceLanes / 2; h > 0; h /= 2) {
      w_.when(w_.less(lane, w_.i64(h)), [&] {
        Value other = w_.index(Leaf::add, lane, w_.i64(h));
        for (uint32_t r = 0; r < lanes.size(); ++r) {
          DType t = type_of(s, r);
          w_.shared_put(r, t, lane, combine(s, r, w_.shared_get(r, t, lane), w_.shared_get(r, t, other)));
        }
      });
      w_.barrier(false);
    }
    std::vector<Value> out;
    for (uint32_t r = 0; r < lanes.size(); ++r) out.push_back(w_.shared_get(r, type_of(s, r), w_.i64(0)));
    w_.barrier(false);
    return out;
  }

  // One level of the order above the elements: results of blocks are its elements, item j holds lane j.
  struct Level {
    std::vector<Variable> lanes;
    Variable count;
  };
  Level level(const Stmt& s) { return {accumulators(s), w_.variable(DType::i64, w_.i64(0))}; }
  void push(const Stmt& s, Level& l, const std::vector<Value>& v) {
    Value count = w_.get(l.count);
    Value mine = w_.index(Leaf::irem, count, w_.i64(kReduceLanes));
    Value same[3] = {w_.lane(), mine, Value::none};
    w_.when(w_.leaf(Leaf::eq, DType::boolean, DType::i64, same), [&] {
      for (size_t r = 0; r < v.size(); ++r) accumulate(s, r, l.lanes[r], v[r]);
    });
    w_.set(l.count, w_.index(Leaf::add, count, w_.i64(1)));
  }

  // Up to 4096^3 elements: blocks, blocks of their results, and those of these.
  void fold(const Stmt& s, const Scope& inner) {
    if (!uniform_) ouro_bug("a folded reduction inside of a loop that is dealt out");
    Value extent = value(s.extents[0]);
    std::vector<Variable> result = accumulators(s);
    Level first = level(s), second = level(s);
    w_.loop(w_.i64(0), extent, kReduceBlock, [&](Value start) {
      std::vector<Variable> lanes = accumulators(s);
      Value end = w_.index(Leaf::min, extent, w_.index(Leaf::add, start, w_.i64(kReduceBlock)));
      w_.loop(w_.index(Leaf::add, start, w_.lane()), end, kReduceLanes, [&](Value i) {
        values_.set_var(s.vars[0], i);
        step(s, inner, lanes);
      });
      std::vector<Value> block = fold_lanes(s, lanes);
      w_.when(w_.less(w_.i64(kReduceBlock - 1), w_.get(first.count)), [&] {
        push(s, second, fold_lanes(s, first.lanes));
        for (size_t r = 0; r < s.values.size(); ++r)
          w_.set(first.lanes[r], w_.constant(type_of(s, r), identity_bits(s.combine[r], type_of(s, r))));
        w_.set(first.count, w_.i64(0));
      });
      push(s, first, block);
      for (size_t r = 0; r < block.size(); ++r) w_.set(result[r], block[r]);
    });
    w_.when(w_.less(w_.i64(kReduceBlock), extent), [&] {
      std::vector<Value> v = fold_lanes(s, first.lanes);
      for (size_t r = 0; r < v.size(); ++r) w_.set(result[r], v[r]);
      w_.when(w_.less(w_.i64(0), w_.get(second.count)), [&] {
        push(s, second, v);
        std::vector<Value> top = fold_lanes(s, second.lanes);
        for (size_t r = 0; r < top.size(); ++r) w_.set(result[r], top[r]);
      });
    });
    for (size_t r = 0; r < result.size(); ++r) values_.set_result(s.results[r], w_.get(result[r]));
  }

  const Kernel& k_;
  const Grid& g_;
  KernelWriter& w_;
  Placement placement_;
  NodeValues values_;
  bool uniform_ = false;  // all items of the group do this alike
  bool reads_own_writes_ = false;
};

}  // namespace

Grid grid_of(const Kernel& k) {
  Grid g;
  g.body = &k.body;
  while (g.body->size() == 1) {
    const Stmt& s = g.body->front();
    if ((s.kind != Stmt::Kind::parallel && s.kind != Stmt::Kind::loop) || !is_known(k, s.extents[0])) break;
    g.loops.push_back(&s);
    g.body = &s.body;
  }
  g.contraction = contraction_of(k, g.loops, *g.body);
  g.grouped = g.contraction || holds_fold(k.body);
  if (g.contraction)
    g.shared = {shared_bytes(k, *g.contraction)};
  else
    g.shared.assign(fold_width(k.body), kGroup * sizeof(int64_t));
  return g;
}

int64_t iterations(const Kernel& k, const Grid& g, const int64_t* sizes) {
  if (g.contraction) return groups(k, *g.contraction, sizes);
  int64_t n = 1;
  for (const Stmt* s : g.loops) n *= known(k, s->extents[0], sizes);
  return n;
}

void write_kernel(const Kernel& k, const Grid& g, KernelWriter& w) {
  if (!g.contraction) return Walk(k, g, w).run();
  Grid flat = g;
  flat.grouped = false;
  flat.contraction.reset();
  write_contraction(k, *g.contraction, w, [&] { Walk(k, flat, w).run(); });
}

}  // namespace ouro::backends::device
