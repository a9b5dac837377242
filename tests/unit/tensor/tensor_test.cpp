// Buffers, sharing, in-place writes, threads: what scripts cannot see directly.
#include <catch2/catch.hpp>

#include <cstring>

#include "backends/contract/onednn.h"
#include "runtime/machine/threads.h"
#include "runtime/object/alloc.h"
#include "runtime/object/exception.h"
#include "runtime/object/ops.h"
#include "runtime/object/session.h"
#include "runtime/object/tensor_hooks.h"
#include "runtime/tensor/indexing.h"
#include "runtime/tensor/tensor.h"

using namespace ouro;
using namespace ouro::runtime;

namespace {
Value random_tensor(Session& s, std::vector<int64_t> shape) {
  Value size = make_tuple();
  Value sizes = alloc_tuple(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) (*sizes.as<Tuple>())[i] = Value::integer(shape[i]);
  Value args[2] = {make_tuple({sizes}), Value()};
  return run_operation(s, *ir::find_op("randn"), args);
}
bool equal_bits(const Value& a, const Value& b) {
  auto *x = a.as<Tensor>(), *y = b.as<Tensor>();
  return x->size == y->size && std::memcmp(x->data(), y->data(), x->nbytes()) == 0;
}
}  // namespace

TEST_CASE("a write goes in place when nobody else holds the tensor, else it copies once") {
  Session s;
  SessionScope scope(s);
  Value x = make_filled(s, DType::f32, std::vector<int64_t>{4}, 1);
  void* data = x.as<Tensor>()->data();
  REQUIRE(s.tensors->set_item(s, x, std::vector<Value>{Value::integer(1)}, Value::floating(5)));
  CHECK(x.as<Tensor>()->data() == data);
  CHECK(tensor_counters(s).copies == 0);
  Value y = x;
  REQUIRE(s.tensors->set_item(s, x, std::vector<Value>{Value::integer(0)}, Value::floating(7)));
  CHECK(tensor_counters(s).copies == 1);
  CHECK(y.as<Tensor>()->data<float>()[0] == 1);
  CHECK(x.as<Tensor>()->data<float>()[0] == 7);
  // reshape shares the buffer; a write to one leaves the other alone
  Value flat = share_tensor(x.as<Tensor>(), std::vector<int64_t>{2, 2});
  REQUIRE(s.tensors->update_item(s, flat, {}, BinOp::add, Value::integer(1)));
  CHECK(x.as<Tensor>()->data<float>()[0] == 7);
  CHECK(flat.as<Tensor>()->data<float>()[0] == 8);
}

TEST_CASE("a failed write leaves the tensor as it was") {
  Session s;
  SessionScope scope(s);
  Value x = make_filled(s, DType::f32, std::vector<int64_t>{3}, 1);
  CHECK_FALSE(s.tensors->set_item(s, x, std::vector<Value>{Value::integer(9)}, Value::floating(5)));
  clear_pending(s);
  CHECK(x.as<Tensor>()->data<float>()[2] == 1);
  Value ints = make_filled(s, DType::i64, std::vector<int64_t>{3}, 1);
  CHECK_FALSE(s.tensors->update_item(s, ints, {}, BinOp::add, Value::floating(0.5)));
  clear_pending(s);
  CHECK(ints.as<Tensor>()->dtype == DType::i64);
  CHECK(ints.as<Tensor>()->data<int64_t>()[0] == 1);
}

TEST_CASE("operations on what nobody else holds reuse its memory") {
  Session s;
  SessionScope scope(s);
  Value args[1] = {make_filled(s, DType::f32, std::vector<int64_t>{100}, 1)};
  void* data = args[0].as<Tensor>()->data();
  uint64_t before = tensor_counters(s).allocations;
  Value y = run_operation(s, *ir::find_op("exp"), args);
  CHECK(y.as<Tensor>()->data() == data);
  CHECK(tensor_counters(s).allocations == before);
}

TEST_CASE("bits do not depend on the number of threads", "[threads]") {
  Session s;
  SessionScope scope(s);
  backends::register_onednn();
  Value x = random_tensor(s, {300, 517}), w = random_tensor(s, {517, 129}), image = random_tensor(s, {33, 3, 20, 20}),
        kernel = random_tensor(s, {8, 3, 3, 3});
  auto all = [&](int threads) {
    REQUIRE(s.demands.set(std::vector<Wish>{{"threads", std::to_string(threads)}}, DemandOrigin::host).empty());
    Value pair = make_tuple({Value::integer(1), Value::integer(1)}),
          none = make_tuple({Value::integer(0), Value::integer(0)});
    std::vector<Value> out;
    out.push_back(run_operation(s, "sum", {x, Value::none()}));
    out.push_back(run_operation(s, "sum", {x, Value::integer(0)}));
    out.push_back(run_operation(s, "sum", {x, Value::integer(1)}));
    out.push_back(run_operation(s, "tanh", {x}));
    out.push_back(run_operation(s, "matmul", {x, w}));
    out.push_back(run_operation(s, "t", {x}));
    Value y = run_operation(s, "convolve", {image, kernel, pair, none, pair, Value::integer(1)});
    out.push_back(y);
    Value shape = make_tuple({Value::integer(8), Value::integer(3), Value::integer(3), Value::integer(3)});
    out.push_back(run_operation(s, "convolve_weight", {y, image, shape, pair, none, pair, Value::integer(1)}));
    Value in_shape = make_tuple({Value::integer(33), Value::integer(3), Value::integer(20), Value::integer(20)});
    out.push_back(run_operation(s, "convolve_input", {y, kernel, in_shape, pair, none, pair, Value::integer(1)}));
    return out;
  };
  std::vector<Value> one = all(1);
  for (int threads : {2, 3, 8}) {
    std::vector<Value> many = all(threads);
    for (size_t i = 0; i < one.size(); ++i) {
      INFO("result " << i << " with " << threads << " threads");
      REQUIRE(!one[i].is_error());
      CHECK(equal_bits(one[i], many[i]));
    }
  }
}

TEST_CASE("the parts of a job are each run once", "[threads]") {
  for (int threads : {1, 2, 5}) {
    std::vector<int> seen(1000);
    for (int round = 0; round < 50; ++round)
      parallel_for(threads, 1000, [&](int64_t p) { ++seen[static_cast<size_t>(p)]; });
    for (int n : seen) CHECK(n == 50);
  }
}

TEST_CASE("convolution gradients are the transposes of convolution") {
  Session s;
  SessionScope scope(s);
  REQUIRE(s.demands.set(std::vector<Wish>{{"threads", "2"}}, DemandOrigin::host).empty());
  struct Geometry {
    int64_t in, out, groups, size, kernel, stride, padding, dilation;
  };
  for (Geometry g : {Geometry{1, 2, 1, 7, 3, 1, 0, 1},
                     {4, 6, 2, 8, 3, 2, 1, 1},
                     {3, 3, 3, 9, 3, 1, 2, 2},
                     {2, 2, 1, 5, 1, 1, 0, 1},
                     {2, 3, 1, 6, 4, 3, 2, 1}}) {
    auto cast = [&](Value v) { return cast_tensor(s, v, DType::f64); };
    Value x = cast(random_tensor(s, {3, g.in, g.size, g.size + 1})),
          w = cast(random_tensor(s, {g.out, g.in / g.groups, g.kernel, g.kernel}));
    auto two = [](int64_t a) { return make_tuple({Value::integer(a), Value::integer(a)}); };
    Value st = two(g.stride), pa = two(g.padding), di = two(g.dilation), gr = Value::integer(g.groups);
    Value y = run_operation(s, "convolve", {x, w, st, pa, di, gr});
    REQUIRE(!y.is_error());
    auto shape = [](const Value& v) {
      Value t = alloc_tuple(v.as<Tensor>()->rank);
      for (int i = 0; i < v.as<Tensor>()->rank; ++i) (*t.as<Tuple>())[i] = Value::integer(v.as<Tensor>()->dim(i));
      return t;
    };
    Value c = run_operation(s, "mul", {y, y});  // any cotangent
    Value dx = run_operation(s, "convolve_input", {c, w, shape(x), st, pa, di, gr}),
          dw = run_operation(s, "convolve_weight", {c, x, shape(w), st, pa, di, gr});
    auto dot = [&](const Value& a, const Value& b) {
      auto *p = a.as<Tensor>(), *q = b.as<Tensor>();
      REQUIRE(p->size == q->size);
      double t = 0;
      for (int64_t i = 0; i < p->size; ++i) t += p->data<double>()[i] * q->data<double>()[i];
      return t;
    };
    CHECK(dot(c, y) == Approx(dot(dx, x)).epsilon(1e-9));
    CHECK(dot(c, y) == Approx(dot(dw, w)).epsilon(1e-9));
  }
}
