#include "backends/device/tiled_contraction.h"

#include <algorithm>
#include <span>

#include "backends/device/node_values.h"

namespace ouro::backends::device {
namespace {
using namespace ir::loops;
using ir::Leaf;
using Value = KernelWriter::Value;
using Variable = KernelWriter::Variable;
using Axes = std::vector<Contraction::Axis>;

// Items of a group stand in a square.
constexpr int64_t kSide = 8;
static_assert(kSide * kSide == kGroup);
// Steps along k.
constexpr int64_t kDepth = 16;
// Elements that an item loads before it puts them.
constexpr int64_t kAhead = 4;
// Shorter sums are not worth a step.
constexpr int64_t kShortest = 8;

struct Tile {
  int64_t edge;
  constexpr int64_t per_item() const { return edge / kSide; }
  // Item t's i-th place: runs of `run` places that can be loaded as one, the runs of all items next to each other, so
  // that they lie in different banks.
  constexpr int64_t run() const { return std::min<int64_t>(per_item(), 4); }
  constexpr int64_t place(int64_t i) const { return i / run() * run() * kSide + i % run(); }
  // Elements of one k in local memory: whole runs, not a multiple of the number of banks.
  constexpr int64_t pitch() const { return edge + 4; }
  constexpr int64_t elements() const { return std::max(edge * edge, 2 * kDepth * pitch()); }
};
constexpr Tile kLarge{32}, kSmall{16};
static_assert(kLarge.run() == 4 && kSmall.run() == 2);
static_assert(kLarge.edge <= kGroup && kGroup % kSmall.edge == 0 && kGroup % kDepth == 0);

// Groups that fill a device.
constexpr int64_t kEnoughGroups = 128;

// The rule of the sizes of tiles, for numbers and for values of a writer: large ones where they are many, and where
// small ones would not cover half as much.
template <class Numbers>
auto takes_large(Numbers& n, auto products, auto rows, auto columns) {
  auto large = n.mul(n.tiles(rows, kLarge), n.tiles(columns, kLarge));
  auto small = n.mul(n.tiles(rows, kSmall), n.tiles(columns, kSmall));
  constexpr int64_t kRatio = kLarge.edge * kLarge.edge / (kSmall.edge * kSmall.edge);
  return n.both(n.less(n.number(kEnoughGroups - 1), n.mul(large, products)),
                n.less(n.mul(large, n.number(kRatio)), n.mul(small, n.number(2))));
}

// Fewer rows or columns than this are not worth a tile.
constexpr int64_t kNarrow = 4;
template <class Numbers>
auto is_narrow(Numbers& n, auto rows, auto columns) {
  return n.less(n.min(rows, columns), n.number(kNarrow));
}

struct HostNumbers {
  static int64_t number(int64_t v) { return v; }
  static int64_t mul(int64_t a, int64_t b) { return a * b; }
  static int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
  static bool less(int64_t a, int64_t b) { return a < b; }
  static bool both(bool a, bool b) { return a && b; }
  static int64_t tiles(int64_t extent, const Tile& t) { return (extent + t.edge - 1) / t.edge; }
};

class DeviceNumbers {
 public:
  explicit DeviceNumbers(KernelWriter& w) : w_(w) {}
  Value number(int64_t v) { return w_.i64(v); }
  Value add(Value a, Value b) { return w_.index(Leaf::add, a, b); }
  Value add(Value a, int64_t b) { return b == 0 ? a : add(a, w_.i64(b)); }
  Value mul(Value a, Value b) { return w_.index(Leaf::mul, a, b); }
  Value mul(Value a, int64_t b) { return mul(a, w_.i64(b)); }
  Value div(Value a, Value b) { return w_.index(Leaf::idiv, a, b); }
  Value div(Value a, int64_t b) { return div(a, w_.i64(b)); }
  Value rem(Value a, Value b) { return w_.index(Leaf::irem, a, b); }
  Value rem(Value a, int64_t b) { return rem(a, w_.i64(b)); }
  Value min(Value a, Value b) { return w_.index(Leaf::min, a, b); }
  Value less(Value a, Value b) { return w_.less(a, b); }
  Value both(Value a, Value b) { return leaf(Leaf::and_, DType::boolean, DType::boolean, a, b); }
  Value opposite(Value a) { return leaf(Leaf::not_, DType::boolean, DType::boolean, a); }
  Value equal(Value a, Value b) { return leaf(Leaf::eq, DType::boolean, DType::i64, a, b); }
  Value select(DType t, Value c, Value a, Value b) { return leaf(Leaf::select, t, t, c, a, b); }
  Value tiles(Value extent, const Tile& t) { return div(add(extent, t.edge - 1), t.edge); }
  Value leaf(Leaf op, DType type, DType operand, Value a, Value b = Value::none, Value c = Value::none) {
    Value args[3] = {a, b, c};
    return w_.leaf(op, type, operand, args);
  }

 private:
  KernelWriter& w_;
};

uint64_t bits_of(const Axes& axes) {
  uint64_t bits = 0;
  for (const auto& a : axes) bits |= uint64_t{1} << a.var;
  return bits;
}

// The index of the first load in an expression that depends on a variable; none.
NodeId load_along(const Kernel& k, const Dependence& d, NodeId n, uint32_t var) {
  const Node& node = k.node(n);
  if (!(d.of(n).vars >> var & 1) || !d.of(n).loads) return NodeId::none;
  if (node.kind == Node::Kind::load) return node.args[0];
  for (int a = 0; a < node.nargs; ++a)
    if (NodeId at = load_along(k, d, node.args[a], var); at != NodeId::none) return at;
  return NodeId::none;
}

bool is_next(const Kernel& k, const Dependence& d, NodeId at, uint32_t var) {
  if (at == NodeId::none) return false;
  Stride s = stride_along(k, d, at, var);
  return s.kind == Stride::Kind::constant && s.value == 1;
}

class Writer {
 public:
  Writer(const Kernel& k, const Contraction& c, KernelWriter& w)
      : k_(k), c_(c), w_(w), n_(w), dependence_(k), values_(k, w), type_(k.node(c.x).type) {
    for (const Node& n : k.nodes) {
      bool written = n.kind == Node::Kind::load && k.buffers[n.id].access != Access::in;
      for (int a = 0; a < n.nargs; ++a) written = written || changes_[index(n.args[a])];
      changes_.push_back(written);
    }
  }

  void run(const std::function<void()>& single) {
    rows_ = total(c_.rows), columns_ = total(c_.columns), depth_ = total(c_.k);
    Value narrow = is_narrow(n_, rows_, columns_);
    w_.when(narrow, single);
    w_.when(n_.opposite(narrow), [&] { values_.scoped([&] { tiles(); }); });
  }

 private:
  void tiles() {
    Value large = takes_large(n_, total(c_.products), rows_, columns_);
    for (const Tile* t : {&kLarge, &kSmall})
      w_.when(t == &kLarge ? large : n_.opposite(large), [&] { values_.scoped([&] { tile(*t); }); });
  }

  Value total(const Axes& axes) {
    Value v = w_.i64(1);
    for (const auto& a : axes) v = a.var == axes[0].var ? values_.of(a.extent) : n_.mul(v, values_.of(a.extent));
    return v;
  }
  // Sets the variables to the at-th place.
  void place(const Axes& axes, Value at) {
    for (size_t i = axes.size(); i-- > 0;) {
      Value extent = values_.of(axes[i].extent);
      values_.set_var(axes[i].var, i == 0 ? at : n_.rem(at, extent));
      if (i > 0) at = n_.div(at, extent);
    }
  }
  Value last(Value extent) { return n_.add(extent, -1); }
  Value zero() { return w_.constant(type_, 0); }

  // Says now what an expression needs of nodes that depend on these variables only.
  void prepare(NodeId n, uint64_t vars) {
    std::vector<bool> seen(k_.nodes.size());
    prepare(n, vars, seen);
  }
  void prepare(NodeId n, uint64_t vars, std::vector<bool>& seen) {
    if (seen[index(n)] || k_.node(n).nargs == 0) return;
    seen[index(n)] = true;
    const Dependence::Of& d = dependence_.of(n);
    if (!(d.vars & ~vars) && !d.results && !changes_[index(n)]) {
      values_.of(n);
      return;
    }
    for (int a = 0; a < k_.node(n).nargs; ++a) prepare(k_.node(n).args[a], vars, seen);
  }

  // ---- one tile
  struct Operand {
    const Axes& axes;
    NodeId value;
    Value first, extent;  // of the tile, of all
    int64_t at;           // in local memory
    bool along_k;         // neighbouring items load neighbouring k
  };

  void tile(const Tile& t) {
    Value column_tiles = n_.tiles(columns_, t), row_tiles = n_.tiles(rows_, t);
    Value rest = n_.div(w_.group(), column_tiles);
    Value first_column = n_.mul(n_.rem(w_.group(), column_tiles), t.edge);
    Value first_row = n_.mul(n_.rem(rest, row_tiles), t.edge);
    place(c_.products, n_.div(rest, row_tiles));
    lane_ = w_.lane();
    Value zero_sum = zero();
    std::vector<Variable> sums;
    for (int64_t i = 0; i < t.per_item() * t.per_item(); ++i) sums.push_back(w_.variable(type_, zero_sum));
    Operand x{c_.rows, c_.x, first_row, rows_, 0, false};
    Operand y{c_.columns, c_.y, first_column, columns_, kDepth * t.pitch(), false};
    for (Operand* o : {&x, &y}) o->along_k = along_k(*o);
    // Divisions by an extent of k are only made where none is 0.
    w_.when(w_.less(w_.i64(0), depth_), [&] { values_.scoped([&] { sum(t, x, y, sums); }); });
    finish(t, x, y, sums);
  }

  bool along_k(const Operand& o) const {
    uint32_t k = c_.k.back().var, axis = o.axes.back().var;
    return o.axes.size() == 1 && is_next(k_, dependence_, load_along(k_, dependence_, o.value, k), k) &&
           !is_next(k_, dependence_, load_along(k_, dependence_, o.value, axis), axis);
  }

  void sum(const Tile& t, const Operand& x, const Operand& y, const std::vector<Variable>& sums) {
    uint64_t products = bits_of(c_.products);
    std::vector<const Operand*> across;  // neighbouring items load neighbouring rows or columns: each has one
    for (const Operand* o : {&x, &y}) {
      uint64_t vars = products;
      if (!o->along_k) {
        across.push_back(o);
        place(o->axes, n_.min(n_.add(o->first, n_.rem(lane_, t.edge)), last(o->extent)));
        vars |= bits_of(o->axes);
      }
      prepare(o->value, vars);
    }
    if (!across.empty()) start_k(n_.div(lane_, t.edge));
    w_.loop(w_.i64(0), depth_, kDepth, [&](Value start) {
      for (const Operand* o : {&x, &y})
        if (o->along_k) values_.scoped([&] { bring_along(t, *o, start); });
      if (!across.empty()) bring_across(t, across, start);
      w_.barrier(false);
      w_.loop(w_.i64(0), w_.i64(kDepth), 1, [&](Value p) { multiply(t, x, y, p, sums); });
      w_.barrier(false);
    });
  }

  // Elements each of an operand's loads that an item makes.
  static int64_t loads(const Tile& t) { return t.edge * kDepth / kGroup; }

  // fn(u) for the numbers u of loads that are made before the first is put; they are `from` and those after it.
  template <class Fn>
  void batches(int64_t count, Fn&& fn) {
    if (count <= kAhead) return fn(w_.i64(0));
    w_.loop(w_.i64(0), w_.i64(count), kAhead, fn);
  }

  // Item j has k = start + j % kDepth, of each (kGroup / kDepth)-th row.
  void bring_along(const Tile& t, const Operand& o, Value start) {
    Value p = n_.rem(lane_, kDepth), at = n_.add(start, p), inside = w_.less(at, depth_);
    place(c_.k, n_.min(at, last(depth_)));
    prepare(o.value, bits_of(c_.products) | bits_of(c_.k));
    Value mine = n_.div(lane_, kDepth), end = last(o.extent);
    Value to = n_.add(n_.mul(p, t.pitch()), o.at);
    batches(loads(t), [&](Value from) {
      Value row = n_.add(mine, n_.mul(from, kGroup / kDepth)), v[kAhead];
      for (int64_t u = 0; u < kAhead; ++u)
        values_.scoped([&] {
          place(o.axes, n_.min(n_.add(n_.add(o.first, row), u * (kGroup / kDepth)), end));
          v[u] = n_.select(type_, inside, values_.of(o.value), zero());
        });
      Value first = n_.add(to, row);
      for (int64_t u = 0; u < kAhead; ++u) w_.shared_put(0, type_, n_.add(first, u * (kGroup / kDepth)), v[u]);
    });
  }

  // Item j has row j % edge, of each (kGroup / edge)-th k.
  void bring_across(const Tile& t, const std::vector<const Operand*>& operands, Value start) {
    const int64_t step = kGroup / t.edge;
    Value mine = n_.div(lane_, t.edge), to = n_.rem(lane_, t.edge);
    batches(loads(t), [&](Value from) {
      Value p = n_.add(mine, n_.mul(from, step)), v[2][kAhead];
      for (int64_t u = 0; u < kAhead; ++u)
        values_.scoped([&] {
          Value at = n_.add(n_.add(start, p), u * step), inside = w_.less(at, depth_);
          place_k(at);
          for (size_t o = 0; o < operands.size(); ++o)
            v[o][u] = n_.select(type_, inside, values_.of(operands[o]->value), zero());
          for (int64_t s = 0; s < step; ++s) next_k(n_.add(at, s + 1));
        });
      for (size_t o = 0; o < operands.size(); ++o) {
        Value first = n_.add(n_.add(n_.mul(p, t.pitch()), to), operands[o]->at);
        for (int64_t u = 0; u < kAhead; ++u) w_.shared_put(0, type_, n_.add(first, u * step * t.pitch()), v[o][u]);
      }
    });
  }

  // Several variables of k are counted up, with carry, instead of divided: each item holds where it is, or the last
  // place.
  void start_k(Value at) {
    counters_.clear();
    if (c_.k.size() == 1) return;
    place(c_.k, n_.min(at, last(depth_)));
    for (const auto& a : c_.k) counters_.push_back(w_.variable(DType::i64, values_.var(a.var)));
  }
  void place_k(Value at) {
    if (c_.k.size() == 1) return place(c_.k, n_.min(at, last(depth_)));
    for (size_t i = 0; i < counters_.size(); ++i) values_.set_var(c_.k[i].var, w_.get(counters_[i]));
  }
  void next_k(Value next) {
    if (c_.k.size() == 1) return;
    Value carry = w_.less(next, depth_);
    for (size_t i = counters_.size(); i-- > 0;) {
      Value one = n_.select(DType::i64, carry, w_.i64(1), w_.i64(0)), v = n_.add(w_.get(counters_[i]), one);
      if (i > 0) {
        carry = n_.equal(v, values_.of(c_.k[i].extent));
        v = n_.select(DType::i64, carry, w_.i64(0), v);
      }
      w_.set(counters_[i], v);
    }
  }

  void multiply(const Tile& t, const Operand& x, const Operand& y, Value p, const std::vector<Variable>& sums) {
    Value row = n_.mul(p, t.pitch());
    auto take = [&](const Operand& o, Value item) {
      std::vector<Value> v(static_cast<size_t>(t.per_item()));
      Value first = n_.add(n_.add(row, n_.mul(item, t.run())), o.at);
      for (int64_t i = 0; i < t.per_item(); i += t.run())
        w_.shared_get_run(0, type_, n_.add(first, t.place(i)), static_cast<int>(t.run()), &v[static_cast<size_t>(i)]);
      return v;
    };
    std::vector<Value> a = take(x, n_.div(lane_, kSide)), b = take(y, n_.rem(lane_, kSide));
    size_t s = 0;
    for (Value i : a)
      for (Value j : b) {
        Variable sum = sums[s++];
        w_.set(sum, n_.leaf(Leaf::add, type_, type_, w_.get(sum), n_.leaf(Leaf::mul, type_, type_, i, j)));
      }
  }

  // ---- what follows the sum
  void finish(const Tile& t, const Operand& x, const Operand& y, const std::vector<Variable>& sums) {
    NodeId at = c_.stores[0]->at;
    bool by_rows =
        !is_next(k_, dependence_, at, c_.columns.back().var) && is_next(k_, dependence_, at, c_.rows.back().var);
    const Operand &fast = by_rows ? x : y, &slow = by_rows ? y : x;
    Value item_row = n_.mul(n_.div(lane_, kSide), t.run()), item_column = n_.mul(n_.rem(lane_, kSide), t.run());
    Value first = n_.add(n_.mul(by_rows ? item_column : item_row, t.edge), by_rows ? item_row : item_column);
    for (int64_t i = 0; i < t.per_item(); ++i)
      for (int64_t j = 0; j < t.per_item(); ++j) {
        int64_t to = (by_rows ? t.place(j) : t.place(i)) * t.edge + (by_rows ? t.place(i) : t.place(j));
        w_.shared_put(0, type_, n_.add(first, to), w_.get(sums[static_cast<size_t>(i * t.per_item() + j)]));
      }
    w_.barrier(false);
    // All items go through the loop alike, conditions stand inside of it: PoCL 3.1 gives wrong rows otherwise.
    Value mine = n_.rem(lane_, t.edge), column = n_.add(fast.first, mine), inside = w_.less(column, fast.extent);
    values_.scoped([&] {
      place(fast.axes, n_.min(column, last(fast.extent)));
      uint64_t vars = bits_of(c_.products) | bits_of(fast.axes);
      for (const Stmt* s : c_.stores) prepare(s->at, vars), prepare(s->value, vars);
      Value begin = n_.div(lane_, t.edge);
      w_.loop(w_.i64(0), w_.i64(t.edge), kGroup / t.edge, [&](Value from) {
        Value row = n_.add(from, begin), at = n_.add(slow.first, row);
        w_.when(n_.both(inside, w_.less(at, slow.extent)), [&] {
          values_.scoped([&] {
            place(slow.axes, at);
            values_.set_result(c_.sum->results[0], w_.shared_get(0, type_, n_.add(n_.mul(row, t.edge), mine)));
            for (const Stmt* s : c_.stores)
              values_.scoped([&] { w_.store(s->buffer, values_.of(s->at), values_.of(s->value)); });
          });
        });
      });
    });
  }

  const Kernel& k_;
  const Contraction& c_;
  KernelWriter& w_;
  DeviceNumbers n_;
  Dependence dependence_;
  NodeValues values_;
  DType type_;
  std::vector<bool> changes_;  // nodes that hold a load of a written buffer
  Value rows_ = Value::none, columns_ = Value::none, depth_ = Value::none, lane_ = Value::none;
  std::vector<Variable> counters_;
};

// Whether an expression loads from a buffer that the kernel writes.
bool loads_written(const Kernel& k, NodeId n, std::vector<bool>& seen) {
  if (seen[index(n)]) return false;
  seen[index(n)] = true;
  const Node& node = k.node(n);
  if (node.kind == Node::Kind::load && k.buffers[node.id].access != Access::in) return true;
  for (int a = 0; a < node.nargs; ++a)
    if (loads_written(k, node.args[a], seen)) return true;
  return false;
}

int64_t product(const Kernel& k, const Axes& axes, const int64_t* sizes) {
  int64_t n = 1;
  for (const auto& a : axes) n *= known(k, a.extent, sizes);
  return n;
}

// A sum that is known to have few terms.
bool is_short(const Kernel& k, const Axes& axes) {
  int64_t n = 1;
  for (const auto& a : axes) {
    if (k.node(a.extent).kind != Node::Kind::constant) return false;
    n *= k.node(a.extent).bits;
  }
  return n < kShortest;
}

}  // namespace

std::optional<Contraction> contraction_of(const Kernel& k, const std::vector<const Stmt*>& loops,
                                          const std::vector<Stmt>& body) {
  if (body.size() < 2 || body[0].kind != Stmt::Kind::reduce || body[0].order != ReduceOrder::serial) return {};
  Contraction c;
  c.sum = &body[0];
  for (const Stmt& s : std::span(body).subspan(1)) {
    if (s.kind != Stmt::Kind::store) return {};
    c.stores.push_back(&s);
  }
  if (c.sum->values.size() != 1 || c.sum->combine[0] != Leaf::add) return {};
  const Node& value = k.node(c.sum->values[0]);
  if (value.kind != Node::Kind::leaf || value.leaf != Leaf::mul || is_bool(value.type)) return {};
  c.x = value.args[0], c.y = value.args[1];
  for (size_t i = 0; i < c.sum->vars.size(); ++i) {
    if (!is_known(k, c.sum->extents[i])) return {};
    c.k.push_back({c.sum->vars[i], c.sum->extents[i]});
  }
  Dependence d(k);
  uint64_t in_x = d.of(c.x).vars, in_y = d.of(c.y).vars, sum = bits_of(c.k);
  if (!(in_x & sum) || !(in_y & sum) || is_short(k, c.k)) return {};
  for (const Stmt* s : loops) {
    bool x = in_x >> s->vars[0] & 1, y = in_y >> s->vars[0] & 1;
    (x == y ? c.products : x ? c.rows : c.columns).push_back({s->vars[0], s->extents[0]});
  }
  if (c.rows.empty() || c.columns.empty()) return {};
  std::vector<bool> seen(k.nodes.size());
  if (loads_written(k, c.x, seen) || loads_written(k, c.y, seen)) return {};
  return c;
}

int64_t groups(const Kernel& k, const Contraction& c, const int64_t* sizes) {
  HostNumbers n;
  int64_t products = product(k, c.products, sizes), rows = product(k, c.rows, sizes),
          columns = product(k, c.columns, sizes);
  if (is_narrow(n, rows, columns)) return (products * rows * columns + kGroup - 1) / kGroup;
  const Tile& t = takes_large(n, products, rows, columns) ? kLarge : kSmall;
  return products * n.tiles(rows, t) * n.tiles(columns, t);
}

uint32_t shared_bytes(const Kernel& k, const Contraction& c) {
  return static_cast<uint32_t>(kLarge.elements()) * static_cast<uint32_t>(size_of(k.node(c.x).type));
}

void write_contraction(const Kernel& k, const Contraction& c, KernelWriter& w, const std::function<void()>& single) {
  Writer(k, c, w).run(single);
}

}  // namespace ouro::backends::device
