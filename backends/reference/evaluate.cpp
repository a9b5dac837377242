#include "backends/reference/evaluate.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "backends/reference/fold_levels.h"
#include "backends/reference/leaf_value.h"
#include "ir/ops/reduce_order.h"
#include "support/diag.h"

namespace ouro::backends {
namespace {
using namespace ir::loops;
using ir::kReduceBlock;
using ir::kReduceLanes;
using ir::kReduceRows;
using ir::Leaf;

class Evaluator {
 public:
  Evaluator(const Kernel& k, void* const* buffers, const int64_t* sizes, const runtime::ScalarArg* scalars,
            const std::atomic<uint32_t>* poll = nullptr)
      : k_(k), buffers_(buffers), sizes_(sizes), scalars_(scalars), poll_(poll), vars_(k.vars), results_(k.results) {}

  struct Stopped {};

  void run(int64_t begin, int64_t end) {
    bool root = k_.body.size() == 1 && k_.body[0].kind == Stmt::Kind::parallel;
    if (!root) return body(k_.body);
    for (int64_t i = begin; i < end; ++i) {
      look();
      vars_[k_.body[0].vars[0]] = i;
      body(k_.body[0].body);
    }
  }

  int64_t extent(NodeId n) { return static_cast<int64_t>(value(n)); }

 private:
  void look() const {
    if (poll_ && poll_->load(std::memory_order_relaxed) & runtime::kStopBits) throw Stopped();
  }

  uint64_t value(NodeId id) {
    const Node& n = k_.node(id);
    switch (n.kind) {
      case Node::Kind::constant:
        return constant(n);
      case Node::Kind::size:
        return static_cast<uint64_t>(sizes_[n.id]);
      case Node::Kind::scalar:
        return static_cast<uint64_t>(scalars_[n.id].i);
      case Node::Kind::var:
        return static_cast<uint64_t>(vars_[n.id]);
      case Node::Kind::result:
        return results_[n.id];
      case Node::Kind::load:
        if (n.nargs == 3 && !(value(n.args[1]) & 1)) return value(n.args[2]);
        return load_element(k_.buffers[n.id].type, buffers_[n.id], static_cast<int64_t>(value(n.args[0])));
      case Node::Kind::index:
      case Node::Kind::leaf:
        break;
    }
    uint64_t args[3] = {};
    for (int a = 0; a < n.nargs; ++a) args[a] = value(n.args[a]);
    DType operand = k_.node(n.args[n.leaf == Leaf::select ? 1 : 0]).type;
    return leaf_value(n.leaf, n.type, operand, args);
  }

  static uint64_t constant(const Node& n) {
    if (!is_float(n.type)) return static_cast<uint64_t>(n.bits);
    double d;
    std::memcpy(&d, &n.bits, 8);
    if (n.type == DType::f64) return static_cast<uint64_t>(n.bits);
    float f = static_cast<float>(d);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits;
  }

  void body(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) switch (s.kind) {
        case Stmt::Kind::store:
          store_element(k_.buffers[s.buffer].type, buffers_[s.buffer], static_cast<int64_t>(value(s.at)),
                        value(s.value));
          break;
        case Stmt::Kind::parallel:
        case Stmt::Kind::loop:
          for (int64_t i = 0, n = extent(s.extents[0]); i < n; ++i) {
            look();
            vars_[s.vars[0]] = i;
            body(s.body);
          }
          break;
        case Stmt::Kind::reduce:
          // Operands of one reduction may not see another's new result.
          std::vector<uint64_t> out(s.values.size());
          for (size_t r = 0; r < s.values.size(); ++r) out[r] = reduce(s, r);
          for (size_t r = 0; r < s.values.size(); ++r) results_[s.results[r]] = out[r];
          break;
      }
  }

  uint64_t reduce(const Stmt& s, size_t r) {
    DType t = k_.node(s.values[r]).type;
    Leaf op = s.combine[r];
    uint64_t z = identity_bits(op, t);
    auto at = [&](int64_t i) {
      look();
      vars_[s.vars[0]] = i;
      return value(s.values[r]);
    };
    if (s.order == ReduceOrder::serial) {
      uint64_t acc = z;
      serial(s, 0, [&] { acc = combine_bits(op, t, acc, value(s.values[r])); });
      return acc;
    }
    int64_t n = extent(s.extents[0]);
    if (s.order == ReduceOrder::blocks) {
      uint64_t acc = z;
      for (int64_t b = 0; b < n; b += kReduceRows) {
        uint64_t block = z;
        for (int64_t i = b; i < std::min(n, b + kReduceRows); ++i) block = combine_bits(op, t, block, at(i));
        acc = combine_bits(op, t, acc, block);
      }
      return acc;
    }
    std::vector<uint64_t> elements;
    for (int64_t i = 0; i < n; ++i) elements.push_back(at(i));
    return fold(op, t, z, std::move(elements));
  }

  static uint64_t fold(Leaf op, DType t, uint64_t z, std::vector<uint64_t> e) {
    if (e.empty()) return z;
    do {
      std::vector<uint64_t> next;
      for (size_t b = 0; b < e.size(); b += kReduceBlock) {
        uint64_t lane[kReduceLanes];
        for (uint64_t& l : lane) l = z;
        for (size_t i = b; i < std::min<size_t>(e.size(), b + kReduceBlock); ++i)
          lane[(i - b) % kReduceLanes] = combine_bits(op, t, lane[(i - b) % kReduceLanes], e[i]);
        for (int64_t h = kReduceLanes / 2; h > 0; h /= 2)
          for (int64_t j = 0; j < h; ++j) lane[j] = combine_bits(op, t, lane[j], lane[j + h]);
        next.push_back(lane[0]);
      }
      e = std::move(next);
    } while (e.size() > 1);
    return e[0];
  }

  void serial(const Stmt& s, size_t level, const std::function<void()>& fn) {
    if (level == s.vars.size()) return fn();
    for (int64_t i = 0, n = extent(s.extents[level]); i < n; ++i) {
      look();
      vars_[s.vars[level]] = i;
      serial(s, level + 1, fn);
    }
  }

  const Kernel& k_;
  void* const* buffers_;
  const int64_t* sizes_;
  const runtime::ScalarArg* scalars_;
  const std::atomic<uint32_t>* poll_;
  std::vector<int64_t> vars_;
  std::vector<uint64_t> results_;
};

}  // namespace

bool evaluate(const Kernel& kernel, void* const* buffers, const int64_t* sizes, const runtime::ScalarArg* scalars,
              int64_t begin, int64_t end, const std::atomic<uint32_t>* poll) {
  try {
    Evaluator(kernel, buffers, sizes, scalars, poll).run(begin, end);
  } catch (const Evaluator::Stopped&) {
    return false;
  }
  return true;
}

int64_t launch_range(const Kernel& kernel, const int64_t* sizes) {
  if (kernel.body.size() != 1 || kernel.body[0].kind != Stmt::Kind::parallel) return 1;
  return Evaluator(kernel, nullptr, sizes, nullptr).extent(kernel.body[0].extents[0]);
}

}  // namespace ouro::backends
