// Tests that are generated from the rows of ir/ops: an added row is tested by being there.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "ir/ops/sig.h"
#include "ir/ops/sig_parse.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/session.h"
#include "runtime/tensor/elementwise.h"
#include "runtime/tensor/tensor.h"

using namespace ouro;
using namespace ouro::runtime;

namespace {

struct Sample {
  std::vector<std::vector<double>> x;  // per input
};

bool float_row(const ir::OpInfo& op) {
  for (const ir::SigTensor& t : op.sig->inputs)
    if (t.cls != 'f' && t.cls != 'n' && t.cls != 't' && t.cls != 'b') return false;
  return true;
}

std::vector<Value> params_of(const ir::OpInfo& op) {
  std::vector<Value> out;
  for (int p : op.param_at) {
    ir::Param d = ir::default_of(op.params[p]);
    out.push_back(d.kind == ir::Param::Kind::floating  ? Value::floating(d.floating)
                  : d.kind == ir::Param::Kind::integer ? Value::integer(d.integer.c)
                                                       : Value::boolean(d.truthy()));
  }
  return out;
}

Value tensor_of(Session& s, DType t, const std::vector<double>& x, std::vector<int64_t> shape) {
  Value v = make_tensor(s, DType::f64, shape);
  std::copy(x.begin(), x.end(), v.as<Tensor>()->data<double>());
  return cast_tensor(s, v, t);
}
std::vector<double> numbers(Session& s, const Value& v) {
  Value d = cast_tensor(s, v, DType::f64);
  auto* t = d.as<Tensor>();
  return {t->data<double>(), t->data<double>() + t->size};
}

Sample sample(const ir::OpInfo& op, int n, uint64_t seed) {
  std::mt19937_64 r(seed);
  Sample out;
  for (int k = 0; k < op.inputs; ++k) {
    ir::Range range = k < 4 ? op.def->test.domain[k] : ir::Range{};
    std::vector<double> x;
    for (int i = 0; i < n; ++i) {
      double v = range.lo + (range.hi - range.lo) * (static_cast<double>(r() >> 11) * 0x1p-53);
      x.push_back(op.sig->inputs[k].cls == 'b' ? static_cast<double>(r() & 1) : static_cast<float>(v));
    }
    out.x.push_back(x);
  }
  return out;
}

Value run(Session& s, const ir::OpInfo& op, DType t, const Sample& in, std::vector<int64_t> shape) {
  std::vector<Value> args;
  for (int k = 0; k < op.inputs; ++k)
    args.push_back(tensor_of(s, op.sig->inputs[k].cls == 'b' ? DType::boolean : t, in.x[k], shape));
  std::vector<Value> params = params_of(op);
  return run_elementwise(s, op, args, params, false);
}

// The points where a row has kinks: a difference quotient across one means nothing.
bool smooth(Session& s, const ir::OpInfo& op, Sample in, int input, double h, std::vector<bool>& ok) {
  // The second difference is small compared to h where the function is twice differentiable.
  auto at = [&](double d) {
    Sample m = in;
    for (double& v : m.x[input]) v += d;
    return numbers(s, run(s, op, DType::f64, m, {static_cast<int64_t>(m.x[0].size())}));
  };
  auto a = at(-h), b = at(0), c = at(h);
  for (size_t i = 0; i < b.size(); ++i)
    ok.push_back(std::fabs(a[i] - 2 * b[i] + c[i]) < 1e-3 * h * (1 + std::fabs(b[i])));
  return true;
}

}  // namespace

TEST_CASE("every row has a kernel, a text or a body, and finds itself by name") {
  CHECK(ir::all_ops().size() > 200);
  for (const ir::OpInfo* op : ir::all_ops()) {
    CHECK(ir::find_op(op->name) == op);
    CHECK(&ir::op_info(op->op) == op);
    CHECK(op->params.size() == op->input_at.size() + op->param_at.size());
  }
  CHECK(ir::find_op("no_such_operation") == nullptr);
  CHECK(ir::find_op("arcsin") == ir::find_op("asin"));
  CHECK(ir::op_of_leaf(ir::Leaf::fn_exp) == ir::find_op("exp"));
  CHECK(ir::op_of_leaf(ir::Leaf::select) == ir::find_op("where"));
}

TEST_CASE("elementwise rows: f32 agrees with f64") {
  Session s;
  SessionScope scope(s);
  for (const ir::OpInfo* op : ir::all_ops()) {
    if (!op->elementwise() || !float_row(*op)) continue;
    for (int n : {0, 1, 7, 1025}) {
      Sample in = sample(*op, n, 11);
      Value a = run(s, *op, DType::f32, in, {n}), b = run(s, *op, DType::f64, in, {n});
      INFO(op->name << " n = " << n);
      REQUIRE(!a.is_error());
      REQUIRE(!b.is_error());
      double tol = std::max(op->def->test.tol, 5e-7);
      auto x = numbers(s, a), y = numbers(s, b);
      REQUIRE(x.size() == static_cast<size_t>(n));
      for (size_t i = 0; i < x.size(); ++i)
        if (std::fabs(x[i] - y[i]) > tol * std::max(1.0, std::fabs(y[i]))) {
          INFO("at " << in.x[0][i] << (in.x.size() > 1 ? " and " + std::to_string(in.x[1][i]) : "") << ": " << x[i]
                     << " is not " << y[i]);
          REQUIRE(false);
        }
    }
  }
}

TEST_CASE("elementwise rows: broadcasting is repetition") {
  Session s;
  SessionScope scope(s);
  for (const ir::OpInfo* op : ir::all_ops()) {
    if (!op->elementwise() || !float_row(*op) || op->inputs < 2) continue;
    Sample in = sample(*op, 35, 3);
    for (auto& x : in.x) x.resize(35);
    // Input 1 as a row, as a column and as one element, against the written out tensor.
    for (std::vector<int64_t> shape : {std::vector<int64_t>{7}, {5, 1}, {1}, {}}) {
      std::vector<double> small(in.x[1].begin(), in.x[1].begin() + element_count(shape)), full(35);
      for (int i = 0; i < 35; ++i)
        full[i] = small[shape.empty() || shape == std::vector<int64_t>{1} ? 0 : shape.size() == 1 ? i % 7 : i / 7];
      DType t1 = op->sig->inputs[1].cls == 'b' ? DType::boolean : DType::f32;
      std::vector<Value> args, whole, params = params_of(*op);
      for (int k = 0; k < op->inputs; ++k) {
        Value v = tensor_of(s, op->sig->inputs[k].cls == 'b' ? DType::boolean : DType::f32, in.x[k], {5, 7});
        args.push_back(k == 1 ? tensor_of(s, t1, small, shape) : v);
        whole.push_back(k == 1 ? tensor_of(s, t1, full, {5, 7}) : v);
      }
      Value a = run_elementwise(s, *op, args, params, false), b = run_elementwise(s, *op, whole, params, false);
      INFO(op->name << " with " << shape_text(shape));
      REQUIRE(!a.is_error());
      CHECK(shape_text(a.as<Tensor>()->shape()) == "(5, 7)");
      auto x = numbers(s, a), y = numbers(s, b);
      for (size_t i = 0; i < x.size(); ++i) CHECK((x[i] == y[i] || (x[i] != x[i] && y[i] != y[i])));
    }
  }
}

TEST_CASE("elementwise rows: local derivatives agree with differences up to second order") {
  Session s;
  SessionScope scope(s);
  const double h = 1e-5;
  auto check = [&](const ir::OpInfo& op, int input, const ir::OpInfo* d, const Sample& in, auto&& value, auto&& slope) {
    int64_t n = static_cast<int64_t>(in.x[0].size());
    std::vector<bool> ok;
    smooth(s, op, in, input, h, ok);
    Sample up = in, down = in;
    for (double& v : up.x[input]) v += h;
    for (double& v : down.x[input]) v -= h;
    std::vector<double> a = value(up), b = value(down), g = d ? slope(in) : std::vector<double>(n, 0.0);
    for (int64_t i = 0; i < n; ++i) {
      if (!ok[i]) continue;
      double fd = (a[i] - b[i]) / (2 * h);
      INFO(op.name << " by input " << input << " at " << in.x[0][i]
                   << (in.x.size() > 1 ? ", " + std::to_string(in.x[1][i]) : "") << ": " << g[i] << " is not " << fd);
      REQUIRE(std::fabs(g[i] - fd) <= 2e-5 * std::max(1.0, std::fabs(fd)));
    }
  };
  int checked = 0;
  for (const ir::OpInfo* op : ir::all_ops()) {
    if (!op->elementwise() || !op->def->nondiff.empty() || op->def->linear_in) continue;
    bool floats = true;
    for (const ir::SigTensor& t : op->sig->inputs) floats &= t.cls == 'f' || t.cls == 'n' || t.cls == 't';
    if (!floats) continue;
    for (int input = 0; input < op->inputs; ++input) {
      const ir::OpInfo* d = ir::local_derivative(op->op, input);
      Sample in = sample(*op, 40, 17 + input);
      std::vector<int64_t> shape{40};
      auto value = [&](const Sample& m) { return numbers(s, run(s, *op, DType::f64, m, shape)); };
      auto slope = [&](const ir::OpInfo& row, const Sample& m) {  // row over (x..., y)
        Sample with_y = m;
        with_y.x.push_back(value(m));
        return numbers(s, run(s, row, DType::f64, with_y, shape));
      };
      check(*op, input, d, in, value, [&](const Sample& m) { return slope(*d, m); });
      ++checked;
      if (!d) continue;
      // d/dx of d(x, y(x)) = d.dx + d.dy d
      for (int by = 0; by < op->inputs; ++by) {
        const ir::OpInfo *direct = ir::local_derivative(d->op, by), *through = ir::local_derivative(d->op, op->inputs),
                         *dy = ir::local_derivative(op->op, by);
        auto second = [&](const Sample& m) {
          Sample with_y = m;
          with_y.x.push_back(value(m));
          Sample deeper = with_y;
          deeper.x.push_back(numbers(s, run(s, *d, DType::f64, with_y, shape)));
          std::vector<double> out(40, 0.0);
          if (direct) out = numbers(s, run(s, *direct, DType::f64, deeper, shape));
          if (through && dy) {
            auto a = numbers(s, run(s, *through, DType::f64, deeper, shape)),
                 b = numbers(s, run(s, *dy, DType::f64, with_y, shape));
            for (int i = 0; i < 40; ++i) out[i] += a[i] * b[i];
          }
          return out;
        };
        check(
            *op, by, op, in, [&](const Sample& m) { return slope(*d, m); }, second);
      }
    }
  }
  CHECK(checked > 60);
}
